from __future__ import annotations

import random
import tracemalloc

import pyarrow as pa
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp.unpacked import StreamedItem, UnpackedItem
from ckptplan.errors import InputError

MIB = 1 << 20


def packed(tmp_path, data: bytes, before: bytes = b"", after: bytes = b"") -> tuple[CheckpointFolder, int, int]:
    """A file with an item of zstd somewhere in it."""
    item = pa.compress(data, "zstd", asbytes=True)
    (tmp_path / "__0_0.distcp").write_bytes(before + item + after)
    return CheckpointFolder(tmp_path), len(before), len(item)


def test_any_part_of_a_long_item(tmp_path):
    """Beginning, end, middle, forwards and backwards: each part is that of the unpacked data."""
    draw = random.Random(3)  # noqa: S311
    data = draw.randbytes(3 * MIB) + bytes(9 * MIB) + draw.randbytes(5 * MIB)
    folder, start, length = packed(tmp_path, data, b"before", b"after")
    item = StreamedItem(folder, "__0_0.distcp", start, length, len(data))
    assert item.size("__0_0.distcp") == len(data)
    places = [(0, 10), (len(data) - 10, 10), (4 * MIB - 5, 10), (5 * MIB, 3 * MIB), (8 * MIB, 7), (6 * MIB, 9), (0, 0)]
    places += [(at := draw.randrange(len(data)), draw.randrange(len(data) - at)) for _ in range(20)]
    for at, count in places:
        assert item.read("__0_0.distcp", at, count) == data[at : at + count]


def test_memory_is_that_of_what_is_asked(tmp_path):
    """An item that unpacks to 256 MiB is opened, and read in pieces, within 64 MiB."""
    data = bytes(256 * MIB)
    folder, start, length = packed(tmp_path, data)
    assert length < MIB
    del data
    tracemalloc.start()
    item = StreamedItem(folder, "__0_0.distcp", start, length, 256 * MIB)
    for at in range(0, 256 * MIB, 8 * MIB):
        assert not any(item.read("__0_0.distcp", at, 1024))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * MIB


def test_an_item_that_unpacks_to_more_than_it_may_hold(tmp_path):
    """Unpacking stops at the bound."""
    folder, start, length = packed(tmp_path, bytes(200 * MIB))
    with pytest.raises(InputError, match="unpacks to more than 1,048,576 bytes"):
        StreamedItem(folder, "__0_0.distcp", start, length, MIB)


@pytest.mark.parametrize("cut", [0, 1, 4, 20])
def test_an_item_that_is_cut_off(tmp_path, cut):
    """Less than the stream that zstd wrote is an error, or an item of less data: never other data."""
    data = random.Random(1).randbytes(3000)  # noqa: S311
    folder, start, length = packed(tmp_path, data)
    try:
        item = StreamedItem(folder, "__0_0.distcp", start, length - 1 - cut, MIB)
    except InputError:
        return
    assert item.size("__0_0.distcp") < len(data)
    assert data.startswith(item.read("__0_0.distcp", 0, item.size("__0_0.distcp")))


def test_what_zstd_did_not_write(tmp_path):
    """Bytes of anything else are an error that names the place."""
    (tmp_path / "__0_0.distcp").write_bytes(b"no zstd at all, but some text")
    with pytest.raises(InputError, match="the item at byte 3 is not what zstd writes"):
        StreamedItem(CheckpointFolder(tmp_path), "__0_0.distcp", 3, 20, MIB)


@pytest.mark.parametrize(("offset", "length"), [(-1, 2), (0, 4), (4, 0), (2, -1), (3, 1)])
def test_bytes_outside_are_refused(tmp_path, offset, length):
    """Only what is there can be read."""
    item = UnpackedItem(CheckpointFolder(tmp_path), "x", b"abc")
    with pytest.raises(InputError, match="of an unpacked item of 3"):
        item.read("x", offset, length)
