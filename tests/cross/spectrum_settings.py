"""Settings of the fault spectrum, each as the formulas take it and as the simulator does.

``python -m tests.cross.spectrum_settings`` measures the first-order ones, for the table of docs/fault-spectrum.md.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import Strike
from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.spectrum import Behaviour, Causes, SpectrumShares, spectrum_shares
from ckptplan.interval.tier_chain import TierShares, tier_shares
from ckptplan.interval.tier_recovery import Causes as TierCauses
from ckptplan.simulate.spectrum.causes import Cause, FailStop, Noticed, Silent, Slow, Spike
from ckptplan.simulate.spectrum.long_run import SpectrumLongRun, simulate_spectrum
from ckptplan.simulate.spectrum.process import SpectrumProcess

STOP, LATE, VERIFIED, SPIKE, SLOW, NOTICED = Behaviour


class One(NamedTuple):
    """One cause. [1/s, s, 1]."""

    kind: Behaviour
    rate: float
    downtime: float = 0.0
    restart: float = 0.0
    delay: float = 0.0
    back: float = 0.0
    slowdown: float = 0.0
    fixed: bool = False


class Setting(NamedTuple):
    """One way to save under several causes. [s, 1]."""

    name: str
    interval: float
    stall: float
    causes: tuple[One, ...]
    flush: float = 0.0
    speed: float = 1.0
    strike: Strike = Strike.DR
    verify: float = 0.0
    verifications: int = 0

    def predicted(self) -> SpectrumShares:
        """By the formulas."""
        rows = self.causes
        causes = Causes(
            tuple(one.kind for one in rows),
            [one.rate for one in rows],
            [one.downtime for one in rows],
            [one.restart for one in rows],
            delay=[one.delay for one in rows],
            back=[one.back for one in rows],
            slowdown=[one.slowdown for one in rows],
        )
        return spectrum_shares(
            self.interval,
            self.stall,
            causes,
            flush=self.flush,
            speed=self.speed,
            strike=self.strike,
            verify=self.verify,
            verifications=max(self.verifications, 1),
        )

    def simulated(self, failures: int, seed: int = 0) -> SpectrumLongRun:
        """By the process."""
        process = SpectrumProcess(
            interval_s=self.interval,
            slot_stall_s=(self.stall,),
            restart_s=(0.0,),
            causes=tuple(self._cause(k, one) for k, one in enumerate(self.causes)),
            flush_s=(self.flush,),
            speed=(self.speed,),
            strike=self.strike,
            verifications=self.verifications,
            verify_s=self.verify if self.verifications else 0.0,
        )
        return simulate_spectrum(process, failures=failures, seed=seed)

    def _cause(self, number: int, one: One) -> Cause:
        name, mtbf_s = f"{one.kind} {number}", 1.0 / one.rate
        last_s = self.stall + self.flush
        match one.kind:
            case Behaviour.STOP:
                return FailStop(name, mtbf_s, 1, one.downtime, one.restart)
            case Behaviour.LATE:
                return Silent(name, mtbf_s, one.delay, one.fixed, True, one.downtime, one.restart)
            case Behaviour.VERIFIED:
                return Silent(name, mtbf_s, downtime_s=one.downtime, restart_s=one.restart)
            case Behaviour.SPIKE:
                return Spike(name, mtbf_s, one.back, 0.0, one.downtime, one.restart)
            case Behaviour.SLOW:
                late = (one.slowdown, one.delay, one.fixed)
                return Slow(name, mtbf_s, *late, last_s, None, one.downtime, one.restart)
            case Behaviour.NOTICED:
                return Noticed(name, mtbf_s, float("inf"), last_s, None, one.downtime, one.restart)


class Drained(NamedTuple):
    """Two tiers, the second one drained from the first; crashes that the first one survives, and others. [s, 1]."""

    name: str
    interval: float
    every: int
    stall: float
    flush: float
    speed: float
    rates: tuple[float, float]
    restart: tuple[float, float] = (60.0, 600.0)

    def predicted(self) -> TierShares:
        """By the Markov chain, the drain as work at risk."""
        causes = TierCauses(self.rates, [1, 2], recovery_parts(0.0, [self.restart] * 2, Strike.DR))
        slow = (1.0 - self.speed) * self.flush
        exposed = [0.0, self.speed * self.flush]
        return tier_shares(self.interval, [1, self.every], [self.stall, self.stall + slow], causes, exposed=exposed)

    def simulated(self, failures: int, seed: int = 0) -> SpectrumLongRun:
        """By the process."""
        process = SpectrumProcess(
            interval_s=self.interval,
            slot_stall_s=(self.stall, self.stall),
            restart_s=self.restart,
            causes=tuple(FailStop(f"level {k + 1}", 1.0 / rate, k + 1) for k, rate in enumerate(self.rates)),
            every=(1, self.every),
            flush_s=(0.0, self.flush),
            speed=(1.0, self.speed),
        )
        return simulate_spectrum(process, failures=failures, seed=seed)


CRASH = One(STOP, 8e-5, 60.0, 400.0)
HANG = One(STOP, 1e-5, 900.0, 300.0)
ERROR = One(LATE, 2e-6, 0.0, 400.0, delay=14_400.0)

EXACT = (
    *(
        Setting(f"stops, {strike}, W {W:g}", W, 60.0, (CRASH, HANG), strike=strike)
        for strike in Strike
        for W in (400.0, 1100.0, 4000.0)
    ),
    *(
        Setting(f"stops and a flush, {strike}", 600.0, 5.0, (CRASH, HANG), flush=120.0, speed=0.9, strike=strike)
        for strike in Strike
    ),
    *(
        Setting(
            f"verified, {strike}, {m} checks",
            1200.0,
            60.0,
            (CRASH, One(VERIFIED, 2.5e-5, 0.0, 600.0)),
            strike=strike,
            verify=20.0,
            verifications=m,
        )
        for strike in Strike
        for m in (1, 3)
    ),
    Setting("errors alone, exponential delay", 1000.0, 50.0, (One(LATE, 1e-5, 0.0, 300.0, delay=28_800.0),)),
    Setting("errors alone, fixed delay", 1000.0, 50.0, (One(LATE, 1e-5, 0.0, 300.0, delay=28_800.0, fixed=True),)),
    Setting("announced ends alone", 1000.0, 50.0, (One(NOTICED, 1e-5, 0.0, 600.0),)),
)

FIRST_ORDER = (
    Setting("errors found after 4 h, blocking saves", 1000.0, 60.0, (CRASH, ERROR)),
    Setting("errors found after 4 h, background saves", 300.0, 5.0, (CRASH, ERROR), flush=30.0),
    Setting("errors ten times as often", 1000.0, 60.0, (CRASH, ERROR._replace(rate=2e-5))),
    Setting("loss spikes every 60 h", 1000.0, 60.0, (CRASH, One(SPIKE, 4.6e-6, 0.0, 400.0, back=550.0))),
    Setting("loss spikes ten times as often", 1000.0, 60.0, (CRASH, One(SPIKE, 4.6e-5, 0.0, 400.0, back=550.0))),
    Setting("slow nodes every 50 h", 1000.0, 60.0, (CRASH, One(SLOW, 5.6e-6, 0.0, 400.0, delay=3600.0, slowdown=0.1))),
    Setting(
        "slow nodes ten times as often",
        1000.0,
        60.0,
        (CRASH, One(SLOW, 5.6e-5, 0.0, 400.0, delay=3600.0, slowdown=0.1)),
    ),
    Setting("announced ends every 28 h", 1000.0, 60.0, (CRASH, One(NOTICED, 1e-5, 0.0, 400.0))),
    Setting(
        "verified, background saves",
        600.0,
        5.0,
        (CRASH, One(VERIFIED, 2.5e-5, 0.0, 600.0)),
        flush=120.0,
        verify=10.0,
        verifications=1,
    ),
    Setting(
        "all of them",
        600.0,
        20.0,
        (
            CRASH,
            HANG,
            ERROR,
            One(SPIKE, 4.6e-6, 0.0, 400.0, back=550.0),
            One(SLOW, 5.6e-6, 0.0, 400.0, delay=3600.0, slowdown=0.1),
            One(NOTICED, 1e-5, 0.0, 400.0),
        ),
        flush=30.0,
        speed=0.95,
    ),
)


DRAINED = (
    Drained("two tiers, a drain of 400 s every 1,200 s", 300.0, 4, 2.0, 400.0, 0.95, (5e-5, 1.66666666667e-5)),
    Drained("two tiers, a drain of 20 s every 1,340 s", 20.0, 67, 0.02, 20.0, 0.98, (8.5e-5, 5e-6)),
    Drained("two tiers, a drain of 30 min every 40 min", 240.0, 10, 5.0, 1800.0, 0.9, (4e-5, 4e-5)),
)


def table(failures: int = 4_000_000) -> str:
    """The measured error of the first-order forms, as a Markdown table."""
    lines = ["| setting | predicted % | simulated % | std. error | difference, points |", "|---|---:|---:|---:|---:|"]
    for setting in (*FIRST_ORDER, *DRAINED):
        predicted, made = float(setting.predicted().useful), setting.simulated(failures)
        off, error = 100.0 * (predicted - made.goodput), 100.0 * made.goodput_error
        numbers = f"{100 * predicted:.3f} | {100 * made.goodput:.3f} | {error:.3f} | {off:+.3f}"
        lines.append(f"| {setting.name} | {numbers} |")
    return "\n".join(lines) + "\n"


def z_scores(settings: tuple[Setting, ...], failures: int) -> np.ndarray:
    """Difference of the goodput from its prediction, in standard errors, for each setting."""
    found = []
    for number, setting in enumerate(settings):
        made = setting.simulated(failures, seed=number)
        found.append((made.goodput - float(setting.predicted().useful)) / made.goodput_error)
    return np.array(found)


if __name__ == "__main__":
    sys.stdout.write(table())
