"""The registry of methods: name, function, and what a user must know to trust it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.daly import daly_interval
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.young import young_interval


class Method(NamedTuple):
    """One way from a stall and an MTBF to an interval, with its texts.

    ``function`` takes the (effective) stall and the MTBF of the whole job [s] and gives the work between
    saves [s]; None where the interval depends on more: the law of the failures, the restart. ``accounting`` says
    which account of wall time belongs to it.
    """

    name: str
    function: Callable[[npt.ArrayLike, npt.ArrayLike], Floats] | None
    title: str
    equation: str
    assumptions: tuple[str, ...]
    validity: str
    source: str
    accounting: Literal["first order", "exact", "law"]


_PROCESS = (
    "failures are exponential: their rate does not depend on age",
    "a failure goes back to the last complete save",
)

_YOUNG = Method(
    name="young",
    function=young_interval,
    title="First-order interval",
    equation="W = sqrt(2 d M), which minimises d/W + W/(2M)",
    assumptions=(
        "failures strike on average in the middle of an interval, whatever their law",
        "at most one failure per interval; none during a save or a restart",
    ),
    validity=(
        "d and R much shorter than M. As work between saves it is too long by about (2/3) d; "
        "the sum of the shares is off by about sqrt(2d/M)/3 of itself as waste."
    ),
    source=(
        "J. W. Young, A first order approximation to the optimum checkpoint interval, "
        "Communications of the ACM 17 (1974)"
    ),
    accounting="first order",
)

_DALY = Method(
    name="daly",
    function=daly_interval,
    title="Higher-order interval",
    equation="W = sqrt(2 d M) [1 + sqrt(d/2M)/3 + (d/2M)/9] - d for d < 2M, else W = M",
    assumptions=(*_PROCESS, "failures may strike saves and restarts"),
    validity=(
        "error of W below 0.004 % for d/M <= 0.02, 0.04 % at 0.1, 0.55 % at 0.5, 6.2 % just below 2, where "
        "W jumps from (8/9) M to M; the goodput lost is below 0.2 % everywhere."
    ),
    source=(
        "J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, "
        "Future Generation Computer Systems 22 (2006), eq. 37"
    ),
    accounting="first order",
)

_EXACT = Method(
    name="exact",
    function=exact_interval,
    title="Exact interval for exponential failures",
    equation="W = M u with -log(1 - u) - u = d/M; at the optimum goodput = (1 - u)/A",
    assumptions=(
        *_PROCESS,
        "failures may strike work and saves; striking recoveries enters through A only, which leaves W alone",
    ),
    validity="any d, R and M; the relative error of W is below 1e-13.",
    source=(
        "J. T. Daly (2006), from eq. 20; T. Herault and Y. Robert (eds.), Fault-Tolerance Techniques for "
        "High-Performance Computing, Springer (2015)"
    ),
    accounting="exact",
)

_RENEWAL = Method(
    name="renewal",
    function=None,
    title="Best interval for any failure law",
    equation="W that maximises W sum_k S(Q + k P + om F) / C; S: survival, Q: recovery that is struck, C: mean cycle",
    assumptions=(
        "gaps between failures are independent and have the law of the spec",
        "a failure goes back to the last complete save",
        "the clock of the failures starts afresh when training resumes (safe), or at every failure (R, DR)",
    ),
    validity=(
        "any law with a mean; periodic saves only: for a falling hazard saving often right after a restart gains "
        "a little more. Exponential failures give the exact interval."
    ),
    source=(
        "M. Bougeret et al., Checkpointing strategies for parallel jobs, SC (2011); Y. Ling, J. Mi, X. Lin, A "
        "variational calculus approach to optimal checkpoint placement, IEEE Transactions on Computers 50 (2001)"
    ),
    accounting="law",
)

METHODS: Mapping[str, Method] = MappingProxyType({m.name: m for m in (_YOUNG, _DALY, _EXACT, _RENEWAL)})
