from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ckptplan.checkpoint.formats.dcp import records_lockstep, records_sites
from ckptplan.checkpoint.formats.dcp.metadata import read_metadata
from ckptplan.checkpoint.formats.dcp.records_frames import unframed
from ckptplan.errors import InputError
from tests.checkpoint.formats.dcp.metadata_writer import WRITER, in_lockstep, opcode_by_opcode, plain

NUMBERS = (0, 1, 255, 256, 65_535, 65_536, (1 << 31) - 1, 1 << 31, (1 << 40) + 3, (1 << 47) - 1, 1 << 47, 1 << 59)


def metadata(
    tensors: int, ranks: int, axes: tuple[int, ...] = (2,), *, step: int = 12, own_names: bool = True,
    shared_sizes: bool = False, objects: int = 3, packed: Any = None, protocol: int = 4, start: int = 0,
) -> bytes:  # fmt: skip
    """A file as a save by some ranks writes it, with the choices that change its opcodes."""
    listed: dict[str, Any] = {}
    entries: dict[Any, Any] = {}
    boxes: dict[tuple[int, int], tuple[Any, Any]] = {}
    kinds = [axes[number % len(axes)] for number in range(tensors)]
    names = [f"model.layers.{number}." + "weight" * (number % 3) for number in range(tensors)]
    for number, name in enumerate(names):
        shape = (step * ranks, *(7,) * (kinds[number] - 1)) if kinds[number] else ()
        for rank in range(ranks if shape else 1):
            offset = WRITER.Size((rank * step, *(0,) * (len(shape) - 1)) if shape else ())
            boxes[number, rank] = offset, WRITER.Size((step, *shape[1:]) if shape else ())
        chunks = [
            WRITER.ChunkStorageMetadata(offsets=offset, sizes=sizes)
            for (of, _), (offset, sizes) in boxes.items()
            if of == number
        ]
        listed[name] = WRITER.tensor(shape, [])
        listed[name].chunks = chunks
    for number in range(objects):
        listed[f"rng.{number}"] = WRITER.BytesStorageMetadata()
        entries[WRITER.index_of(f"rng.{number}", None, None)] = WRITER.info_of("__0_0.distcp", start + number, 1)
    for rank in range(ranks):
        at, file = start + 1_000, f"__{rank}_0.distcp"
        for number, name in enumerate(names):
            if (number, rank) in boxes:
                index = WRITER.index_of("".join(list(name)) if own_names else name, (), rank)
                offset = boxes[number, rank][0]
                index.offset = offset if shared_sizes else WRITER.Size(offset)
                info = WRITER.info_of(file, at, 500 + 300 * number)
                if packed is not None:
                    info.transform_descriptors = packed()
                entries[index] = info
                at += 500 + 300 * number
    return WRITER.pickled(WRITER.whole(listed, entries, {name: (name,) for name in listed}), protocol)


def check(data: bytes, least: float) -> None:
    """Both ways of reading agree in everything, and at least such a part of all records was leapt over."""
    wanted = opcode_by_opcode(data)
    if least:
        found, leapt = in_lockstep(data)
        assert plain(found) == plain(wanted)
        records = wanted.entries + sum(len(each.files) for each in wanted.tensors.values())
        assert leapt >= least * records
    assert plain(read_metadata(data, ".metadata")) == plain(wanted)


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize("own_names", [True, False])
@pytest.mark.parametrize("shared_sizes", [True, False])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (3,), (5,), (2, 1, 0), (4, 0, 1)])
def test_both_ways_agree(axes, shared_sizes, own_names, protocol):
    """For any number of axes, names and offsets shared or not, several frames: the same, and most records leapt."""
    ranks = 1 if axes == (0,) else 40
    data = metadata(40, ranks, axes, shared_sizes=shared_sizes, own_names=own_names, protocol=protocol)
    check(data, 0.2 if axes == (0,) else 0.8)


@pytest.mark.parametrize("step", [1, 12, 100, 300, 70_000, 1 << 33])
@pytest.mark.parametrize("start", [0, 60_000, (1 << 31) - 20_000, 1 << 40])
def test_numbers_of_every_width(step, start):
    """Offsets and places that grow from one byte to six are leapt over across the changes of their width."""
    check(metadata(5, 300, (2, 1), step=step, start=start), 0.85)


@pytest.mark.parametrize("tensors", [1, 2, 999, 1_000, 1_001, 2_500])
def test_batches(tensors):
    """Batches of a thousand, and a last one of one, which is written without a mark."""
    check(metadata(tensors, 3, (1,), objects=0), 0.5 if tensors > 2 else 0)


@pytest.mark.parametrize(
    "packed", [lambda: ["stream.zstd/1"], lambda: ["".join("stream.zstd/1")], lambda: ["a", "b"], lambda: []]
)
def test_transform_descriptors(packed):
    """Descriptors are read with the records: zstd, others as they are, none."""
    data = metadata(20, 10, (2,), packed=packed)
    check(data, 0.7)
    wanted = {"stream.zstd/1": "zstd", "a, b": "a, b", "": None}[", ".join(packed())]
    assert {each.packed for each in read_metadata(data, "x").tensors.values()} == {wanted}


def test_one_list_of_descriptors_for_all():
    """A list that all entries share is recalled."""
    shared = ["stream.zstd/1"]
    check(metadata(20, 10, (2,), packed=lambda: shared), 0.7)


def test_fields_in_another_order():
    """The order of attributes, and ones that are not known, do not matter."""
    listed, entries = {}, {}
    for number in range(60):
        chunks = []
        for rank in range(30):
            chunk = WRITER.ChunkStorageMetadata(sizes=WRITER.Size((2, number)))
            chunk.note = rank
            chunk.offsets = WRITER.Size((2 * rank, 0))
            chunks.append(chunk)
            index = WRITER.MetadataIndex(offset=WRITER.Size((2 * rank, 0)), more=None)
            index.fqn = f"w{number}"
            info = WRITER._StorageInfo(length=300, offset=rank * 300 + number * 9_000)
            info.relative_path = "__0_0.distcp"
            entries[index] = info
        listed[f"w{number}"] = WRITER.tensor((60, number), [])
        listed[f"w{number}"].chunks = chunks
    check(WRITER.pickled(WRITER.whole(listed, entries, None)), 0.8)


def test_a_text_that_looks_like_records():
    """The bytes of records within the name of a tensor are a name."""
    data = metadata(10, 30, (2,), own_names=False)
    at = data.rfind(b"(h", 0, len(data) // 2)
    inner = "".join(map(chr, data[at - 100 : at + 100]))
    listed = {"a": WRITER.tensor((300, 7), [((10 * n, 0), (10, 7)) for n in range(30)])}
    listed |= {inner: listed["a"], inner + "b": WRITER.tensor((3,), [((0,), (3,))])}
    names = [(key, (10 * n, 0)) for key in ("a", inner) for n in range(30)]
    entries = {
        WRITER.index_of("".join(list(key)), at, None): WRITER.info_of("f", 9 * n, 9)
        for n, (key, at) in enumerate(names)
    }
    check(WRITER.pickled(WRITER.whole(listed, entries, None)), 0.5)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), min_size=1, max_size=12),
    st.lists(st.sampled_from(NUMBERS), min_size=4, max_size=20),
    st.booleans(),
    st.integers(0, 1 << 30),
)
@example(
    [(1, 1), (1, 2), (2, 6), (0, 2), (2, 5)],
    [0, 255, 0, 1, 1 << 47, 0, 0, 0, 0, 0, 0, 256, 1, 0, 1, 1, 0, 1, 0, 255],
    True,
    251,
)  # two items at one place, of tensors with different numbers of axes
@example(
    [(0, 1), (0, 1), (0, 1), (0, 1), (2, 1), (1, 6), (2, 1), (2, 4), (1, 4), (0, 2), (1, 2), (2, 6)],
    [1, 255, 1, 1 << 47, 1, 0, 1],
    True,
    0,
)  # more than twenty faults of a kind
def test_irregular_files(tensors, numbers, shuffled, seed):
    """Any numbers, any order of entries, entries missing, doubled or without a tensor: both ways agree, faults too."""
    endless = itertools.cycle(numbers)
    listed: dict[str, Any] = {}
    keys: list[tuple[str, Any]] = []

    def some(axes: int) -> tuple[int, ...]:
        return tuple(itertools.islice(endless, axes))

    for number, (axes, chunks) in enumerate(tensors):
        boxes = [(some(axes), some(axes)) for _ in range(chunks)]
        listed[f"t{number}"] = WRITER.tensor(some(axes), boxes)
        keys += [(f"t{number}", box[0]) for box in boxes]
    keys += [("not listed", (1,)), ("not listed", None), keys[0]]
    rng = random.Random(seed)  # noqa: S311
    if shuffled:
        rng.shuffle(keys)
        del keys[: len(keys) // 4]
    entries = {}
    for key, at in keys:
        name = key if rng.random() < 0.5 else "".join(list(key))
        info = WRITER.info_of(f"__{rng.randrange(3)}_0.distcp", *some(2))
        entries[WRITER.index_of(name, at, next(endless))] = info
    check(WRITER.pickled(WRITER.whole(listed, entries, None)), 0)


def test_mutations_end_as_the_plain_interpretation_does():
    """Bytes changed in a file of many records: an error, or the same as opcode by opcode."""
    whole = metadata(12, 12, (2, 1))
    rng = random.Random(5)  # noqa: S311
    read = refused = 0
    for _ in range(1_200):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(data))
            what = rng.randrange(3)
            if what == 0:
                data[at] = rng.randrange(256)
            elif what == 1:
                data[at] = rng.choice(b"(0.12abcdehjlopqrstu]})NKMJ\x81\x85\x86\x87\x8a\x8c\x90\x91\x94")
            else:
                data[at] = (data[at] + rng.choice((1, 255))) % 256
        try:
            found = plain(read_metadata(bytes(data), ".metadata"))
        except InputError:
            refused += 1
            with pytest.raises(InputError):
                opcode_by_opcode(bytes(data))
        else:
            read += 1
            assert found == plain(opcode_by_opcode(bytes(data)))
    assert read > 100
    assert refused > 100


def test_blocks_and_searches_of_any_size(monkeypatch):
    """Where one block of records or of searched bytes ends and the next begins does not show."""
    data = metadata(17, 23, (2, 1, 0))
    for block in (1, 7, 64):
        monkeypatch.setattr(records_lockstep, "BLOCK", block)
        monkeypatch.setattr(records_sites, "_BLOCK", 64 + 4 * block)
        check(data, 0.7)


def test_frames():
    """Frames are taken out, and every position is found again in the file."""
    data = metadata(40, 60)
    whole = unframed(data)
    assert len(whole.ends) > 3
    assert len(whole.data) == len(data) - 9 * (len(whole.ends) - 1)
    assert all(whole.data[at] == data[whole.place(at)] for at in range(0, len(whole.data), 7))


def test_an_opcode_across_the_end_of_a_frame():
    """Where frames end within an opcode, which the unpickler in C does not mind, the file is read opcode by opcode."""
    whole = metadata(40, 60)
    length = int.from_bytes(whole[3:11], "little")
    assert whole[11 + length] == 0x95
    data = whole[:3] + (length - 1).to_bytes(8, "little") + whole[11:]
    assert plain(read_metadata(data, ".metadata")) == plain(read_metadata(whole, ".metadata"))
