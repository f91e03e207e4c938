"""The training group: the time of a step, and the work of the run, given once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ckptplan.cost.scenario import Cluster, Training
from ckptplan.spec.record import Record
from ckptplan.spec.schema import WORK_SOURCES


def build_training(record: Record, cluster: Cluster | None) -> Training:
    """The run, as far as it is given; the global batch is held against the data-parallel replicas of the cluster."""
    take = record.take
    step_time = take("training.step_time")
    _refuse_two_amounts(record)
    duration = take("training.duration")
    steps = take("training.steps")
    tokens, per_step = take("training.tokens"), take("training.tokens_per_step")
    if tokens is not None or per_step is not None:
        steps = _from_tokens(record, tokens, per_step)
    if steps is not None and step_time is None and record.fields.sound("training.step_time", "training.steps"):
        source = "steps" if record.fields.has("training.steps") else "tokens"
        hint = "write step_time: 5 s, or the duration instead"
        record.fields.fault(f"training.{source}", "steps need the time of a step, which is not given", hint)
    forward_backward = take("training.forward_backward")
    if forward_backward is not None and step_time is not None and record.is_so(forward_backward > step_time):
        message = "longer than the whole step"
        record.fields.fault("training.forward_backward", message, "write the part before the optimizer step")
    start = take("training.start")
    batch, micro = _optional(record, "global_batch"), _optional(record, "micro_batch")
    _needs_beside(record, "micro_batch", "global_batch", "2048")
    _needs_beside(record, "noise", "step_noise", "2 %")
    if batch is not None and cluster is not None and record.fields.sound("training.micro_batch"):
        _check_batch(record, batch, micro or 1, cluster.layout.data * cluster.layout.replicas)
    return Training(
        step_time_s=step_time,
        duration_s=duration,
        steps=steps,
        forward_backward_s=forward_backward,
        start=None if start is None else datetime.fromisoformat(start),
        step_noise=_optional(record, "step_noise") or 0.0,
        noise_is_exponential=_optional(record, "noise") == "exponential",
        scaling_exponent=_optional(record, "scaling_exponent") or 1.0,
        global_batch=batch,
        micro_batch=micro,
    )


def _optional(record: Record, name: str) -> Any:
    """The value of a key that few specs have, noted only where it is given."""
    path = f"training.{name}"
    return record.take(path) if record.fields.has(path) else None


def _needs_beside(record: Record, name: str, wanted: str, example: str) -> None:
    fields = record.fields
    if fields.has(f"training.{name}") and not fields.may_have("training", wanted):
        fields.fault(f"training.{name}", f"{wanted} is missing beside it", f"write {wanted}: {example}")


def _check_batch(record: Record, batch: int, micro: int, replicas: int) -> None:
    """Every replica must do the same whole number of micro-batches, or the others wait for the busiest one."""
    if batch % micro:
        message = f"does not divide global_batch {batch:,}, so that no number of replicas can share it out"
        record.fields.fault("training.micro_batch", message, f"write a divisor of {batch}")
    elif batch % (micro * replicas):
        from ckptplan.cost.batches import nearest_replicas

        near = nearest_replicas(batch, replicas, micro)
        possible = " or ".join(f"{number:,}" for number in near if number is not None)
        each = micro * replicas
        message = f"{batch:,} sequences do not divide by {replicas:,} data-parallel replicas x micro_batch {micro:,}"
        better = max(round(batch / each), 1) * each
        record.warn("training.global_batch", message, f"{possible} replicas would do, or global_batch: {better}")


def _refuse_two_amounts(record: Record) -> None:
    found = [name for name in WORK_SOURCES if record.fields.has(f"training.{name}")]
    if len(found) > 1:
        names = " and ".join(found)
        hint = "keep one: the others follow from it"
        record.fields.fault(f"training.{found[-1]}", f"{names} are given, but the work is wanted once", hint)


def _from_tokens(record: Record, tokens: float | None, per_step: float | None) -> int | None:
    """Steps that the tokens take, the last one perhaps not full."""
    fields = record.fields
    if tokens is None or per_step is None:
        missing = "tokens" if tokens is None else "tokens_per_step"
        given = "tokens_per_step" if tokens is None else "tokens"
        if fields.sound("training", f"training.{missing}"):
            example = "tokens: 15.6e12" if missing == "tokens" else "tokens_per_step: 16.8e6"
            fields.fault(f"training.{given}", f"{missing} is missing beside it", f"write {example}")
        return None
    if per_step > tokens:
        fields.fault("training.tokens_per_step", "more than all tokens", "are the two exchanged?")
        return None
    return -int(-tokens // per_step)
