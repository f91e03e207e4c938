"""The folder of a measurement: what is made in it goes, and nothing else is touched."""

from __future__ import annotations

import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from ckptplan.errors import InputError
from ckptplan.measure.folder import PREFIX, own_folder


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_and_its_files_go(tmp_path: Path) -> None:
    """Inside it exists, for its owner only; afterwards all is as before."""
    (tmp_path / "other").write_text("kept", encoding="utf-8")
    with own_folder(str(tmp_path)) as folder:
        os.close(folder.create("a"))
        inside = Path(folder.path)
        assert stat.S_IMODE(inside.stat().st_mode) == 0o700
        assert stat.S_IMODE((inside / "a").stat().st_mode) == 0o600
        assert inside.name.startswith(PREFIX)
    assert _names(tmp_path) == ["other"]


def test_a_folder_without_a_name_is_said() -> None:
    """An empty name, as an unset variable gives, is called that."""
    with pytest.raises(InputError, match="the name of the folder is empty"), own_folder(""):
        pass


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="there is no /proc")
def test_a_place_that_takes_no_folder_is_not_called_missing() -> None:
    """/proc is there, but no folder can be made in it."""
    with (
        pytest.raises(InputError, match="/proc cannot be written to: no folder can be made there"),
        own_folder("/proc"),
    ):
        pass


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_it_goes_after_any_error(tmp_path: Path, error: type[BaseException]) -> None:
    """An exception of any kind passes through and leaves nothing."""

    def use() -> None:
        with own_folder(str(tmp_path)) as folder:
            os.close(folder.create("a"))
            raise error

    with pytest.raises(error):
        use()
    assert _names(tmp_path) == []


def test_a_file_that_is_there_is_not_opened(tmp_path: Path) -> None:
    """Neither a file nor a link of the name is written through, and what a link leads to stays as it was."""
    victim = tmp_path / "victim"
    victim.write_text("kept", encoding="utf-8")
    with own_folder(str(tmp_path)) as folder:
        (Path(folder.path) / "a").symlink_to(victim)
        with pytest.raises(FileExistsError):
            folder.create("a")
        with pytest.raises(OSError, match="symbolic"):
            folder.open("a")
        (Path(folder.path) / "a").unlink()
    assert victim.read_text(encoding="utf-8") == "kept"


def test_what_others_put_into_it_is_not_removed(tmp_path: Path) -> None:
    """A file of somebody else in the folder stays, and it is said that the folder does."""

    def use() -> None:
        with own_folder(str(tmp_path)) as folder:
            (Path(folder.path) / "theirs").write_text("kept", encoding="utf-8")
            os.close(folder.create("ours"))

    with pytest.raises(InputError, match="cannot be removed"):
        use()
    (left,) = tmp_path.iterdir()
    assert _names(left) == ["theirs"]


def test_a_folder_put_in_its_place_is_not_removed(tmp_path: Path) -> None:
    """Renamed away and replaced, neither the replacement nor what lies in it is touched; our files still go."""
    with own_folder(str(tmp_path)) as folder:
        os.close(folder.create("a"))
        name = Path(folder.path)
        name.rename(tmp_path / "moved")
        name.mkdir()
    assert name.is_dir()
    assert _names(tmp_path / "moved") == []


def test_no_file_is_made_once_it_is_removed(tmp_path: Path) -> None:
    """A writer that comes late finds the folder closed."""
    with own_folder(str(tmp_path)) as folder:
        pass
    with pytest.raises(InterruptedError):
        folder.create("late")
    assert _names(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_end_it_like_ctrl_c(tmp_path: Path, number: signal.Signals) -> None:
    """A signal that ends programs is an exception inside, and has its old handler afterwards."""
    before = signal.getsignal(number)

    def use() -> None:
        with own_folder(str(tmp_path)) as folder:
            os.close(folder.create("a"))
            os.kill(os.getpid(), number)
            signal.pause()

    with pytest.raises(KeyboardInterrupt):
        use()
    assert _names(tmp_path) == []
    assert signal.getsignal(number) is before


def test_a_signal_while_it_is_removed_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of cleaning up does not end the cleaning up."""
    real = os.unlink

    def interrupted(name: str, *, dir_fd: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        real(name, dir_fd=dir_fd)

    def use() -> None:
        with own_folder(str(tmp_path)) as folder:
            os.close(folder.create("a"))
            os.close(folder.create("b"))
            monkeypatch.setattr(os, "unlink", interrupted)

    with pytest.raises(KeyboardInterrupt):
        use()
    assert _names(tmp_path) == []


def test_another_thread_may_use_it(tmp_path: Path) -> None:
    """Signals are left alone where they cannot be handled."""
    errors: list[BaseException] = []

    def use() -> None:
        try:
            with own_folder(str(tmp_path)) as folder:
                os.close(folder.create("a"))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert errors == []
    assert _names(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "phrase"), [("absent", "no such folder"), ("file", "not a folder"), ("a\0b", "no such")]
)
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str, phrase: str) -> None:
    """A missing folder, a file, and a name with a NUL end in one sentence."""
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=phrase), own_folder(f"{tmp_path}/{name}"):
        pass


def test_a_link_to_a_folder_is_followed_once(tmp_path: Path) -> None:
    """The folder that the user names may be a link; files are made where it leads."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with own_folder(str(tmp_path / "link")) as folder:
        assert Path(folder.path).parent == (tmp_path / "real").resolve()
    assert _names(tmp_path / "real") == []
