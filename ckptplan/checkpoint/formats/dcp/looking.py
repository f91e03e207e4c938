"""Looking into stored objects: which hold FP8 state, and which would run a program if torch loaded them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ckptplan.checkpoint.archives.flatten import type_name
from ckptplan.checkpoint.archives.foreign import hostile
from ckptplan.checkpoint.archives.torch_file import TorchFile, read_torch
from ckptplan.checkpoint.folder import CheckpointFolder, UnreadableFileError
from ckptplan.checkpoint.formats.dcp.source import DcpSource, listed
from ckptplan.checkpoint.formats.dcp.unpacked import UnpackedItem
from ckptplan.checkpoint.manifest import Fault, Flaw, Object, Tensor
from ckptplan.checkpoint.naming.entries import Entry, spelling
from ckptplan.checkpoint.naming.fp8 import holds_fp8, worth_a_look
from ckptplan.checkpoint.pickles.loading import load_pickle
from ckptplan.checkpoint.pickles.values import Built, Global, Loaded
from ckptplan.errors import InputError

MOST_LOOKS = 256  # objects that are opened when a checkpoint is read; checking its items opens all
LARGEST_LOOK = 4 << 20  # bytes
_ALIKE = 3  # of extra states of one length so many are opened
_LARGEST_NESTED = 16 << 20
_NESTED = "extra state"


class Looked(NamedTuple):
    """What was found in objects."""

    fp8: dict[str, bool]  # by key, of extra states
    types: dict[str, str]
    faults: tuple[Fault, ...]
    opened: int


def look(source: DcpSource, tensors: Sequence[Tensor], objects: Sequence[Object], names: Sequence[str]) -> Looked:
    """Open extra states, some of each length, and other objects up to a bound, those of ranks and of data first.

    Extra states of one length are taken to be alike: a run has thousands. Some libraries keep them as bytes in tensors.
    """
    looked = Looked({}, {}, (), 0)
    extra: list[Tensor | Object] = [entry for entry in objects if _is_extra(entry)]
    extra += [tensor for tensor in tensors if tensor.dtype == "uint8" and _is_extra(tensor)]
    verdicts: dict[int, set[bool]] = defaultdict(set)
    seen: dict[int, int] = defaultdict(int)
    for state in extra:
        length = _length(state)
        if seen[length] < _ALIKE and looked.opened < MOST_LOOKS:
            seen[length] += 1
            looked, value = _open(source, state, looked, names)
            verdicts[length].add(holds_fp8(value))
    for entry in sorted((entry for entry in objects if not _is_extra(entry)), key=_is_common):
        if looked.opened < MOST_LOOKS:
            looked, _ = _open(source, entry, looked, names)
    fp8 = {state.key: verdicts[_length(state)] == {True} for state in extra if _length(state) in verdicts}
    return looked._replace(fp8=fp8)


def nested(value: Any) -> TorchFile | Loaded | None:
    """What a library has pickled into bytes, or saved into a stream in memory, within an object; None without."""
    data = _bytes_of(value)
    if not data or len(data) > _LARGEST_NESTED:
        return None
    try:
        if data.startswith(b"PK\x03\x04"):
            held = UnpackedItem(CheckpointFolder("."), _NESTED, data)
            return read_torch(held, _NESTED)
        return load_pickle(data, _NESTED, None)
    except InputError:
        return None


def _bytes_of(value: Any) -> bytes | None:
    """The bytes themselves, or those of an ``io.BytesIO``."""
    if isinstance(value, Built) and isinstance(value.call, Global) and value.call.name == "BytesIO":
        parts = value.state if isinstance(value.state, tuple) else value.args
        value = next((part for part in parts if isinstance(part, bytes)), None)
    return bytes(value) if isinstance(value, bytes | bytearray) else None


def foreign_fault(entry: Tensor | Object, foreign: Iterable[Any], file: str | None) -> Fault | None:
    """The fault of a state that would run something; None for a harmless one."""
    bad = hostile(foreign)
    if not bad:
        return None
    message = f"loading it with torch would call {listed(bad)}"
    return Fault(Flaw.FOREIGN_CODE, message, file, entry.key, "do not load it; ask where the checkpoint comes from")


def unreadable(error: InputError, file: str, key: str | None, at: str = "") -> Fault:
    """The fault of one state, or of its whole file where that cannot be read at all: said once, not for every state."""
    problem = error.problems[0]
    if isinstance(error, UnreadableFileError):
        return Fault(Flaw.UNREADABLE, problem.message, file, hint=problem.hint)
    return Fault(Flaw.UNREADABLE, f"{at}: {problem.message}" if at else problem.message, file, key, problem.hint)


def _open(source: DcpSource, entry: Tensor | Object, looked: Looked, names: Sequence[str]) -> tuple[Looked, Any]:
    """One more state looked into, and what it holds, within a pickle of its own if it is an extra state."""
    file = _file(entry)
    if file < 0 or _length(entry) > LARGEST_LOOK:
        return looked, None
    try:
        value, foreign = _value(source, entry)
    except InputError as error:
        # Where a file is cut off, its fault has named the keys.
        fault = unreadable(error, names[file], entry.key)
        faults = looked.faults if fault in looked.faults else (*looked.faults, fault)
        return looked._replace(faults=faults, opened=looked.opened + 1), None
    if isinstance(entry, Object):
        looked.types[entry.key] = type_name(value)
    inner = nested(value) if _is_extra(entry) else None
    bad = foreign_fault(entry, (*foreign, *(inner.foreign if inner else ())), names[file])
    faults = looked.faults if bad is None else (*looked.faults, bad)
    return looked._replace(faults=faults, opened=looked.opened + 1), inner.value if inner else value


def _value(source: DcpSource, entry: Tensor | Object) -> tuple[Any, tuple[Global, ...]]:
    """What a state holds, and the names that its pickle mentions."""
    if isinstance(entry, Tensor):
        return source.read(entry, 0).tobytes(), ()
    archive = source.opened(source.item_of_object(entry), entry.key).archive
    return archive.value, archive.foreign


def _file(entry: Tensor | Object) -> int:
    if isinstance(entry, Object):
        return entry.file
    return int(entry.shards.files[0]) if entry.shards.number == 1 else -1


def _length(entry: Tensor | Object) -> int:
    return entry.item_bytes if isinstance(entry, Object) else entry.logical_bytes


def _is_extra(entry: Tensor | Object) -> bool:
    return worth_a_look(spelling(Entry(entry.key, entry.path, False)).parts)


def _is_common(entry: Object) -> bool:
    """Whether an object is one of the many groups of an optimizer."""
    return "param_groups" in {str(part) for part in entry.path} or ".param_groups." in entry.key
