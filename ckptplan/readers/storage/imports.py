"""Results of storage benchmarks, whatever wrote them, as the bandwidths that a spec takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ckptplan.errors import printable
from ckptplan.measure.figures import Imported, StorageFigures, combine
from ckptplan.measure.phases import WRITE, Phase
from ckptplan.readers.files import refused
from ckptplan.readers.storage.dlio import dlio_phases, is_dlio
from ckptplan.readers.storage.documents import MOST_LINES, documents_in, text_of
from ckptplan.readers.storage.elbencho import elbencho_json_phases, elbencho_phases, is_elbencho, is_elbencho_json
from ckptplan.readers.storage.fio import fio_phases, is_fio
from ckptplan.readers.storage.ior import ior_json_phases, ior_phases, is_ior, is_ior_json
from ckptplan.readers.storage.own import is_own, own_phases

_ACCEPTED = (
    "give the JSON of fio (--output-format=json), the output of IOR (text, JSON or CSV), the CSV or JSON of elbencho, "
    "summary.json of DLIO or MLPerf Storage, or the JSON of ckptplan measure storage"
)
_MOST_PHASES = 100_000


def read_storage(path: str | Path) -> StorageFigures:
    """Bandwidths from one file of a benchmark.

    Parameters
    ----------
    path : str or Path
        JSON of fio; text, JSON or CSV of IOR; CSV or JSON of elbencho; a summary of DLIO or MLPerf Storage; JSON of
        ``measure storage``.

    Returns
    -------
    StorageFigures
        With at least one bandwidth that a spec takes; the warnings are sentences that name the file, and one of them
        says so if there is no write bandwidth.

    Raises
    ------
    InputError
        If the file cannot be read, is of another kind, or has neither a write that stands nor a read rate of storage
        as a whole.
    """
    found = combine([import_file(path)])
    if found.write_bandwidth_per_node_bytes_per_s is not None or found.write_bandwidth_bytes_per_s is not None:
        return found
    why = _why_none(found.files[0])
    if found.read_bandwidth_bytes_per_s is not None:
        said = printable(f"{path}: gives no write bandwidth: it {why}")
        return found._replace(warnings=(said, *found.warnings))
    if found.read_bandwidth_per_node_bytes_per_s is not None:
        why += ", and that of one node is none of storage as a whole"
    raise refused(path, why, "a save writes: give the result of a write test")


def import_file(path: str | Path) -> Imported:
    """The phases of one file.

    Raises
    ------
    InputError
        If the file cannot be read or holds no result of a known benchmark.
    """
    return import_text(text_of(path), path)


def import_text(text: str, path: str | Path) -> Imported:
    """The phases in a text; the path names it in what is said of it.

    Raises
    ------
    InputError
        If it holds no result of a known benchmark.
    """
    if is_elbencho(text):
        return _checked(path, Imported(str(path), tuple(elbencho_phases(text)), tuple(_unread(text))))
    found = documents_in(text, path)
    phases: list[Phase] = []
    for document in found.documents:
        if is_fio(document):
            phases += fio_phases(document)
        elif is_ior_json(document):
            phases += ior_json_phases(document)
        elif is_dlio(document):
            phases += dlio_phases(document)
        elif is_own(document):
            phases += own_phases(document)
    phases += elbencho_json_phases([one for one in found.documents if is_elbencho_json(one)])
    unread: list[str] = []
    if not found.documents and is_ior(text):
        phases += ior_phases(text)
        unread += _unread(text)
    if not phases and not _is_known(found.documents, text):
        raise refused(path, _unknown(text, torn=found.torn), _ACCEPTED)
    return _checked(path, Imported(str(path), tuple(phases), (*unread, *_around(found.around, torn=found.torn))))


def _is_known(documents: Sequence[dict[str, Any]], text: str) -> bool:
    kinds = (is_fio, is_ior_json, is_dlio, is_elbencho_json, is_own)
    return is_ior(text) or any(is_kind(one) for one in documents for is_kind in kinds)


def _checked(path: str | Path, imported: Imported) -> Imported:
    if not imported.phases:
        raise refused(path, "has no phase that wrote or read anything", _ACCEPTED)
    if len(imported.phases) > _MOST_PHASES:
        raise refused(path, f"has more than {_MOST_PHASES:,} phases", _ACCEPTED)
    return imported


def _unread(text: str) -> Iterator[str]:
    """That a table is too long to be read to its end."""
    lines = text.count("\n")
    if lines > MOST_LINES:
        yield f"of {lines:,} lines only the first {MOST_LINES:,} were read"


def _around(text: str, *, torn: bool) -> Iterator[str]:
    """What the text around JSON says of errors, and whether the file ends early."""
    said = [line.strip() for line in text.splitlines()[:10_000] if line.startswith("fio:") and "err" in line]
    if said:
        yield f"fio says {printable(said[0])[:120]!r}"
    if torn:
        yield "the file ends before its last document does: what is whole is used"


def _unknown(text: str, *, torn: bool) -> str:
    if torn:
        return "the file ends before its JSON does"
    if "clat (usec)" in text or "Run status group" in text:
        return "is the text that fio prints for people, not its JSON"
    if "OPERATION" in text and "RESULT TYPE" in text and "LAST DONE" in text:
        return "is the text that elbencho prints for people, without threads and hosts: not its CSV (--csvfile)"
    return "is no result of a storage benchmark that is known"


def _why_none(imported: Imported) -> str:
    writes = [phase for phase in imported.phases if phase.access == WRITE]
    if not writes:
        return "has read rates only, and a read rate is no write rate"
    faults = [fault for phase in writes for fault in phase.faults]
    return f"has no write that stands: {faults[0]}" if faults else "has no write whose rate is known"


__all__ = ["Imported", "StorageFigures", "combine", "import_file", "read_storage"]
