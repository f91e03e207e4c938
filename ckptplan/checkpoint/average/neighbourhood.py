"""Whether averaging is likely to make sense: what distances, directions, steps and learning rates speak against it.

Averaging takes away noise about a centre and adds a lag behind a centre that moves (Polyak and Juditsky 1992). For SGD
of constant step size on least squares the error of the mean over n steps has a variance term that falls as 1/n and a
bias term, what is left of the start, that falls as 1/n^2 (Defossez and Bach 2015, AISTATS). Weights of one run were
found to average well at a constant or cyclical learning rate (Izmailov et al. 2018, UAI: SWA); in pretraining at high
learning rates, with checkpoints far apart in steps (Sanyal et al. 2023, arXiv 2306.03241: LAWA); as a stand-in for a
decay of the learning rate, best beside it (Hagele et al. 2024, NeurIPS; Ajroldi et al. 2025, arXiv 2502.06761); and for
fine-tuned copies of one model (Wortsman et al. 2022, ICML: model soups) where no barrier lies between them (Frankle et
al. 2020, ICML). None of this promises a gain for other weights: only evaluating the mean shows one.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ckptplan.checkpoint.average.geometry import Geometry, Matrix, geometry
from ckptplan.checkpoint.average.rates import Rate
from ckptplan.checkpoint.average.weighting import Weighting

# Relative displacement beyond which it is said that checkpoints are far apart. Two weights of equal norm at a relative
# distance r have a mean whose norm is sqrt(1 - r^2/4) of theirs: at 0.3 it lost 1.1 %, more than layers without a
# normalisation behind them can be trusted to bear; independent weights are at sqrt(2). A convention, not a law.
FAR = 0.3
RELATED = 1.5  # relative displacement from which equal norms, and so weights of one run, are hard to believe
STRAIGHT = 0.5  # mean cosine from which the way is called one direction: noise about a centre gives at most 0
HIGH = 0.2  # share of its peak from which a learning rate counts as not decayed: schedules end at 0 to 0.1 of it
RATES_APART = 2.0  # highest over lowest learning rate
GAPS_APART = 1.5  # longest over shortest gap in steps


class Neighbour(NamedTuple):
    """One checkpoint."""

    label: str
    step: int | None
    rate: Rate
    weight: float


class Neighbourhood(NamedTuple):
    """What is known of the checkpoints together; `warnings` speak against averaging, `facts` do not."""

    neighbours: tuple[Neighbour, ...]
    geometry: Geometry
    facts: tuple[str, ...]
    warnings: tuple[str, ...]


def neighbourhood(
    gram: Matrix,
    weighting: Weighting,
    labels: Sequence[str],
    steps: Sequence[int | None],
    rates: Sequence[Rate],
    *,
    not_compared: Container[int] = (),
) -> Neighbourhood:
    """Judge checkpoints by their geometry, their steps and their learning rates.

    Parameters
    ----------
    gram : ndarray, K x K
        As `geometry` takes it, over all elements that are averaged.
    weighting, labels, steps, rates
        Of the K checkpoints, in the order of the run; None: not known.
    not_compared : container of int
        Moves whose length of zero says nothing: from the checkpoint of this number, counted from 0, to the next.
    """
    found = geometry(gram, weighting.weights)
    neighbours = tuple(map(Neighbour, labels, steps, rates, weighting.weights))
    warnings = (
        *_order(steps),
        *_identical(found, labels, not_compared),
        *_far(found),
        *_direction(found, rates),
        *_different_rates(rates),
        *_gaps(steps, weighting),
    )
    return Neighbourhood(neighbours, found, tuple(_facts(found, steps, rates)), warnings)


def _order(steps: Sequence[int | None]) -> Iterator[str]:
    known = [step for step in steps if step is not None]
    if any(later < earlier for earlier, later in pairwise(known)):
        yield f"steps are not in the order of the run, which moves assume: {_listed(known)}"


def _identical(found: Geometry, labels: Sequence[str], not_compared: Container[int]) -> Iterator[str]:
    for at, (move, one, two) in enumerate(zip(found.moves, labels, labels[1:], strict=False)):
        if move == 0.0 and at not in not_compared:
            yield (
                f"checkpoints {at + 1} and {at + 2} hold the same parameters: {one}, {two}; the mean counts them twice"
            )


def _far(found: Geometry) -> Iterator[str]:
    relative = found.relative_displacement
    if relative is None or relative <= FAR:
        return
    said = (
        f"far apart: the last is {_percent(relative)} of the norm of the parameters away from the first "
        f"(above {100 * FAR:g} %)"
    )
    if relative > RELATED:
        yield f"{said}: of another size, or unrelated; is one of them damaged, or of another run?"
        return
    lost = 1.0 - (1.0 - relative**2 / 4.0) ** 0.5
    yield (
        f"{said}; the mean of two weights that far apart, equally large, has a norm {100 * lost:.2g} % smaller, and "
        "nothing says that the loss between them is low"
    )


def _direction(found: Geometry, rates: Sequence[Rate]) -> Iterator[str]:
    known = [cosine for cosine in found.cosines if cosine is not None]
    share = rates[-1].share_of_peak
    high = share is not None and share >= HIGH
    mean = sum(known) / len(known) if known else None
    if mean is not None and mean > STRAIGHT and (high or share is None):
        at = (
            "its learning rate is not known"
            if share is None
            else f"the learning rate is {100 * share:.0f} % of its peak"
        )
        lag = f"{found.lag / found.displacement:.2g} of the displacement" if found.displacement else "nothing"
        yield (
            f"still travelling in one direction: cosines between moves are {mean:.2f} on average (noise about a centre "
            f"has at most 0), and {at}; the mean lies behind the last by {lag}"
        )
    elif share is not None and high:
        yield (
            f"the learning rate of the last is {rates[-1].highest:.3g}, {100 * share:.0f} % of its peak: a mean takes "
            "away noise that a decay of the rate would take away too; evaluate both before keeping it"
        )


def _different_rates(rates: Sequence[Rate]) -> Iterator[str]:
    known = [rate.highest for rate in rates if rate.highest is not None]
    if len(known) > 1 and max(known) > RATES_APART * min(known):
        yield (
            f"learning rates differ: {_short(known)}; a checkpoint at a higher rate is noisier; its weight does not "
            "make up for that"
        )


def _gaps(steps: Sequence[int | None], weighting: Weighting) -> Iterator[str]:
    gaps = _gaps_of(steps)
    if gaps is None or weighting.name != "uniform" or len(gaps) < 2 or min(gaps) <= 0:
        return
    if max(gaps) > GAPS_APART * min(gaps):
        yield f"gaps between the checkpoints are {_listed(gaps)} steps: equal weights favour the part saved more often"


def _gaps_of(steps: Sequence[int | None]) -> list[int] | None:
    known = [step for step in steps if step is not None]
    return [two - one for one, two in pairwise(known)] if len(known) == len(steps) else None


def _facts(found: Geometry, steps: Sequence[int | None], rates: Sequence[Rate]) -> Iterator[str]:
    relative, wandering = found.relative_displacement, found.wandering
    if relative is not None:
        yield f"from the first to the last: {_percent(relative)} of the norm of the parameters"
    if wandering is not None and len(found.moves) > 1:
        yield (
            f"the way is {wandering:.3g} times as long as that (1 on a straight line, {len(found.moves) ** 0.5:.3g} on "
            f"a random walk, {len(found.moves)} for noise about a centre)"
        )
    if None in steps:
        yield "the steps of some checkpoints are not known"
    if any(rate.highest is None for rate in rates):
        yield "the learning rates of some checkpoints are not known"
    yield "none of this promises a gain: evaluate the mean"


def _percent(share: float) -> str:
    """As the columns of the table, whose unit it is."""
    return f"{100 * share:,.0f} %" if 10.0 <= share < 1e7 else f"{100 * share:.3g} %"


def _listed(values: Sequence[int]) -> str:
    shown = ", ".join(f"{value:,}" for value in values[:10])
    return f"{shown}, ..." if len(values) > 10 else shown


def _short(values: Sequence[float]) -> str:
    shown = ", ".join(f"{value:.3g}" for value in values[:10])
    return f"{shown}, ..." if len(values) > 10 else shown
