"""What the tests of several commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptplan.cli.edge import run
from tests.cli.harness import Tell, Told


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tell:
    """Runs a command in this process, which takes a tenth of the time; a parallel test run sets a width."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def told(*arguments: str) -> Told:
        code = run(list(arguments))
        return Told(code, *capsys.readouterr())

    return told


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to measure in."""
    made = tmp_path / "checkpoints"
    made.mkdir()
    return made
