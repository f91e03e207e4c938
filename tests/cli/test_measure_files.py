"""Files of ``ckptplan measure``: where results go, and measurements and pipes that are read."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from ckptplan.load import load
from ckptplan.measure import folder as own_folders
from tests.cli.harness import Tell
from tests.cli.test_measure import REST, SYNCED, TINY
from tests.readers.storage.samples import dlio, fio, fio_job


def _file(where: Path, text: str, name: str) -> str:
    path = where / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("command", ["storage", "save"])
@pytest.mark.parametrize(
    ("output", "phrase"),
    [
        ("absent/x.json", "there is no folder"),
        ("file/x.json", "there is no folder"),
        ("folder", "it is a directory"),
        ("loop", "Symlink loop|Too many levels"),
    ],
)
def test_a_place_for_the_result_is_looked_for_first(
    tell: Tell, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, output: str, phrase: str
) -> None:
    """A result that cannot be written is said before the first byte, and nothing is made."""

    def measured(*_: object) -> None:
        raise AssertionError("it was measured")

    monkeypatch.setattr(own_folders, "_make", measured)
    place = folder.parent
    (place / "file").touch()
    (place / "folder").mkdir()
    (place / "loop").symlink_to(place / "loop")
    before = sorted(place.rglob("*"))
    told = tell("measure", command, str(folder), *TINY, "-o", str(place / output))
    assert (told.code, told.out) == (2, "")
    assert re.search(f"error: -o .*: ({phrase})", told.err)
    assert sorted(place.rglob("*")) == before


def test_a_node_that_was_all_is_imported_as_all(tell: Tell, folder: Path) -> None:
    """What --whole says is in the document, and is there again when it is imported or named in a spec."""
    target = folder.parent / "measured.json"
    tell("measure", "storage", str(folder), *TINY, "--whole", "-f", "json", "-o", str(target))
    measured = json.loads(target.read_text(encoding="utf-8"))["storage"]["write_bandwidth"]["bytes_per_s"]
    imported = json.loads(tell("measure", "import", str(target), "-f", "json").out)["storage"]
    assert imported["write_bandwidth"]["bytes_per_s"] == pytest.approx(measured)
    spec = _file(folder.parent, f"{REST}save: [{{mode: sharded}}]\nstorage: {{measured: measured.json}}\n", "run.yaml")
    assert load(spec).scenario.storage.write_bandwidth_bytes_per_s == pytest.approx(measured)


def test_a_read_rate_beside_a_given_write_rate(tell: Tell, tmp_path: Path) -> None:
    """A file of reads gives a spec its read rate, with a warning; without any write rate the save has a fault."""
    samples = {"train_io_mean_MB_per_second": 33_870.0}
    _file(tmp_path, dlio(samples, data_size_per_host_GB=100.0, host_memory_GB=[64.0]), "reads.json")
    save = "save: [{mode: sharded}]\n"
    spec = _file(tmp_path, f"{REST}{save}storage: {{measured: reads.json, write_bandwidth: 10 GB/s}}\n", "run.yaml")
    found = load(spec)
    assert found.scenario.storage.read_bandwidth_bytes_per_s == pytest.approx(33_870 * 1024**2)
    assert any("gives no write bandwidth" in warning.message for warning in found.warnings)
    told = tell("optimize", _file(tmp_path, f"{REST}{save}storage: {{measured: reads.json}}\n", "other.yaml"))
    assert told.code == 1
    assert "no write bandwidth" in told.err


def test_import_from_standard_input(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """- is what a program pipes in; nothing, or something else, is said with that name."""
    text = fio(fio_job(40_000_000_000, ms=40_000, options=SYNCED))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    document = json.loads(tell("measure", "import", "-", "-f", "json").out)
    assert document["phases"][0]["file"] == "standard input"
    assert document["storage"]["write_bandwidth_per_node"]["bytes_per_s"] == pytest.approx(1e9)
    for data, phrase in (
        (b"", "standard input: is empty"),
        (b"x", "standard input: is no result"),
        (b" " * 17_000_000, "larger than 16 MB"),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        told = tell("measure", "import", "-")
        assert (told.code, told.out) == (1, "")
        assert phrase in told.err
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in tell("measure", "import", "-").err
