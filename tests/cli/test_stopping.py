"""Commands that write large files, ended by a signal."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ckptplan.checkpoint.writing import sharded
from ckptplan.checkpoint.writing.sharded import ShardedSafetensorsWriter
from ckptplan.checkpoint.writing.signals import held
from ckptplan.checkpoint.writing.single import SafetensorsWriter
from ckptplan.cli.stopping import tidy
from tests.checkpoint.average.folders import save
from tests.cli.harness import environment

SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
ENTRIES = [("w", "uint8", (8,))]


@pytest.fixture(autouse=True)
def not_ignored() -> Iterator[None]:
    """Signals as in a shell, also where the tests run under nohup or behind others."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two checkpoints of 64 MB, which take a while to read and to write."""
    folder = tmp_path_factory.mktemp("two")
    weights = {f"layers.{n}.weight": np.ones((1_000, 1_000), np.float32) for n in range(16)}
    save(folder / "a.safetensors", weights)
    shutil.copy(folder / "a.safetensors", folder / "b.safetensors")
    return [str(folder / "a.safetensors"), str(folder / "b.safetensors")]


def ended(arguments: list[str], number: signal.Signals, after_s: float, out: Path) -> tuple[int, str]:
    """Run a command, and send a signal some time after its file began to be there, or it ended; code and errors."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ckptplan", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    while process.poll() is None and not list(out.iterdir()):
        time.sleep(0.001)
    time.sleep(after_s)
    process.send_signal(number)
    _, err = process.communicate()
    return process.returncode, err.decode()


@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
@pytest.mark.parametrize("command", ["file", "folder", "extract"])
def test_a_signal_at_any_moment_leaves_nothing(
    tmp_path: Path, two: list[str], number: signal.Signals, command: str
) -> None:
    """Ended while it writes, or just when it is done: all of the result and nothing else, or nothing; exit code 130."""
    rng = np.random.default_rng([number, len(command)])
    out = tmp_path / "out"
    out.mkdir()
    target = out / ("mean" if command == "folder" else "mean.safetensors")
    arguments = ["average", *two, "-o", str(target), "--shard-size", "20MB"]
    if command == "extract":
        arguments = ["reshard", two[0], "--extract", str(target)]
    interrupted = 0
    for after_s in (0.0, *rng.uniform(0.0, 0.1, 3)):
        code, err = ended(arguments, number, after_s, out)
        if code == 130:
            interrupted += 1
            assert err.strip().endswith("interrupted")
        else:
            assert (code, target.exists()) in ((0, True), (-number, True)), err  # it had ended, or was just ending
        assert [path.name for path in out.iterdir()] in ([], [target.name])
        if target.exists():
            shutil.rmtree(target) if target.is_dir() else target.unlink()
    assert interrupted, "no signal came while it wrote"


def test_a_writer_that_nobody_holds_leaves_nothing(tmp_path: Path) -> None:
    """Interrupted between its making and its context: what it began goes with it."""
    SafetensorsWriter(tmp_path / "a.safetensors", ENTRIES)
    ShardedSafetensorsWriter(tmp_path / "b", ENTRIES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
def test_a_signal_between_two_renames_waits_for_the_second(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is being replaced is the old one or the new one, never away."""
    out = tmp_path / "mean"
    with ShardedSafetensorsWriter(out, ENTRIES) as writer:
        writer.write("w", 0, b"1" * 8)
        writer.finish()
    rename = Path.rename
    monkeypatch.setattr(Path, "rename", lambda *names: (os.kill(os.getpid(), number), rename(*names))[1])
    with ShardedSafetensorsWriter(out, ENTRIES, overwrite=True) as writer:
        writer.write("w", 0, b"2" * 8)
        with pytest.raises(KeyboardInterrupt), tidy():
            writer.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["mean"]
    assert (out / "model.safetensors").read_bytes().endswith(b"2" * 8)


def test_a_second_signal_does_not_stop_the_removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM again, and Ctrl-C, while shards are removed: they are removed nevertheless."""
    remove = shutil.rmtree

    def slow(*given: object, **more: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        remove(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(sharded.shutil, "rmtree", slow)
    with pytest.raises(KeyboardInterrupt), tidy(), ShardedSafetensorsWriter(tmp_path / "mean", ENTRIES):
        os.kill(os.getpid(), signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_was_held_comes_after() -> None:
    """The steps that hold it are done first; handlers are as before in the end; an ignored signal stays ignored."""
    before = [signal.getsignal(one) for one in SIGNALS]
    steps = []

    def end_and_go_on() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        steps.append("held")

    with pytest.raises(KeyboardInterrupt), tidy(), held():
        end_and_go_on()
    assert steps == ["held"]
    assert [signal.getsignal(one) for one in SIGNALS] == before
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with tidy():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, ignored)
