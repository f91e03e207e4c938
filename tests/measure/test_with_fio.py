"""The same by fio: its command line, what it prints, and its end."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ckptplan.errors import InputError
from ckptplan.measure import with_fio
from ckptplan.measure.setting import Setting
from ckptplan.measure.with_fio import FioRates, arguments, measure_with_fio
from ckptplan.readers.storage.fio import fio_rates
from tests.readers.storage.samples import fio, fio_job

SMALL = Setting(writers=2, size_bytes=1 << 20, block_bytes=1 << 16, repeats=2)


def _program(folder: Path, body: str) -> str:
    """A program called fio that does what a test wants."""
    path = folder / "bin" / "fio"
    path.parent.mkdir()
    path.write_text(
        f"#!{sys.executable}\nimport sys, os\nif '--version' in sys.argv: sys.exit(print('fio-3.99'))\n{body}\n",
        encoding="utf-8",
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_fio_is_told_what_a_save_does() -> None:
    """Sizes, writers, a flush at the end of writing, and data that does not compress."""
    told = arguments(SMALL, "write", "/mnt/a:b")
    wanted = (
        "--rw=write",
        "--size=1048576",
        "--bs=65536",
        "--numjobs=2",
        "--end_fsync=1",
        "--refill_buffers",
        "--direct=0",
        "--directory=/mnt/a\\:b",
    )
    for option in wanted:
        assert option in told
    assert "--end_fsync=1" not in arguments(SMALL, "read", "/mnt")
    assert "--direct=1" in arguments(SMALL._replace(direct=True), "read", "/mnt")


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [(1 << 20, (1 << 20, 1 << 16)), (100_000, (65_536, 65_536)), (20_000, (16_384, 16_384)), (5, (4096, 4096))],
)
def test_fio_writes_whole_blocks(size_bytes: int, expected: tuple[int, int]) -> None:
    """A size below a block makes the block smaller; what fills no block is left out, for fio leaves it out."""
    found = with_fio._whole_blocks(SMALL._replace(size_bytes=size_bytes))
    assert (found.size_bytes, found.block_bytes) == expected


def test_what_fio_prints_becomes_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writers in 40 s and 50 s: all bytes over 50 s; its files are removed with the folder."""
    jobs = [fio_job(40_000_000_000, ms=ms) for ms in (40_000, 50_000)]
    reads = [fio_job(read=40_000_000_000, ms=40_000)] * 2
    made = "open('ckptplan.0', 'w').close(); open('ckptplan.1', 'w').close()"
    program = _program(tmp_path, f"{made}\nprint({fio(*reads)!r} if '--rw=read' in sys.argv else {fio(*jobs)!r})")
    monkeypatch.setattr(with_fio, "fio_program", lambda: program)
    target = tmp_path / "target"
    target.mkdir()
    found = measure_with_fio(str(target), SMALL, fio_rates)
    assert found.sustained.values == pytest.approx((1.6e9, 1.6e9))
    assert found.writers.values == pytest.approx((1e9, 0.8e9, 1e9, 0.8e9))
    assert found.burst is None
    assert found.by == "fio-3.99"
    assert found.read is not None
    assert found.read.values == pytest.approx((2e9, 2e9))
    assert list(target.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "phrase"),
    [
        ("print('fio: cannot do that'); sys.exit(1)", "fio ended with 1: fio: cannot do that"),
        ("sys.exit(3)", "it printed nothing"),
        ("print('{')", "printed no result"),
        (f"print({fio(fio_job(1, ms=1, error=28))!r})", "error 28"),
    ],
)
def test_a_fio_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, phrase: str) -> None:
    """Its own words, or what it reports, and nothing is left."""
    program = _program(tmp_path, body)
    monkeypatch.setattr(with_fio, "fio_program", lambda: program)
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(InputError, match=phrase):
        measure_with_fio(str(target), SMALL, fio_rates)
    assert list(target.iterdir()) == []


def test_without_fio_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The remedy is to leave the option out."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="fio is not installed"):
        with_fio.fio_program()


def test_fio_ends_with_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ctrl-C while fio runs ends fio too, which is waited for."""
    program = _program(tmp_path, "import time\nprint(os.getpid(), flush=True)\ntime.sleep(600)")
    ended: list[int] = []

    class Interrupted(with_fio.subprocess.Popen):  # type: ignore[type-arg]
        def communicate(self, *_: object, **__: object) -> tuple[bytes, bytes]:
            assert self.stdout is not None
            ended.append(int(self.stdout.readline()))
            raise KeyboardInterrupt

    monkeypatch.setattr(with_fio.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        with_fio._output([program], str(tmp_path))
    with pytest.raises(ProcessLookupError):
        os.kill(ended[0], 0)


@pytest.mark.parametrize("body", ["sys.exit(1)", "print('{}')", "import time; time.sleep(600)"])
def test_fio_runs_in_the_folder_of_the_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Whatever fio makes where it runs lies in that folder, and is gone with it, after an error and Ctrl-C too."""
    seen = tmp_path / "seen"
    program = _program(
        tmp_path, f"open('ckptplan.0', 'w').close(); open({str(seen)!r}, 'w').write(os.getcwd()); {body}"
    )
    monkeypatch.setattr(with_fio, "fio_program", lambda: program)
    if "sleep" in body:
        monkeypatch.setattr(with_fio.subprocess, "Popen", _interrupted_after(seen))
    here, target = tmp_path / "here", tmp_path / "target"
    here.mkdir()
    target.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises((InputError, KeyboardInterrupt)):
        measure_with_fio(str(target), SMALL, fio_rates)
    assert seen.read_text(encoding="utf-8").startswith(f"{target}/.ckptplan-measure-")
    assert [*here.iterdir(), *target.iterdir()] == []


def _interrupted_after(seen: Path) -> Any:
    """A Popen that is interrupted once the program that it runs has written a file."""

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def communicate(self, *_: object, **__: object) -> tuple[bytes, bytes]:
            while not (seen.exists() and seen.read_text(encoding="utf-8")):
                assert self.poll() is None
            raise KeyboardInterrupt

    return Interrupted


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("name", ["folder", "a:b c", "${HOME}%d;#,"])
def test_the_real_fio_writes_nowhere_else(tmp_path: Path, name: str) -> None:
    """Started in another folder, its files lie in the one that it was given, whatever characters that has."""
    here, target = tmp_path / "here", tmp_path / name
    here.mkdir()
    target.mkdir()
    command = ["fio", *arguments(with_fio._whole_blocks(SMALL), "write", str(target))]
    subprocess.run(command, cwd=here, check=True, capture_output=True)
    assert sorted(path.name for path in target.iterdir()) == ["ckptplan.0", "ckptplan.1"]
    assert list(here.iterdir()) == []


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_the_real_fio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where fio is installed, it writes and reads with these options, and nothing is left, here neither."""
    monkeypatch.chdir(tmp_path)
    found = measure_with_fio(str(tmp_path), SMALL, fio_rates)
    assert len(found.sustained.values) == 2
    assert len(found.writers.values) == 4
    assert found.by.startswith("fio-")
    assert list(tmp_path.iterdir()) == []


def test_rates_of_nothing_are_a_fault() -> None:
    """Text without a result gives no rate but a reason."""
    assert fio_rates("", "write") == FioRates(0.0, 0.0, (), ("it printed no result",))
    assert fio_rates("fio: bad option <x>\n", "write").faults == ("fio: bad option <x>",)
