"""Lines of a scaling: the numbers of the table at its sizes, and between them what the run yields there."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.scale.lines import CLOSED_SIZES, SEARCHED_SIZES, ScaleLine, scale_lines
from ckptplan.plan.scale.scaling import Scaling, scaling


def _lines(config: str, *sets: str, gpus: tuple[int, ...] = ()) -> tuple[Scaling, tuple[ScaleLine, ...]]:
    scenario = load(config, sets=list(sets), environment={}).scenario
    made = scaling(scenario, gpus=gpus)
    return made, scale_lines(scenario, made)


def test_between_three_sizes_the_line_is_the_plan_of_each_size() -> None:
    """At every point of the line the goodput is that of a plan of the run at that size, which knows no line."""
    scenario = load("llama3-405b", environment={}).scenario
    _, lines = _lines("llama3-405b", gpus=(4096, 65_536))
    for line in lines:
        assert len(line.gpus) > CLOSED_SIZES // 2
        for place in range(0, len(line.gpus), 7):
            found = plan(scenario, gpus=[line.gpus[place]], whole_run=False)
            (record,) = [r for r in found.optima(line.gpus[place]) if r.strategy == line.strategy]
            # A plan keeps the time of a step at every size, as a batch that grows with the GPUs does.
            assert line.goodput[place] == pytest.approx(record.goodput_typed, rel=1e-12)
            assert line.useful_gpus[place] == pytest.approx(line.gpus[place] * record.goodput_typed, rel=1e-12)


def test_no_straight_piece_of_the_line_strays_far_from_the_curve() -> None:
    """Left out, a point is missed by less than half a point of goodput, a pixel of the picture."""
    made, lines = _lines("llama3-405b", gpus=(16_384, 1_048_576))
    for line in lines:
        at = [math.log(gpus) for gpus in line.gpus]
        for left, middle, right in zip(range(len(at)), range(1, len(at)), range(2, len(at)), strict=False):
            share = (at[middle] - at[left]) / (at[right] - at[left])
            chord = line.goodput[left] + share * (line.goodput[right] - line.goodput[left])
            assert abs(chord - line.goodput[middle]) < 0.005
    assert {r.gpus for r in made.records} <= set(lines[0].gpus)


@pytest.mark.parametrize(
    ("config", "sets", "most"),
    [
        ("llama3-405b", [], CLOSED_SIZES),
        ("llama3-405b", ["failures.law={name: weibull, shape: 0.7, of: job}"], SEARCHED_SIZES),
        ("llama3-405b-causes", [], SEARCHED_SIZES),
        ("spectrum-16384", [], SEARCHED_SIZES),
    ],
)
def test_the_work_is_bounded_and_what_is_known_is_kept(config: str, sets: list[str], most: int) -> None:
    """Fewer sizes where each takes a search; what the table and the peaks say is among the points, unchanged."""
    made, lines = _lines(config, *sets)
    assert tuple(line.strategy for line in lines) == made.strategies
    for line, peak in zip(lines, made.peaks, strict=True):
        known = {r.gpus: (r.goodput, r.useful_gpus) for r in made.records if r.strategy == line.strategy}
        if peak.peak.gpus:
            known.setdefault(peak.peak.gpus, (peak.peak.goodput, peak.peak.useful_gpus))
        points = dict(zip(line.gpus, zip(line.goodput, line.useful_gpus, strict=True), strict=True))
        assert known.items() <= points.items()
        assert len(points) <= most + len(known)
        assert all(low < high for low, high in pairwise(line.gpus))


def test_with_a_global_batch_the_line_takes_only_even_sizes() -> None:
    """Replicas of every point but those asked for divide the batch into equal numbers of micro-batches."""
    made, lines = _lines("spectrum-16384", gpus=(5120, 65_536))
    scenario = load("spectrum-16384", environment={}).scenario
    each, training = made.step_gpus, scenario.training
    for line in lines:
        for gpus in set(line.gpus) - {5120, made.gpus, 65_536, *(peak.peak.gpus for peak in made.peaks)}:
            assert (training.global_batch or 0) % (gpus // each * (training.micro_batch or 1)) == 0


def test_a_single_size_is_a_point() -> None:
    """The planned size alone, with a peak below it or not, is no fault."""
    made, lines = _lines("tinyllama-16", gpus=(16,))
    assert all(made.gpus in line.gpus for line in lines)
