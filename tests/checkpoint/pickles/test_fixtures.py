from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ckptplan.checkpoint.pickles.loading import load_pickle
from ckptplan.errors import InputError
from tests.checkpoint.shared_fixtures import NAMES, folder_of, needs_collection

CORRUPT = {"dcp-corrupt-metadata", "dcp-malicious-variants"}
HOSTILE = {"dcp-malicious-metadata", "dcp-malicious-object", "dcp-malicious-variants", "torch-save-malicious"}
CALLS = {"os", "posix", "nt", "builtins", "__builtin__", "io", "subprocess", "runpy", "pathlib", "shutil", "sys"}


def pickles(folder: Path) -> list[tuple[str, bytes]]:
    """Every pickle of a checkpoint: metadata files, and data.pkl of archives and of their items."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.name.endswith(".metadata"):
            found.append((str(path), path.read_bytes()))
        elif path.is_file() and path.suffix in (".pt", ".pth", ".bin", ".ckpt", ".pkl") and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                inside = [name for name in archive.namelist() if name.endswith("data.pkl")]
                found += [(f"{path}/{name}", archive.read(name)) for name in inside]
        elif path.suffix == ".distcp":
            found += items(path)
    return found


def items(path: Path) -> list[tuple[str, bytes]]:
    """The data.pkl records of all archives in a file, found by the signature of protocol 2 behind their names.

    Archives within a text, where 0xC2 goes before it, are left out.
    """
    data, found, at = path.read_bytes(), [], 0
    while (at := data.find(b"archive/data.pkl", at)) >= 0:
        start = data.find(b"\x80\x02", at, at + 200)
        if start > 0 and data[start - 1] != 0xC2 and data[at - 30 : at - 26] == b"PK\x03\x04":
            found.append((f"{path}@{start}", data[start:]))
        at += 1
    return found


@needs_collection
@pytest.mark.parametrize("name", NAMES)
def test_every_pickle_of_the_fixtures(name, tmp_path, monkeypatch):
    """All of them are read without running anything; hostile ones list what they wanted to call."""
    monkeypatch.chdir(tmp_path)
    wanted = set()
    for where, data in pickles(folder_of(name)):
        try:
            wanted |= {each.module for each in load_pickle(data, where, None).foreign}
        except InputError:
            assert name in CORRUPT
    assert bool(wanted & CALLS) == (name in HOSTILE)
    assert not list(tmp_path.iterdir())
