"""How many GPUs: throughput against their number, where more of them stop helping or paying, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.plan.assumptions import assumptions
from ckptplan.plan.progress import makes_progress
from ckptplan.plan.scale import notes
from ckptplan.plan.scale.batch import BatchFacts, batch_facts
from ckptplan.plan.scale.curve import Curve
from ckptplan.plan.scale.peaks import ScalePeak, peak_of, sizes_around
from ckptplan.plan.scale.records import Asked, ScaleRecord, records_at
from ckptplan.plan.scale.refusals import Refusal, refused
from ckptplan.plan.scale.yields import Yields


class Scaling(NamedTuple):
    """Everything that ``ckptplan scale`` prints."""

    name: str
    gpus: int  # planned
    step_gpus: int  # by which the job grows
    work_s: float | None  # at the planned size
    gpu_hour_price: float | None
    useful_hour_worth: float | None
    best: str  # strategy at the planned size
    peaks: tuple[ScalePeak, ...]  # one per strategy
    records: tuple[ScaleRecord, ...]
    refusals: tuple[Refusal, ...]  # what cannot be planned at some size
    batch: BatchFacts | None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def strategies(self) -> tuple[str, ...]:
        """The ways of saving."""
        return tuple(peak.strategy for peak in self.peaks)

    @property
    def rows(self) -> tuple[ScaleRecord | Refusal, ...]:
        """Records and refusals by strategy, then by size."""
        order = self.strategies.index
        return tuple(sorted((*self.records, *self.refusals), key=lambda one: (order(one.strategy), one.gpus)))

    def planned(self, strategy: str) -> ScaleRecord:
        """The record at the planned size."""
        return next(r for r in self.records if r.strategy == strategy and r.gpus == self.gpus)

    @property
    def makes_progress(self) -> bool:
        """Whether the planned size gets anywhere; if not, nothing is best there."""
        return makes_progress(self.planned(self.best).goodput)


def scaling(
    scenario: Scenario,
    *,
    gpus: Sequence[int] = (),
    gpu_hour_price: float | None = None,
    useful_hour_worth: float | None = None,
    energy: bool = False,
) -> Scaling:
    """Goodput and useful throughput against the number of GPUs.

    Parameters
    ----------
    scenario : Scenario
        The run at its planned size. The MTBF per GPU holds at every size, and so does what the spec gives as a time.
    gpus : sequence of int
        Sizes beside the planned one; by default a geometric series of whole replicas up to beyond the peak.
    gpu_hour_price : float, optional
        Price of one GPU for one hour, useful or not. [money]
    useful_hour_worth : float, optional
        What an hour of a useful GPU is worth; needs the price. [money]
    energy : bool
        Whether to look for the interval of least energy; needs the power of a GPU.

    Returns
    -------
    Scaling

    Raises
    ------
    InputError
        If something needed is neither given nor computable, or no size of ``gpus`` can be planned.
    """
    if energy and scenario.cluster.power is None:
        raise InputError(
            "energy needs the power of a GPU, which is not given",
            hint="add cluster.power, for example power: {compute: 1.1 kW, save: 600 W, restart: 300 W}",
        )
    curve, asked = Curve(scenario), Asked(gpu_hour_price, energy)
    yields = Yields(curve)
    given = [one for size in dict.fromkeys(gpus) for one in records_at(yields, size, asked)]
    if given and all(isinstance(one, Refusal) for one in given):
        raise refused([one for one in given if isinstance(one, Refusal)])
    ratio = None
    if gpu_hour_price is not None and useful_hour_worth is not None:
        ratio = gpu_hour_price / useful_hour_worth
    peaks = tuple(peak_of(yields, strategy, ratio) for strategy in curve.strategies)
    sizes = {*gpus, curve.planned} if gpus else set(sizes_around(curve, peaks))
    given += [one for size in sizes.difference(gpus) for one in records_at(yields, size, asked)]
    given.sort(key=lambda one: (curve.strategies.index(one.strategy), one.gpus))
    records = tuple(one for one in given if isinstance(one, ScaleRecord))
    refusals = tuple(one for one in given if isinstance(one, Refusal))
    planned = [one for one in records if one.gpus == curve.planned]
    batch = batch_facts(curve, tuple(sorted({one.gpus for one in records})))
    return Scaling(
        name=scenario.name,
        gpus=curve.planned,
        step_gpus=curve.step_gpus,
        work_s=scenario.training.work_s,
        gpu_hour_price=gpu_hour_price,
        useful_hour_worth=useful_hour_worth,
        best=_best(planned),
        peaks=peaks,
        records=records,
        refusals=refusals,
        batch=batch,
        assumptions=(
            *assumptions(scenario, list(curve.cases(curve.planned).values()), sorted(sizes)),
            *notes.of_scale(scenario),
        ),
        warnings=notes.warnings(curve, records, refusals, peaks, batch),
    )


def _best(planned: Sequence[ScaleRecord]) -> str:
    """The strategy that yields most at the planned size; the first one where two differ by rounding only."""
    most = max(one.goodput for one in planned)
    return next(one.strategy for one in planned if one.goodput >= most * (1.0 - 1e-9))
