"""Speed of the renewal optimum, as a ratio to a loop over scipy: ``python benchmarks/renewal.py``.

20,000 scenarios with Weibull gaps (shape 0.5 to 1.5, d/M from 1e-4 to 0.1) in one call of ``renewal_interval``,
against a Python loop over ``scipy.optimize.minimize_scalar`` with the sum of the survival written out in numpy. Each
goes as far as double precision allows: the sum to where survival is below 1e-16, the minimiser to 1e-8 of the interval.
The loop runs over a sample and is scaled up; both are timed in turn in one process. Exits with 1 if the call takes more
than 1/50 of the loop, or if the loop finds a better goodput anywhere.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from ckptplan.cost.scenario import LawName, Strike
from ckptplan.interval.renewal import renewal_goodput
from ckptplan.interval.renewal_optimum import renewal_interval

SCENARIOS = 20_000
SAMPLE = 200
REPEATS = 5
LIMIT = 50.0  # times faster than the loop


def loop_optimum(stall: float, mtbf: float, shape: float) -> float:
    """Best work between saves [s] by scipy's scalar minimiser over a plain sum."""
    from scipy.optimize import minimize_scalar

    scale = mtbf / math.gamma(1.0 + 1.0 / shape)
    longest = scale * (-math.log(1e-16)) ** (1.0 / shape)

    def loss(work: float) -> float:
        period = work + stall
        instants = period * np.arange(1.0, longest / period + 2.0)
        return -work * float(np.exp(-((instants / scale) ** shape)).sum())

    young = math.sqrt(2.0 * stall * mtbf)
    found = minimize_scalar(loss, bounds=(0.1 * young, 10.0 * young), method="bounded", options={"xatol": 1e-8 * young})
    return float(found.x)


def main() -> int:
    """Print both times; 1 if the limit is missed."""
    rng = np.random.default_rng(1)
    mtbf = 10.0 ** rng.uniform(3, 6, SCENARIOS)
    stall = mtbf * 10.0 ** rng.uniform(-4, -1, SCENARIOS)
    shape = rng.uniform(0.5, 1.5, SCENARIOS)
    call = loop = math.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        work = renewal_interval(stall, mtbf, LawName.WEIBULL, shape, strike=Strike.SAFE)
        call = min(call, time.perf_counter() - start)
        start = time.perf_counter()
        sample = [loop_optimum(stall[i], mtbf[i], shape[i]) for i in range(SAMPLE)]
        loop = min(loop, (time.perf_counter() - start) * SCENARIOS / SAMPLE)
    few = slice(0, SAMPLE)
    case = (stall[few], mtbf[few], LawName.WEIBULL, shape[few])
    reached = renewal_goodput(work[few], *case, strike=Strike.SAFE)
    excess = float(np.max(renewal_goodput(sample, *case, strike=Strike.SAFE) / reached)) - 1.0
    print(f"{SCENARIOS:,} optima: {call:.3f} s in one call, {loop:.1f} s in a loop over {SAMPLE} scaled up")
    print(f"{loop / call:.0f} times faster (at least {LIMIT:.0f}); the loop is better by {excess:.1e} at most")
    return int(loop < LIMIT * call or excess > 1e-12)


if __name__ == "__main__":
    sys.exit(main())
