"""``ckptplan measure`` as its users see it; no number here depends on how fast the machine is."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from ckptplan.errors import InputError
from ckptplan.measure.folder import PREFIX
from ckptplan.measure.host import HostMemory
from ckptplan.measure.setting import Setting
from ckptplan.render.schemas import output_schema
from ckptplan.spec.reading import read_spec
from tests.cli.harness import Tell, environment
from tests.cli.test_startup import loaded
from tests.readers.storage.samples import IOR_TABLE, dlio, fio, fio_job

REST = """
model: {parameters: 1e9, state: adam-14}
cluster: {gpus: 64, gpus_per_node: 4}
failures: {mtbf: 200 h}
training: {step_time: 5 s}
restart: {total: 10 min}
"""
SPEC = f"name: run\n{REST}save: [{{mode: asynchronous}}]\nstorage: {{write_bandwidth: 10 GB/s}}\n"
TINY = ("--size", "20kB", "--writers", "2", "--block", "4KiB", "--repeat", "2")
SYNCED = {"end_fsync": "1"}
SMALL_STATES = 1000 + 64 * (
    1000 + 10_104 + 1
)  # bytes: scheduler; data position, random numbers and scaler of each rank


def _file(where: Path, text: str, name: str = "result.json") -> str:
    path = where / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def block_of(out: str) -> str:
    """The block that a report ends with, as it is printed."""
    return out.partition("To paste into the spec:\n\n")[2]


def test_storage_ends_with_a_block_that_a_spec_takes(tell: Tell, folder: Path) -> None:
    """The report names place and method, and its block is read without a fault; one node says nothing of all."""
    told = tell("measure", "storage", str(folder), *TINY)
    assert told.code == 0, told.err
    assert "2 writers, 20 kB each" in told.out
    assert "\nstorage:\n" in told.out
    assert "sustained write" in told.out
    assert "read back: " in told.out
    spec = read_spec(f"{REST}save: [{{mode: sharded, stall: 5 s}}]\n{block_of(told.out)}".encode(), "run.yaml")
    storage = spec.scenario.storage
    assert storage.write_bandwidth_bytes_per_s is None
    assert storage.write_bandwidth_per_node_bytes_per_s == pytest.approx(
        2 * (storage.write_bandwidth_per_writer_bytes_per_s or 0.0), rel=2e-3
    )
    assert list(folder.iterdir()) == []


def test_a_node_that_is_all_of_the_job_gives_the_aggregate(tell: Tell, folder: Path) -> None:
    """With --whole, or a spec of one node, write_bandwidth is in the block."""
    assert "  write_bandwidth: " in tell("measure", "storage", str(folder), *TINY, "--whole").out
    one_node = _file(folder.parent, SPEC.replace("gpus: 64", "gpus: 4"), "run.yaml")
    told = tell("measure", "storage", str(folder), "--spec", one_node, *TINY)
    assert "  write_bandwidth: " in told.out


def test_storage_as_json(tell: Tell, folder: Path) -> None:
    """The document follows its schema, and has the figures of the block in full."""
    told = tell("measure", "storage", str(folder), *TINY, "-f", "json")
    document = json.loads(told.out)
    jsonschema.validate(document, output_schema("storage"))
    assert document["setting"]["writers"] == 2
    assert document["setting"]["size_bytes"] == 20_000
    node = document["figures"][0]
    assert document["storage"]["write_bandwidth_per_node"]["bytes_per_s"] == node["mean_bytes_per_s"]
    assert document["block"].startswith("storage:\n")


def test_a_writer_is_the_node_over_its_writers(tell: Tell, folder: Path) -> None:
    """Every figure of a writer is that of the node over two, as the block has it."""
    document = json.loads(tell("measure", "storage", str(folder), *TINY, "-f", "json").out)
    figures = {(row["figure"], row["of"]): row for row in document["figures"]}
    for name in ("sustained write", "burst write", "read"):
        node, writer = figures[name, "node"], figures[name, "writer"]
        for key in ("mean_bytes_per_s", "sd_bytes_per_s", "min_bytes_per_s", "max_bytes_per_s"):
            assert writer[key] == pytest.approx(node[key] / 2)
        assert (writer["count"], writer["cv"]) == (node["count"], pytest.approx(node["cv"]))
    of_block = document["storage"]["write_bandwidth_per_writer"]["bytes_per_s"]
    assert figures["sustained write", "writer"]["mean_bytes_per_s"] == pytest.approx(of_block)


def test_one_writer_is_one(tell: Tell, folder: Path) -> None:
    """One writer has no "each", and one shard is a shard."""
    one = ("--size", "20kB", "--writers", "1", "--block", "4KiB", "--repeat", "1")
    assert "1 writer, 20 kB in blocks" in tell("measure", "storage", str(folder), *one).out
    assert "1 writer, a shard of 20 kB in" in tell("measure", "save", str(folder), *one).out


def test_what_is_not_known_of_a_save_is_not_shown(tell: Tell, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow-down that too short flushes do not tell has no row for people; the document says that it is null."""
    monkeypatch.setattr("ckptplan.measure.saving._FEWEST_BESIDE", 10**9)
    told = tell("measure", "save", str(folder), *TINY)
    assert "step outside" in told.out
    assert "step while flushing" not in told.out
    assert "training speed while flushing" not in told.out
    document = json.loads(tell("measure", "save", str(folder), *TINY, "-f", "json").out)
    figures = {row["figure"]: row["mean"] for row in document["figures"]}
    assert figures["training_speed_while_flushing"] is None


def test_a_save_without_a_spec_is_for_its_own_bytes(tell: Tell, folder: Path) -> None:
    """The document names the bytes that were measured, and the block says that its times are for these."""
    document = json.loads(tell("measure", "save", str(folder), *TINY, "-f", "json").out)
    assert document["planned_size_bytes"] == document["setting"]["size_bytes"] == 20_000
    assert "this is for 20 kB of each writer" in document["block"]
    assert "\n    flush:" not in document["block"]


def test_a_size_that_does_not_fit_is_said_at_the_start(
    tell: Tell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is measured instead of 1 TB by each writer is noted on standard error, once, also beside a CSV."""
    monkeypatch.setattr("ckptplan.measure.saving.host_memory", lambda: HostMemory(1e8, 1e8, 2e7))
    arguments = ("--size", "1TB", "--writers", "2", "--block", "1MiB", "--repeat", "1", "-f", "csv")
    told = tell("measure", "save", str(folder), *arguments)
    assert told.code == 0, told.err
    assert told.err.startswith("note: only 5.984 MB per writer fit, and 5.984 MB are measured, not 1 TB: ")
    assert told.err.count("per writer fit") == 1


def test_a_save_without_size_and_spec_is_modest(tell: Tell, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """8 writers of 256 MiB: shards and buffers take 4 GiB of memory."""
    asked: list[Setting] = []

    def measured(_folder: str, setting: Setting, *_: object, **__: object) -> None:
        asked.append(setting)
        raise InputError("enough")

    monkeypatch.setattr("ckptplan.measure.saving.measure_saving", measured)
    tell("measure", "save", str(folder))
    assert (asked[0].writers, asked[0].size_bytes) == (8, 256 << 20)


def test_import_says_what_stands_means(tell: Tell, tmp_path: Path) -> None:
    """The heading explains the column, and a write that nobody flushed does not stand, also in its block."""
    told = tell("measure", "import", _file(tmp_path, IOR_TABLE.replace(" -e ", " "), "ior.txt"), "-f", "csv")
    assert next(csv.DictReader(io.StringIO(told.out)))["stands"] == "false"
    assert "upper bound" in told.err
    told = tell("measure", "import", _file(tmp_path, IOR_TABLE.replace(" -e ", " "), "ior.txt"))
    assert "stands: it is known to be a rate of storage, not of memory" in told.out
    assert "# not known to be flushed" in block_of(told.out)


def test_storage_as_csv_and_markdown(tell: Tell, folder: Path) -> None:
    """CSV has one row per figure, and its notes on standard error; Markdown has the block as YAML."""
    told = tell("measure", "storage", str(folder), *TINY, "-f", "csv", "--no-read")
    rows = list(csv.DictReader(io.StringIO(told.out)))
    assert [(row["figure"], row["of"]) for row in rows] == [
        ("sustained write", "node"),
        ("sustained write", "writer"),
        ("burst write", "node"),
        ("burst write", "writer"),
    ]
    assert "warning: a repetition took" in told.err
    told = tell("measure", "storage", str(folder), *TINY, "-f", "markdown")
    assert "```yaml\nstorage:\n" in told.out


def test_a_spec_gives_writers_and_size(tell: Tell, folder: Path) -> None:
    """A node of the spec has 4 GPUs; --size is the most that each of them writes."""
    spec = _file(folder.parent, SPEC, "run.yaml")
    told = tell("measure", "storage", str(folder), "--spec", spec, "--size", "20kB", "--repeat", "1", "-f", "json")
    setting = json.loads(told.out)["setting"]
    assert (setting["writers"], setting["size_bytes"]) == (4, 20_000)
    small = tell(
        "measure",
        "storage",
        str(folder),
        "--spec",
        spec,
        "--set",
        "model.parameters=1e4",
        "--repeat",
        "1",
        "-f",
        "json",
    )
    assert json.loads(small.out)["setting"]["size_bytes"] == round((1e4 * 14 + SMALL_STATES) / 64)


def test_a_result_in_a_file(tell: Tell, folder: Path) -> None:
    """-o writes the document, and nothing to standard output."""
    target = folder.parent / "measured.json"
    told = tell("measure", "storage", str(folder), *TINY, "-f", "json", "-o", str(target))
    assert (told.code, told.out) == (0, "")
    assert json.loads(target.read_text(encoding="utf-8"))["schema"] == "ckptplan.storage/1"


def test_save_against_its_forecast(tell: Tell, folder: Path) -> None:
    """Stall and flush with forecast and spec, and a block that a spec takes, scaled to the planned shard."""
    spec = _file(folder.parent, SPEC, "run.yaml")
    arguments = ("measure", "save", str(folder), "--spec", spec, "--size", "20kB", "--block", "4KiB")
    told = tell(*arguments, "-f", "json")
    assert told.code == 0, told.err
    document = json.loads(told.out)
    jsonschema.validate(document, output_schema("saving"))
    figures = {figure["figure"]: figure for figure in document["figures"]}
    planned = (1e9 * 14 + SMALL_STATES) / 64
    assert document["planned_size_bytes"] == pytest.approx(planned)
    assert figures["flush"]["spec"] == pytest.approx(64 * planned / 10e9 * 20e3 / planned)
    stall, flush = figures["stall"], figures["flush"]
    assert stall["difference"] == pytest.approx(stall["mean"] / stall["forecast"] - 1.0)
    read = read_spec((REST + document["block"]).encode(), "run.yaml").scenario.saves[0]
    assert read.flush_s == pytest.approx(flush["mean"] * planned / 20e3, rel=1e-3)
    assert read.stall_s is None  # of a copy within host memory
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("format_", ["table", "csv", "markdown"])
def test_save_in_other_formats(tell: Tell, folder: Path, format_: str) -> None:
    """Every format has stall and flush, and says that no GPU took part."""
    told = tell("measure", "save", str(folder), *TINY, "-f", format_)
    assert told.code == 0, told.err
    assert "stall" in told.out
    assert "flush" in told.out
    assert "no GPU took part" in told.out + told.err


def test_import_gives_one_block(tell: Tell, tmp_path: Path) -> None:
    """Files of several programs: every phase, what to doubt, and one block that a spec takes."""
    files = [
        _file(tmp_path, fio(fio_job(5_000_000_000, ms=5_000, options=SYNCED))),
        _file(tmp_path, IOR_TABLE, "ior.txt"),
        _file(tmp_path, dlio({"train_io_mean_MB_per_second": 33_870.0}), "summary.json"),
    ]
    told = tell("measure", "import", *files)
    assert told.code == 0, told.err
    assert "too short: 5 s of writing" in told.out
    spec = read_spec(f"{REST}save: [{{mode: sharded}}]\n{block_of(told.out)}".encode(), "run.yaml")
    assert spec.scenario.storage.write_bandwidth_bytes_per_s == pytest.approx(40_000 * 1024**2, rel=1e-3)
    assert spec.scenario.storage.write_bandwidth_per_node_bytes_per_s == pytest.approx(10_000 * 1024**2, rel=1e-3)
    assert spec.scenario.storage.read_bandwidth_bytes_per_s is None


def test_what_was_measured_can_be_imported(tell: Tell, folder: Path) -> None:
    """The document of a measurement gives the rates of its own block."""
    target = folder.parent / "measured.json"
    tell("measure", "storage", str(folder), *TINY, "-f", "json", "-o", str(target))
    measured = json.loads(target.read_text(encoding="utf-8"))["storage"]
    imported = json.loads(tell("measure", "import", str(target), "-f", "json").out)
    jsonschema.validate(imported, output_schema("benchmarks"))
    for key in ("write_bandwidth_per_node", "write_bandwidth_per_writer"):
        assert imported["storage"][key]["bytes_per_s"] == pytest.approx(measured[key]["bytes_per_s"])
        assert imported["storage"][key]["cv"] == pytest.approx(measured[key]["cv"])
    assert "write_bandwidth" not in imported["storage"]


def test_import_as_json_csv_and_markdown(tell: Tell, tmp_path: Path) -> None:
    """The document follows its schema; CSV has one row per phase."""
    file = _file(tmp_path, IOR_TABLE, "ior.txt")
    document = json.loads(tell("measure", "import", file, "-f", "json").out)
    jsonschema.validate(document, output_schema("benchmarks"))
    assert [phase["access"] for phase in document["phases"]] == ["write", "read"]
    rows = list(csv.DictReader(io.StringIO(tell("measure", "import", file, "-f", "csv").out)))
    assert [row["stands"] for row in rows] == ["true", "false"]
    assert "```yaml\nstorage:" in tell("measure", "import", file, "-f", "markdown").out


def test_import_without_a_rate_of_use_exits_1(tell: Tell, tmp_path: Path) -> None:
    """Read rates out of the page cache give no block: the phases are shown, and the exit code says so."""
    told = tell("measure", "import", _file(tmp_path, dlio({"train_io_mean_MB_per_second": 5.0})))
    assert told.code == 1
    assert "train samples" in told.out
    assert "To paste" not in told.out
    assert "error: no write rate" in told.err


def test_import_names_all_files_that_cannot_be_read(tell: Tell, tmp_path: Path) -> None:
    """Two broken files are reported in one run, and nothing is printed."""
    told = tell(
        "measure", "import", _file(tmp_path, "x", "a.json"), str(tmp_path / "absent"), _file(tmp_path, IOR_TABLE)
    )
    assert told.code == 1
    assert told.out == ""
    assert "a.json" in told.err
    assert "absent" in told.err


@pytest.mark.parametrize(
    ("arguments", "code", "phrase"),
    [
        (["storage"], 2, "FOLDER"),
        (["storage", "{absent}"], 1, "no such folder"),
        (["storage", ""], 1, "the name of the folder is empty"),
        (["save", ""], 1, "the name of the folder is empty"),
        (["storage", "{file}"], 1, "not a folder"),
        (["storage", "{folder}", "--size", "many"], 2, "--size many"),
        (["storage", "{folder}", "--size", "8"], 2, "no unit"),
        (["storage", "{folder}", "--size", "0B"], 2, "between one byte and 1 PB"),
        (["storage", "{folder}", "--size", "2EB"], 2, "between one byte and 1 PB"),
        (["storage", "{folder}", "--size", "8 Gb"], 2, "Gb"),
        (["storage", "{folder}", "--writers", "0"], 2, "--writers"),
        (["storage", "{folder}", "--writers", "1025"], 2, "--writers"),
        (["storage", "{folder}", "--block", "1kB"], 2, "multiple of 4 KiB"),
        (["storage", "{folder}", "--block", "5kB"], 2, "multiple of 4 KiB"),
        (["storage", "{folder}", "--block", "2GiB"], 2, "multiple of 4 KiB"),
        (["storage", "{folder}", "--block", "x"], 2, "--block x"),
        (["storage", "{folder}", "--repeat", "0"], 2, "--repeat"),
        (["storage", "{folder}", "--repeat", "x"], 2, "--repeat"),
        (["storage", "{folder}", "--with", "dd"], 2, "--with"),
        (["storage", "{folder}", "--with", "fio", "--drop-caches"], 2, "exclude each other"),
        (["storage", "{folder}", "--spec", "llama3-405"], 1, "llama3-405b"),
        (["storage", "{folder}", "--set", "cluster.gpus=8"], 2, "--set needs --spec"),
        (["storage", "{folder}", "--spec", "llama3-405b", "--set", "cluster.gpuz=8"], 1, "gpus"),
        (["storage", "{folder}", "--format", "xml"], 2, "--format"),
        (["save"], 2, "FOLDER"),
        (["save", "{absent}"], 1, "no such folder"),
        (["save", "{folder}", "--size", "-1GB"], 2, "--size"),
        (["save", "{folder}", "--device", "tpu"], 2, "--device"),
        (["save", "{folder}", "--writers", "x"], 2, "--writers"),
        (["save", "{folder}", "--block", "0B"], 2, "multiple of 4 KiB"),
        (["import"], 2, "FILE"),
        (["import", "{absent}"], 1, "no such file"),
        (["import", "{folder}"], 1, "is a folder"),
        (["import", "/dev/zero"], 1, "is a device"),
        (["import", "{file}"], 1, "is empty"),
        (["import", "{ior}", "-o", "{ior}"], 2, "overwrite a file to import"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_arguments(tell: Tell, tmp_path: Path, arguments: list[str], code: int, phrase: str) -> None:
    """Every wrong argument ends in one message and the documented exit code, and leaves nothing."""
    places = {"absent": "absent", "file": "file", "folder": "folder", "ior": "ior.txt"}
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "ior.txt").write_text(IOR_TABLE, encoding="utf-8")
    told = tell("measure", *(a.format(**{k: str(tmp_path / v) for k, v in places.items()}) for a in arguments))
    assert (told.code, told.out) == (code, "")
    assert phrase in told.err
    assert "hint: " in told.err
    assert "Traceback" not in told.err
    assert list((tmp_path / "folder").iterdir()) == []


def _wait_for(found: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait until something is there; a process that ended before is an error."""
    while not found():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


@pytest.mark.parametrize("command", [["storage"], ["save"], ["storage", "--with", "fio"]], ids=" ".join)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda value: value.name)
def test_a_signal_in_the_middle_of_writing(tmp_path: Path, command: list[str], number: signal.Signals) -> None:
    """Ended while it writes, it leaves the folder as it was, other files untouched, and exits 130."""
    if "fio" in command and not _has_fio():
        pytest.skip("fio is not installed")
    (tmp_path / "other").write_bytes(b"kept")
    verb, *options = command
    arguments = ["measure", verb, str(tmp_path), "--size", "8MB", "--writers", "2", "--repeat", "1000", *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "ckptplan", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    _wait_for(lambda: any(path.stat().st_size for path in _shards(tmp_path)), process)
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert out == b""
    assert err.decode().strip() == "interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert (tmp_path / "other").read_bytes() == b"kept"


def _has_fio() -> bool:
    import shutil

    return shutil.which("fio") is not None


def _shards(folder: Path) -> list[Path]:
    """Files of a running measurement; one that vanishes meanwhile is not there."""
    found = []
    for path in folder.glob(f"{PREFIX}*/*"):
        try:
            path.stat()
        except FileNotFoundError:
            continue
        found.append(path)
    return found


def test_a_full_file_system_is_one_sentence(tmp_path: Path) -> None:
    """A limit of the size of files stands in for a full disk: one message, exit code 1, nothing left."""
    command = f"ulimit -f 8; exec {sys.executable} -m ckptplan measure storage {tmp_path} --size 1MB --writers 1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env=environment(), check=False, executable="/bin/bash"
    )
    assert done.returncode == 1
    assert re.search("files may not be as large there", done.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(tell: Tell, folder: Path) -> None:
    """A folder without permission is refused before anything is written."""
    folder.chmod(0o500)
    told = tell("measure", "storage", str(folder), *TINY)
    folder.chmod(0o700)
    assert told.code == 1
    assert "may not be written" in told.err


@pytest.mark.parametrize("command", ["storage", "save", "import"])
def test_help_loads_no_heavy_library(command: str) -> None:
    """Help loads neither numpy nor rich."""
    assert loaded(["measure", command, "--help"], ("numpy", "scipy", "pydantic", "yaml", "rich", "torch")) == []


def test_torch_is_not_looked_for(folder: Path) -> None:
    """A save from host memory does not import torch."""
    assert loaded(["measure", "save", str(folder), *TINY, "-f", "csv"], ("torch",)) == []
