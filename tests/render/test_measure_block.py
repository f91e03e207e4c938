"""Blocks to paste: keys, spreads, comments; every one is read by the reader of specs."""

from __future__ import annotations

import pytest

from ckptplan.measure.figures import StorageFigures
from ckptplan.measure.forecasts import Forecast
from ckptplan.measure.host import FileSystem, HostMemory
from ckptplan.measure.reading import Past
from ckptplan.measure.repeats import Repeats
from ckptplan.measure.saving import SavingMeasured
from ckptplan.measure.setting import Setting
from ckptplan.measure.storage import StorageMeasured
from ckptplan.render.measure_block import Block, Figure, imported_block, measured_block, saving_block
from ckptplan.spec.reading import Spec, read_spec

REST = """
name: run
model: {parameters: 1e9, state: adam-14}
cluster: {gpus: 64, gpus_per_node: 8}
failures: {mtbf: 200 h}
training: {step_time: 5 s}
restart: {total: 10 min}
"""
MEASURED = StorageMeasured(
    folder="/mnt/checkpoints",
    by="ckptplan",
    setting=Setting(8, 10**9, 1 << 24, 3),
    file_system=FileSystem("lustre", "mds:/fs", "/mnt"),
    memory=HostMemory(1e12, 9e11, 1.8e11),
    sustained=Repeats((7e9, 8e9, 9e9)),
    burst=Repeats((2e10, 2e10, 2e10)),
    writers=Repeats((1e9,) * 24),
    seconds=Repeats((1.1, 1.0, 0.9)),
    read=Repeats((6e9, 6e9, 6e9)),
    past=Past.DROPPED,
    notes=(),
)
SAVED = SavingMeasured(
    folder="/mnt/checkpoints",
    device="8 GPUs (X100)",
    is_gpu=True,
    setting=Setting(8, 10**9, 1 << 24, 3),
    file_system=FileSystem("lustre", "mds:/fs", "/mnt"),
    memory=HostMemory(1e12, 9e11, 1.8e11),
    copy=Repeats((2e10,)),
    write=Repeats((8e9,)),
    stall=Repeats((0.05, 0.05)),
    flush=Repeats((0.9, 1.1)),
    step_outside=Repeats((0.01, 0.01)),
    step_beside=Repeats((0.0125, 0.0125)),
    speed=Repeats((0.8, 0.8)),
    forecast=Forecast(0.05, 1.0),
    notes=(),
)
FIGURES = StorageFigures(1e9, 8e9, 3.2e10, None, 6.4e10, 0.05, None, (32, 4), (32, 4), (), ())


def _said(text: str) -> str:
    """The comments of a block, each unwrapped."""
    return "\n".join(line.strip() for line in text.splitlines() if "#" in line).replace("\n#   ", " ")


def _spec(storage: str = "", save: str = "save: [{mode: sharded, stall: 1 s}]\n") -> Spec:
    return read_spec(f"{REST}{storage}{save}".encode(), "run.yaml")


def test_one_node_gives_its_own_rates_only() -> None:
    """Node and writer with their scatter; the aggregate rates are named as missing, and reading is a comment."""
    block = measured_block(MEASURED, whole=False)
    assert set(block.keys) == {"write_bandwidth_per_node", "write_bandwidth_per_writer"}
    assert "write_bandwidth_per_node: {mean: 8 GB/s, cv: 0.12}" in block.text
    assert "# this node read 6 GB/s; read_bandwidth is that of all nodes together" in _said(block.text)
    storage = _spec(block.text).scenario.storage
    assert storage.write_bandwidth_per_node_bytes_per_s == 8e9
    assert storage.write_bandwidth_per_writer_bytes_per_s == 1e9


def test_a_node_that_is_all_gives_all() -> None:
    """Aggregate, peak and read bandwidth are in the block, and are read by a spec."""
    direct = MEASURED._replace(setting=MEASURED.setting._replace(direct=True))
    storage = _spec(measured_block(direct, whole=True).text).scenario.storage
    assert storage.write_bandwidth_bytes_per_s == 8e9
    assert storage.peak_write_bandwidth_bytes_per_s == 2e10
    assert storage.read_bandwidth_bytes_per_s == 6e9


def test_a_burst_that_memory_took_is_no_peak() -> None:
    """8 GB that the page cache may hold unwritten say nothing of a peak of storage: a comment says so instead."""
    block = measured_block(MEASURED, whole=True)
    assert "peak_write_bandwidth" not in block.keys
    assert "# no peak_write_bandwidth: the burst of 20 GB/s is what memory took" in _said(block.text)
    assert _spec(block.text).scenario.storage.peak_write_bandwidth_bytes_per_s is None


def test_comments_fit_a_narrow_screen() -> None:
    """No comment is wider than 60 columns, and every line of one is a comment."""
    storage = measured_block(MEASURED, whole=False).text
    saves = saving_block(SAVED._replace(is_gpu=False, file_system=FileSystem("tmpfs")), 5e10)
    for text in (storage, saves, imported_block(FIGURES._replace(write_is_upper_bound=True)).text):
        assert max(map(len, text.splitlines())) <= 60
        assert any(line.startswith("  #   ") for line in text.splitlines())
        _spec(text) if text.startswith("storage") else _spec(save=text)


def test_a_rate_of_the_page_cache_is_in_no_block() -> None:
    """Reading that could not go past the cache is left out altogether."""
    block = measured_block(MEASURED._replace(past=Past.CACHE), whole=True)
    assert "read" not in block.text


def test_memory_is_called_memory() -> None:
    """Beside figures of a tmpfs stands what they are."""
    block = measured_block(MEASURED._replace(file_system=FileSystem("tmpfs")), whole=False)
    assert "  # tmpfs: this is memory, not storage\n" in block.text
    assert _spec(block.text).warnings == ()


def test_a_comment_cannot_break_the_block() -> None:
    """A line break in a comment does not begin a key."""
    text = Block({"write_bandwidth": Figure(1e9)}, ("odd\nread_bandwidth: 1 TB/s",)).text
    assert _spec(text).scenario.storage.read_bandwidth_bytes_per_s is None


@pytest.mark.parametrize(
    ("cv", "text"), [(None, "1 GB/s"), (0.004, "1 GB/s"), (0.005, "cv: 0.005"), (0.123, "cv: 0.12"), (11.0, "1 GB/s")]
)
def test_scatter_that_changes_nothing_is_left_out(cv: float | None, text: str) -> None:
    """A scatter below half a percent, or beyond what a spec takes, does not stand in the block."""
    block = Block({"write_bandwidth": Figure(1e9, cv)}).text
    assert block.rstrip().endswith((text, text + "}"))
    assert _spec(block).scenario.storage.write_bandwidth_bytes_per_s == 1e9


def test_imported_figures() -> None:
    """Keys of what is known, with who wrote and read; nothing known gives no block."""
    block = imported_block(FIGURES)
    assert "# 32 writers on 4 nodes at one time" in block.text
    assert "# 32 readers on 4 nodes at one time" in block.text
    storage = _spec(block.text).scenario.storage
    assert storage.write_bandwidth_bytes_per_s == 3.2e10
    assert storage.read_bandwidth_bytes_per_s == 6.4e10
    nothing = FIGURES._replace(**dict.fromkeys(FIGURES._fields[:5]))
    assert imported_block(nothing).text == ""
    one_node = nothing._replace(read_bandwidth_per_node_bytes_per_s=5e9, write_bandwidth_per_node_bytes_per_s=1e9)
    assert "# one node read 5 GB/s" in imported_block(one_node).text


def test_writes_that_nobody_flushed_are_marked_in_the_block() -> None:
    """Beside the keys stands that they are an upper bound; flushed ones need no word."""
    marked = "# not known to be flushed: the writes may be in the page cache of the node, an upper bound"
    assert marked in _said(imported_block(FIGURES._replace(write_is_upper_bound=True)).text)
    assert marked not in _said(imported_block(FIGURES).text)


def test_a_save_is_scaled_to_the_plan() -> None:
    """Measured with 1 GB, planned with 3 GB: times are three times as long, the speed is the same."""
    text = saving_block(SAVED, 3e9)
    save = _spec(save=text).scenario.saves[0]
    assert (save.stall_s, save.flush_s) == pytest.approx((0.15, 3.0))
    assert save.training_speed_while_flushing == 0.8
    assert "# times scaled from 1 GB of each writer, as measured, to 3 GB" in _said(text)
    assert "the flush of one node by itself" in _said(text)
    assert "caution" not in text


def test_a_save_scaled_far_is_cautioned() -> None:
    """More than ten times the bytes that were measured may end in no buffer."""
    assert "caution" not in saving_block(SAVED, 1e10)
    text = saving_block(SAVED, 5e10)
    assert "# caution: 50 times what was measured, in a flush of 1 s" in _said(text)


def test_a_save_without_a_plan_has_its_times_as_comments() -> None:
    """Times of 1 GB are none of other shards: pasted beside a plan they set no key, and comments say what they are."""
    text = saving_block(SAVED, None)
    save = _spec("storage: {write_bandwidth: 10 GB/s}\n", text).scenario.saves[0]
    assert (save.stall_s, save.flush_s) == (None, None)
    assert save.training_speed_while_flushing == 0.8
    assert "# flush: {mean: 1 s, cv: 0.14}\n" in _said(text)
    assert "# stall: 0.05 s\n" in _said(text)
    assert "# this is for 1 GB of each writer, as measured, and no key; give --spec" in _said(text)


def test_a_save_of_all_on_gpus_needs_no_comment() -> None:
    """On GPUs, of the planned bytes, by the only node, nothing must be said."""
    assert "#" not in saving_block(SAVED, 1e9, whole=True)


def test_a_copy_within_host_memory_is_no_stall() -> None:
    """Where no GPU took part the stall is a comment, and a plan computes it from the link of the GPU."""
    text = saving_block(SAVED._replace(is_gpu=False), 1e9)
    assert "# no stall: measured was a copy within host memory (0.05 s)" in _said(text)
    save = _spec(save=text).scenario.saves[0]
    assert (save.stall_s, save.flush_s) == (None, pytest.approx(1.0))


def test_an_unknown_slow_down_is_left_out() -> None:
    """Where the speed is not known, the key is missing."""
    text = saving_block(SAVED._replace(speed=None), 1e9)
    assert "training_speed" not in text
    assert _spec(save=text).scenario.saves[0].training_speed_while_flushing is None
