"""Orbax checkpoints made to harm: an answer or one error, in bounded time and memory."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax import read, recognised
from ckptplan.checkpoint.formats.orbax.documents import DEEPEST, MOST_CONTAINERS, read_json
from ckptplan.checkpoint.formats.orbax.ocdbt import read_database
from ckptplan.checkpoint.manifest import Flaw
from ckptplan.errors import InputError
from tests.checkpoint.formats.orbax.test_written import state
from tests.checkpoint.formats.orbax.written import (
    NODE,
    framed,
    interior,
    leaf,
    manifest,
    sharding,
    write_step,
    zarr_values,
)
from tests.checkpoint.mutations import IN_JSON, MOST_BYTES, each_mutated, read_all, refused


@contextmanager
def bounded() -> Iterator[None]:
    """No more than 200 MB of Python's memory."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def touched(root: Path) -> int:
    """Read all that can be read; how many tensors there were."""
    folder = CheckpointFolder(root)
    if not recognised(folder):
        return 0
    found = read(folder)
    read_all(found)
    return len(found.tensors)


def refusal(root: Path) -> str | None:
    """The error for a checkpoint that is refused; None for one whose arrays are all read."""
    try:
        touched(root)
    except InputError as error:
        return error.render()
    return None


@pytest.mark.parametrize("ocdbt", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_mutations_give_an_answer_or_an_error(tmp_path, ocdbt, seed):
    """Each file in turn is changed at random: nothing but an InputError is ever raised."""
    draw = random.Random(f"{ocdbt} {seed}")  # noqa: S311
    write_step(tmp_path, state(), ocdbt=ocdbt)
    files = [path for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    outcomes = [refused(lambda: touched(tmp_path)) for _ in each_mutated(files, draw, 250, IN_JSON)]
    assert not all(outcomes)
    assert touched(tmp_path) == len(state())


BOMBS = {
    "deep": b"[" * 100_000,
    "deep and closed": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "wide": b"[" + b"[]," * 5_000_000 + b"[]]",
    "many values": b"[" + b"1," * 5_000_000 + b"1]",
    "open string": b'{"a": "' + b'\\"' * 2_000_000,
    "long number": b'{"a": ' + b"9" * 100_000 + b"}",
    "no UTF-8": b'{"a": "\xff\xfe"}',
    "NUL": b"\0" * 1000,
    "empty": b"",
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("target", ["_CHECKPOINT_METADATA", "state/_METADATA", "state/_sharding", "state/step/.zarray"])
def test_json_bombs(tmp_path, name, target):
    """Nested, wide, long or broken: one error or a fault, in bounded memory."""
    write_step(tmp_path, state())
    (tmp_path / "7" / target).write_bytes(BOMBS[name])
    with bounded():
        message = refusal(tmp_path)
    assert message is None or target in message


def test_limits_of_json_are_as_they_are_said(tmp_path):
    """What is just within them is read."""
    path = tmp_path / "a.json"
    path.write_bytes(b"[" * DEEPEST + b"]" * DEEPEST)
    read_json(CheckpointFolder(tmp_path), "a.json")
    path.write_bytes(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1))
    with pytest.raises(InputError, match="nested 65 deep"):
        read_json(CheckpointFolder(tmp_path), "a.json")
    path.write_bytes(b"[" + b"[]," * (MOST_CONTAINERS - 2) + b"[]]")
    assert len(read_json(CheckpointFolder(tmp_path), "a.json")) == MOST_CONTAINERS - 1
    path.write_bytes(json.dumps(["[" * 10_000, '"[' * 10_000]).encode())  # brackets in texts count for nothing
    read_json(CheckpointFolder(tmp_path), "a.json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"shape": [10**9, 10**9]}, "chunks"),
        ({"shape": [2**62], "chunks": [2**62]}, "shape"),
        ({"shape": [4], "chunks": [0]}, "chunks"),
        ({"shape": [-1]}, "shape"),
        ({"shape": [1e3]}, "shape"),
        ({"shape": [True]}, "shape"),
        ({"shape": [4, 4]}, "chunks"),
        ({"shape": [1] * 1000, "chunks": [1] * 1000}, "shape"),
        ({"dtype": "<V99999999999"}, "dtype"),
        ({"dtype": "|O"}, "dtype"),
        ({"dtype": [["a", "<f4"]]}, "dtype"),
        ({"dtype": "int4"}, "dtype"),
        ({"compressor": 5}, "id"),
        ({"filters": [{"id": "shuffle"}]}, "filters"),
        ({"zarr_format": 9}, "zarr"),
    ],
)
def test_absurd_descriptions_are_faults_of_their_array(tmp_path, change, told):
    """The others are read as before."""
    held = write_step(tmp_path, state())
    path = held / "params.dense.bias" / ".zarray"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with bounded():
        found = read(CheckpointFolder(tmp_path))
    assert len(found.tensors) == len(state()) - 1
    assert any(told in fault.message and fault.flaw is Flaw.UNREADABLE for fault in found.faults)


def test_chunks_of_all_arrays_together_are_bounded(tmp_path):
    """Each array has fewer than is too many, all together have more."""
    held = write_step(tmp_path, {f"params.w{number}": np.zeros((2, 2), "i1") for number in range(9)})
    for path in held.glob("*/.zarray"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "shape": [1_000_000, 1], "chunks": [1, 1]}))
    with bounded(), pytest.raises(InputError, match="8,000,000 chunks"):
        read(CheckpointFolder(tmp_path))


def test_a_packed_bomb_stops_at_what_was_announced(tmp_path):
    """1 GB of zeros in a chunk that should have 16 bytes."""
    held = write_step(tmp_path, state())
    path = held / "params.dense.bias"
    described = json.loads((path / ".zarray").read_text())
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        for _ in range(1024):
            stream.write(bytes(1 << 20))
    (path / "0").write_bytes(sink.getvalue().to_pybytes())
    (path / ".zarray").write_text(json.dumps({**described, "compressor": {"id": "zstd"}}))
    found = read(CheckpointFolder(tmp_path))
    bias = next(one for one in found.tensors if one.key == "params.dense.bias")
    with bounded(), pytest.raises(InputError, match="more than the 16 bytes"):
        found.source.read(bias, 0)


@pytest.mark.parametrize("packing", ["blosc", "lz4", "bz2"])
def test_packing_that_is_not_read_is_named(tmp_path, packing):
    """Shape and type are known all the same."""
    held = write_step(tmp_path, state())
    path = held / "params.dense.bias" / ".zarray"
    path.write_text(json.dumps({**json.loads(path.read_text()), "compressor": {"id": packing}}))
    found = read(CheckpointFolder(tmp_path))
    bias = next(one for one in found.tensors if one.key == "params.dense.bias")
    assert bias.shape == (7,)
    with pytest.raises(InputError, match=f"packed by {packing}"):
        found.source.read(bias, 0)


def test_links_are_not_followed(tmp_path):
    """A chunk that is a link to a file outside is missing, and the link is told."""
    held = write_step(tmp_path / "run", state())
    outside = tmp_path / "secret"
    outside.write_bytes(bytes(16))
    (held / "params.dense.bias" / "0").unlink()
    (held / "params.dense.bias" / "0").symlink_to(outside)
    found = read(CheckpointFolder(tmp_path / "run"))
    assert {fault.flaw for fault in found.faults} == {Flaw.MISSING_FILE}
    assert any("link" in fault.message for fault in found.faults)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "d/../../secret", "a/../../../b"])
def test_a_database_that_names_files_outside_is_refused(tmp_path, name):
    """No name leads out of the checkpoint."""
    run = tmp_path / "run"
    (run / "d").mkdir(parents=True)
    node = leaf({"a/.zarray": b"{}"}, name)
    (run / "d" / "x").write_bytes(node)
    (tmp_path / "secret").write_bytes(node)
    (run / "manifest.ocdbt").write_bytes(manifest("d/x", 0, len(node)))
    with pytest.raises(InputError, match="outside of the checkpoint"):
        read_database(CheckpointFolder(run), "")
    (run / "manifest.ocdbt").write_bytes(manifest(name, 0, len(node)))
    with pytest.raises(InputError, match="outside of the checkpoint"):
        read_database(CheckpointFolder(run), "")


def test_nodes_that_share_children_are_not_walked_for_ever(tmp_path):
    """Thirty levels of a hundred times the same child would be 100^30 nodes."""
    (tmp_path / "d").mkdir()
    data = bytearray(leaf({"key": b"value"}, "d/x"))
    at, length = 0, len(data)
    for height in range(1, 31):
        node = interior([(f"{one:03}", at, length) for one in range(100)], "d/x", height)
        at, length = len(data), len(node)
        data += node
    (tmp_path / "d" / "x").write_bytes(data)
    (tmp_path / "manifest.ocdbt").write_bytes(manifest("d/x", at, length, 30))
    with pytest.raises(InputError, match="same child"):
        read_database(CheckpointFolder(tmp_path), "")


@pytest.mark.parametrize("number", [10**6, 2**40, 2**62])
def test_counts_are_checked_before_anything_is_allocated(tmp_path, number):
    """A node of a few bytes that announces a million keys."""
    (tmp_path / "d").mkdir()
    varint = bytearray()
    while number > 0x7F:
        varint.append(number & 0x7F | 0x80)
        number >>= 7
    varint.append(number)
    node = framed(NODE, b"\0" + b"\0" + bytes(varint) + bytes(50))
    (tmp_path / "d" / "x").write_bytes(node)
    (tmp_path / "manifest.ocdbt").write_bytes(manifest("d/x", 0, len(node)))
    with bounded(), pytest.raises(InputError, match="entries in"):
        read_database(CheckpointFolder(tmp_path), "")


@pytest.mark.parametrize(
    "text",
    [
        '{"!!not base64!!": "{}"}',
        '{"YQ==": "not json"}',
        '{"YQ==": 5, "Yg==": "5"}',
        '{"/////w==": "{}"}',
        "[]",
        sharding(["rng"], (2**31, 2**31)),
        sharding(["rng"], (2, 2), ["nobody", "tp"]),
        sharding(["rng"], (2, 2), [["fsdp", "tp"], None, None, None]),
        sharding(["rng"], (2, 2), [{"a": 1}]),
    ],
)
def test_layouts_that_make_no_sense(tmp_path, text):
    """Arrays are read without them."""
    held = write_step(tmp_path, state())
    (held / "_sharding").write_text(text)
    with bounded():
        message = refusal(tmp_path)
    assert message is None or "_sharding" in message


def test_a_chunk_of_the_wrong_length_is_an_error(tmp_path):
    """Too long or too short, with the file."""
    held = write_step(tmp_path, {"params.w": np.ones((4, 4), "f4")})
    for data in (b"", bytes(15), bytes(1000)):
        (held / "params.w" / "0.0").write_bytes(data)
        found = read(CheckpointFolder(tmp_path))
        with pytest.raises(InputError, match="instead of 16"):
            found.source.read(found.tensors[0], 0)


def test_many_chunks_are_read_in_bounded_time(tmp_path):
    """Two hundred thousand chunks in one database."""
    values = zarr_values("params.w", np.zeros((1, 1), "i1"), (1, 1))
    described = json.loads(values["params.w/.zarray"])
    described["shape"] = [200_000, 1]
    (tmp_path / "d").mkdir()
    held = {f"params.w/{at}.0": b"\1" for at in range(200_000)} | {"params.w/.zarray": json.dumps(described).encode()}
    node = leaf(held, "d/x")
    (tmp_path / "d" / "x").write_bytes(node)
    (tmp_path / "manifest.ocdbt").write_bytes(manifest("d/x", 0, len(node)))
    found = read(CheckpointFolder(tmp_path))
    assert found.tensors[0].shards.number == 200_000
    assert [fault.file for fault in found.faults] == ["_METADATA"]  # which a bare database lacks
