"""README and docs say what the program does: every command in them is run."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ckptplan.beside import FilesBeside
from ckptplan.spec.reading import read_spec

ROOT = Path(__file__).resolve().parents[1]
_spec = importlib.util.spec_from_file_location("regenerate", ROOT / "docs" / "regenerate.py")
assert _spec is not None
assert _spec.loader is not None
regenerate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(regenerate)

CONSOLE = [
    (page.name, m["command"], m["output"])
    for page in regenerate.pages()
    for m in regenerate.CONSOLE.finditer(page.read_text(encoding="utf-8"))
]
INLINE = sorted(
    {
        command
        for page in regenerate.pages()
        for command in re.findall(r"`(ckptplan [^`\n]+)`", page.read_text(encoding="utf-8"))
        if not re.search(r"\b[A-Z]{4,}\b|\||\.\.\.|, `", command)
    }
)


@pytest.mark.parametrize(("page", "command", "output"), CONSOLE, ids=[f"{p}:{c}" for p, c, _ in CONSOLE])
def test_console_blocks_hold_what_the_command_prints(page: str, command: str, output: str) -> None:
    """Each console block of a document is the very output of its command."""
    assert regenerate.run(command) == output, f"run python docs/regenerate.py ({page})"


@pytest.mark.parametrize("command", INLINE)
def test_inline_commands_run(command: str, tmp_path: Path) -> None:
    """Each complete command in running text exits 0, from a folder with a fresh starter spec and the example in it."""
    shutil.copytree(ROOT / "docs" / "example", tmp_path / "docs" / "example")
    shell_command = command.replace("ckptplan", f"{sys.executable} -m ckptplan", 1)
    subprocess.run(f"{sys.executable} -m ckptplan spec init -o run.yaml", shell=True, cwd=tmp_path, check=True)
    done = subprocess.run(shell_command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_there_are_commands_to_test() -> None:
    """The patterns above still find the commands of the README."""
    assert len(CONSOLE) >= 8
    assert any("optimize llama3-405b" in command for _, command, _ in CONSOLE)


@pytest.mark.parametrize(
    ("path", "text"), list(regenerate.generated()), ids=lambda v: v.name if isinstance(v, Path) else ""
)
def test_generated_files_are_fresh(path: Path, text: str) -> None:
    """The command reference and the published schemas are what the program prints today."""
    assert path.read_text(encoding="utf-8") == text, "run python docs/regenerate.py"


def test_the_set_up_command_of_the_readme_works(tmp_path: Path) -> None:
    """The first set-up command of the README, as it is printed, runs in a clean copy of the source tree."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^(python3\.11 -m venv \.venv && .+)$", readme, re.MULTILINE)
    assert len(commands) == 2
    assert "optimize" in commands[0]
    assert "pytest" in commands[1]
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("ckptplan", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CKPTPLAN_", "PYTHONPATH", "VIRTUAL_ENV"))}
    done = subprocess.run(
        commands[0], shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "save every" in done.stdout


def test_every_relative_link_leads_somewhere() -> None:
    """Links between the documents are not broken."""
    for page in regenerate.pages():
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize(
    "text",
    [
        match
        for page in regenerate.pages()
        if page.name == "README.md"
        for match in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ],
)
def test_specs_in_the_readme_are_read(text: str) -> None:
    """The spec that the README shows has no fault, and nothing to warn of."""
    files = FilesBeside(ROOT / "docs" / "example")
    assert read_spec(text.encode(), "README.md", files=files).warnings == ()
