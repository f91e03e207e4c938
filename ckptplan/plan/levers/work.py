"""The same work under a change: how many steps it takes, and how long each of them, where GPUs or steps change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.plan.levers.own import Own, holds
from ckptplan.plan.scale.size import measured_against

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario

# What gives the amount of work -> what must change with it, if it is to be the same work in another form.
_AMOUNTS: dict[str, tuple[str, ...]] = {
    "training.duration": ("cluster.gpus",),
    "training.steps": ("cluster.gpus", "training.step_time"),
    "training.tokens_per_step": ("cluster.gpus", "training.step_time"),
    "training.tokens": (),
}


class Told(NamedTuple):
    """What the change says itself: the time of a step, and the work, which then is taken to be the same one."""

    step: bool = False
    work: bool = False


class Work(NamedTuple):
    """Number of steps and time of one, of the changed run over those of the run as it is. [1]."""

    steps: float
    step: float

    @property
    def ratio(self) -> float:
        """Time at full speed."""
        return self.steps * self.step


UNTOLD = Told()


def told_by(own: Collection[Own]) -> Told:
    """What changes say of the work; ``training={...}`` says all of it."""
    step = any(holds(key, "training.step_time") for one in own for key in one.keys)
    return Told(step, any(key in _AMOUNTS for one in own for key in one.changed))


def other_work(changed: Collection[str], written: Collection[str] = ()) -> tuple[str, str] | None:
    """The key by which a change is more or less work, and what must change with it; None if the work is the same.

    Of several such keys the one that was written, for the others follow from it.
    """
    found = [key for key, beside in _AMOUNTS.items() if key in changed and not set(beside) & set(changed)]
    if not found:
        return None
    key = next((key for key in found if any(holds(name, key) for name in written)), found[0])
    return key, " or ".join(_AMOUNTS[key])


def work_of(before: Scenario, after: Scenario, told: Told = UNTOLD) -> Work:
    """How the work of a run is done under a change.

    Parameters
    ----------
    before, after : Scenario
        The run as it is, and with the change written in.
    told : Told
        What the change gives of its own.

    Notes
    -----
    As ``ckptplan scale`` has it: N' GPUs do the same work in ``(N/N')**scaling_exponent`` of the time. A global batch
    that is given is kept, so that there are as many steps (of another batch that is given, accordingly fewer or more);
    else each GPU keeps its part of a step, and there are N/N' times as many. The time of a step follows, unless the
    change gives it. Work that the change gives is taken as it is.
    """
    was, now = before.training, after.training
    step = now.step_time_s / was.step_time_s if told.step and was.step_time_s and now.step_time_s else None
    if told.work and was.work_s and now.work_s:
        step = step or 1.0
        return Work(now.work_s / was.work_s / step, step)
    more = after.cluster.gpus / before.cluster.gpus
    if now.global_batch is None:
        steps = 1.0 / more
    else:
        steps = 1.0 if was.global_batch is None else was.global_batch / now.global_batch
    return Work(steps, more**-now.scaling_exponent / steps if step is None else step)


def with_its_steps(before: Scenario, after: Scenario, told: Told) -> Scenario:
    """The changed run with the time of a step that follows from its GPUs and its batch, where the change gives none."""
    longer = work_of(before, after, told).step
    training = after.training
    if longer == 1.0 or told.step or told.work or training.step_time_s is None:
        return after
    changes = {"step_time_s": training.step_time_s * longer}
    if training.forward_backward_s is not None:
        changes["forward_backward_s"] = training.forward_backward_s * longer
    saves = tuple(measured_against(save, training.step_time_s) for save in after.saves)
    return replace(after, training=replace(training, **changes), saves=saves)  # type: ignore[arg-type]


def words_of(before: Scenario, after: Scenario, told: Told) -> str:
    """How the work is done under the change, in one clause."""
    work = work_of(before, after, told)
    text = f"{_times(work.steps)} as many steps, each {_times(work.step)} as long"
    if told.work:
        return f"{text} (as the change gives the work)"
    if after.training.global_batch is not None:
        kept = before.training.global_batch in (None, after.training.global_batch)
        return f"{text} ({'training.global_batch is kept' if kept else 'by training.global_batch'})"
    if before.cluster.gpus != after.cluster.gpus:
        return f"{text} (each GPU keeps its part of a step: no training.global_batch is given)"
    return text


def _times(factor: float) -> str:
    return "just" if factor == 1.0 else f"{factor:.6g} times"
