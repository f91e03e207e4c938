"""When to save, decided while training runs: the interval follows the failures and the stalls that were seen.

A decision depends on step numbers, on counts and on seconds that the caller gives, never on a clock or on chance:
ranks that make the same calls decide the same. Only the standard library is imported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ckptplan.errors import InputError
from ckptplan.online.state import Counts, number, whole

_WHOLE = 1e-9  # relative distance at which a floor over a step time counts as a whole number of steps
_MOST = 2.0**53  # steps in an interval; beyond, a float does not count steps any more


class IntervalController:
    """The posterior rule ``W = sqrt(2 d_eff (t + b0)/(k + a0))`` for a training loop, in whole steps.

    Parameters
    ----------
    step_time : float
        Time of one optimizer step, saves excluded. [s]
    stall : float
        Time one save blocks training, as expected; it counts as one observation beside those reported. [s]
    prior : float
        MTBF of the whole job, as expected. [s]
    prior_shape : float
        Number of failures that this expectation is worth, a0; the prior is Gamma(a0, a0 prior). [1]
    flush : float
        Background flush after the stall, F; 0 for a synchronous save. [s]
    speed : float
        Training speed while a flush runs, om. [1]
    step : int
        Step at which counting starts, if no state is loaded. [1]

    Notes
    -----
    k is the number of failures, t the time that the failure clock ran: steps times step time, stalls, and the
    slow-down of flushes. It stands still in recoveries, so the MTBF is that of running training. d_eff is the mean
    stall plus ``(1 - om) F``; no fewer steps than ``om F``. The number of steps is the least n with ``n (n + 1) >=
    (W/step_time)^2``, the first-order optimum in whole steps; it is set anew after every save and failure.
    Regret after k failures: about ``1/(8 (k + a0))`` of the overhead. Prior and job must be of one size: a run that
    goes on with other GPUs starts a new controller.
    """

    def __init__(
        self,
        step_time: float,
        stall: float,
        prior: float,
        *,
        prior_shape: float = 1.0,
        flush: float = 0.0,
        speed: float = 1.0,
        step: int = 0,
    ) -> None:
        self._step_time = number("step_time", step_time, positive=True)
        self._stall = number("stall", stall)
        self._prior_shape = number("prior_shape", prior_shape, positive=True)
        self._prior_exposure = self._prior_shape * number("prior", prior, positive=True)
        self._flush, self._speed = number("flush", flush), number("speed", speed)
        if self._speed > 1.0:
            raise InputError(f"speed: {self._speed:g} is above 1, the speed without a flush")
        self._counts = Counts(step=whole("step", step))
        self._resume(restored=False)

    @property
    def failures(self) -> int:
        """Failures counted, k."""
        return self._counts.failures

    @property
    def exposure(self) -> float:
        """Time that the failure clock ran, t [s]."""
        run = (self._counts.step - self._counted_from) * self._step_time
        return self._counts.exposure_s + run

    @property
    def mean_stall(self) -> float:
        """Mean stall of a save, the expected one included [s]."""
        return (self._stall + self._counts.save_s) / (1 + self._counts.saves)

    @property
    def mtbf(self) -> float:
        """The MTBF that the interval is chosen for: 1 over the mean rate [s]."""
        return (self.exposure + self._prior_exposure) / (self.failures + self._prior_shape)

    @property
    def interval(self) -> float:
        """Best work between saves as of now, before rounding to steps; at least the floor of the flush [s]."""
        stall = self.mean_stall + (1.0 - self._speed) * self._flush
        return max(math.sqrt(2.0 * stall * self.mtbf), self._speed * self._flush)

    @property
    def interval_steps(self) -> int:
        """Steps between saves, fixed at the last save, failure or resume."""
        return self._interval_steps

    def should_save(self, step: int) -> bool:
        """Whether to save now that ``step`` steps are done; call it after every step, on every rank.

        It answers True until `observe_save` is called. Steps that were run are counted from these numbers; skipping
        some calls does not lose any.
        """
        self._advance("step", step)
        return self._counts.step - self._last_save >= self._interval_steps

    def observe_save(self, seconds: float) -> None:
        """Report a save at the newest step, for whatever reason it was made, and the stall that it caused [s].

        Every rank must give the same number: broadcast that of one rank.
        """
        stall = number("seconds", seconds)
        slow_down = (1.0 - self._speed) * self._flush
        self._counts = self._counts._replace(
            exposure_s=self._counts.exposure_s + stall + slow_down,
            saves=self._counts.saves + 1,
            save_s=self._counts.save_s + stall,
        )
        self._last_save = self._counts.step
        self._interval_steps = self._whole_steps()

    def observe_failure(self, at_step: int | None = None, *, resume_step: int | None = None, count: int = 1) -> None:
        """Report a failure, after `load_state_dict` if training resumes in a new process.

        Parameters
        ----------
        at_step : int, optional
            Steps that were done when it struck, if known. A restored state does not hold the steps after its save,
            nor that save's stall, but the failure clock ran through them; without ``at_step`` their mean is added:
            half a period, the stall and the flush, or after a resume half of the time to the first durable save.
        resume_step : int, optional
            Where training goes on, if this process lived through the failure and goes back to a checkpoint without
            loading its state; the steps that it ran are in the count already.
        count : int
            Failures since the state was written: more than 1 if the job failed again before its first save. Each
            one more adds half of the time to the first durable save.

        Notes
        -----
        A job that fails again before its first save restores the same checkpoint, which does not know of the failure
        before. Keep `state_dict` in a small file after this call, and load that instead while no newer checkpoint
        exists; or let the launcher's restart counter give ``count``.
        """
        newest = self._counts.step if at_step is None else whole("at_step", at_step)
        resume = self._counts.step if resume_step is None else whole("resume_step", resume_step)
        failures = whole("count", count)
        if failures == 0:
            raise InputError("count: no failure to report")
        if newest < self._counts.step:
            raise InputError(f"at_step: {newest} is before the newest step counted, {self._counts.step}")
        if resume > newest:
            raise InputError(f"resume_step: {resume} is after the step of the failure, {newest}")
        lost = (newest - self._counts.step) * self._step_time
        if self._restored:
            lost = self._lost_after_restore(lost if at_step is not None else None, failures)
        self._counts = self._counts._replace(
            step=resume, failures=self._counts.failures + failures, exposure_s=self.exposure + lost
        )
        self._resume(restored=False)

    def state_dict(self) -> dict[str, Any]:
        """The counts, for the checkpoint that is about to be written or to be kept after a resume; versioned."""
        in_save = self._counts.step > self._last_save
        return self._counts._replace(exposure_s=self.exposure, in_save=in_save).to_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from the counts in a checkpoint; training resumes at the step at which they were stored.

        Call `observe_failure` next, unless the restart was planned. Settings may differ from those before, the
        time counted stays.
        """
        self._counts = Counts.from_dict(state)
        self._resume(restored=True)

    def _resume(self, *, restored: bool) -> None:
        """Count from the present step, which is that of the newest checkpoint."""
        self._restored = restored
        self._counted_from = self._last_save = self._counts.step
        self._interval_steps = self._whole_steps()

    def _advance(self, name: str, step: int) -> None:
        newest = whole(name, step)
        if newest < self._counts.step:
            raise InputError(
                f"{name}: {newest} is before the newest step counted, {self._counts.step}",
                hint="after a failure load the state of the checkpoint, or give resume_step to observe_failure",
            )
        self._restored &= newest == self._counts.step
        self._counts = self._counts._replace(step=newest)

    def _lost_after_restore(self, steps_s: float | None, failures: int) -> float:
        """Time that the failure clock ran and that a restored state does not hold [s]."""
        work, stall, flush = self._interval_steps * self._step_time, self.mean_stall, self._flush
        to_durable = work + stall + flush
        of_save = stall + (1.0 - self._speed) * flush if self._counts.in_save else 0.0
        if steps_s is not None:
            last = steps_s + of_save
        elif self._counts.in_save:  # it struck between two moments at which a save became durable
            last = 0.5 * (work + of_save) + stall + flush
        else:
            last = 0.5 * to_durable
        return last + (failures - 1) * 0.5 * to_durable

    def _whole_steps(self) -> int:
        """Least n with ``n (n + 1) >= (W/step_time)^2``, and with the flush done before the next save."""
        ratio = min(self.interval / self._step_time, _MOST)
        square = ratio * ratio
        n = math.ceil(2.0 * square / (1.0 + math.sqrt(1.0 + 4.0 * square)))
        n -= (n - 1) * n >= square  # the root is rounded: the condition itself decides
        floor = min(self._speed * self._flush / self._step_time, _MOST)
        nearest = round(floor)
        least = nearest if abs(floor - nearest) <= _WHOLE * max(nearest, 1) else math.ceil(floor)
        return max(n, least, 1)
