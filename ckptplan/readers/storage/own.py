"""What ``ckptplan measure storage -f json`` printed on one node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ckptplan.errors import printable
from ckptplan.measure.phases import READ, WRITE, Phase
from ckptplan.readers.storage.documents import count, listing, mapping, number, positive

TOOL = "ckptplan"
_FIGURES = {"sustained write": WRITE, "read": READ}


def is_own(document: dict[str, Any]) -> bool:
    """Whether a JSON document is a measurement of ours."""
    return document.get("schema") == "ckptplan.storage/1"


def own_phases(document: dict[str, Any]) -> Iterator[Phase]:
    """The sustained write and the reading of the node; the burst is no rate of storage."""
    setting, cache = mapping(document.get("setting")), document.get("page_cache")
    writers, size = count(setting.get("writers")), positive(setting.get("size_bytes"))
    times = [found for value in listing(document.get("seconds"))[:10_000] if (found := positive(value)) is not None]
    whole = mapping(document.get("storage"))
    is_memory = mapping(document.get("file_system")).get("is_memory") is True
    for row in map(mapping, listing(document.get("figures"))[:100]):
        access, rate = _FIGURES.get(str(row.get("figure"))), positive(row.get("mean_bytes_per_s"))
        if access is None or rate is None or row.get("of") != "node":
            continue
        total = None if writers is None or size is None else writers * size
        yield Phase(
            TOOL,
            printable(str(document.get("folder", "")))[:40],
            access,
            (rate,),
            bytes_=total,
            seconds=_mean(times) if access == WRITE else None if total is None else total / rate,
            writers=writers,
            nodes=1,
            synced=True if access == WRITE else None,
            direct=setting.get("direct") is True,
            dropped=access == READ and cache in ("dropped", "direct", "invalidated", "dropped_all"),
            cv=number(row.get("cv")),
            repeats=count(row.get("count")),
            is_whole=f"{access}_bandwidth" in whole,  # the block has it only where this node was said to be all
            notes=("the folder was memory, not storage",) if is_memory else (),
        )


def _mean(times: list[float]) -> float | None:
    return sum(times) / len(times) if times else None
