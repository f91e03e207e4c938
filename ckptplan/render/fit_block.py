"""The keys of a spec that a fitted record gives, to paste."""

from __future__ import annotations

from ckptplan.cost.scenario import EXPONENTIAL, LawName
from ckptplan.fit.ends import WHOLE_RECOVERIES, Recovery
from ckptplan.fit.planning import RecordedFailures, same_size
from ckptplan.units import HOUR_S, format_gpus

_DAY_S = 24 * HOUR_S


def block(found: RecordedFailures, planned_gpus: int | None) -> str:
    """The ``failures:`` group, with ``restart:`` where the record shows one.

    A law is that of a job of the recorded size: it is written for another one as a comment only.
    """
    lines = ["failures:", f"  # {found.text}"]
    gpus = "" if found.gpus is None else f", gpus: {max(1, round(found.gpus))}"
    until = ", until: failure" if found.until_failure else ""
    # Over and gpus are written so that their product is exactly what was observed.
    over_s = found.over_s if found.gpus is None else found.over_s * found.gpus / max(1, round(found.gpus))
    lines.append(f"  interruptions: {{count: {found.failures}, over: {_exact(over_s)}{gpus}{until}}}")
    if found.gpus is None:
        lines.append("  # add gpus: N to interruptions, the GPUs of the recorded job")
    lines += _law(found, planned_gpus)
    if found.others:
        lines.append("  classes:")
    for one in found.others:
        mtbf = (
            f"mtbf_per_gpu: {_exact(one.mtbf_s * found.gpus)}"
            if found.gpus is not None
            else f"every: {_exact(one.mtbf_s)}"
        )
        lines.append(f"    - {{kind: {one.kind}, {mtbf}}}  # {one.ends:,} in the record")
    if found.recovery is not None:
        lines += _restart(found.recovery)
    return "\n".join(lines) + "\n"


def _law(found: RecordedFailures, planned_gpus: int | None) -> list[str]:
    if found.law == EXPONENTIAL:
        return []
    key = "sigma" if found.law.name is LawName.LOGNORMAL else "shape"
    text = f"law: {{name: {found.law.name}, {key}: {found.law.shape:.4g}}}"
    if found.others:
        return [f"  # {text} fits better than the exponential law that classes need"]
    if found.gpus is not None and (planned_gpus is None or not same_size(found.gpus, planned_gpus)):
        return [f"  # {text} fits a job of {format_gpus(round(found.gpus))}; it does not scale to another size"]
    return [f"  {text}"]


def _restart(recovery: Recovery) -> list[str]:
    mean, seen = _exact(recovery.mean_s, 4), f"  # of {recovery.seen:,}, median {_exact(recovery.median_s, 4)}"
    value = (
        f"{{mean: {mean}, cv: {recovery.cv:.2g}}}" if 0.005 <= recovery.cv <= 5.0 and recovery.mean_s > 0.0 else mean
    )
    if recovery.phase in WHOLE_RECOVERIES:
        return [f"restart: {{total: {value}}}{seen}"]
    if recovery.phase == "repair":
        return [f"# repair of a node: {value}{seen}"]
    return [f"# restart: {{replace: {value}, ...}}{seen}; detect, initialise, load and warm_up are not in the record"]


def _exact(seconds: float, digits: int = 10) -> str:
    """A time with its unit that reads back as it is, to ten digits."""
    for size, unit in ((_DAY_S, "d"), (HOUR_S, "h")):
        if seconds >= 2 * size:
            return f"{seconds / size:.{digits}g} {unit}"
    return f"{seconds:.{digits}g} s"
