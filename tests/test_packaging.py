"""The wheel holds what it must and runs anywhere."""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the source tree, without network."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(out.glob("*.whl"))


def test_wheel_contents(wheel: Path) -> None:
    """The wheel ships the package, the configs, the presets, the templates and the type marker, and no tests."""
    names = set(zipfile.ZipFile(wheel).namelist())
    configs = {path.name for path in (ROOT / "configs").glob("*.yaml")}
    assert len(configs) == 18
    assert {f"ckptplan/configs/{name}" for name in configs} <= names
    assert {"ckptplan/py.typed", "ckptplan/spec/presets.yaml", "ckptplan/__main__.py"} <= names
    templates = {path.name for path in (ROOT / "ckptplan/render/page/templates").iterdir()}
    assert {"page.html.j2", "blocks.html.j2", "style.css"} == templates
    assert {f"ckptplan/render/page/templates/{name}" for name in templates} <= names
    tops = {name.split("/")[0] for name in names}
    assert all(top == "ckptplan" or top.endswith(".dist-info") for top in tops)


def test_metadata(wheel: Path) -> None:
    """The metadata blocks an upload to the public index and names the licence."""
    archive = zipfile.ZipFile(wheel)
    name = next(n for n in archive.namelist() if n.endswith("METADATA"))
    metadata = email.message_from_bytes(archive.read(name))
    assert "Private :: Do Not Upload" in metadata.get_all("Classifier", [])
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    typer = next(r for r in metadata.get_all("Requires-Dist", []) if r.startswith("typer"))
    assert "<" in typer


def test_wheel_runs_outside_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    """Installed from the wheel, a shipped config is found by name from any folder."""
    site = tmp_path / "site"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--no-deps",
            "--no-index",
            "--quiet",
            "--target",
            str(site),
            str(wheel),
        ],
        check=True,
        capture_output=True,
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    where = [sys.executable, "-c", "import ckptplan; print(ckptplan.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout
    assert Path(found.strip()).is_relative_to(site)
    command = [sys.executable, "-m", "ckptplan", "optimize", "llama3-405b", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["schema"] == "ckptplan.plan/1"
