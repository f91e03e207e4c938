"""The table of commands in README has them all."""

from __future__ import annotations

import re
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_command

from ckptplan.cli.app import app

README = Path(__file__).parents[2] / "README.md"


def test_every_command_is_in_the_table() -> None:
    """What is not in it is not found."""
    table = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(("| `", "| measure"))]
    named = {word for line in table for word in re.findall(r"`(?:ckptplan )?([a-z]+)", line.split("|")[1])}
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    commands = set(group.commands)
    assert commands - named == set()
