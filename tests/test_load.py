"""The public entry: paths, shipped names, standard input, and what cannot be read."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from ckptplan import load as loading
from ckptplan.errors import EXIT_INPUT, InputError
from ckptplan.load import load, shipped_configs
from tests.spec.broken import GOOD


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shipped configs with two specs, and a working folder beside it."""
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / "llama3-405b.yaml").write_text(f"# a comment\n{GOOD}", encoding="utf-8")
    (configs / "opt-175b.yaml").write_text(GOOD.replace("a run", "'OPT, quoted'  # why"), encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(loading, "_INSTALLED", tmp_path / "not there")
    monkeypatch.setattr(loading, "_IN_SOURCE_TREE", configs)
    return work


def _refused(spec: str) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        load(spec, environment={})
    (problem,) = caught.value.problems
    assert caught.value.exit_code == EXIT_INPUT
    assert problem.hint
    return problem.message, problem.hint


def test_a_path_is_read_with_flags_and_environment(shelf: Path) -> None:
    """A file, overridden by the environment, overridden by flags."""
    (shelf / "run.yaml").write_text(GOOD, encoding="utf-8")
    environment = {"CKPTPLAN_SPEC__CLUSTER__GPUS": "1024", "CKPTPLAN_SPEC__NAME": "other"}
    spec = load("run.yaml", sets=["cluster.gpus=2048"], environment=environment)
    assert (spec.scenario.cluster.gpus, spec.scenario.name, spec.file) == (2048, "other", "run.yaml")


def test_the_environment_of_the_process_is_the_default(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a mapping, the process environment overrides."""
    (shelf / "run.yaml").write_text(GOOD, encoding="utf-8")
    monkeypatch.setenv("CKPTPLAN_SPEC__NAME", "from outside")
    assert load("run.yaml").scenario.name == "from outside"


def test_shipped_configs_are_listed_and_read_by_name(shelf: Path) -> None:
    """Each shipped spec has a name, and its first line for people."""
    found = [(config.name, config.description) for config in shipped_configs()]
    assert found == [("llama3-405b", "a run"), ("opt-175b", "OPT, quoted")]
    assert load("llama3-405b", environment={}).file == "llama3-405b.yaml"


def test_a_file_goes_before_a_shipped_name_and_a_folder_does_not(shelf: Path) -> None:
    """A file of that name in the working folder is meant; a folder of that name is not."""
    (shelf / "opt-175b").mkdir()
    assert load("opt-175b", environment={}).scenario.name == "OPT, quoted"
    (shelf / "llama3-405b").write_text(GOOD.replace("a run", "mine"), encoding="utf-8")
    assert load("llama3-405b", environment={}).scenario.name == "mine"


def test_installed_configs_go_before_those_of_a_source_tree(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel carries its configs inside the package."""
    inside = shelf / "inside"
    inside.mkdir()
    (inside / "only.yaml").write_text(GOOD, encoding="utf-8")
    monkeypatch.setattr(loading, "_INSTALLED", inside)
    assert [config.name for config in shipped_configs()] == ["only"]


def test_without_any_configs_names_are_refused(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package without its configs says so by having none."""
    monkeypatch.setattr(loading, "_IN_SOURCE_TREE", shelf / "nowhere")
    assert shipped_configs() == ()
    assert "neither a file nor a shipped config" in _refused("llama3-405b")[0]


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        ("llama3-405", "neither a file nor a shipped config", "did you mean llama3-405b?"),
        ("opt-175b.yaml", "no such file", "did you mean opt-175b?"),
        ("nowhere/at/all.yaml", "no such file", "ckptplan configs"),
        ("zzz", "neither a file nor a shipped config", "ckptplan configs"),
        ("a\0b", "no file name", "path"),
        ("", "no file name", "path"),
        ("n" * 5000, "too long", "ckptplan configs"),
        (".", "it is a directory", "ckptplan configs"),
        (os.devnull, "pipe or device", "- to read standard input"),
    ],
)
def test_what_cannot_be_opened_is_refused_with_advice(shelf: Path, spec: str, message: str, hint: str) -> None:
    """One message and a next step for every kind of path that is no spec."""
    found = _refused(spec)
    assert message in found[0]
    assert hint in found[1]


def test_a_named_pipe_is_not_waited_for(shelf: Path) -> None:
    """A pipe without a writer does not block."""
    os.mkfifo(shelf / "pipe.yaml")
    assert "pipe or device" in _refused("pipe.yaml")[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(shelf: Path) -> None:
    """Missing permission is said."""
    path = shelf / "secret.yaml"
    path.write_text(GOOD, encoding="utf-8")
    path.chmod(0)
    assert "cannot be read" in _refused("secret.yaml")[0]


def test_a_read_that_fails_is_refused(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that exists but does not open is said to be unreadable."""
    (shelf / "run.yaml").write_text(GOOD, encoding="utf-8")

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", fail)
    assert "cannot be read: Permission denied" in _refused("run.yaml")[0]


def test_a_huge_file_is_not_read_whole(shelf: Path) -> None:
    """A sparse file of a terabyte is refused at once: one byte more than the limit is read."""
    path = shelf / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "larger than 1 MiB" in _refused("huge.yaml")[0]


class _Stream:
    """Standard input that holds some bytes, or fails."""

    def __init__(self, data: bytes | OSError) -> None:
        self.buffer = self if isinstance(data, OSError) else io.BytesIO(data)
        self._error = data

    def read(self, _: int) -> bytes:
        raise self._error if isinstance(self._error, OSError) else ValueError


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` reads a spec from standard input and names it in messages."""
    monkeypatch.setattr(sys, "stdin", _Stream(GOOD.encode()))
    assert load("-", environment={}).file == "standard input"
    monkeypatch.setattr(sys, "stdin", _Stream(GOOD.replace("5 s", "5").encode()))
    with pytest.raises(InputError) as caught:
        load("-", environment={})
    assert str(caught.value.problems[0].place) == "standard input:10:23"


@pytest.mark.parametrize("stream", [None, _Stream(OSError(9, "Bad file descriptor")), _Stream(b"")])
def test_a_closed_standard_input_is_refused(stream: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed, broken and empty standard input end in one message."""
    monkeypatch.setattr(sys, "stdin", stream)
    message, _ = _refused("-")
    assert any(word in message for word in ("closed", "cannot be read", "empty"))


def test_a_name_with_control_characters_is_shown_without_them(shelf: Path) -> None:
    """What cannot be opened is named so that the terminal is not steered."""
    message, _ = _refused("ru\x1b[2Jn\n.yaml")
    assert message == "ru?[2Jn?.yaml: no such file"
