"""A folder of safetensors files with their index, as Hugging Face's libraries write them above a size."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ckptplan.checkpoint.writing.header import Entry, refuse_entries
from ckptplan.checkpoint.writing.places import beside, refuse_without_room, replaceable, sync_folder, undone
from ckptplan.checkpoint.writing.signals import held
from ckptplan.checkpoint.writing.single import SafetensorsWriter
from ckptplan.errors import InputError, printable

SHARD_BYTES = 5_000_000_000  # transformers cuts at 5 GB
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
MOST_OPEN = 32
_OURS = re.compile(r"model(-\d{5,}-of-\d{5,})?\.safetensors|" + re.escape(INDEX))  # what a folder of shards holds


class ShardedSafetensorsWriter:
    """Tensors in any order into a new folder, which appears whole or not at all.

    Used as a context: without ``finish`` nothing is left, whatever happened. No tensor is cut: one that is larger
    than ``shard_bytes`` has a file of its own. What fits in one file is ``model.safetensors``, without an index.

    Parameters
    ----------
    folder : path
        A folder that does not exist yet, or is empty.
    entries, metadata, inputs
        As of SafetensorsWriter.
    shard_bytes : int
        No file holds more than this many bytes of tensors, unless one tensor does. [bytes]
    overwrite : bool
        Replace a folder that holds nothing but such shards and their index.
    """

    _open = False

    def __init__(
        self,
        folder: str | Path,
        entries: Sequence[Entry | tuple[str, str, tuple[int, ...]]],
        metadata: Mapping[str, str] | None = None,
        inputs: Iterable[str | Path] = (),
        shard_bytes: int = SHARD_BYTES,
        *,
        overwrite: bool = False,
    ) -> None:
        listed = [Entry(*entry) for entry in entries]
        refuse_entries(listed)
        self.path = Path(folder)
        self._target = _new_folder(self.path, inputs, overwrite=overwrite)
        self._overwrite = overwrite
        self._total_bytes = sum(entry.size_bytes for entry in listed)
        refuse_without_room(self._target.parent, self._total_bytes)
        self._aside = beside(self._target)
        self._writers: dict[str, SafetensorsWriter] = {}
        self._file_of: dict[str, str] = {}
        self._busy: OrderedDict[str, None] = OrderedDict()
        self._open = True
        with undone(self.path, self.abort):
            self._aside.mkdir()
            self._begin(cut(listed, shard_bytes), metadata)

    def __enter__(self) -> ShardedSafetensorsWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def __del__(self) -> None:
        self.abort()  # interrupted between the end of __init__ and the begin of the context

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files with tensors, in order."""
        return tuple(self._writers)

    def write(self, name: str, start_byte: int, data: Any) -> None:
        """Bytes of one tensor from a place in it on; `data` is bytes or a contiguous array."""
        file = self._file_of[name]
        self._busy.pop(file, None)
        self._busy[file] = None
        if len(self._busy) > MOST_OPEN:
            self._writers[self._busy.popitem(last=False)[0]].park()
        self._writers[file].write(name, start_byte, data)

    def finish(self) -> None:
        """All is written: finish every file, write the index, then give the folder its name."""
        with undone(self.path, self.abort):
            for writer in self._writers.values():
                writer.finish()
            if len(self._writers) > 1:
                self._write_index()
            sync_folder(self._aside)
            with held():
                self._named()
            sync_folder(self._target.parent)
        self._open = False

    def abort(self) -> None:
        """Leave nothing behind, unless it is finished."""
        if self._open:
            with held():
                self._open = False
                for writer in self._writers.values():
                    writer.abort()
                shutil.rmtree(self._aside, ignore_errors=True)

    def _begin(self, parts: Sequence[Sequence[Entry]], metadata: Mapping[str, str] | None) -> None:
        for number, part in enumerate(parts, 1):
            file = SINGLE if len(parts) == 1 else f"model-{number:05d}-of-{len(parts):05d}.safetensors"
            writer = SafetensorsWriter(self._aside / file, part, metadata)
            writer.park()
            self._writers[file] = writer
            self._file_of.update((entry.name, file) for entry in part)

    def _named(self) -> None:
        """Give the folder its name; shards that had it are removed after, and come back if that fails."""
        if not (self._overwrite and self._target.is_dir()):
            self._aside.rename(self._target)  # replaces an empty folder, and nothing else
            return
        _new_folder(self.path, overwrite=True)  # nothing else came in
        before = beside(self._target)
        self._target.rename(before)
        try:
            self._aside.rename(self._target)
        except BaseException:
            with suppress(OSError):
                before.rename(self._target)
            raise
        shutil.rmtree(before, ignore_errors=True)

    def _write_index(self) -> None:
        document = {"metadata": {"total_size": self._total_bytes}, "weight_map": dict(sorted(self._file_of.items()))}
        with (self._aside / INDEX).open("x", encoding="utf-8") as file:
            json.dump(document, file, indent=2, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())


def cut(entries: Sequence[Entry], shard_bytes: int) -> list[list[Entry]]:
    """The tensors of each file, in the order given; at least one file."""
    parts: list[list[Entry]] = [[]]
    held = 0
    for entry in entries:
        if parts[-1] and held + entry.size_bytes > shard_bytes:
            parts.append([])
            held = 0
        parts[-1].append(entry)
        held += entry.size_bytes
    return parts


def _new_folder(path: Path, inputs: Iterable[str | Path] = (), *, overwrite: bool) -> Path:
    """Where the folder will be: new or empty, and not within the inputs; or such shards, to be overwritten."""
    target = replaceable(path, inputs, folder=True)
    held = sorted(entry.name for entry in target.iterdir()) if target.is_dir() else []
    foreign = [name for name in held if not _OURS.fullmatch(name) or not (target / name).is_file()]
    if held and not overwrite:
        hint = "name a folder that does not exist yet" + (", or --overwrite to replace it" if not foreign else "")
        raise InputError(f"{printable(str(path))} is not empty", hint=hint)
    if foreign:
        said = f"{printable(str(path))} holds more than shards of safetensors, such as {printable(foreign[0])}"
        raise InputError(said, hint="--overwrite removes no folder of other things: name another one")
    return target
