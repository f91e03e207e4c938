"""What is useful of a run, and what it takes and costs: which GPUs count where some are idle."""

from __future__ import annotations

import pytest

from ckptplan.load import load
from ckptplan.plan.scale.curve import Curve
from ckptplan.plan.scale.records import Asked, records_at
from ckptplan.plan.scale.yields import Yields
from ckptplan.sweep.closed import is_closed_study
from ckptplan.sweep.columns import Columns
from ckptplan.sweep.study import GPUS, Each, Study
from tests.sweep.studies import differing, member, numbers, point_by_point, study, swept, texts

PRICE = 3.7
_SIZES = {  # most of them leave GPUs idle, down to less than one replica
    "llama3-405b": (100, 129, 1000, 16384, 16400, 33333, 200_001),
    "lab-64": (7, 64, 65, 1001),
    "palm-540b": (999, 6144, 7001),
    "spot-24": (5, 24, 31),
    "llama3-405b-causes": (1000, 16384),
    "spectrum-16384": (1000, 16384),
}
_SHARED = ("mtbf_s", "goodput_typed", "typed_interval_s", "useful_gpus", "money", "gpu_hours")
_SETS = (
    (),
    ("training.scaling_exponent=0.9",),
    ("training.global_batch=4096",),
    ("failures.law={name: weibull, shape: 0.7}",),
)
_SPECTRUM = ("llama3-405b-causes", "spectrum-16384")  # of exponential failures only
_CASES = [(name, sets) for name in _SIZES for sets in _SETS if name not in _SPECTRUM or "law" not in str(sets)]


def asked_of(name: str, sets: tuple[str, ...] = ()) -> Study:
    """Every strategy at these sizes."""
    return study(member(name, sets), {GPUS: _SIZES[name]}, (*_SHARED, "status"), Each.STRATEGY, gpu_hour_price=PRICE)


def rows_of(found: Columns) -> dict[tuple[object, ...], tuple[object, ...]]:
    """The figures by strategy and size."""
    names = zip(texts(found, "strategy"), numbers(found, GPUS), strict=True)
    figures = zip(*(numbers(found, name) for name in _SHARED), strict=True)
    return dict(zip(names, figures, strict=True))


def scaled(name: str, sets: tuple[str, ...]) -> dict[tuple[object, ...], tuple[object, ...]]:
    """The same by `scale`."""
    yields = Yields(Curve(load(name, sets=sets, environment={}).scenario))
    return {
        (one.strategy, one.gpus): (
            one.mtbf_s,
            one.goodput,
            one.interval_s,
            one.useful_gpus,
            one.money,
            None if one.wall_s is None else one.wall_s * one.gpus / 3600.0,
        )
        for size in _SIZES[name]
        for one in records_at(yields, size, Asked(PRICE, energy=False))
    }


@pytest.mark.parametrize(("name", "sets"), _CASES)
def test_sizes_that_leave_gpus_idle_are_those_of_scale(name: str, sets: tuple[str, ...]) -> None:
    """Useful GPUs, GPU-hours and money agree with `scale` to the last digit, as arrays and planned one by one.

    Where no closed form gives the time of a run, a sweep plays runs as `optimize` does; `scale` takes the long run.
    """
    asked, wanted = asked_of(name, sets), scaled(name, sets)
    found = rows_of(swept(asked))
    same = len(_SHARED) if name not in _SPECTRUM and "law" not in str(sets) else _SHARED.index("money")
    assert {key: wanted[key][:same] for key in found} == {key: row[:same] for key, row in found.items()}
    for key, row in found.items():
        assert row[same:] == pytest.approx(wanted[key][same:], rel=0.02)
    assert len(found) >= len(_SIZES[name])
    if is_closed_study(asked, asked.members[0]):
        assert differing(swept(asked), point_by_point(asked)) == []


def test_both_ways_are_compared_with_scale() -> None:
    """Some of those studies are arrays of closed forms, others are planned one by one."""
    closed = {is_closed_study(asked, asked.members[0]) for asked in (asked_of(name, sets) for name, sets in _CASES)}
    assert closed == {True, False}


@pytest.mark.parametrize("law", ["exponential", "{name: weibull, shape: 0.7}"])
def test_idle_gpus_are_paid_and_do_no_work(law: str) -> None:
    """1,000 GPUs of which 104 are idle: all take GPU-hours and money, 896 do the work, and the rest is lost."""
    columns = ("goodput_typed", "lost_fraction", "useful_gpus", "gpu_hours", "gpu_hours_lost", "money", "money_lost")
    spec = member("llama3-405b", (f"failures.law={law}",)) if law != "exponential" else member("llama3-405b")
    found = swept(study(spec, {GPUS: (896, 1000)}, columns, gpu_hour_price=2.0))
    goodput, lost_fraction, useful, hours, lost, money, money_lost = (numbers(found, name)[1] for name in columns)
    work_gpu_h = 16384 * 54 * 24
    assert useful == pytest.approx(896 * goodput, rel=1e-14)
    assert lost_fraction == 1.0 - goodput
    assert hours - lost == pytest.approx(work_gpu_h, rel=1e-14)
    assert hours == pytest.approx(work_gpu_h * 1000 / 896 / goodput, rel=1e-4)
    assert (money, money_lost) == (2.0 * hours, 2.0 * lost)
    full = [numbers(found, name)[0] for name in ("gpu_hours", "gpu_hours_lost")]
    assert full[0] - full[1] == pytest.approx(work_gpu_h, rel=1e-14)  # the same work


def test_a_run_takes_as_long_as_scale_says() -> None:
    """With another number of GPUs the run does the same work, so that its expected time is that of `scale`."""
    spec = load("llama3-405b", environment={}).scenario
    yields = Yields(Curve(spec))
    found = swept(study("llama3-405b", {GPUS: (1000, 16384)}, ("expected_s",), Each.STRATEGY))
    by_size = [records_at(yields, size, Asked(None, energy=False)) for size in (1000, 16384)]
    assert numbers(found, "expected_s") == [one.wall_s for records in by_size for one in records]
