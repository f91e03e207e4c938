"""Files of torch.save, zip and older: values, tensors and their places, and what is refused."""

from __future__ import annotations

import random
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.archives.elements import read_elements
from ckptplan.checkpoint.archives.flatten import dotted, leaves
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.archives.torch_file import is_torch, read_torch
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.pickles.values import Built, Global
from ckptplan.errors import InputError
from tests.checkpoint.archives.torch_zip import (
    Call,
    Name,
    Part,
    Storage,
    archive,
    dumped,
    folder_of,
    legacy,
    saved,
    tensor,
)

VALUES = np.arange(24, dtype=np.float32)
STORAGE = Storage("float32", "0", 24)


def loaded(tmp_path: Path, value: Any, storages: dict[str, bytes] | None = None) -> tuple[CheckpointFolder, Any]:
    """The value that is read back from a file of torch.save."""
    folder = folder_of(tmp_path, saved(value, {"0": VALUES.tobytes()} if storages is None else storages))
    return folder, read_torch(folder, "file.pt").value


def refusal(tmp_path: Path, data: bytes) -> str:
    """The message for a file that is refused."""
    with pytest.raises(InputError) as caught:
        read_torch(folder_of(tmp_path, data), "file.pt")
    assert caught.value.problems[0].place is not None
    assert caught.value.problems[0].place.file == str(tmp_path / "file.pt")
    return caught.value.problems[0].message


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((24,), (1,), 0), ((4, 6), (6, 1), 0), ((6, 4), (1, 6), 0), ((2, 3), (12, 4), 1), ((), (), 23),
        ((0, 5), (5, 1), 0), ((2, 2, 6), (12, 6, 1), 0), ((3, 24), (0, 1), 0), ((1, 24), (999, 1), 0),
        ((2, 3, 4), (1, 8, 2), 0),
    ],
)  # fmt: skip
def test_any_strides_are_read_in_row_major_order(
    tmp_path: Path, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> None:
    """Elements as numpy's own strided view of the same storage has them."""
    folder, value = loaded(tmp_path, {"t": tensor(STORAGE, shape, strides, offset)})
    stored = value["t"]
    assert (stored.dtype, stored.shape, stored.strides, stored.storage_offset) == ("float32", shape, strides, offset)
    assert (stored.storage_bytes, stored.data_offset - stored.storage_offset_bytes) == (96, 4 * offset)
    view = np.lib.stride_tricks.as_strided(VALUES[offset:], shape, [4 * stride for stride in strides])
    assert read_elements(folder, stored).tobytes() == view.tobytes()


def test_calls_around_a_tensor_give_the_tensor(tmp_path: Path) -> None:
    """Parameters with and without attributes, and subclasses, hold the plain tensor; a DTensor its local part."""
    plain = tensor(STORAGE, (4, 6), (6, 1))
    strided = Name("torch._utils", "_rebuild_tensor_v2")
    wrapper = Call("torch._tensor", "_rebuild_from_type_v2",
                   (Name("torch._utils", "_rebuild_wrapper_subclass"), Name("torch.distributed.tensor", "DTensor"),
                    (1,), ({"_local_tensor": plain}, {"_spec": 1})))  # fmt: skip
    _, value = loaded(
        tmp_path,
        {
            "plain": plain,
            "parameter": Call("torch._utils", "_rebuild_parameter", (plain, True, {})),
            "noted": Call("torch._utils", "_rebuild_parameter_with_state", (plain, True, {}, {"note": 1})),
            "subclass": Call("torch._tensor", "_rebuild_from_type_v2", (strided, Name("my", "T"), plain.args, {})),
            "dtensor": wrapper,
            "typed": Call("torch._utils", "_rebuild_tensor_v3", (*plain.args, Name("torch", "int32"))),
            "tuple": (1, [plain]),
        },
    )
    assert isinstance(value["plain"], StoredTensor)
    assert all(value[name] == value["plain"] for name in ("parameter", "noted", "subclass", "dtensor"))
    assert value["typed"] == value["plain"]._replace(dtype="int32")
    assert value["tuple"] == (1, [value["plain"]])


def test_tensors_that_are_not_plain_keep_their_parts(tmp_path: Path) -> None:
    """Sparse, quantized and lazily conjugated tensors are stand-ins whose parts are plain tensors."""
    part = tensor(STORAGE, (24,), (1,))
    conjugated = Call("torch._utils", "_rebuild_tensor_v2", (*part.args, {"conj": True}))
    sparse = Call("torch._utils", "_rebuild_sparse_tensor", (1, (part, part, (2, 2), True)))
    meta = Call("torch._utils", "_rebuild_meta_tensor_no_storage", (Name("torch", "float32"), (9,), (1,), False))
    quantized = Call("torch._utils", "_rebuild_qtensor", (*part.args[:4], (Name("torch", "per_tensor_affine"), 0.5, 1)))
    _, value = loaded(tmp_path, {"c": conjugated, "s": sparse, "m": meta, "q": quantized})
    found = {dotted(path): leaf for path, leaf in leaves(value)}
    tensors = {key for key, leaf in found.items() if isinstance(leaf, StoredTensor)}
    assert tensors == {"c.unconjugated", "s.indices", "s.values", "q.int_repr"}
    assert isinstance(found["m"], Built)


def test_a_bare_storage_is_a_tensor_of_one_axis(tmp_path: Path) -> None:
    """Some scripts save storages."""
    _, value = loaded(tmp_path, {"s": STORAGE})
    assert (value["s"].shape, value["s"].dtype) == ((24,), "float32")


def test_shared_and_circular_values_end(tmp_path: Path) -> None:
    """One dict in two places stays one object; a list that holds itself is left as it is."""
    pickled = b"\x80\x02}q\x00(X\x01\x00\x00\x00ah\x00X\x01\x00\x00\x00b]q\x01h\x01au."
    folder = folder_of(tmp_path, archive([Part("x/data.pkl", pickled)]))
    value = read_torch(folder, "file.pt").value
    assert value["a"] is value
    assert value["b"][0] is value["b"]


def test_an_item_within_a_file_is_read_at_its_place(tmp_path: Path) -> None:
    """Places of tensors count from the beginning of the file."""
    inner = saved({"t": tensor(STORAGE, (24,), (1,))}, {"0": VALUES.tobytes()}, prefix=["checkpoint", "x"][0])
    folder = folder_of(tmp_path, b"\1" * 1000 + inner + b"\2" * 10)
    stored = read_torch(folder, "file.pt", 1000, len(inner)).value["t"]
    assert read_elements(folder, stored).tobytes() == VALUES.tobytes()


def test_a_deflated_archive_is_read(tmp_path: Path) -> None:
    """Torch packs nothing, other writers may."""
    value = {"t": tensor(STORAGE, (2, 6), (6, 1), 12)}
    parts = [Part("a/data.pkl", dumped(value), True), Part("a/data/0", VALUES.tobytes(), True)]
    folder = folder_of(tmp_path, archive(parts))
    stored = read_torch(folder, "file.pt").value["t"]
    assert read_elements(folder, stored).tobytes() == VALUES[12:].tobytes()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (tensor(STORAGE, (25,), (1,)), "reaches to byte 100 of a storage of 96"),
        (tensor(STORAGE, (24,), (1,), 1), "reaches to byte 100"),
        (tensor(STORAGE, (2, 2), (23, 1)), "reaches to byte 100"),
        (tensor(STORAGE._replace(elements=23), (24,), (1,)), "of a storage of 92"),
        (tensor(STORAGE._replace(elements=99), (25,), (1,)), "of a storage of 96"),
        (tensor(STORAGE._replace(key="1"), (24,), (1,)), "does not hold the storage '1'"),
        (tensor(STORAGE, (-1,), (1,)), "no counts"),
        (tensor(STORAGE, (24,), (-1,)), "no counts"),
        (tensor(STORAGE, (2**40, 2**40), (0, 0)), "a tensor of 1,208,925,"),
        (tensor(STORAGE, (2,), (2**61,)), "a tensor of 2 elements"),
        (tensor(STORAGE, (24,), (1, 1)), "no counts"),
        (tensor(STORAGE, (True,), (1,)), "no counts"),
        (tensor(STORAGE, tuple([1] * 65), tuple([1] * 65)), "no counts"),
    ],
)
def test_tensors_that_their_storage_cannot_hold_are_refused(tmp_path: Path, found: Call, said: str) -> None:
    """Before anything is read of it."""
    assert said in refusal(tmp_path, saved({"t": found}, {"0": VALUES.tobytes()}))


def test_one_element_shown_a_thousand_million_times_is_not_read(tmp_path: Path) -> None:
    """Strides of zero are legal; their tensor may be too large for memory."""
    folder, value = loaded(tmp_path, {"t": tensor(STORAGE, (10**9,), (0,))})
    with pytest.raises(InputError, match="shows 4 stored bytes repeatedly"):
        read_elements(folder, value["t"])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "nothing that torch.save writes"),
        (b"\x80\x02}.", "nothing that torch.save writes"),
        (bytes(257) + b"ustar" + bytes(300), "a tar archive"),
        (archive([Part("a/version", b"3")]), "without a data.pkl"),
        (archive([Part("a/data.pkl", b"}."), Part("b/data.pkl", b"}.")]), "several data.pkl"),
        (archive([Part("data.pkl", b"}.")]), "without a data.pkl"),
        (archive([Part("a/data.pkl", b"}."), Part("a/byteorder", b"big")]), "big-endian"),
        (archive([Part("a/data.pkl", bytes(100_000_000), True)]), "of 100,000,000 bytes where at most"),
        (archive([Part("a/data.pkl", b"}"), Part("a/byteorder", b"little")]), ""),
    ],
)
def test_what_is_no_file_of_torch_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    """With a message that says what it is."""
    assert said in refusal(tmp_path, data)


def test_files_are_recognised_by_what_is_in_them(tmp_path: Path) -> None:
    """Zips of other programs are none, whatever they are called."""
    folder = CheckpointFolder(tmp_path)
    files = {
        "model.zip": (saved({}, {}), True),
        "random_states_0.pkl": (saved({}, {}, prefix="x" * 300), True),
        "old.bin": (legacy({}, {}), True),
        "tar.pt": (bytes(257) + b"ustar" + bytes(300), True),
        "text.pt": (b"version https://git-lfs", False),
        "office.pt": (archive([Part("[Content_Types].xml", b"<")]), False),
        "arrays.pt": (archive([Part("arr_0.npy", b"<")]), False),
        "empty.pt": (b"", False),
    }
    for name, (data, _) in files.items():
        (tmp_path / name).write_bytes(data)
    assert {name: is_torch(folder, name) for name in files} == {name: truth for name, (_, truth) in files.items()}


def test_names_that_loading_would_call_are_listed_and_nothing_is_called(tmp_path: Path) -> None:
    """The value keeps a description of the call."""
    folder = folder_of(tmp_path, saved({"x": Call("os", "system", ("touch CKPTPLAN_PICKLE_EXECUTED",))}, {}))
    found = read_torch(folder, "file.pt")
    assert found.foreign == (Global("os", "system"),)
    assert isinstance(found.value["x"], Built)
    assert not Path("CKPTPLAN_PICKLE_EXECUTED").exists()
    with pytest.raises(InputError, match=r"os\.system"):
        read_torch(folder, "file.pt", allowed=frozenset())


def test_streams_before_1_6_are_read(tmp_path: Path) -> None:
    """Storages follow in the order of their keys, each with its count of elements."""
    longs = np.arange(5, dtype=np.int64)
    value = {
        "w": tensor(Storage("float32", "93", 24, legacy=True), (6, 4), (1, 6)),
        "n": tensor(Storage("int64", "17", 5, legacy=True), (2,), (1,), 3),
        "v": tensor(Storage("float32", "93", 24, view=("v", 10, 4), legacy=True), (4,), (1,)),
    }
    folder = folder_of(tmp_path, legacy(value, {"93": ("float32", VALUES.tobytes()), "17": ("int64", longs.tobytes())}))
    found = read_torch(folder, "file.pt")
    assert found.legacy
    assert read_elements(folder, found.value["w"]).tobytes() == VALUES.reshape(4, 6).T.tobytes()
    assert read_elements(folder, found.value["n"]).tobytes() == longs[3:].tobytes()
    assert read_elements(folder, found.value["v"]).tobytes() == VALUES[10:14].tobytes()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (legacy({}, {}, magic=0x1950A86A20F9469CFC6C), None),
        (legacy({}, {}, system={"little_endian": False}), "big-endian"),
        (legacy({}, {}, system=[1]), "without a list of storages"),
        (legacy({}, {"0": ("float32", b"1234")}), "belongs to no tensor"),
        (legacy({"t": tensor(STORAGE, (24,), (1,))}, {}), "does not hold the storage"),
        (legacy({"t": tensor(STORAGE, (24,), (1,))}, {"0": ("float32", VALUES.tobytes())})[:-1], "beyond the end"),
        (legacy({}, {})[:40], ""),
        (legacy({}, {}).replace(b"M\xe9\x03", b"M\xea\x03"), "unknown version"),
    ],
)
def test_damaged_streams_are_refused(tmp_path: Path, data: bytes, said: str | None) -> None:
    """And whole ones are not."""
    if said is None:
        assert read_torch(folder_of(tmp_path, data), "file.pt").value == {}
    else:
        assert said in refusal(tmp_path, data)


def test_a_storage_of_a_stream_cannot_claim_more_than_the_file(tmp_path: Path) -> None:
    """Counts of elements up to 2^64."""
    data = legacy({"t": tensor(STORAGE, (24,), (1,))}, {"0": ("float32", VALUES.tobytes())})
    at = data.index(struct.pack("<Q", 24) + VALUES[:2].tobytes())
    for count in (25, 2**40, 2**64 - 1):
        assert "beyond the end" in refusal(tmp_path, data[:at] + struct.pack("<Q", count) + data[at + 8 :])


def test_mutated_files_end_in_a_value_or_one_error(tmp_path: Path) -> None:
    """Four thousand changed files, zip and stream: every tensor that is accepted can be read within the file."""
    draw = random.Random(21)  # noqa: S311 - seeded
    value = {
        "m": {"a": tensor(STORAGE, (4, 6), (6, 1)), "b": Call("torch._utils", "_rebuild_parameter", (STORAGE, 1, {}))},
        "x": [1, 2.5, None, ("s", {"t": Call("argparse", "Namespace", ())})],
    }
    sources = [saved(value, {"0": VALUES.tobytes()}), legacy(value, {"0": ("float32", VALUES.tobytes())})]
    accepted = 0
    for number in range(4_000):
        data = bytearray(sources[number % 2])
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(data))
            data[at] = draw.choice((0, 0x7F, 0xFF, draw.randrange(256), data[at] ^ 1))
        if number % 7 == 0:
            del data[draw.randrange(len(data)) :]
        folder = folder_of(tmp_path, bytes(data))
        try:
            for _, leaf in leaves(read_torch(folder, "file.pt").value):
                if isinstance(leaf, StoredTensor):
                    assert len(read_elements(folder, leaf)) == leaf.size_bytes
            accepted += 1
        except InputError:
            continue
        finally:
            folder.close()
    assert 0 < accepted < 4_000


def test_what_torch_writes_today_is_read_to_its_values(tmp_path: Path) -> None:
    """Every kind of tensor that torch saves, zip and older, compared with torch itself."""
    torch = pytest.importorskip("torch")
    base = torch.arange(60, dtype=torch.float32)
    value: dict[str, Any] = {
        **{str(dtype): torch.arange(6).to(dtype) for dtype in (
            torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
            torch.uint8, torch.bool, torch.complex64)},
        "view": base.view(6, 10)[1:4, ::3], "transposed": base.view(6, 10).T, "scalar": torch.tensor(3.5),
        "parameter": torch.nn.Parameter(torch.ones(3)), "empty": torch.empty(0, 4),
        "channels": torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last),
    }  # fmt: skip
    torch.save(value, tmp_path / "new.pt")
    torch.save(value, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    newer = {str(dtype): torch.arange(6).to(dtype) for dtype in (torch.uint16, torch.float8_e4m3fn)}
    torch.save({**value, **newer}, tmp_path / "newer.pt")
    folder = CheckpointFolder(tmp_path)
    for name, truth in (("new.pt", value), ("old.pt", value), ("newer.pt", {**value, **newer})):
        found = read_torch(folder, name).value
        assert set(found) == set(truth)
        for key, tensor_ in truth.items():
            assert tuple(tensor_.shape) == found[key].shape
            assert str(tensor_.dtype) == f"torch.{found[key].dtype}"
            raw = tensor_.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            assert read_elements(folder, found[key]).tobytes() == raw, key


def test_records_do_not_overlap_in_order(tmp_path: Path) -> None:
    """The storages of a legacy stream follow each other with eight bytes of count between."""
    value = {str(n): tensor(Storage("uint8", f"{n:02}", 4, legacy=True), (4,), (1,)) for n in range(20)}
    folder = folder_of(tmp_path, legacy(value, {f"{n:02}": ("uint8", bytes([n] * 4)) for n in range(20)}))
    records = list(read_torch(folder, "file.pt").records.values())
    assert all(after.offset - before.offset == 12 for before, after in pairwise(records))
