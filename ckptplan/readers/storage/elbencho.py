"""elbencho: its CSV (``--csvfile``) and its JSON (``--jsonfile``); the thread that is done last ends a phase."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from ckptplan.errors import printable
from ckptplan.measure.phases import MEBIBYTE, READ, WRITE, Phase
from ckptplan.readers.storage.documents import MOST_LINES, count, mapping, positive

TOOL = "elbencho"
_ACCESS = {"WRITE": WRITE, "READ": READ}
_SYNC, _DROP = "SYNC", "DROPCACHE"

_Step = tuple[str, Phase | None, float | None]  # the operation, its phase if it moved bytes, and its time [s]


def is_elbencho(text: str) -> bool:
    """Whether a text is the CSV of elbencho."""
    first = text.lstrip().partition("\n")[0]
    return "operation" in first and "time ms [last]" in first


def is_elbencho_json(document: dict[str, Any]) -> bool:
    """Whether a JSON document is a phase of elbencho."""
    return "phase_type" in document and isinstance(document.get("last_done"), dict)


def elbencho_phases(text: str) -> Iterator[Phase]:
    """The phases of a CSV file; header lines may come again where results were appended."""
    columns: list[str] = []
    rows: list[dict[str, Any]] = []
    for line in text.splitlines()[:MOST_LINES]:
        try:
            cells = next(csv.reader([line]), [])
        except csv.Error:
            continue
        if "operation" in cells:
            columns = [cell.strip() for cell in cells]
        elif columns and cells:
            rows.append(dict(zip(columns, cells, strict=False)))
    return _with_syncs([_of_row(row) for row in rows])


def elbencho_json_phases(documents: list[dict[str, Any]]) -> Iterator[Phase]:
    """The phases of JSON documents, one each; their numbers stand as text."""
    return _with_syncs([_of_document(document) for document in documents])


def _with_syncs(steps: list[_Step]) -> Iterator[Phase]:
    """A SYNC after a WRITE belongs to it: only then are the bytes on storage. DROPCACHE makes a READ one of storage."""
    dropped = False
    for index, (operation, phase, _) in enumerate(steps):
        dropped = operation == _DROP or (dropped and operation != "WRITE")
        if phase is not None:
            follows = steps[index + 1] if index + 1 < len(steps) else ("", None, None)
            yield _synced(phase, follows) if phase.access == WRITE else phase._replace(dropped=dropped)


def _synced(phase: Phase, follows: _Step) -> Phase:
    operation, _, seconds = follows
    if operation != _SYNC or seconds is None or not phase.bytes_ or not phase.seconds:
        return phase
    return phase._replace(
        rates_bytes_per_s=(phase.bytes_ / (phase.seconds + seconds),),
        seconds=phase.seconds + seconds,
        synced=True,
        notes=(*phase.notes, "with the time of the SYNC that follows"),
    )


def _of_row(row: dict[str, Any]) -> _Step:
    milliseconds, mib = positive(row.get("time ms [last]")), positive(row.get("MiB [last]"))
    rate = positive(row.get("MiB/s [last]"))
    return _step(
        str(row.get("operation", "")),
        row,
        None if mib is None else mib * MEBIBYTE,
        None if milliseconds is None else milliseconds / 1e3,
        None if rate is None else rate * MEBIBYTE,
        mixed=positive(row.get("rwmix read MiB [last]")) is not None,
    )


def _of_document(document: dict[str, Any]) -> _Step:
    last, config = mapping(document.get("last_done")), mapping(document.get("config"))
    milliseconds = positive(last.get("elapsed_time_ms"))
    row = {
        **{key.replace("_", " "): value for key, value in config.items()},
        "direct IO": config.get("direct_io"),
        "label": document.get("label", ""),
    }
    return _step(
        str(document.get("phase_type", "")),
        row,
        positive(last.get("bytes")),
        None if milliseconds is None else milliseconds / 1e3,
        positive(last.get("bytes/s")),
        mixed="rwmix_read" in last,
    )


def _step(
    operation: str, row: dict[str, Any], bytes_: float | None, seconds: float | None, rate: float | None, *, mixed: bool
) -> _Step:
    """The operation, its phase if it moved bytes, and its time."""
    kind = operation.upper()
    is_mixed = mixed or kind.startswith(("RWMIX", "MIX"))
    access = WRITE if kind.startswith(("RWMIX", "MIX")) else _ACCESS.get(kind)
    if access is None or (bytes_ is None and rate is None):
        return kind, None, seconds
    own = bytes_ / seconds if bytes_ and seconds else rate
    hosts, threads = count(row.get("hosts")), count(row.get("threads"))
    notes = ["reads ran beside these writes: alone they may be faster"] if is_mixed else []
    if str(row.get("random", row.get("random offsets", "0"))).lower() in {"1", "true"}:
        notes.append("random offsets: a save writes in sequence")
    name = printable(str(row.get("label") or operation))[:40]
    return (
        kind,
        Phase(
            TOOL,
            name,
            access,
            () if own is None else (own,),
            bytes_=bytes_,
            seconds=seconds,
            writers=None if threads is None else threads * (hosts or 1),
            nodes=hosts,
            synced=False if access == WRITE else None,
            direct=str(row.get("direct IO", "")).lower() in {"1", "true"},
            notes=tuple(notes),
        ),
        seconds,
    )
