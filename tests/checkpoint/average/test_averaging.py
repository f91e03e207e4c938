"""The mean of whole checkpoints: of every format, of other layouts, and what is refused."""

import hashlib
import os
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.average import averaging, running
from ckptplan.checkpoint.average.averaging import average
from ckptplan.checkpoint.average.matching import Choice
from ckptplan.checkpoint.average.rates import rate_of
from ckptplan.checkpoint.average.weighting import given, uniform
from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, File, Flaw, Manifest
from ckptplan.errors import InputError
from tests.checkpoint.archives.torch_zip import Storage, saved, tensor
from tests.checkpoint.average.folders import load, numpy_type, save, sharded
from tests.checkpoint.average.test_blocks import flat, grid
from tests.checkpoint.shared_fixtures import NAMES, folder_of, truth_of, whole

K = StateKind
DAMAGED = {
    "dcp-corrupt-metadata", "dcp-malicious-metadata", "dcp-malicious-variants", "dcp-missing-file",
    "dcp-strided-uneven-4x2", "dcp-truncated", "dcp-uncommitted", "deepspeed-zero2-missing-rank", "orbax-uncommitted",
    "safetensors-bad-headers",
}  # fmt: skip


def arrays(seed: int, dtype: str = "float32") -> dict[str, Any]:
    """A small model; `seed` is its place in the run."""
    rng, noise = np.random.default_rng(0), np.random.default_rng(seed)
    shapes = {"a.weight": (11, 6, 5), "b.weight": (300,), "c": (), "none": (0, 4)}
    moved = {name: rng.standard_normal(shape) + 0.01 * noise.standard_normal(shape) for name, shape in shapes.items()}
    return {name: np.asarray(value).astype(numpy_type(dtype)) for name, value in moved.items()}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DAMAGED] or ["absent"])
def test_every_format_averaged_with_itself_is_itself(tmp_path: Path, name: str) -> None:
    """Digests are those of the library of the format; the rounded mean of fp32 masters is the stored parameter."""
    truth = truth_of(name)
    one, two = read_manifest(folder_of(name)), read_manifest(folder_of(name))
    done = average([one, two], tmp_path / "mean.safetensors", uniform)
    result = read_manifest(tmp_path / "mean.safetensors")
    digests = {t.key: hashlib.sha256(result.source.read(t, 0).tobytes()).hexdigest() for t in result.tensors}
    assert len(done.ran) == len(digests) > 0
    parameters = {t.key: t for t in one.tensors if t.kind in (K.PARAMETER, K.BUFFER)}
    for ran in done.ran:
        stored = ran.matched.tensors[-1]
        if ran.matched.from_masters and parameters:
            stored = next(t for key, t in parameters.items() if key.endswith(ran.matched.name))
        expected = (
            truth.get("tensors", {}).get(stored.key, {}).get("sha256") or hashlib.sha256(whole(one, stored)).hexdigest()
        )
        assert digests[ran.matched.name] == expected, ran.matched.name
    wanted = parameters or {t.key: t for t in one.tensors if t.kind is K.MASTER}
    assert len(digests) == len(wanted)
    assert not Path("CKPTPLAN_PICKLE_EXECUTED").exists()


@pytest.mark.parametrize("name", sorted(DAMAGED & set(NAMES)) or ["absent"])
def test_damaged_checkpoints_are_refused_and_leave_nothing(tmp_path: Path, name: str) -> None:
    """Those whose parameters are not all there, or whose save never ended."""
    truth_of(name)
    with pytest.raises(InputError):
        average([read_manifest(folder_of(name))] * 2, tmp_path / "mean.safetensors", uniform)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_moment_does_not_matter(tmp_path: Path) -> None:
    """Parameters are averaged although a moment's shard leaves its tensor."""
    truth_of("dcp-overlapping-chunks")
    manifest = read_manifest(folder_of("dcp-overlapping-chunks"))
    broken = [t.key for t in manifest.tensors if "exp_avg" in t.key]
    assert broken
    average([manifest, manifest], tmp_path / "mean.safetensors", uniform)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_checkpoints_of_different_layouts_have_the_mean_of_the_whole_tensors(tmp_path: Path, dtype: str) -> None:
    """A grid, ranges of elements and packed shards, weighted: what numpy makes of the whole arrays."""
    held = [arrays(seed, dtype) for seed in (1, 2, 3)]
    cuts: list[Callable[[Any], Any]] = [grid(3, 2, 1), flat, grid(1, 1, 5)]
    how = ["plain", "plain", "packed"]
    cuts = [lambda a, c=cut: c(a) if a.ndim == 3 else ([((0,) * a.ndim, a.shape)], False) for cut in cuts]
    manifests = [
        sharded(tmp_path / str(n), one, cut, kind)
        for n, (one, cut, kind) in enumerate(zip(held, cuts, how, strict=True))
    ]
    weights = (0.5, 0.375, 0.125)
    average(manifests, tmp_path / "mean.safetensors", lambda n: given(weights, n))
    found = load(tmp_path / "mean.safetensors")
    for name in held[0]:
        wide = np.stack([one[name].astype(np.longdouble) for one in held])
        exact = (np.asarray(weights).reshape(-1, *[1] * (wide.ndim - 1)) * wide).sum(axis=0)
        expected = exact.astype(np.float64).astype(numpy_type(dtype))
        if dtype == "float64":  # no wider type to sum in: half a place, and what the differences add
            assert (abs(found[name] - exact) <= 2.0**-52 * abs(wide).max(axis=0)).all()
        else:
            np.testing.assert_array_equal(found[name], expected)


def test_masters_are_averaged_and_rounded_once(tmp_path: Path) -> None:
    """Parameters of bf16 with fp32 masters are the rounded mean of these, unless what is stored is asked for."""
    # Stored in bf16 these are 1 and 1.0078125, whose mean is a tie that goes down; the mean of the masters is above it.
    fine = [np.full(10, 1.0 + 2.0**-8 - 2.0**-12, np.float32), np.full(10, 1.0 + 2.0**-8 + 2.0**-10, np.float32)]
    manifests = []
    for n, master in enumerate(fine):
        held = {"w": master.astype(numpy_type("bfloat16")), "optim.w": master}
        manifest = sharded(tmp_path / str(n), held, lambda a: ([((0,), a.shape)], False), kinds={"optim.w": K.MASTER})
        tensors = tuple(tensor._replace(parameter="w") for tensor in manifest.tensors)
        manifests.append(manifest._replace(tensors=tensors))
    done = average(manifests, tmp_path / "mean.safetensors", uniform)
    found = load(tmp_path / "mean.safetensors")
    assert list(found) == ["w"]
    assert found["w"].astype(float).tolist() == [1.0078125] * 10
    assert "1 parameters are means of their fp32 masters, rounded once to bfloat16" in done.facts
    average(manifests, tmp_path / "stored.safetensors", uniform, Choice(masters=False))
    assert load(tmp_path / "stored.safetensors")["w"].astype(float).tolist() == [1.0] * 10
    average(manifests, tmp_path / "both.safetensors", uniform, Choice(include=frozenset({K.MASTER})))
    both = load(tmp_path / "both.safetensors")
    assert set(both) == {"w", "optim.w"}
    assert both["optim.w"].dtype == np.float32


def test_whole_numbers_and_buffers_come_from_the_last(tmp_path: Path) -> None:
    """Counts, flags and buffers are copied; buffers are averaged when asked for; both are said."""
    manifests = []
    for n in (1, 2):
        held = {"w": np.full(3, n, np.float32), "count": np.array(n, np.int64), "mask": np.array([n == 1, True])}
        held["running_mean"] = np.full(2, n, np.float32)
        manifests.append(
            sharded(
                tmp_path / str(n), held, lambda a: ([((0,) * a.ndim, a.shape)], False), kinds={"running_mean": K.BUFFER}
            )
        )
    done = average(manifests, tmp_path / "mean.safetensors", uniform)
    found = load(tmp_path / "mean.safetensors")
    assert {name: value.tolist() for name, value in found.items()} == {
        "w": [1.5] * 3, "count": 2, "mask": [False, True], "running_mean": [2.0, 2.0],
    }  # fmt: skip
    assert any("3; 3 of them differ: count, mask, running_mean" in fact for fact in done.facts)
    average(manifests, tmp_path / "all.safetensors", uniform, Choice(include=frozenset({K.BUFFER})))
    assert load(tmp_path / "all.safetensors")["running_mean"].tolist() == [1.5, 1.5]


def test_types_of_the_result(tmp_path: Path) -> None:
    """--dtype converts what is averaged, rounding once; numbers too large for it are refused and nothing is left."""
    one, two = save(tmp_path / "a.safetensors", arrays(1)), save(tmp_path / "b.safetensors", arrays(2))
    for dtype in ("bfloat16", "float16", "float32"):
        average([one, two], tmp_path / f"{dtype}.safetensors", uniform, Choice(dtype=dtype))
        found = load(tmp_path / f"{dtype}.safetensors")["b.weight"]
        exact = (arrays(1)["b.weight"].astype(np.float64) + arrays(2)["b.weight"]) / 2
        assert found.dtype == numpy_type(dtype)
        np.testing.assert_array_equal(found, exact.astype(numpy_type(dtype)))
    huge = save(tmp_path / "c.safetensors", {"w": np.full(5, 1e6, np.float32)})
    with pytest.raises(InputError, match="w: 5 numbers of the mean are too large for float16"):
        average([huge, huge], tmp_path / "d.safetensors", uniform, Choice(dtype="float16"))
    assert not (tmp_path / "d.safetensors").exists()
    assert len(list(tmp_path.iterdir())) == 6


def test_differences_are_named_20_in_all(tmp_path: Path) -> None:
    """Missing keys, shapes and types, some of each, then a count."""
    first = {f"only.{n}": np.zeros(1, np.float32) for n in range(30)}
    first |= {f"shape.{n}": np.zeros(2, np.float32) for n in range(30)}
    first |= {f"type.{n}": np.zeros(1, np.float32) for n in range(3)}
    second = {name: np.zeros(3, np.float32) for name in first if name.startswith("shape")}
    second |= {name: np.zeros(1, np.float16) for name in first if name.startswith("type")}
    one, two = save(tmp_path / "a.safetensors", first), save(tmp_path / "b.safetensors", second)
    with pytest.raises(InputError) as raised:
        average([one, two], tmp_path / "c.safetensors", uniform, labels=["a", "b"])
    said = [problem.message for problem in raised.value.problems]
    assert said[0] == "only.0: in a, not in b"
    assert sum("[2] in a, [3] in b" in text for text in said) == 8
    assert sum("float32 in a, float16 in b" in text for text in said) == 3
    assert said[-1] == "and 43 more: in all 30 missing tensors, 30 other shapes, 3 other types"
    assert len(said) == 21


def test_names_are_matched_without_labels_and_prefixes(tmp_path: Path) -> None:
    """What stands before a colon goes where names stay unique; a prefix goes where it is asked for."""
    whole = lambda a: ([((0,) * a.ndim, a.shape)], False)  # noqa: E731
    one = sharded(tmp_path / "1", {"module:model.w": np.ones(3, np.float32)}, whole)
    two = sharded(tmp_path / "2", {"w": np.full(3, 3.0, np.float32)}, whole)
    average([one, two], tmp_path / "mean.safetensors", uniform, Choice(strip_prefix="model."))
    assert load(tmp_path / "mean.safetensors")["w"].tolist() == [2.0] * 3
    ranks = {"rank_0.pt:flat": np.ones(2, np.float32), "rank_1.pt:flat": np.zeros(2, np.float32)}
    three = sharded(tmp_path / "3", ranks, whole)
    average([three, three], tmp_path / "ranks.safetensors", uniform)
    assert set(load(tmp_path / "ranks.safetensors")) == set(ranks)


def test_order_by_step_and_the_number_of_a_folder(tmp_path: Path) -> None:
    """Checkpoints are put in the order of their steps, which may stand in the name of the folder alone."""
    manifests = []
    for step in (1000, 500, 900):
        (tmp_path / f"checkpoint-{step}").mkdir()
        held = {"w": np.full(3, step, np.float32), "n": np.array(step, np.int64)}
        manifests.append(save(tmp_path / f"checkpoint-{step}" / "model.safetensors", held))
    done = average(manifests, tmp_path / "mean", uniform)
    assert [one.step for one in done.near.neighbours] == [500, 900, 1000]
    assert load(tmp_path / "mean")["n"] == 1000
    assert "the checkpoints were put in the order of their steps" in done.facts
    assert any("gaps between the checkpoints are 400, 100 steps" in text for text in done.warnings)


def test_a_folder_of_several_files(tmp_path: Path) -> None:
    """Above the size files are cut between tensors, with an index that the reader of sharded safetensors follows."""
    one, two = save(tmp_path / "a.safetensors", arrays(1)), save(tmp_path / "b.safetensors", arrays(2))
    done = average([one, two], tmp_path / "mean", uniform, shard_bytes=1_300)
    average([one, two], tmp_path / "mean.safetensors", uniform)
    assert len(done.files) == 2
    assert (tmp_path / "mean" / "model.safetensors.index.json").is_file()
    whole = load(tmp_path / "mean.safetensors")
    for name, value in load(tmp_path / "mean").items():
        np.testing.assert_array_equal(value, whole[name])


def test_inputs_are_not_written_over(tmp_path: Path) -> None:
    """Neither a file that is read, nor anything in a folder that is read."""
    (tmp_path / "in").mkdir()
    one = save(tmp_path / "in" / "model.safetensors", arrays(1))
    two = save(tmp_path / "b.safetensors", arrays(2))
    folder = read_manifest(tmp_path / "in")
    for manifest, label, out in (
        (two, str(tmp_path / "b.safetensors"), tmp_path / "b.safetensors"),
        (folder, str(tmp_path / "in"), tmp_path / "in" / "mean.safetensors"),
        (folder, str(tmp_path / "in"), tmp_path / "in" / "mean"),
    ):
        with pytest.raises(InputError, match="would overwrite or join"):
            average([manifest, one], out, uniform, labels=[label, "one"])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["b.safetensors", "in", "model.safetensors"]


def test_the_same_checkpoint_twice_and_numbers_that_are_none_are_told(tmp_path: Path) -> None:
    """Warnings name the checkpoints and the tensors."""
    held = arrays(1)
    held["b.weight"][:2] = [np.nan, np.inf]
    one = save(tmp_path / "a.safetensors", held)
    done = average([one, one], None, uniform, labels=["x", "y"])
    assert done.warnings[0] == "y and x are the same checkpoint: the mean counts it twice"
    said = "the mean holds 1 NaN and 1 infinity, in b.weight (of checkpoints 1 and 2); averaged were 2 in x, 2 in y; "
    assert done.warnings[1] == said + "distances and moves leave such elements out"
    assert len(done.warnings) == 2
    assert done.out is None
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("written", [True, False])
def test_numbers_of_the_mean_that_are_not_finite_are_counted(tmp_path: Path, dtype: str, written: bool) -> None:
    """NaN and infinities of the result, from which checkpoint, also of buffers that are taken; a dry run says the same.

    An infinity minus itself is no number, so that two of opposite signs give a NaN.
    """
    whole = lambda a: ([((0,) * a.ndim, a.shape)], False)  # noqa: E731
    manifests = []
    for n, (one, other) in enumerate([(1.0, np.inf), (np.nan, -np.inf), (2.0, 5.0)]):
        held = {
            "w": np.array([one, 1.0, 2.0], numpy_type(dtype)),
            "v": np.array([[3.0, other], [np.inf, 4.0]], numpy_type(dtype)),
            "fine": np.ones(4, numpy_type(dtype)),
            "running_var": np.array([n, np.nan if n == 2 else 1.0], numpy_type(dtype)),
        }
        manifests.append(sharded(tmp_path / str(n), held, whole, kinds={"running_var": K.BUFFER}))
    out = tmp_path / "mean.safetensors" if written else None
    done = average(manifests, out, uniform)
    assert {one.matched.name: tuple(one.strange) for one in done.ran} == {
        "w": (1, 0), "v": (1, 1), "fine": (0, 0), "running_var": (1, 0),
    }  # fmt: skip
    expected = (
        "the mean holds 3 NaN and 1 infinity, in w (of checkpoint 2), v (of checkpoints 1, 2, 3), running_var (of "
        "checkpoint 3)"
    )
    assert any(text.startswith(expected) for text in done.warnings)
    if out is not None:
        found = load(out)
        assert sum(int(np.isnan(one.astype(float)).sum()) for one in found.values()) == 3
        assert sum(int(np.isinf(one.astype(float)).sum()) for one in found.values()) == 1


def test_checksums_of_files_with_other_states_are_not_compared(tmp_path: Path) -> None:
    """Only files are read that hold what is averaged."""

    def file(name: str) -> bytes:
        weights = {name: tensor(Storage("float32", "0", 8), (8,), (1,))}
        return saved(weights, {"0": np.full(8, 1.5, np.float32).tobytes()})

    data = bytearray(file("moment"))
    data[data.index(np.full(8, 1.5, np.float32).tobytes())] ^= 1
    (tmp_path / "a.pt").write_bytes(file("w"))
    one = read_manifest(tmp_path / "a.pt")
    (tmp_path / "moments.pt").write_bytes(data)
    beside = one._replace(files=(*one.files, File("moments.pt", len(data))))
    done = average([beside, beside], None, uniform, crc=True)
    assert done.checksums == "compared"
    with pytest.raises(InputError, match="is not what its CRC-32 says"):
        average([read_manifest(tmp_path / "moments.pt")] * 2, None, uniform, crc=True)


def test_faults_concern_only_what_is_read(tmp_path: Path) -> None:
    """A fault of the parameters is an error, one of a moment is not; one of the whole checkpoint always is."""
    one = sharded(tmp_path / "1", arrays(1), lambda a: ([((0,) * a.ndim, a.shape)], False))
    harmless = [
        Fault(Flaw.MISSING_FILE, "gone", key="optim.exp_avg"),
        Fault(Flaw.CHECKSUM, "differs", file="optimizer.bin"),
        Fault(Flaw.NOT_RESHARDABLE, "flat"),
    ]
    average([one._replace(faults=tuple(harmless)), one], None, uniform)
    for fault in (
        Fault(Flaw.CHECKSUM, "differs", key="b.weight"),
        Fault(Flaw.TRUNCATED, "cut off", file="data.bin"),
        Fault(Flaw.UNCOMMITTED, "never ended", file=".metadata.tmp"),
        Fault(Flaw.CORRUPT, "contradicts itself"),
    ):
        with pytest.raises(InputError, match=fault.message):
            average([one, one._replace(faults=(fault,))], tmp_path / "mean.safetensors", uniform)


def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that breaks, a full disk and an interruption: the error is passed on, and no file is left."""
    one, two = save(tmp_path / "a.safetensors", arrays(1)), save(tmp_path / "b.safetensors", arrays(2))
    before = sorted(tmp_path.iterdir())

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("ckptplan.checkpoint.writing.single._write_all", full)
        with pytest.raises(InputError, match="no space left on device"):
            average([one, two], tmp_path / "mean.safetensors", uniform)
    assert sorted(tmp_path.iterdir()) == before

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        average([one, two], tmp_path / "mean.safetensors", uniform, progress=interrupted)
    assert sorted(tmp_path.iterdir()) == before
    with monkeypatch.context() as patched:
        patched.setattr(running.BlockSource, "fill", interrupted)
        with pytest.raises(KeyboardInterrupt):
            average([one, two], tmp_path / "mean", uniform)
    assert sorted(tmp_path.iterdir()) == before


def test_memory_does_not_grow_with_the_tensors(tmp_path: Path) -> None:
    """Three checkpoints of one tensor of 96 MB: less than 40 MB are held, by the count of numpy and Python."""
    elements = 24_000_000
    path = tmp_path / "a.safetensors"
    manifest = save(path, {"w": np.zeros(elements, np.float32)})
    shutil.copy(path, tmp_path / "b.safetensors")
    shutil.copy(path, tmp_path / "c.safetensors")
    manifests = [manifest, read_manifest(tmp_path / "b.safetensors"), read_manifest(tmp_path / "c.safetensors")]
    tracemalloc.start()
    try:
        average(manifests, tmp_path / "mean.safetensors", uniform)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40_000_000
    assert os.path.getsize(tmp_path / "mean.safetensors") > 4 * elements  # noqa: PTH202


def test_the_result_does_not_depend_on_the_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks, one thread or five: the same bytes and the same inner products, bit for bit."""
    one, two = save(tmp_path / "a.safetensors", arrays(1)), save(tmp_path / "b.safetensors", arrays(2))
    monkeypatch.setattr(running, "_BLOCK_BYTES", 64)
    found = []
    for threads in (0, 4):
        monkeypatch.setattr(running, "_COMPUTING", max(1, threads))
        monkeypatch.setattr(running.os, "cpu_count", lambda n=threads: n)
        done = average([one, two], tmp_path / f"{threads}.safetensors", uniform)
        found.append(((tmp_path / f"{threads}.safetensors").read_bytes(), done.near.geometry.distances.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dcp-fsdp2-adamw-4rank", (0.000125, 0.001)),
        ("dcp-torchtitan-style", (0.000125, 0.001)),  # a rate for each parameter
        ("dcp-v2.2-metadata", (0.000125, 0.001)),  # groups in one object
        ("deepspeed-zero3-4rank", (0.000125, 0.001)),
        ("megatron-torch-dist-tp2-dp2", (0.001, 0.001)),
        ("megatron-legacy-torch-tp2", (0.001, 0.001)),
        ("hf-trainer-1proc", (0.0, 5e-05)),
        ("hf-trainer-no-optimizer", (2.5e-05, 5e-05)),  # from the log
        ("orbax-ocdbt-8dev", (None, None)),  # optax keeps it in code
        ("hf-safetensors-single", (None, None)),
    ],
)
def test_learning_rates_are_found_in_every_framework(name: str, expected: tuple[float | None, float | None]) -> None:
    """The rate at the save and the peak that it decays from."""
    truth_of(name)
    rate = rate_of(read_manifest(folder_of(name)))
    assert (rate.highest, rate.peak) == expected


def test_one_checkpoint_has_no_mean(tmp_path: Path) -> None:
    """Two at least."""
    one = save(tmp_path / "a.safetensors", arrays(1))
    with pytest.raises(InputError, match="one checkpoint has no mean"):
        average([one], None, uniform)
    assert isinstance(one, Manifest)
    assert Choice() == averaging.AS_STORED


def test_a_tensor_larger_than_its_file_is_refused_at_once(tmp_path: Path) -> None:
    """Metadata that promises 10^15 elements where a few bytes are stored: an error, and no memory for them."""
    one = sharded(tmp_path / "1", {"w": np.zeros((4, 4), np.float32)}, lambda a: ([((0, 0), a.shape)], False))
    (tensor,) = one.tensors
    sizes = np.array([[10**9, 10**6]], np.int64)
    absurd = tensor._replace(shape=(10**9, 10**6), shards=tensor.shards._replace(sizes=sizes))
    with pytest.raises(InputError, match="is stored as"):
        average([one._replace(tensors=(absurd,))] * 2, None, uniform)
