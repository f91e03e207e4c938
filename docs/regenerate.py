"""Fill the console blocks of README and docs with what the commands print, and write docs/cli.md and docs/schemas.

``python docs/regenerate.py`` rewrites the files; the tests call the same functions and compare.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ckptplan.cli.spec import DOCUMENTS
from ckptplan.render.trainers.page import trainers_page

ROOT = Path(__file__).resolve().parents[1]
CONSOLE = re.compile(r"```console\n\$ (?P<command>[^\n]+)\n(?P<output>.*?)```", re.DOTALL)
HELP_PAGES = (
    "",
    "optimize",
    "simulate",
    "levers",
    "report",
    "scale",
    "sweep",
    "compare",
    "retain",
    "fit",
    "online",
    "size",
    "inspect",
    "audit",
    "reshard",
    "average",
    "methods",
    "configs",
    "measure",
    "measure storage",
    "measure save",
    "measure import",
    "spec",
    "spec init",
    "spec check",
    "spec show",
    "spec schema",
)


def pages() -> list[Path]:
    """Every document with commands in it."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def run(command: str, columns: int = 100) -> str:
    """What a terminal of that width shows for a ckptplan command."""
    words = shlex.split(command)
    if words[0] != "ckptplan":
        raise ValueError(f"not a ckptplan command: {command}")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CKPTPLAN_")}
    environment |= {"COLUMNS": str(columns), "PYTHONUTF8": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "ckptplan", *words[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env=environment,
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command} exits {done.returncode}:\n{done.stdout}")
    return done.stdout


def refreshed(text: str) -> str:
    """A document with fresh outputs."""
    return CONSOLE.sub(lambda m: f"```console\n$ {m['command']}\n{run(m['command'])}```", text)


def cli_reference() -> str:
    """Every help page, for docs/cli.md."""
    parts = ["# Command line\n\nThe help of every command, as the program prints it.\n"]
    for page in HELP_PAGES:
        command = f"ckptplan {page} --help".replace("  ", " ")
        help_text = "\n".join(line.rstrip() for line in run(command, 80).splitlines())
        parts.append(f"## {command.removesuffix(' --help')}\n\n```text\n{help_text.strip()}\n```\n")
    return "\n".join(parts)


def generated() -> Iterator[tuple[Path, str]]:
    """Files that are made by the program alone."""
    yield ROOT / "docs" / "cli.md", cli_reference()
    yield ROOT / "docs" / "trainers.md", trainers_page()
    for name in DOCUMENTS:
        yield ROOT / "docs" / "schemas" / f"{name}.schema.json", run(f"ckptplan spec schema {name}")


def main() -> None:
    """Rewrite everything."""
    for path, text in generated():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for page in pages():
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
