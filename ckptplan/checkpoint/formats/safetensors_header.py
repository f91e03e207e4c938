"""Headers of safetensors files: names, types and shapes of tensors, without their data.

A file is eight bytes that give the length of the header, the header as JSON, and the data. Everything that the header
says is held against the size of the file before it is believed.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ckptplan.checkpoint import dtypes
from ckptplan.errors import InputError, Place, Problem, printable

LONGEST_HEADER = 100_000_000  # bytes: the limit of the reference implementation
MOST_PROBLEMS = 20
_MOST_COMMAS = 1_000_000  # of a header: 160,000 tensors, and half a gigabyte once it is read
_MOST_AXES = 64
_MOST_ELEMENTS = 2**63 - 1

BITS = {short: dtypes.BITS[name] for short, name in dtypes.OF_SAFETENSORS.items()}

_PICKLED = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
PICKLED = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl"})  # endings
_PICKLE = "a pickled file, whose reading would run the code in it"
_NO_PICKLE = "name a safetensors file, or write config: ./config.json; pickled files are never opened"


class StoredTensor(NamedTuple):
    """One tensor as a header describes it."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Elements, each of as many bits as the type has."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes in the file."""
        return self.elements * BITS[self.dtype] // 8


class Header(NamedTuple):
    """The tensors of one file, and its text entries."""

    tensors: tuple[StoredTensor, ...]
    metadata: Mapping[str, str]
    offsets: tuple[int, ...] = ()  # of the data of each tensor in the file, bytes


def read_header(path: str | Path) -> Header:
    """The header of one safetensors file.

    Parameters
    ----------
    path : str or Path
        A regular file.

    Returns
    -------
    Header

    Raises
    ------
    InputError
        If it is no safetensors file, or its header and its size contradict each other: with up to 20 faults.
    """
    with open_regular(path) as stream:
        return header_of(stream, os.fstat(stream.fileno()).st_size, path)


def header_of(stream: BinaryIO, size: int, path: str | Path) -> Header:
    """The same of a stream at its beginning and the size of its file; the path is for messages."""
    text = _header_bytes(stream, size, path)
    found = parse_json(text, path)
    metadata = found.pop("__metadata__", {})
    problems: list[str] = []
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        problems.append("__metadata__ is not a group of texts")
        metadata = {}
    tensors, spans = [], []
    for name, entry in found.items():
        fault = _fault_of_name(name) or _fault(entry)
        if fault is None:
            tensors.append(StoredTensor(name, entry["dtype"], tuple(entry["shape"])))
            spans.append((*entry["data_offsets"], name))
        else:
            problems.append(f"the tensor {shown(name)} {fault}")
    if not problems:
        problems += _gaps(sorted(spans), size - 8 - len(text))
    if problems:
        raise several(problems, path, "write the file again, or take model.config")
    begins = {name: begin for begin, _, name in spans}
    return Header(tuple(tensors), metadata, tuple(8 + len(text) + begins[tensor.name] for tensor in tensors))


@contextmanager
def open_regular(path: str | Path) -> Iterator[BinaryIO]:
    """A stream of a regular file; a pipe, a folder or a device is refused without waiting for it."""
    path = Path(path)
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise refused(path, "no such file", "name a safetensors file, its index, or their folder") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        said = (error.strerror if isinstance(error, OSError) else None) or "the name cannot be a file"
        raise refused(path, f"cannot be read: {said}", "check the name and its permissions") from None
    try:
        _check_regular(os.fstat(number).st_mode, path)  # before a stream is made of it: Python makes none of a folder
        with os.fdopen(number, "rb", closefd=False) as stream:
            yield stream
    except OSError as error:  # a disk that fails, a share that is gone
        raise refused(path, f"cannot be read: {error.strerror}", "is the storage at hand?") from None
    finally:
        os.close(number)


def _check_regular(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise refused(path, "is a folder, not a file", "name a safetensors file, or the folder that holds it")
    if not stat.S_ISREG(mode):
        raise refused(path, "not a regular file but a pipe or device", "name a safetensors file")


def parse_json(text: bytes, path: str | Path) -> dict[str, Any]:
    """A JSON object without duplicate keys; memory is bounded by the number of commas."""
    if text.count(b",") > _MOST_COMMAS:
        raise refused(path, f"more than {_MOST_COMMAS:,} values in the header", "a model has some thousand tensors")
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise refused(path, f"byte {error.start:,} of the header is not UTF-8", "is this the right file?") from None
    except RecursionError:
        raise refused(path, "the header is nested too deep", "is this the right file?") from None
    except ValueError as error:
        raise refused(path, f"the header is not JSON: {_said(error)}", "is the file complete?") from None
    if not isinstance(found, dict):
        raise refused(path, "the header is not a group of tensors", "is this the right file?")
    return found


def refused(path: str | Path, message: str, hint: str) -> InputError:
    """The error for a file that cannot be used."""
    return InputError(Problem(message, Place(str(path)), hint=hint))


def several(messages: list[str], path: str | Path, hint: str) -> InputError:
    """One error for several faults: the first ones, and a count of the rest."""
    place = Place(str(path))
    problems = [Problem(message, place, hint=hint) for message in messages[:MOST_PROBLEMS]]
    if len(messages) > MOST_PROBLEMS:
        problems.append(Problem(f"and {len(messages) - MOST_PROBLEMS:,} more faults", place))
    return InputError(problems)


def shown(name: str) -> str:
    """A name of the file's as it can be printed anywhere."""
    return ascii(name if len(name) <= 80 else f"{name[:77]}...")


def refuse_pickle(path: str | Path) -> None:
    """Refuse what torch.save wrote, by its name: reading it would run code."""
    if Path(path).suffix in PICKLED:
        raise refused(path, _PICKLE, _NO_PICKLE)


def _header_bytes(stream: BinaryIO, size: int, path: str | Path) -> bytes:
    start = stream.read(8)
    if len(start) < 8:
        message = f"{size:,} bytes are no safetensors file: the first eight give the length of the header"
        raise refused(path, message, "is the file complete?")
    length = int.from_bytes(start, "little")
    text = stream.read(length) if length <= min(LONGEST_HEADER, size - 8) else b""
    if not text.startswith(b"{") or len(text) < length:
        # Only now: a length may look like the beginning of another format.
        raise _no_header(start, length, size, path)
    return text


def _no_header(start: bytes, length: int, size: int, path: str | Path) -> InputError:
    """What a file is that does not begin as the format wants."""
    if start.startswith(_PICKLED):
        return refused(path, _PICKLE, _NO_PICKLE)
    if start.startswith((b"version ", b"{")):
        what = "a pointer of Git LFS" if start.startswith(b"version ") else "JSON"
        return refused(path, f"{what}, not a safetensors file", "fetch the file itself, or name the index")
    if length > LONGEST_HEADER:
        message = f"the header would have {length:,} bytes; {LONGEST_HEADER:,} are the most that the format allows"
        return refused(path, message, "is this a safetensors file?")
    if length > size - 8:
        message = f"the header has {length:,} bytes, but only {size - 8:,} follow: the file is cut off"
        return refused(path, message, "fetch or write it again")
    return refused(path, "the header does not begin with {: this is no safetensors file", "is it the right file?")


def _fault_of_name(name: str) -> str | None:
    r"""Half a pair of ``\ud800\udc00`` is no character: the reference implementation refuses such a name."""
    if name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name):
        return None
    return "has a name with half a surrogate pair, which is no text"


def _fault(entry: Any) -> str | None:
    """What is wrong with the entry of one tensor."""
    return _fault_of_form(entry) or _fault_of_size(entry["dtype"], entry["shape"], entry["data_offsets"])


def _fault_of_form(entry: Any) -> str | None:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        return "does not have exactly dtype, shape and data_offsets"
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in BITS:
        return f"has the unknown type {shown(str(dtype))}"
    if not _counts(shape) or len(shape) > _MOST_AXES:
        return f"has a shape that is not a list of at most {_MOST_AXES} counts"
    if not _counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        return "has data_offsets that are not a beginning and an end"
    return None


def _fault_of_size(dtype: str, shape: list[int], offsets: list[int]) -> str | None:
    elements = math.prod(shape)
    if elements > _MOST_ELEMENTS:
        return "has more than 2^63 elements"
    bits, span = elements * BITS[dtype], offsets[1] - offsets[0]
    if bits != 8 * span:
        return f"has {span:,} bytes of data, but {elements:,} elements of {dtype} take {-(-bits // 8):,}"
    return None


def _counts(found: Any) -> bool:
    """Whether this is a list of whole numbers from 0 on, none beyond 64 bits."""
    return isinstance(found, list) and all(type(n) is int and 0 <= n <= _MOST_ELEMENTS for n in found)


def _gaps(spans: list[tuple[int, int, str]], size: int) -> Iterator[str]:
    """Holes and overlaps of the data, in order."""
    reached = 0
    for begin, end, name in spans:
        if begin != reached:
            what = "overlaps the one before" if begin < reached else f"leaves a hole of {begin - reached:,} bytes"
            yield f"the data of {shown(name)} {what}"
        reached = max(reached, end)
    if reached != size:
        what = "cut off" if reached > size else "longer than its header says"
        yield f"the tensors take {reached:,} bytes, but {size:,} follow the header: the file is {what}"


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {shown(twice)} stands twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _said(error: ValueError) -> str:
    return printable(error.msg if isinstance(error, json.JSONDecodeError) else str(error))[:120]
