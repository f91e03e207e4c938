"""Two scenarios -> Comparison: both plans, and the difference of their goodputs divided among its causes."""

from __future__ import annotations

from collections.abc import Sequence

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.plan.comparison.groups import SILENT, differing
from ckptplan.plan.comparison.merging import finest, members_of, unions
from ckptplan.plan.comparison.mixes import Mixes
from ckptplan.plan.comparison.notes import notes_of
from ckptplan.plan.comparison.outcome import losses, outcome_of
from ckptplan.plan.comparison.record import Cause, Comparison
from ckptplan.plan.comparison.shapley import Part, sampled_shapley, shapley
from ckptplan.plan.pipeline import plan
from ckptplan.plan.warnings import without_table

# Ten groups that go together with none make 1,024 mixes of a millisecond or two each. With classes, tiers or recorded
# gaps a mix takes about 50 ms, and more with many gaps: the 256 of eight groups are as long as anybody waits.
MOST_MIXES = 1024
MOST_COSTLY_MIXES = 256
_GAPS_AS_COSTLY = 2000  # recorded gaps that take as long again
_FEWEST_ORDERS = 6
_REASONS = 3  # that are told of groups that go together


def compare(
    first: Scenario,
    second: Scenario,
    *,
    gpu_hour_price: float | None = None,
    most_mixes: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare two runs, and say which difference of their inputs makes how much of that of their goodputs.

    Parameters
    ----------
    first, second : Scenario
        The runs. The best strategy of each counts, whatever it is called.
    gpu_hour_price : float, optional
        Price of one GPU for one hour. [money]
    most_mixes : int, optional
        Scenarios in between that are planned at most; beyond that orders are sampled.
    seed : int
        Of the sampled orders.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If one of the two cannot be planned.

    Notes
    -----
    Causes are the groups of inputs that differ, by their Shapley values (see `shapley`). Groups that cannot be changed
    one without the other, such as a save whose stall follows from the storage, are one cause (see `finest`).
    """
    plans = plan(first, whole_run=False), plan(second, whole_run=False)
    outcomes = (
        outcome_of(first, plans[0], gpu_hour_price),
        outcome_of(second, plans[1], gpu_hour_price),
    )
    mixes = Mixes(first, second, differing(first, second))
    mixes.know(mixes.everything, plans[1].best_goodput)
    mixes.know(0, plans[0].best_goodput)
    limit = _most_mixes(first, second) if most_mixes is None else most_mixes
    causes, orders = _causes(mixes, limit, seed)
    made = Comparison(
        first=plans[0],
        second=plans[1],
        difference=plans[1].best_goodput - plans[0].best_goodput,
        causes=tuple(sorted(causes, key=lambda cause: -abs(cause.goodput))),
        mixed=mixes.planned,
        outcomes=outcomes,
        losses=losses(*outcomes),
        orders=orders,
        silent=differing(first, second, SILENT),
        warnings=tuple(
            f"{side}: {text}" for side, one in zip("AB", plans, strict=True) for text in without_table(one.warnings)
        ),
    )
    return made._replace(notes=notes_of(made, first, second))


def _most_mixes(first: Scenario, second: Scenario) -> int:
    """How many mixes may be planned, by what one of them takes."""
    gaps = max(len(one.failures.law.gaps_s) for one in (first, second))
    if gaps or first.has_spectrum or second.has_spectrum:
        return int(MOST_COSTLY_MIXES / (1.0 + gaps / _GAPS_AS_COSTLY))
    return MOST_MIXES


def _causes(mixes: Mixes, limit: int, seed: int) -> tuple[list[Cause], int | None]:
    """The causes, and the number of orders if they were sampled."""
    if not mixes.groups:
        return [], None
    while True:
        # What costs show is found at once. An interval that does not exist shows only when it is sought: then again.
        blocks = finest(mixes.everything, lambda members: mixes.refusal(members, whole=False) is not None)
        orders = None if 1 << len(blocks) <= limit else max(limit // len(blocks), _FEWEST_ORDERS) // 2 * 2
        try:
            parts = _exactly(mixes, blocks) if orders is None else _sampled(mixes, blocks, orders, seed)
        except InputError:
            continue
        return [_cause(mixes, block, part) for block, part in zip(blocks, parts, strict=True)], orders


def _exactly(mixes: Mixes, blocks: Sequence[int]) -> list[Part]:
    return shapley([mixes.goodput(union) for union in unions(blocks)])


def _sampled(mixes: Mixes, blocks: Sequence[int], orders: int, seed: int) -> list[Part]:
    return sampled_shapley(len(blocks), lambda chosen: mixes.goodput(sum(blocks[k] for k in chosen)), orders, seed)


def _cause(mixes: Mixes, block: int, part: Part) -> Cause:
    return Cause(mixes.names(block), part.value, part.least, part.most, _why(mixes, block), part.standard_error)


def _why(mixes: Mixes, block: int) -> str | None:
    """What cannot be planned of mixes that divide a block: the reasons of the simplest ones, three at most."""
    if block & (block - 1) == 0:
        return None
    found: dict[str, None] = {}
    for divided in unions(members_of(block)):
        mixed = [divided | union for union in unions(members_of(mixes.everything & ~block))]
        if divided not in (0, block):
            found |= dict.fromkeys(filter(None, (mixes.refusal(one, whole=False) for one in mixed)))
    return "; ".join(list(found)[:_REASONS]) or None
