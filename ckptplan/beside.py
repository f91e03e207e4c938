"""Files that a spec names, read once each: in the folder of the spec or below it, nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ckptplan.errors import InputError, printable

if TYPE_CHECKING:
    from ckptplan.cost.architecture import Architecture
    from ckptplan.fit.counting import Counting
    from ckptplan.fit.planning import RecordedFailures
    from ckptplan.spec.named_files import SavedCheckpoint, StorageRates

_Found = TypeVar("_Found")


class FilesBeside:
    """Reads what a spec in a folder names. What was read is kept: a study reads a spec many times over."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.read: list[Path] = []
        self._kept: dict[tuple[object, ...], Any] = {}

    def gaps(self, name: str) -> tuple[float, ...]:
        """Gaps between failures. [s]."""
        from ckptplan.readers.records.gaps import read_gaps

        return self._once(("gaps", name), lambda: read_gaps(self._path(name)).gaps_s)

    def failures(self, names: tuple[str, ...], keys: Mapping[str, Any], counting: Counting) -> RecordedFailures:
        """What a record of failures says, in one file or several, to plan with."""
        from ckptplan.fit.combining import combined
        from ckptplan.fit.fitting import fit_record
        from ckptplan.fit.planning import recorded_failures
        from ckptplan.readers.records.asked import record_options
        from ckptplan.readers.records.failures import read_record

        def read() -> RecordedFailures:
            options = record_options(keys)
            records = [read_record(self._path(name), options) for name in names]
            return recorded_failures(fit_record(combined(records), counting), counting)

        return self._once(("failures", names, tuple(sorted(keys.items())), counting), read)

    def storage(self, name: str) -> StorageRates:
        """What a measurement of storage says."""
        from ckptplan.readers.storage.imports import read_storage
        from ckptplan.spec.named_files import StorageRates

        found = self._once(("storage", name), lambda: read_storage(self._path(name)))
        keys = ("write_bandwidth", "write_bandwidth_per_node", "write_bandwidth_per_writer", "read_bandwidth")
        measured = {key: getattr(found, f"{key}_bytes_per_s") for key in keys}
        rates = {key: rate for key, rate in measured.items() if rate is not None}
        cvs = {key: found.read_cv if key.startswith("read") else found.write_cv for key in rates}
        return StorageRates(rates, {key: cv for key, cv in cvs.items() if cv}, found.warnings)

    def config(self, name: str) -> Architecture:
        """The tensors of a model, from its configuration."""
        from ckptplan.readers.models.model_config import NAME, read_model_config

        def read() -> Architecture:
            path = self._path(name)
            # The file of a folder may be a link that leads elsewhere, as the folder itself may be.
            return read_model_config(self._path(str(Path(name, NAME))) if path.is_dir() else path)

        return self._once(("config", name), read)

    def checkpoint(self, name: str) -> SavedCheckpoint:
        """The tensors of a model, and of a checkpoint of training all its states."""
        from ckptplan.readers.models.saved_state import read_saved
        from ckptplan.spec.named_files import SavedCheckpoint

        return self._once(("checkpoint", name), lambda: SavedCheckpoint(*read_saved(self._path(name))))

    def _once(self, key: tuple[object, ...], read: Callable[[], _Found]) -> _Found:
        if key not in self._kept:
            try:
                self._kept[key] = read()
            except OSError as error:  # a disk that fails while it is read, a folder that may not be entered
                raise InputError(
                    f"{printable(str(key[1]))} cannot be read: {error.strerror or error}", hint="check its permissions"
                ) from error
        found: _Found = self._kept[key]
        return found

    def _path(self, name: str) -> Path:
        """The file, if it lies in the folder of the spec."""
        path = self._folder / name
        try:
            inside = path.resolve().is_relative_to(self._folder.resolve())
        except (OSError, ValueError, RuntimeError):  # RuntimeError: a link that leads to itself
            inside = False
        if not inside:
            raise InputError(
                f"{printable(name)} is not in the folder of the spec", hint="put the file beside the spec, and name it"
            )
        self.read.append(path)
        return path
