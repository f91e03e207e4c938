"""The training group: the time of a step, and the work of the run, given once."""

from __future__ import annotations

from datetime import datetime

from ckptplan.cost.scenario import Training
from ckptplan.spec.record import Record
from ckptplan.spec.schema import WORK_SOURCES


def build_training(record: Record) -> Training:
    """The run, as far as it is given."""
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
    if forward_backward is not None and step_time is not None and forward_backward > step_time:
        message = "longer than the whole step"
        record.fields.fault("training.forward_backward", message, "write the part before the optimizer step")
    start = take("training.start")
    return Training(
        step_time_s=step_time,
        duration_s=duration,
        steps=steps,
        forward_backward_s=forward_backward,
        start=None if start is None else datetime.fromisoformat(start),
    )


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
