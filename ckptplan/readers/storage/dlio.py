"""DLIO and MLPerf Storage: ``summary.json``, of which only the saves of checkpoints are write rates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ckptplan.measure.phases import GIBIBYTE, MEBIBYTE, READ, WRITE, Phase
from ckptplan.readers.storage.documents import count, listing, mapping, number, positive

TOOL = "DLIO"
_CHECKPOINTS = {WRITE: "save_checkpoint", READ: "load_checkpoint"}
_SAMPLES = ("train", "eval")


def is_dlio(document: dict[str, Any]) -> bool:
    """Whether a JSON document is a summary of DLIO, which MLPerf Storage runs."""
    return isinstance(document.get("metric"), dict) and ("num_accelerators" in document or "num_hosts" in document)


def dlio_phases(document: dict[str, Any]) -> Iterator[Phase]:
    """Saves and loads of checkpoints, and the reading of samples.

    What DLIO calls GB and MB are GiB and MiB: it divides by powers of 1024.
    """
    metric = mapping(document["metric"])
    for access, prefix in _CHECKPOINTS.items():
        rate = positive(metric.get(f"{prefix}_io_mean_GB_per_second"))
        if rate is None:
            continue
        deviation = number(metric.get(f"{prefix}_io_stdev_GB_per_second"))
        size = positive(metric.get("checkpoint_size_GB"))
        yield _phase(
            document,
            "checkpoint save" if access == WRITE else "checkpoint load",
            access,
            rate * GIBIBYTE,
            bytes_=None if size is None else size * GIBIBYTE,
            seconds=positive(metric.get(f"{prefix}_duration_mean_seconds")),
            cv=None if not deviation else deviation / rate,
        )
    for kind in _SAMPLES:
        rate = positive(metric.get(f"{kind}_io_mean_MB_per_second"))
        if rate is not None:
            phase = _phase(document, f"{kind} samples", READ, rate * MEBIBYTE, bytes_=_data_set(document))
            yield phase._replace(notes=("reading of samples as fast as training asked for them, no write rate",))


def _data_set(document: dict[str, Any]) -> float | None:
    """Bytes that all hosts read in one epoch."""
    per_host = positive(document.get("data_size_per_host_GB"))
    return None if per_host is None else per_host * GIBIBYTE * (count(document.get("num_hosts")) or 1)


def _phase(
    document: dict[str, Any],
    name: str,
    access: str,
    rate: float,
    *,
    bytes_: float | None = None,
    seconds: float | None = None,
    cv: float | None = None,
) -> Phase:
    memory = [found for value in listing(document.get("host_memory_GB")) if (found := positive(value)) is not None]
    return Phase(
        TOOL,
        name,
        access,
        (rate,),
        bytes_=bytes_,
        seconds=seconds,
        writers=count(document.get("num_accelerators")),
        nodes=count(document.get("num_hosts")),
        cv=cv,
        host_memory_per_node_bytes=min(memory) * GIBIBYTE if memory else None,
    )
