"""The failures group: exactly one source of the rate, reduced to the MTBF of one GPU."""

from __future__ import annotations

from typing import Any

from ckptplan.cost.failures import (
    mtbf_from_count,
    mtbf_per_gpu_from_job,
    mtbf_per_gpu_from_node,
    mtbf_per_gpu_from_rate_per_node_day,
)
from ckptplan.cost.scenario import Cluster, Evidence, Failures, Law
from ckptplan.spec.law import build_law
from ckptplan.spec.record import Record
from ckptplan.spec.schema import FAILURE_SOURCES
from ckptplan.units import HOUR_S, format_count, format_time

_SHORTEST_S, _LONGEST_S = 500 * HOUR_S, 5_000_000 * HOUR_S
_TOO_SHORT = {
    "mtbf": "mtbf is that of the whole job; is this one in minutes that was meant in hours?",
    "mtbf_per_gpu": "is this the MTBF of the whole job? then write mtbf",
    "mtbf_per_node": "is this the MTBF of the whole job? then write mtbf",
    "rate_per_node_day": "is this a rate per 1000 node-days? then divide it by 1000: 6.5 becomes 6.5e-3",
    "interruptions": "do count, over and gpus belong together? spot machines do fail this often",
    "record": "ckptplan fit shows what was counted: are those failures of the machine, or of the jobs themselves?",
}
_TOO_LONG = {
    "mtbf": "mtbf is that of the whole job; is this the MTBF of one GPU? then write mtbf_per_gpu",
    "mtbf_per_gpu": "is a rate or a unit wrong? accelerators fail every 10,000 to 100,000 h",
    "mtbf_per_node": "is a unit wrong? nodes fail every 20 to 400 d",
    "rate_per_node_day": "was a rate per node-day divided by 1000 once too often?",
    "interruptions": "do count, over and gpus belong together?",
    "record": "ckptplan fit shows what was counted: are failures missing from the record?",
}


def build_failures(record: Record, cluster: Cluster | None) -> Failures | None:
    """The MTBF per GPU with its source, or None if a fault was noted."""
    law = build_law(record)
    survives = record.take("failures.host_copy_survives", 0.0)
    source = _source(record)
    prior = _prior(record, source)
    if source is None or law is None or cluster is None:
        return None
    if source == "law":
        total_s, count = sum(law.gaps_s), len(law.gaps_s)
        evidence = Evidence(count, total_s * cluster.gpus, until_failure=True)
        mtbf_s = float(mtbf_per_gpu_from_job(total_s / count, cluster.gpus))
        return Failures(mtbf_s, "recorded gaps", evidence, law, survives)
    path = f"failures.{source}"
    if source == "interruptions":
        return _counted(record, cluster, prior, law, survives)
    if source == "record":
        return _recorded(record, cluster, prior, law, survives)
    given = record.take(path)
    if not record.fields.sound(path):
        return None
    mtbf_s = _per_gpu(source, given, cluster)
    if record.is_heard:
        _lint(record, source, mtbf_s)
        _lint_rescaling(record, source)
    return Failures(mtbf_s, source, None, law, survives)


def _counted(
    record: Record, cluster: Cluster, prior: tuple[float, float] | None, law: Law, survives: float
) -> Failures | None:
    """A count over time: the mean, and the evidence that it is."""
    path = "failures.interruptions"
    count = record.take(f"{path}.count")
    over = record.take(f"{path}.over")
    gpus = record.take(f"{path}.gpus", cluster.gpus, origin="cluster.gpus")
    until_failure = record.take(f"{path}.until", "time") == "failure"
    if not record.fields.sound(path, f"{path}.count", f"{path}.over", f"{path}.gpus"):
        return None
    shape, exposure = (0.5, 0.0) if prior is None else prior
    if until_failure and record.is_so(count < 1):
        record.fields.fault(f"{path}.until", "no failure ended the counting: none was counted", "write until: time")
        return None
    evidence = Evidence(count, over * gpus, until_failure, shape, exposure)
    mtbf_s = _plain(mtbf_from_count(count, over, gpus, prior))
    if record.is_heard:
        if count > 0:
            _lint(record, "interruptions", mtbf_s)
        _lint_rescaling(record, "interruptions")
    return Failures(mtbf_s, "interruptions", evidence, law, survives)


def _recorded(
    record: Record, cluster: Cluster, prior: tuple[float, float] | None, law: Law, survives: float
) -> Failures | None:
    """A record of failures, by modules that few specs load."""
    from ckptplan.spec.recorded import build_recorded

    found = build_recorded(record, cluster, prior, law, survives)
    if found is not None and found.count:
        _lint(record, "record", found.mtbf_per_gpu_s)
    return found


def _prior(record: Record, source: str | None) -> tuple[float, float] | None:
    """Shape and GPU-seconds of the prior, if one is given."""
    fields, path = record.fields, "failures.prior"
    if path not in fields.groups:
        return None
    shape, mtbf = record.take(f"{path}.shape"), record.take(f"{path}.mtbf_per_gpu")
    if source not in {None, "interruptions", "record"}:
        hint = "write interruptions: {count: 9, over: 30 d}, or delete the prior"
        fields.fault(path, "a prior is weighed against a count, and no interruptions are given", hint)
    return None if shape is None or mtbf is None else (shape, shape * mtbf)


def _source(record: Record) -> str | None:
    fields = record.fields
    if "failures" not in fields.groups:
        return None
    entries = fields.groups["failures"].entries
    found = [name for name in FAILURE_SOURCES if name in entries]
    if not found and "law" in entries and fields.given.get("failures.law.file") is not None:
        return "law"  # the record gives the mean as well
    if not found and fields.whole("failures"):
        _refuse_no_source(record)
    if len(found) > 1:
        names = " and ".join(sorted(found, key=lambda name: (entries[name][0].line or 0, entries[name][0].column or 0)))
        fields.fault(
            "failures",
            f"{names} are given, but exactly one source is wanted",
            "keep the best founded one",
            entries[found[-1]][0],
        )
    return found[0] if len(found) == 1 else None


def _refuse_no_source(record: Record) -> None:
    """Classes are no source: those with a rate of their own come on top of one, the others are a part of it."""
    known = ", ".join(FAILURE_SOURCES)
    message, hint = "no source of the failure rate", f"write one of {known}; for example mtbf_per_gpu: 50_000 h"
    if record.fields.lengths.get("failures.classes"):
        message += "; classes with every or mtbf_per_gpu come on top of it, those with share or count are part of it"
        hint = f"write the rate of all that no class with a rate of its own names, as {hint.removeprefix('write ')}"
    record.fields.fault("failures", message, hint)


def _per_gpu(source: str, given: float, cluster: Cluster) -> float:
    if source == "mtbf":
        return _plain(mtbf_per_gpu_from_job(given, cluster.gpus))
    if source == "mtbf_per_node":
        return _plain(mtbf_per_gpu_from_node(given, cluster.gpus_per_node))
    if source == "rate_per_node_day":
        return _plain(mtbf_per_gpu_from_rate_per_node_day(given, cluster.gpus_per_node))
    return given


def _plain(values: Any) -> float:
    """One number as such; many, of a record that holds arrays, as they are."""
    found: float = values if values.ndim else values.item()
    return found


def _lint(record: Record, source: str, mtbf_s: float) -> None:
    if _SHORTEST_S <= mtbf_s <= _LONGEST_S:
        return
    causes = _TOO_SHORT if mtbf_s < _SHORTEST_S else _TOO_LONG
    people, hours = format_time(mtbf_s), f"{format_count(float(f'{mtbf_s / HOUR_S:.4g}'))} h"
    every = hours if people.endswith(" h") else f"{people} ({hours})"
    record.warn(
        f"failures.{source}",
        f"one GPU would fail every {every}; published clusters lie between 500 h and 5,000,000 h",
        causes[source],
    )


def _lint_rescaling(record: Record, source: str) -> None:
    """A rate of the whole job does not follow when only the number of GPUs is overridden."""
    overridden = record.origin("cluster.gpus").startswith(("--set", "environment"))
    counted = "failures.interruptions.gpus"
    kept = f"failures.{source}" if source == "mtbf" else "failures.interruptions.count"
    of_whole_job = source == "mtbf" or (source == "interruptions" and not record.fields.has(counted))
    if overridden and of_whole_job and not record.origin(kept).startswith(("--set", "environment")):
        remedy = f"--set {counted}=N" if source == "interruptions" else "mtbf_per_gpu"
        record.warn(
            f"failures.{source}",
            "belongs to the number of GPUs in the spec, which is overridden; it is used as it stands",
            f"use optimize --gpus to rescale it, or give {remedy}",
        )
