"""A checkpoint of several files put together: what each file holds is added, then all of it becomes one manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ckptplan.checkpoint.archives.flatten import Path, dotted, leaves, type_name
from ckptplan.checkpoint.archives.foreign import hostile
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.archives.torch_file import TorchFile, read_torch
from ckptplan.checkpoint.folder import CheckpointFolder, UnreadableFileError
from ckptplan.checkpoint.formats.joined_source import JoinedSource, linked
from ckptplan.checkpoint.formats.stored_source import StoredSource
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, File, Flaw, Format, Manifest, Object, Shards, Tensor
from ckptplan.checkpoint.naming.classify import Entry, Named, classify
from ckptplan.errors import InputError, Place, Problem

# Files that hold tensors: one of them to which nothing refers is left over, or of something else.
DATA_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".pkl", ".distcp", ".npz", ".h5", ".msgpack")

_HINT = "copy the file again, or take an older checkpoint"


class _Held(NamedTuple):
    """One tensor or object of a file."""

    entry: Entry
    file: str
    stored: StoredTensor | None
    value: Callable[[], Any] | None
    kind: StateKind | None  # where the file's role decides it
    rank: int | None
    type: str | None


class Pieces:
    """Collects the tensors, objects, files, faults and remarks of one checkpoint."""

    def __init__(self, folder: CheckpointFolder) -> None:
        self.folder = folder
        self.faults: list[Fault] = []
        self.remarks: list[str] = []
        self._held: dict[str, _Held] = {}
        self._holds: dict[str, str] = {}
        self._ranks: dict[str, int] = {}
        self._parts: list[tuple[str, Manifest]] = []

    @property
    def keys(self) -> Iterable[str]:
        """Keys of all tensors and objects so far."""
        return self._held.keys()

    def holds(self, name: str, what: str, rank: int | None = None) -> None:
        """Say what a file holds."""
        self._holds[name] = what
        if rank is not None:
            self._ranks[name] = rank

    def tensor(self, key: str, stored: StoredTensor, path: Path = (), **role: Any) -> None:
        """Add a tensor; ``role`` is its kind and rank where the file decides them."""
        entry = Entry(key, path, True, stored.dtype, stored.shape)
        self._add(_Held(entry, stored.file, stored, None, role.get("kind"), role.get("rank"), None))

    def object(self, key: str, file: str, value: Callable[[], Any], path: Path = (), **role: Any) -> None:
        """Add an object; ``role`` is its kind, rank and type."""
        entry = Entry(key, path, False)
        self._add(_Held(entry, file, None, value, role.get("kind"), role.get("rank"), role.get("type")))

    def torch(self, name: str, prefix: str = "", **role: Any) -> TorchFile | None:
        """Add all that a file of torch.save holds, keys with a prefix; a damaged file becomes a fault."""
        found: TorchFile | None = self.read(lambda: read_torch(self.folder, name), name)
        flat = found and self.read(lambda: leaves(found.value, Place(str(self.folder.root / name))), name)
        if found is None or flat is None:
            return None
        self.judge(name, found)
        kind_of = role.pop("kind_of", None)
        for path, leaf in flat:
            given = role if kind_of is None else {**role, "kind": kind_of(path)}
            key = prefix + dotted(path) if path else prefix.removesuffix(":") or name
            if isinstance(leaf, StoredTensor):
                self.tensor(key, leaf, path, **given)
            else:
                self.object(key, name, lambda leaf=leaf: leaf, path, type=type_name(leaf), **given)  # type: ignore[misc]
        return found

    def judge(self, name: str, found: TorchFile, *, quiet: bool = False) -> None:
        """Note names that loading the file with torch would call, and unless quiet libraries that it would import."""
        bad = hostile(found.foreign)
        others = dict.fromkeys(one.module.partition(".")[0] for one in found.foreign if one not in bad)
        if others and not quiet:
            self.remarks.append(f"{name}: loading it with torch imports {_listed(others)}, which were not looked into")
        if bad:
            message = f"loading it with torch would call {_listed(map(str, bad))}"
            hint = "do not load it with torch.load(weights_only=False); ask where it comes from"
            self.faults.append(Fault(Flaw.FOREIGN_CODE, message, name, hint=hint))

    def read(self, action: Callable[[], Any], name: str, hint: str | None = None) -> Any:
        """The outcome of an action, or None and its error as faults of a file."""
        try:
            return action()
        except UnreadableFileError as error:
            problem = error.problems[0]
            fault = Fault(Flaw.UNREADABLE, problem.message, name, hint=problem.hint)
            if fault not in self.faults:
                self.faults.append(fault)
        except InputError as error:
            self.faults.extend(
                Fault(Flaw.CORRUPT, problem.message, name, problem.key, hint or problem.hint or _HINT)
                for problem in error.problems
            )
        return None

    def part(self, folder: str, manifest: Manifest) -> None:
        """Add a whole checkpoint that lies in a folder of this one."""
        self._parts.append((folder, manifest))

    def manifest(self, format_: Format, **facts: Any) -> Manifest:
        """All of it as one manifest; ``facts`` are further fields of it."""
        files = self._files()
        numbers = {file.name: number for number, file in enumerate(files)}
        tensors, objects = self._states(numbers)
        stored = {key: held.stored for key, held in self._held.items() if held.stored is not None}
        values = {key: held.value for key, held in self._held.items() if held.value is not None}
        own = StoredSource(self.folder, stored, values, numbers)
        joined = JoinedSource(own)
        for folder, part in self._parts:
            more = joined.add(folder, part, numbers, {*(t.key for t in tensors), *(o.key for o in objects)})
            tensors += more[0]
            objects += more[1]
            self.faults += [
                fault._replace(file=f"{folder}/{fault.file}" if fault.file else folder) for fault in part.faults
            ]
            self.remarks += part.remarks
        if self._parts:
            tensors = linked(tensors)
            elsewhere = ((kind, f"{folder}: {where}") for folder, part in self._parts for kind, where in part.elsewhere)
            facts["elsewhere"] = (*facts.get("elsewhere", ()), *elsewhere)
        return Manifest(
            format_,
            self.folder.root,
            tuple(tensors),
            tuple(objects),
            files,
            joined if self._parts else own,
            faults=tuple(self.faults),
            remarks=tuple(dict.fromkeys(self.remarks)),
            **facts,
        )

    def _add(self, held: _Held) -> None:
        """Keep an entry under its key; one that is taken gets its file in front."""
        key = held.entry.key
        if key in self._held:
            key = f"{held.file}:{key}"
            if key in self._held:
                raise InputError(
                    Problem(
                        f"two entries of one key {key[:80]!a}", Place(str(self.folder.root / held.file)), hint=_HINT
                    )
                )
            held = held._replace(entry=held.entry._replace(key=key))
        self._held[key] = held

    def _states(self, numbers: dict[str, int]) -> tuple[list[Tensor], list[Object]]:
        tensors, objects = [], []
        for held, named in zip(self._held.values(), self._named(), strict=True):
            if held.stored is None:
                objects.append(
                    Object(
                        held.entry.key,
                        named.kind,
                        numbers[held.file],
                        path=held.entry.path,
                        rank=named.rank,
                        type=held.type,
                    )
                )
            else:
                tensors.append(_tensor(held.entry, named, held.stored, numbers[held.file]))
        return tensors, objects

    def _named(self) -> list[Named]:
        """What every entry is: by the role of its file, or by its name among all others."""
        open_ = [held.entry for held in self._held.values() if held.kind is None]
        by_name = iter(classify(open_))
        found = []
        for held in self._held.values():
            named = Named(held.kind, None) if held.kind is not None else next(by_name)
            found.append(named._replace(rank=held.rank) if held.rank is not None else named)
        return found

    def _files(self) -> tuple[File, ...]:
        """Every file with what it holds; those of parts as their own readers saw them."""
        inner = {
            f"{folder}/{file.name}": file._replace(name=f"{folder}/{file.name}")
            for folder, part in self._parts
            for file in part.files
        }
        used = {held.file for held in self._held.values()} | set(self._holds) | {fault.file for fault in self.faults}
        return tuple(
            inner.get(name)
            or File(
                name,
                size,
                self._ranks.get(name),
                name in used or not name.endswith(DATA_SUFFIXES),
                self._holds.get(name, ""),
            )
            for name, size in self.folder.sizes().items()
        )


def _tensor(entry: Entry, named: Named, stored: StoredTensor, file: int) -> Tensor:
    axes = len(stored.shape)
    shards = Shards(
        offsets=np.zeros((1, axes), dtype=np.int64),
        sizes=np.array(stored.shape, dtype=np.int64).reshape(1, axes),
        files=np.array([file], dtype=np.int64),
        item_offsets=np.array([stored.data_offset], dtype=np.int64),
        item_bytes=np.array([stored.size_bytes], dtype=np.int64),
        data_offsets=np.array([stored.data_offset], dtype=np.int64),
    )
    return Tensor(entry.key, named.kind, stored.dtype, stored.shape, shards, entry.path, named.parameter, named.rank)


def _listed(names: Iterable[str], most: int = 5) -> str:
    found = [ascii(name)[1:-1][:120] for name in names]
    rest = f" and {len(found) - most:,} more" if len(found) > most else ""
    return ", ".join(found[:most]) + rest
