"""Sheets and the document of ``ckptplan average``."""

from __future__ import annotations

from typing import Any

from ckptplan import __version__
from ckptplan.checkpoint.average.averaging import Averaged
from ckptplan.checkpoint.average.neighbourhood import Neighbourhood
from ckptplan.checkpoint.average.running import Ran
from ckptplan.checkpoint.dtypes import size_bytes
from ckptplan.render.numbers import hundredths, whole
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_size


def _digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _cosine(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


_CHECKPOINTS = (
    Column("checkpoint", "checkpoint", right=False),
    Column("format", show=None),
    Column("step", "step", whole),
    Column("weight", "weight %", hundredths),
    Column("learning_rate", "learning rate", _digits),
    Column("peak_learning_rate", "of its peak", show=None),
    Column("share_of_peak", "% of peak", hundredths),
    Column("relative_move", "move %", hundredths),
    Column("cosine", "cosine", _cosine),
    Column("relative_distance", "from first %", hundredths),
)
_TENSORS = (
    Column("name", "tensor", right=False),
    Column("kind", "state", str, right=False),
    Column("stored", "stored", right=False),
    Column("dtype", "type", right=False),
    Column("shape", show=None),
    Column("size_bytes", "size", format_size),
    Column("made", "made", right=False),
    Column("relative_displacement", "moved %", hundredths),
    Column("not_finite", "not finite", whole),
    Column("nan", "NaN in it", whole),
    Column("infinite", "infinite in it", whole),
)


def checkpoint_sheet(done: Averaged) -> Sheet:
    """One row per checkpoint; a move is the way from the one before, relative to the norm of the first."""
    near = done.near
    found = near.geometry
    rows = []
    for at, (one, manifest) in enumerate(zip(near.neighbours, done.manifests, strict=True)):
        move = found.moves[at - 1] if at else None
        rows.append(
            (
                one.label,
                str(manifest.format),
                one.step,
                one.weight,
                one.rate.highest,
                one.rate.peak,
                one.rate.share_of_peak,
                _relative(near, move),
                found.cosines[at - 2] if at > 1 else None,
                _relative(near, float(found.distances[0, at])) if at else None,
            )
        )
    return Sheet(_CHECKPOINTS, tuple(rows))


def _relative(near: Neighbourhood, distance: float | None) -> float | None:
    return None if distance is None or not near.geometry.norm else distance / near.geometry.norm


def tensor_sheet(done: Averaged) -> Sheet:
    """One row per tensor of the result."""
    return Sheet(_TENSORS, tuple(_tensor(one) for one in done.ran))


def _tensor(one: Ran) -> tuple[Any, ...]:
    matched = one.matched
    last = matched.tensors[-1]
    norm = float(one.gram[0, 0]) ** 0.5
    moved = float(one.gram[-1, -1]) ** 0.5 / norm if norm and matched.averaged else None
    return (
        matched.name,
        str(matched.kind),
        last.dtype,
        matched.dtype,
        list(last.shape),
        size_bytes(matched.dtype, last.elements),
        made(one),
        moved,
        sum(one.not_finite),
        one.strange.nan,
        one.strange.infinite,
    )


def made(one: Ran) -> str:
    """How a tensor of the result came about, in a word or two."""
    if not one.matched.averaged:
        return "from the last" if one.differs else "the same in all"
    return "mean of masters" if one.matched.from_masters else "mean"


def average_document(done: Averaged) -> dict[str, Any]:
    """The JSON document ``ckptplan.average/1``."""
    found = done.near.geometry
    tensors = tensor_sheet(done).records()
    return {
        "schema": "ckptplan.average/1",
        "ckptplan": __version__,
        "written": None if done.out is None else str(done.out),
        "files": list(done.files),
        "checksums": str(done.checksums),
        "size_bytes": done.size_bytes,
        "weighting": done.weighting.name,
        "checkpoints": checkpoint_sheet(done).records(),
        "norm": found.norm,
        "distances": found.distances.tolist(),
        "displacement": found.displacement,
        "relative_displacement": found.relative_displacement,
        "path": found.path,
        "wandering": found.wandering,
        "spread": found.spread,
        "lag": found.lag,
        "tensors": tensors,
        "facts": list(done.facts),
        "warnings": list(done.warnings),
    }
