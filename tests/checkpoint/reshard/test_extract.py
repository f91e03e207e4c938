"""Tensors merged into safetensors files: shards of any order and place, against the array that they were cut from."""

import json
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import File, Format, Manifest, Object, Raw, Shards, Tensor, row_major
from ckptplan.checkpoint.reshard import pieces
from ckptplan.checkpoint.reshard.boxes_of_files import blocks
from ckptplan.checkpoint.reshard.extract import chosen, extract
from ckptplan.errors import InputError

WIDTHS = {"float32": np.float32, "float16": np.float16, "int64": np.int64, "bool": np.bool_, "uint8": np.uint8}


class Written:
    """A checkpoint of one file, made shard by shard: the source of its own manifest."""

    def __init__(self, root: Path, *, packed: bool = False) -> None:
        self.root, self.packed, self.data = root, packed, bytearray(b"head")
        self.raws: dict[str, list[Raw]] = {}
        self.tensors: list[Tensor] = []

    def add(
        self,
        key: str,
        array: np.ndarray,
        boxes: Sequence[tuple[Sequence[int], Sequence[int]]],
        order: str = "C",
        kind: StateKind = StateKind.PARAMETER,
    ) -> None:
        """A tensor, cut into boxes (offset, size), each stored in some order of its axes."""
        raws = []
        for low, size in boxes:
            part = array[tuple(slice(a, a + n) for a, n in zip(low, size, strict=True))]
            strides = row_major(part.shape) if order == "C" else row_major(part.shape[::-1])[::-1]
            raws.append(Raw(0, len(self.data), str(array.dtype), part.shape, strides, "zstd" if self.packed else None))
            self.data += part.tobytes(order=order) + b"between"
        self._listed(key, array, np.array([b[0] for b in boxes]), np.array([b[1] for b in boxes]), raws, kind)

    def add_flat(self, key: str, array: np.ndarray, ranges: Sequence[tuple[int, int]]) -> None:
        """A tensor, cut into ranges of its elements."""
        raws = []
        for start, end in ranges:
            raws.append(Raw(0, len(self.data), str(array.dtype), (end - start,), (1,)))
            self.data += array.reshape(-1)[start:end].tobytes()
        offsets = np.array([[start] for start, _ in ranges])
        self._listed(key, array, offsets, np.array([[b - a] for a, b in ranges]), raws, StateKind.MASTER, flat=True)

    def _listed(
        self,
        key: str,
        array: np.ndarray,
        offsets: Any,
        sizes: Any,
        raws: list[Raw],
        kind: StateKind,
        *,
        flat: bool = False,
    ) -> None:
        number, axes = len(raws), 1 if flat else array.ndim
        nowhere = np.full(number, -1)
        shards = Shards(
            offsets.reshape(number, axes),
            sizes.reshape(number, axes),
            np.zeros(number, dtype=np.int64),
            nowhere,
            nowhere,
            nowhere,
            flat,
        )
        self.raws[key] = raws
        self.tensors.append(Tensor(key, kind, str(array.dtype), array.shape, shards))

    def manifest(self) -> Manifest:
        """The checkpoint, with its file on disk."""
        self.root.mkdir(exist_ok=True)
        (self.root / "data").write_bytes(self.data)
        return Manifest(Format.DCP, self.root, tuple(self.tensors), (), (File("data", len(self.data)),), self)

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Where a shard lies."""
        return self.raws[tensor.key][row]

    def read(self, tensor: Tensor, row: int) -> np.ndarray:
        """A whole shard; only what is packed may be asked for."""
        assert self.packed
        raw = self.raws[tensor.key][row]
        flat = np.frombuffer(self.data, WIDTHS[tensor.dtype], int(np.prod(raw.shape)), raw.offset)
        order = "C" if raw.strides == row_major(raw.shape) else "F"
        return np.ascontiguousarray(flat.reshape(raw.shape, order=order)).reshape(-1).view(np.uint8)

    def value(self, entry: Object) -> Any:
        """There are no objects."""
        raise AssertionError(entry)


def read_back(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    kinds = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "BOOL": np.bool_, "U8": np.uint8}
    found = {}
    for name, one in json.loads(raw[8 : 8 + length]).items():
        if name != "__metadata__":
            begin, end = one["data_offsets"]
            data = raw[8 + length + begin : 8 + length + end]
            found[name] = np.frombuffer(data, kinds[one["dtype"]]).reshape(one["shape"])
    return found


def grid(shape: Sequence[int], cuts: Sequence[Sequence[int]]) -> list[tuple[list[int], list[int]]]:
    """Boxes of a tensor cut at the given places along each axis."""
    edges = [[0, *sorted(places), whole] for places, whole in zip(cuts, shape, strict=True)]
    cells = np.ndindex(*(len(edge) - 1 for edge in edges))
    return [
        ([e[i] for e, i in zip(edges, cell, strict=True)], [e[i + 1] - e[i] for e, i in zip(edges, cell, strict=True)])
        for cell in cells
    ]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("block_bytes", [1, 40, 10**6])
def test_shards_in_any_order_of_axes_become_one_row_major_tensor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, *, packed: bool
) -> None:
    """Random grids of boxes of up to four axes, stored by row or by column, in blocks smaller and larger than a row."""
    generator = np.random.default_rng(block_bytes)
    written = Written(tmp_path / "in", packed=packed)
    arrays = {}
    for number in range(40):
        shape = generator.integers(1, 7, number % 5).tolist()
        dtype = list(WIDTHS.values())[number % 5]
        array = generator.integers(0, 2 if dtype is np.bool_ else 100, shape).astype(dtype)
        cuts = [generator.integers(0, n + 1, 2).tolist() for n in shape]
        boxes = grid(shape, cuts)
        generator.shuffle(boxes)
        arrays[f"t{number}"] = array
        written.add(f"t{number}", array, boxes, "F" if number % 2 else "C")
    manifest = written.manifest()
    monkeypatch.setattr(pieces, "TURNED_BYTES", block_bytes)
    found = extract(manifest, tmp_path / "out.safetensors", manifest.tensors, block_bytes=block_bytes)
    back = read_back(tmp_path / "out.safetensors")
    assert back.keys() == arrays.keys()
    for key, array in arrays.items():
        assert back[key].dtype == array.dtype
        assert np.array_equal(back[key], array)
    assert found.size_bytes == sum(array.nbytes for array in arrays.values())


@pytest.mark.parametrize("block_bytes", [1, 52, 10**6])
def test_ranges_of_a_flat_vector_become_a_tensor(tmp_path: Path, block_bytes: int) -> None:
    """As ZeRO cuts them: parameters straddle ranks at any element."""
    generator = np.random.default_rng(2)
    written = Written(tmp_path / "in")
    arrays = {}
    for number, shape in enumerate([(7, 5), (31,), (3, 4, 5), (1,), (2, 3, 2, 3)]):
        array = generator.standard_normal(shape).astype(np.float32)
        places = np.unique([0, array.size, *generator.integers(0, array.size, 4)]).tolist()
        arrays[f"t{number}"] = array
        written.add_flat(f"t{number}", array, list(pairwise(places)))
    manifest = written.manifest()
    extract(manifest, tmp_path / "out.safetensors", manifest.tensors, block_bytes=block_bytes)
    for key, array in read_back(tmp_path / "out.safetensors").items():
        assert np.array_equal(array, arrays[key])


@pytest.mark.parametrize(("order", "most"), [("C", 32 << 20), ("F", 112 << 20)])
def test_memory_is_bounded_by_blocks_not_by_tensors(tmp_path: Path, order: str, most: int) -> None:
    """A tensor of 160 MB in one shard: a few blocks of memory if it lies by rows, 64 MiB more to turn columns round."""
    array = np.arange(40 << 20, dtype=np.int32).view(np.float32).reshape(4096, 10240)
    written = Written(tmp_path / "in")
    written.add("t", array, [((0, 0), (4096, 10240))], order)
    manifest = written.manifest()
    written.data = bytearray()
    tracemalloc.start()
    extract(manifest, tmp_path / "out.safetensors", manifest.tensors)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < most
    found = np.memmap(tmp_path / "out.safetensors", np.uint8, mode="r")[-array.nbytes :]
    assert np.array_equal(found.view(np.int32).reshape(array.shape), array.view(np.int32))


def test_a_folder_is_written_in_shards_with_an_index(tmp_path: Path) -> None:
    """A name that does not end in .safetensors is a folder, as transformers has them."""
    written = Written(tmp_path / "in")
    written.add("t", np.arange(4.0, dtype=np.float32), [((0,), (4,))])
    manifest = written.manifest()
    extract(manifest, tmp_path / "out", manifest.tensors)
    assert read_back(tmp_path / "out" / "model.safetensors")["t"].tolist() == [0, 1, 2, 3]


def test_a_hole_or_an_overlap_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    """The tensor, what is missing of it, and no file."""
    array = np.arange(12.0, dtype=np.float32).reshape(6, 2)
    for boxes, said in [([((0, 0), (3, 2))], "stored in no shard"), ([((0, 0), (4, 2)), ((3, 0), (3, 2))], "overlap")]:
        written = Written(tmp_path / "in")
        written.add("some.weight", array, boxes)
        manifest = written.manifest()
        with pytest.raises(InputError, match=said) as caught:
            extract(manifest, tmp_path / "out.safetensors", manifest.tensors)
        assert "some.weight" in caught.value.problems[0].message
        assert not (tmp_path / "out.safetensors").exists()


def test_an_item_unlike_its_metadata_is_refused(tmp_path: Path) -> None:
    """Uneven strided cuts leave items of other shapes than the metadata says: their bytes are not guessed at."""
    written = Written(tmp_path / "in")
    written.add("t", np.zeros((4, 4), np.float32), [((0, 0), (4, 4))])
    written.raws["t"][0] = written.raws["t"][0]._replace(shape=(0, 4))
    manifest = written.manifest()
    with pytest.raises(InputError, match=r"float32 of shape \[0, 4\]"):
        extract(manifest, tmp_path / "out.safetensors", manifest.tensors)
    assert not (tmp_path / "out.safetensors").exists()


def test_a_file_that_changes_meanwhile_is_an_error(tmp_path: Path) -> None:
    """A save that is still running must not be half-extracted."""
    written = Written(tmp_path / "in")
    written.add("t", np.zeros((4, 4), np.float32), [((0, 0), (4, 4))])
    manifest = written.manifest()
    raw = written.raws["t"][0]

    def growing(tensor: Tensor, row: int) -> Raw:
        with (tmp_path / "in" / "data").open("ab") as file:
            file.write(b"more")
        return raw

    written.raw = growing  # type: ignore[method-assign]
    with pytest.raises(InputError, match="bytes and now has"):
        extract(manifest, tmp_path / "out.safetensors", manifest.tensors)
    assert not (tmp_path / "out.safetensors").exists()


def test_nothing_of_the_checkpoint_is_overwritten(tmp_path: Path) -> None:
    """Neither its file nor its folder, and a tensor that the format cannot hold is named before anything is read."""
    written = Written(tmp_path / "in")
    written.add("t", np.zeros(4, np.float32), [((0,), (4,))])
    manifest = written.manifest()
    before = (tmp_path / "in" / "data").read_bytes()
    with pytest.raises(InputError, match="would overwrite"):
        extract(manifest, tmp_path / "in" / "data", manifest.tensors)
    assert (tmp_path / "in" / "data").read_bytes() == before
    odd = manifest.tensors[0]._replace(dtype="complex128", key="odd")
    with pytest.raises(InputError, match="odd: a safetensors file cannot hold complex128"):
        extract(manifest, tmp_path / "out.safetensors", [odd])


def test_tied_tensors_are_written_twice_and_named(tmp_path: Path) -> None:
    """torch.save stores shared elements once; safetensors has no way to say so."""
    array = np.arange(4.0, dtype=np.float32)
    written = Written(tmp_path / "in")
    written.add("embedding", array, [((0,), (4,))])
    written.add("head", array, [((0,), (4,))])
    written.raws["head"] = written.raws["embedding"]
    manifest = written.manifest()
    found = extract(manifest, tmp_path / "out.safetensors", manifest.tensors)
    assert found.shared == (("embedding", "head"),)
    assert {key: one.tolist() for key, one in read_back(tmp_path / "out.safetensors").items()} == {
        "embedding": [0, 1, 2, 3],
        "head": [0, 1, 2, 3],
    }


def test_tensors_are_chosen_by_key_and_kind(tmp_path: Path) -> None:
    """Without a choice the model is meant; a pattern reaches all kinds; what names nothing is told what is there."""
    written = Written(tmp_path / "in")
    for key, kind in [
        ("model.a", StateKind.PARAMETER),
        ("model.b", StateKind.BUFFER),
        ("optim.a", StateKind.FIRST_MOMENT),
    ]:
        written.add(key, np.zeros(2, np.float32), [((0,), (2,))], kind=kind)
    manifest = written.manifest()
    assert [one.key for one in chosen(manifest)] == ["model.a", "model.b"]
    assert [one.key for one in chosen(manifest, ["*.a"])] == ["model.a", "optim.a"]
    assert [one.key for one in chosen(manifest, ["*.a"], [StateKind.FIRST_MOMENT])] == ["optim.a"]
    assert [one.key for one in chosen(manifest, (), [StateKind.FIRST_MOMENT])] == ["optim.a"]
    with pytest.raises(InputError, match="no key fits head"):
        chosen(manifest, ["*.a", "head*"])
    with pytest.raises(InputError, match="fp32 masters") as caught:
        chosen(manifest, (), [StateKind.MASTER])
    assert "buffers, first moments, parameters" in str(caught.value.problems[0].hint)


@pytest.mark.parametrize("most", [1, 7, 24, 100, 10**6])
@pytest.mark.parametrize("shape", [(), (1,), (10,), (4, 5), (3, 1, 6), (2, 3, 4), (0, 3)])
def test_blocks_are_consecutive_pieces_of_the_tensor(shape: tuple[int, ...], most: int) -> None:
    """Each block is a range of the row-major elements, one after another, none larger than asked unless one element."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    seen: list[int] = []
    for low, size in blocks(shape, 2, most):
        part = numbers[tuple(slice(a, a + n) for a, n in zip(low, size, strict=True))].reshape(-1).tolist()
        assert part == list(range(part[0], part[0] + len(part)))
        assert len(part) * 2 <= max(most, 2)
        seen += part
    assert seen == numbers.reshape(-1).tolist()
