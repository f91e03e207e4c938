"""Whatever is fed in, the program answers with one message and the documented exit code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckptplan.load import shipped_configs
from tests.cli.harness import Ran, ckptplan
from tests.spec.broken import BROKEN
from tests.spec.broken_run import BROKEN_RUN

_LLAMA = next(config.path for config in shipped_configs() if config.name == "llama3-405b")


def check_refusal(ran: Ran, code: int = 1) -> None:
    """One refusal: the right code, nothing on stdout, a message with a remedy, no traceback, no waste."""
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert "hint: " in ran.err
    assert ran.cpu_s < 1.0
    assert ran.peak_bytes < 200_000_000


@pytest.mark.parametrize("row", [*BROKEN, *BROKEN_RUN], ids=lambda row: row.id)
def test_broken_spec(row: object, tmp_path: Path) -> None:
    """A broken spec ends in exit code 1 and a message that names the file."""
    path = tmp_path / "run.yaml"
    path.write_bytes(row.data)  # type: ignore[attr-defined]
    ran = ckptplan("optimize", str(path))
    check_refusal(ran)
    assert "run.yaml" in ran.err


def test_directory(tmp_path: Path) -> None:
    """A directory is not a spec."""
    check_refusal(ckptplan("optimize", str(tmp_path)))


def test_missing_file(tmp_path: Path) -> None:
    """A missing file is named, and the shipped configs are pointed to."""
    ran = ckptplan("optimize", str(tmp_path / "absent.yaml"))
    check_refusal(ran)
    assert "absent.yaml" in ran.err


def test_name_next_to_a_shipped_config() -> None:
    """A mistyped config name is answered with the nearest one."""
    ran = ckptplan("optimize", "llama3-405")
    check_refusal(ran)
    assert "llama3-405b" in ran.err


def test_closed_standard_input() -> None:
    """A dash with a closed standard input is refused."""
    check_refusal(ckptplan("optimize", "-", stdin=None))


def test_empty_standard_input() -> None:
    """A dash with nothing on standard input is refused."""
    check_refusal(ckptplan("optimize", "-", stdin=b""))


def test_unreadable_and_special_files(tmp_path: Path) -> None:
    """A named pipe is refused without waiting for a writer."""
    fifo = tmp_path / "pipe.yaml"
    os.mkfifo(fifo)
    check_refusal(ckptplan("optimize", str(fifo)))


def test_endless_device() -> None:
    """A device without an end is refused within bounded memory."""
    check_refusal(ckptplan("optimize", "/dev/zero"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["optimize"],
        ["optimise", "llama3-405b"],
        ["optimize", "llama3-405b", "--nonsense"],
        ["optimize", "llama3-405b", "--method", "yuong"],
        ["optimize", "llama3-405b", "--interval", "1"],
        ["optimize", "llama3-405b", "--interval", "-5s"],
        ["optimize", "llama3-405b", "--interval", "0s"],
        ["optimize", "llama3-405b", "--interval", "1h30m"],
        ["optimize", "llama3-405b", "--steps", "0"],
        ["optimize", "llama3-405b", "--steps", "1.5"],
        ["optimize", "llama3-405b", "--gpus", "many"],
        ["optimize", "llama3-405b", "--gpus", "1024,,2048"],
        ["optimize", "llama3-405b", "--gpus", "0"],
        ["optimize", "llama3-405b", "--strategy", "async"],
        ["optimize", "llama3-405b", "--for", "megatorn"],
        ["optimize", "llama3-405b", "--for", "megatron", "-q"],
        ["optimize", "llama3-405b", "--fail-under", "90"],
        ["optimize", "llama3-405b", "--gpu-hour-price", "-1"],
        ["optimize", "llama3-405b", "--format", "xml"],
        ["methods", "dally"],
        ["spec", "schema", "plam"],
        ["spec"],
    ],
    ids=" ".join,
)
def test_usage_errors(arguments: list[str]) -> None:
    """A wrong command line ends in exit code 2, and no number is printed."""
    ran = ckptplan(*arguments)
    assert ran.code == 2, ran.err
    assert "Traceback" not in ran.err
    assert "goodput" not in ran.out


@pytest.mark.parametrize(
    ("setting", "phrase"),
    [
        ("cluster.gpus", "KEY=VALUE"),
        ("cluster.gpuz=5", "gpus"),
        ("cluster.gpus=-5", "cluster.gpus"),
        ("save[7].stall=5 s", "save"),
        ("save[nobody].stall=5 s", "nobody"),
        ("save[0].stall=5", "unit"),
        ("storage.write_bandwidth=10 Gb/s", "Gbit/s"),
        ("cluster.gpus=[1", "--set"),
        ("=5", "--set"),
    ],
)
def test_wrong_settings_are_refused_like_the_spec(setting: str, phrase: str) -> None:
    """--set has the parser and the errors of the spec."""
    ran = ckptplan("optimize", str(_LLAMA), "--set", setting)
    check_refusal(ran)
    assert phrase in ran.err


def test_all_faults_of_a_file_in_one_run(tmp_path: Path) -> None:
    """Three faults in three groups are reported together, each with its line."""
    path = tmp_path / "run.yaml"
    text = _LLAMA.read_text(encoding="utf-8")
    text = text.replace("gpus_per_node: 8", "gpus_per_node: eight").replace("2 TB/s", "2 TB").replace("5 s,", "5,")
    path.write_text(text, encoding="utf-8")
    ran = ckptplan("spec", "check", str(path))
    check_refusal(ran)
    for key in ("cluster.gpus_per_node", "storage.write_bandwidth", "training.step_time"):
        assert key in ran.err


def test_output_is_whole_or_absent(tmp_path: Path) -> None:
    """A result that cannot be written leaves nothing behind, and an old file as it was."""
    target = tmp_path / "plan.json"
    target.write_text("old", encoding="utf-8")
    ran = ckptplan("optimize", "llama3-405b", "--set", "cluster.gpus=0", "-o", str(target))
    assert ran.code == 1
    assert target.read_text(encoding="utf-8") == "old"
    check_refusal(ckptplan("optimize", "llama3-405b", "-o", str(tmp_path / "absent" / "plan.json")), 2)
    check_refusal(ckptplan("optimize", "llama3-405b", "-o", str(tmp_path)), 2)
    assert [p.name for p in tmp_path.iterdir()] == ["plan.json"]
    assert ckptplan("optimize", "llama3-405b", "-q", "-o", str(target)).code == 0
    assert target.read_text(encoding="utf-8").strip().isdecimal()
