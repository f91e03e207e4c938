"""How many GPUs: curves, peaks and prices against closed forms, brute force and simulated runs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ckptplan.cost.scenario import (
    Cluster,
    Failures,
    Law,
    LawName,
    Layout,
    Mode,
    Model,
    Restart,
    Save,
    Scenario,
    Shard,
    Storage,
    Strike,
    Training,
)
from ckptplan.cost.state import ledger
from ckptplan.interval.scale import gpus_at_peak
from ckptplan.interval.scale_price import gpus_worth_adding, useful_gpus
from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.case import cases_of
from ckptplan.plan.scale.curve import Curve
from ckptplan.plan.scale.scaling import Scaling, scaling
from ckptplan.plan.scale.search import highest
from ckptplan.plan.scale.tiers import pattern_near_best
from ckptplan.plan.tiers.job import job_of, pattern_of

_DAY = 86400.0
M_GPU = 50677 * 3600.0

SPECTRUM = """
name: all of it
model: {parameters: 405e9, state: adam-14}
cluster:
  gpus: 16384
  gpus_per_node: 8
  layout: {tensor: 8, pipeline: 16, data: 128, shard: zero2}
  power: {compute: 1.1 kW, save: 600 W, restart: 300 W}
failures:
  interruptions: {count: 419, over: 54 d, gpus: 16384}
  classes:
    - {name: process, share: 20 %, loses: process}
    - {kind: hang, share: 5 %}
    - {kind: silent corruption, share: 1 %}
    - {kind: slow node, every: 3 d, slowdown: 10 %, detect: 30 min}
    - {kind: loss spike, every: 5 d}
    - {kind: maintenance, every: 1 d, total: 20 min}
storage:
  write_bandwidth: 2 TB/s
  tiers:
    - {kind: peer memory, bandwidth_per_node: 20 GB/s, load: 20 s}
    - {kind: file system, bandwidth: 500 GB/s, load: 3 min}
save:
  - {name: synchronous, mode: sharded, stall: 60 s}
  - {name: asynchronous, mode: asynchronous, stall: 5 s}
spares: {nodes: 16, repair: 12 h}
restart: {detect: 60 s, replace: 2 min, initialise: 3 min, load: 3 min, warm_up: 1 min}
training: {step_time: 5 s, duration: 54 d}
"""


def scenario(**changes: object) -> Scenario:
    """A 60 s save on 16,384 GPUs whose restart takes 600 s, no step time known, changed as asked."""
    base = Scenario(
        name="test",
        model=Model(405e9, ledger("adam-14")),
        cluster=Cluster(16384, 8, Layout(data=128, tensor=8, pipeline=16)),
        failures=Failures(M_GPU, "mtbf_per_gpu"),
        saves=(Save("blocking", Mode.SHARDED, stall_s=60.0),),
        storage=Storage(write_bandwidth_bytes_per_s=2e12),
        restart=Restart(total_s=600.0),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def background(flush_s: float, speed: float) -> tuple[Save, ...]:
    """One asynchronous strategy."""
    return (Save("background", Mode.ASYNCHRONOUS, stall_s=20.0, flush_s=flush_s, training_speed_while_flushing=speed),)


@pytest.fixture(scope="session")
def spectrum(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """Classes of failures, two tiers and spares."""
    path: Path = tmp_path_factory.mktemp("scale") / "all.yaml"
    path.write_text(SPECTRUM)
    return load(str(path)).scenario


@pytest.fixture(scope="session")
def of_spectrum(spectrum: Scenario) -> Scaling:
    """It at two more sizes, with its energy."""
    return scaling(spectrum, gpus=[65536, 131072], energy=True)


@cache
def few() -> Scenario:
    """A job of single-GPU nodes that peaks at some dozens of them."""
    return load("spot-24").scenario


# The planned size is that of ``optimize``


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1", "spot-24"])
def test_the_planned_size_has_the_goodput_of_optimize(name: str) -> None:
    """Goodput, interval and steps of every strategy equal those that optimize prints, to the last digit."""
    given = load(name).scenario
    made = scaling(given, gpus=[given.cluster.gpus])
    for record in plan(given).optima():
        here = made.planned(record.strategy)
        assert here.goodput == record.goodput_typed
        assert here.interval_s == record.typed_interval_s(given.training.step_time_s)
        assert here.interval_steps == record.interval_steps


def test_so_it_does_with_classes_tiers_and_spares(spectrum: Scenario, of_spectrum: Scaling) -> None:
    """Each strategy, each tier alone and all tiers together, with classes of failures and spares."""
    made, planned = of_spectrum, plan(spectrum)
    assert planned.tiers is not None
    assert made.strategies == (*(record.strategy for record in planned.optima()), "tiers")
    for record in planned.optima():
        assert made.planned(record.strategy).goodput == record.goodput_typed
    tiers = made.planned("tiers")
    assert (tiers.goodput, tiers.interval_steps) == (planned.tiers.goodput, planned.tiers.interval_steps)
    assert tiers.waiting_fraction == planned.tiers.waiting_fraction
    assert made.best == "tiers"


def test_other_sizes_are_those_of_optimize_too() -> None:
    """With throughput in proportion to the GPUs and no batch, every size equals that of optimize --gpus."""
    given = load("llama3-405b").scenario
    counts = (2048, 65536)
    made, planned = scaling(given, gpus=counts), plan(given, gpus=counts)
    for record in (r for gpus in counts for r in planned.optima(gpus)):
        (here,) = [r for r in made.records if (r.strategy, r.gpus) == (record.strategy, record.gpus)]
        assert here.goodput == record.goodput_typed


# Peaks, slopes and prices against the closed forms


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("exponent", [1.0, 0.9])
@pytest.mark.parametrize("saves", [None, background(300.0, 0.9), background(2000.0, 1.0)])
def test_peaks_are_the_closed_form_to_whole_replicas(
    strike: Strike, exponent: float, saves: tuple[Save, ...] | None
) -> None:
    """The search ends at the best of the two numbers of replicas next to the closed form, floors and slow-down too."""
    given = scenario(failures_strike=strike, training=Training(scaling_exponent=exponent))
    given = given if saves is None else replace(given, saves=saves)
    save = given.saves[0]
    cost = {"flush": save.flush_s or 0.0, "speed": save.training_speed_while_flushing or 1.0}
    job = {"strike": strike, "scaling_exponent": exponent, **cost}
    formula = gpus_at_peak(save.stall_s, 600.0, M_GPU, **job)
    found = scaling(given, gpus=[16384]).peaks[0]
    assert found.formula_gpus == pytest.approx(float(formula.gpus), rel=1e-14)
    below = int(formula.gpus // 128) * 128
    both = useful_gpus([below, below + 128], save.stall_s, 600.0, M_GPU, reference_gpus=16384, **job).useful_gpus
    assert found.peak.gpus == below + 128 * int(both[1] > both[0])
    assert found.peak.useful_gpus == pytest.approx(float(both.max()), rel=1e-12)
    assert found.peak.free_gpus == found.peak.gpus


def test_the_reference_peak() -> None:
    """235,541.4 GPUs are 1,840 replicas of 128 (60 s save, 600 s restart, one failure in 50,677 GPU-hours)."""
    found = scaling(scenario(), gpus=[16384]).peaks[0]
    assert found.formula_gpus == pytest.approx(235541.418, rel=1e-9)
    assert (found.peak.gpus, found.peak.replicas) == (235520, 1840)
    assert found.peak.goodput == pytest.approx(0.3024416, rel=1e-4)  # the MTBF is 9e-5 longer than at the exact peak


@pytest.mark.parametrize("gpus", [1024, 16384, 200_064, 400_000])
@pytest.mark.parametrize("exponent", [1.0, 0.8])
def test_useful_and_marginal_gpus_are_the_closed_form(gpus: int, exponent: float) -> None:
    """U(N) to rounding; what one more adds is the difference to the next whole replica, between the slopes."""
    curve = Curve(scenario(training=Training(scaling_exponent=exponent)))
    job = {"scaling_exponent": exponent, "reference_gpus": 16384}
    to = (gpus // 128 + 1) * 128
    at = useful_gpus([gpus, to], 60.0, 600.0, M_GPU, **job)
    assert curve.useful("blocking", gpus) == pytest.approx(float(at.useful_gpus[0]), rel=1e-13)
    found = curve.marginal("blocking", gpus)
    assert found.to_gpus == to
    assert found.per_gpu == pytest.approx(float(at.useful_gpus[1] - at.useful_gpus[0]) / (to - gpus), abs=1e-9)
    assert min(at.marginal) < found.per_gpu < max(at.marginal)  # the slopes at both ends


@pytest.mark.parametrize("ratio", [0.05, 0.4, 0.8])
@pytest.mark.parametrize("exponent", [1.0, 0.85])
def test_gpus_stop_paying_where_the_closed_form_says(ratio: float, exponent: float) -> None:
    """The last replica that pays is within one of the root of the marginal price, and no neighbour earns more."""
    given = scenario(training=Training(scaling_exponent=exponent))
    made = scaling(given, gpus=[16384], gpu_hour_price=ratio * 3.0, useful_hour_worth=3.0)
    paying = made.peaks[0].paying
    assert paying is not None
    assert paying.gpus is not None
    job = {"scaling_exponent": exponent, "reference_gpus": 16384}
    root = float(gpus_worth_adding(ratio, 60.0, 600.0, M_GPU, **job))
    assert abs(paying.gpus - root) < 128
    near = np.array([-128, 0, 128]) + paying.gpus
    earned = useful_gpus(near, 60.0, 600.0, M_GPU, **job).useful_gpus - ratio * near
    assert earned.argmax() == 1


def test_prices_follow_from_useful_and_marginal_gpus() -> None:
    """P N/U for a useful GPU-hour, P over what one GPU more adds for one more, which cannot be had beyond the peak."""
    made = scaling(scenario(), gpus=[16384, 400_000], gpu_hour_price=2.5)
    here, beyond = made.records
    assert here.useful_hour_price == pytest.approx(2.5 / here.goodput, rel=1e-14)
    assert here.marginal_gpus is not None
    assert here.next_hour_price == pytest.approx(2.5 / here.marginal_gpus, rel=1e-14)
    assert (beyond.next_hour_price, here.money, here.wall_s) == (None, None, None)
    assert made.peaks[0].paying is None


def test_nothing_pays_that_costs_more_than_it_is_worth() -> None:
    """A GPU-hour dearer than a useful one pays at no size; one for nothing pays up to the peak."""
    dear = scaling(scenario(), gpus=[16384], gpu_hour_price=2.0, useful_hour_worth=2.0).peaks[0]
    free = scaling(scenario(), gpus=[16384], gpu_hour_price=0.0, useful_hour_worth=2.0).peaks[0]
    assert dear.paying is not None
    assert dear.paying.gpus == 0
    assert free.paying is not None
    assert free.paying.gpus == free.peak.gpus


def test_a_job_without_losses_has_no_peak() -> None:
    """Saves that cost nothing and restarts that are not struck: every GPU helps, and the closed form says so."""
    saves = (Save("free", Mode.ASYNCHRONOUS, stall_s=0.0, flush_s=0.0),)
    found = scaling(scenario(saves=saves, failures_strike=Strike.SAFE)).peaks[0]
    assert (found.peak.gpus, found.is_endless, found.formula_gpus) == (None, True, None)
    struck = scaling(scenario(saves=saves, failures_strike=Strike.DR)).peaks[0]
    assert struck.is_endless is False
    assert struck.peak.gpus == pytest.approx(M_GPU / 600.0, abs=128)


def test_a_peak_beyond_a_billion_gpus_is_not_named() -> None:
    """GPUs that never fail: the search ends at 1e9, and the series of sizes with it."""
    made = scaling(scenario(failures=Failures(1e15, "mtbf_per_gpu")))
    assert (made.peaks[0].peak.gpus, made.peaks[0].is_endless) == (None, False)
    assert made.peaks[0].formula_gpus is not None
    assert made.peaks[0].formula_gpus > 1e9
    assert max(record.gpus for record in made.records) <= 1e9


def test_the_formula_is_kept_back_where_it_does_not_hold(of_spectrum: Scaling) -> None:
    """Several classes, stragglers, saves that get faster with more writers, steps longer than the best interval."""
    per_node = Storage(write_bandwidth_per_node_bytes_per_s=1e9)
    computed = scenario(saves=(Save("computed", Mode.SHARDED),), storage=per_node)
    noisy = scenario(training=Training(step_noise=0.02))
    coarse = scenario(training=Training(step_time_s=1000.0))
    for given in (computed, noisy, coarse):
        assert scaling(given, gpus=[16384]).peaks[0].formula_gpus is None
    assert all(peak.formula_gpus is None for peak in of_spectrum.peaks)


# Whatever changes with N, against every size


@pytest.mark.parametrize("sets", [[], ["failures.classes=[{name: own, every: 20 min, total: 100 s}]"]])
@pytest.mark.parametrize("ratio", [None, 0.3])
def test_no_size_does_more_than_the_peak(sets: list[str], ratio: float | None) -> None:
    """Of all sizes up to 120 GPUs the one found has most useful GPUs, or earns most: writes, loads and classes too."""
    given = load("spot-24", sets=[*sets, "restart.load=auto", "storage.read_bandwidth=400 MB/s"]).scenario
    price = {} if ratio is None else {"gpu_hour_price": ratio, "useful_hour_worth": 1.0}
    curve = Curve(given)
    for found in scaling(given, gpus=[24], **price).peaks:
        turn = found.peak if found.paying is None else found.paying
        values = [curve.useful(found.strategy, n) - (ratio or 0.0) * n for n in range(1, 121)]
        assert turn.gpus == 1 + int(np.argmax(values))


def test_the_search_finds_the_highest_whole_number() -> None:
    """Curves of many shapes, with plateaus of zeros and with negative values, against all their values."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        most, peak = int(rng.integers(1, 400)), float(rng.uniform(0.2, 500))
        width, offset = float(rng.uniform(0.05, 3)), float(rng.choice([0.0, -1e6, 0.0]))

        def curve(n: int, peak: float = peak, width: float = width, offset: float = offset) -> float:
            return float(np.exp(-(np.log(n / peak) ** 2) / width)) + offset * n * 1e-9

        values = [curve(n) for n in range(1, most + 1)]
        best = 1 + int(np.argmax(values))
        # Far from the peak there is nothing: it is only looked for up to where the planned size is.
        assert highest(curve, most, beyond=round(peak)) == (None if best == most > 1 else best)


def test_more_gpus_wait_for_the_same_spares(spectrum: Scenario, of_spectrum: Scaling) -> None:
    """Waiting grows with the size, moves the peak down, and is said with its remedy."""
    waiting = [record.waiting_fraction for record in of_spectrum.records if record.strategy == "synchronous"]
    assert waiting == sorted(waiting)
    assert waiting[-1] > 0.05
    alone = replace(spectrum, spares=None, storage=replace(spectrum.storage, tiers=()), saves=spectrum.saves[:1])
    without = scaling(alone, gpus=[16384])
    assert (of_spectrum.peaks[0].peak.gpus or 0) < (without.peaks[0].peak.gpus or 0)
    assert any("raise spares.nodes" in text for text in of_spectrum.warnings)


@pytest.mark.parametrize("gpus", [1024, 16384, 131072])
def test_the_fast_search_of_patterns_is_as_good(spectrum: Scenario, gpus: int) -> None:
    """Its goodput is at most 1e-6 below that of all patterns tried, and not above."""
    scenario_there = Curve(spectrum).at(gpus).scenario
    case = cases_of(scenario_there)[0]._replace(step_time_s=None)
    job = job_of(scenario_there, case)
    best, near = pattern_of(job).best, pattern_near_best(job).best
    assert float(best.goodput) * (1 - 1e-6) <= float(near.goodput) <= float(best.goodput) * (1 + 1e-12)
    np.testing.assert_array_equal(near.kept, best.kept)


# Throughput without failures, steps and batches


def test_stragglers_slow_larger_jobs() -> None:
    """With noise of 2 % the largest of 1,024 and of 16,384 lie 3.248 and 3.971 deviations out."""
    curve = Curve(scenario(training=Training(step_noise=0.02, scaling_exponent=0.9)))
    expected = 16384 * (1024 / 16384) ** 0.9 * (1 + 0.02 * 3.97135057) / (1 + 0.02 * 3.248239601)
    assert curve.at(1024).speed_gpus == pytest.approx(expected, rel=1e-9)
    assert curve.at(16384).speed_gpus == 16384
    heavy = Curve(scenario(training=Training(step_noise=0.02, noise_is_exponential=True)))
    assert heavy.at(1024).speed_gpus < 1024 * (1 + 0.02 * 9.3) / (1 + 0.02 * 6.5)  # harmonic numbers less 1


def test_a_given_batch_makes_steps_shorter() -> None:
    """The steps of a kept batch take time as 1/speed; without one, each GPU keeps its part and its step time."""
    kept = Curve(scenario(training=Training(step_time_s=5.0, scaling_exponent=0.9, global_batch=2048, micro_batch=1)))
    half, double = (kept.at(gpus) for gpus in (8192, 32768))
    for size in (half, double):
        assert size.scenario.training.step_time_s == pytest.approx(5.0 * 16384 / size.speed_gpus, rel=1e-14)
    weak = Curve(scenario(training=Training(step_time_s=5.0, forward_backward_s=4.0, duration_s=10 * _DAY)))
    training = weak.at(32768).scenario.training
    assert (training.step_time_s, training.forward_backward_s, training.duration_s) == (5.0, 4.0, 5 * _DAY)
    slower = Curve(scenario(training=Training(step_time_s=5.0, scaling_exponent=0.9))).at(32768).scenario.training
    assert slower.step_time_s == pytest.approx(5.0 * 2**0.1, rel=1e-14)


def test_a_measured_slow_down_keeps_its_factor() -> None:
    """A step of 6 s while flushing against 5 s outside is the same speed at a size with other steps."""
    save = Save("background", Mode.ASYNCHRONOUS, stall_s=5.0, flush_s=60.0, step_time_while_flushing_s=6.0)
    curve = Curve(scenario(saves=(save,), training=Training(step_time_s=5.0, global_batch=2048)))
    speeds = [curve.cases(gpus)["background"].speed for gpus in (16384, 65536)]
    assert speeds[0] == speeds[1] == pytest.approx(5.0 / 6.0, rel=1e-14)


def test_batches_say_which_replicas_keep_them() -> None:
    """Of the sizes around 24 replicas only divisors of 1,536/2 split it evenly; 25 split it unevenly, at a cost."""
    layout = Layout(data=24, tensor=8)
    given = scenario(
        cluster=Cluster(192, 8, layout), training=Training(step_time_s=5.0, global_batch=1536, micro_batch=2)
    )
    made = scaling(given, gpus=[200, 256])
    assert made.batch is not None
    assert made.batch.impossible_near == tuple(r for r in range(16, 33) if 768 % r)
    here, odd, even = made.batch.records
    assert (here.even, here.fewest, here.with_one_more) == (True, 32, 0)
    assert (even.even, even.fewest, even.below_gpus, even.above_gpus) == (True, 24, 256, 256)
    assert (odd.replicas, odd.even, odd.fewest, odd.with_one_more) == (25, False, 30, 18)
    assert (odd.below_replicas, odd.above_replicas) == (24, 32)
    assert odd.efficiency == pytest.approx((768 / 25) / 31, rel=1e-15)
    speed = next(r.speed_gpus for r in made.records if r.gpus == 200)
    assert speed == pytest.approx(200 * odd.efficiency, rel=1e-14)


def test_the_peak_is_a_size_that_divides_the_batch() -> None:
    """Of all numbers of replicas that divide 2,520 the peak has most useful GPUs; beyond the batch nobody works."""
    given = replace(few(), training=replace(few().training, global_batch=2520, micro_batch=1))
    made, curve = scaling(given), Curve(given)
    for found in made.peaks:
        divisors = [n for n in range(1, 2521) if 2520 % n == 0]
        assert found.peak.gpus == max(divisors, key=lambda n: curve.useful(found.strategy, n))
    assert all(2520 % record.replicas == 0 for record in made.records)
    small = replace(given, training=replace(given.training, global_batch=48))
    crowded = scaling(small, gpus=[96])
    assert crowded.peaks[0].peak.gpus == 48
    assert crowded.peaks[0].peak.free_gpus == 57
    assert any("48 micro-batches" in text for text in crowded.warnings)
    assert crowded.records[1].speed_gpus == pytest.approx(48, rel=1e-14)  # the other 48 have nothing to do


def test_an_even_split_gains_what_an_uneven_plan_loses() -> None:
    """Planned with 25 replicas for 96 micro-batches, one planned GPU does 0.96 of what it would with 24 or 32."""
    given = scenario(cluster=Cluster(200, 8, Layout(data=25, tensor=8)), training=Training(global_batch=96))
    curve = Curve(given)
    assert curve.at(256).speed_gpus == pytest.approx(256 / 0.96, rel=1e-14)
    ratio = 0.99 / 0.96
    paying = scaling(given, gpus=[200], gpu_hour_price=ratio, useful_hour_worth=1.0).peaks[0].paying
    assert paying is not None
    even = [8 * n for n in range(1, 97) if 96 % n == 0]
    assert paying.gpus == max(even, key=lambda n: curve.useful("blocking", n) - ratio * n)
    assert paying.free_gpus == 8 * highest(lambda n: curve.useful("blocking", 8 * n) - ratio * 8 * n, 1000)


@pytest.mark.parametrize("batch", [1, 100, 1024, 12_500])
def test_the_peak_is_the_record_at_its_size(batch: int) -> None:
    """Goodput, useful GPUs and MTBF of the headline are those of the row there, to the last digit, for any batch."""
    training = Training(step_time_s=8.0, scaling_exponent=0.97, step_noise=0.01, global_batch=batch, micro_batch=1)
    given = scenario(cluster=Cluster(100_000, 8, Layout(data=1250, tensor=8, pipeline=10)), training=training)
    turn = scaling(given, gpus=[100_000]).peaks[0].peak
    assert turn.gpus is not None
    assert batch % (turn.gpus // 80) == 0
    (row,) = [one for one in scaling(given, gpus=[turn.gpus]).records if one.gpus == turn.gpus]
    assert (turn.goodput, turn.useful_gpus, turn.mtbf_s) == (row.goodput, row.useful_gpus, row.mtbf_s)


def test_the_peaks_of_classes_and_tiers_are_their_records_too(of_spectrum: Scaling, spectrum: Scenario) -> None:
    """With whole steps, spares and several tiers: one pattern, one interval, one goodput."""
    peak = of_spectrum.peaks[-1]
    assert peak.strategy == "tiers"
    assert peak.peak.gpus is not None
    made = scaling(spectrum, gpus=[peak.peak.gpus])
    (row,) = [one for one in made.records if (one.strategy, one.gpus) == ("tiers", peak.peak.gpus)]
    assert (peak.peak.goodput, peak.peak.useful_gpus) == (row.goodput, row.useful_gpus)


def test_one_more_replica_without_a_micro_batch_adds_nothing() -> None:
    """1 micro-batch for 1,250 replicas: one more adds failures only, and a warning says how many are idle."""
    layout = Layout(data=1250, tensor=8, pipeline=10)
    given = scenario(cluster=Cluster(100_000, 8, layout), training=Training(global_batch=1, micro_batch=1))
    made = scaling(given, gpus=[80])
    here = made.planned("blocking")
    curve = Curve(given)
    assert here.marginal_gpus is not None
    assert here.marginal_gpus < 0.0
    rise = curve.useful("blocking", 100_080, split=True) - curve.useful("blocking", 100_000, split=True)
    assert here.marginal_gpus == pytest.approx(rise / 80, rel=1e-9)
    assert warned(made, "1,249 of 1,250 replicas are idle", "only 1 micro-batch;", "to 1,250 or more")


@pytest.mark.parametrize(("replicas", "stair"), [(24, 25), (25, 26), (40, 41), (384, 768), (700, 768)])
def test_what_one_more_adds_reaches_to_the_next_stair(replicas: int, stair: int) -> None:
    """The difference to the first number of replicas of which the busiest does fewer of 768 micro-batches."""
    training = Training(step_time_s=5.0, global_batch=1536, micro_batch=2)
    given = scenario(cluster=Cluster(8 * replicas, 8, Layout(data=replicas, tensor=8)), training=training)
    assert stair == next(r for r in range(replicas, 769) if -(-768 // r) < -(-768 // replicas))
    curve = Curve(given)
    rise = curve.useful("blocking", 8 * stair, split=True) - curve.useful("blocking", 8 * replicas, split=True)
    assert curve.marginal("blocking", 8 * replicas).per_gpu == pytest.approx(rise / (8 * (stair - replicas)), rel=1e-12)


def test_a_batch_that_is_no_whole_number_of_micro_batches_is_said() -> None:
    """No number of replicas divides it evenly; the peak is then that of any size."""
    given = replace(few(), training=replace(few().training, global_batch=101, micro_batch=2))
    made = scaling(given, gpus=[24])
    assert made.batch is not None
    assert made.batch.records[0].fewest is None
    assert made.peaks[0].peak.gpus == made.peaks[0].peak.free_gpus
    assert any("correct micro_batch" in text for text in made.warnings)


def test_gpus_that_fill_no_replica_are_idle_and_said() -> None:
    """1,000 GPUs of 128 per replica: 104 are idle, the work is that of 896, and the next 24 GPUs make them useful."""
    made = scaling(scenario(), gpus=[1000, 100])
    below, odd, _ = made.records
    assert (odd.idle_gpus, odd.replicas, odd.speed_gpus) == (104, 7, 896)
    assert "104 of 1,000 GPUs" in odd.status
    curve = Curve(scenario())
    rise = curve.useful("blocking", 1024) - curve.useful("blocking", 1000)
    assert (odd.next_gpus, odd.marginal_gpus) == (1024, pytest.approx(rise / 24, rel=1e-12))
    assert below.next_gpus == 128
    assert "fewer GPUs" in below.status


@pytest.mark.parametrize(
    ("layout", "step"),
    [
        (Layout(data=128, tensor=8, pipeline=16), 128),
        (Layout(data=64, replicas=4, tensor=8, shard=Shard.HSDP), 512),
        (Layout(data=64, tensor=8, replicas=2, expert=4), 64),
        (Layout(data=96, tensor=3), 24),
    ],
)
def test_sizes_are_whole_replicas_and_whole_nodes(layout: Layout, step: int) -> None:
    """Jobs grow by what their layout allows; every size of the default series leaves no GPU idle."""
    made = scaling(scenario(cluster=Cluster(layout.gpus, 8, layout)))
    assert made.step_gpus == step
    sizes = sorted({record.gpus for record in made.records})
    assert all(gpus % step == 0 for gpus in sizes)
    assert all(record.idle_gpus == 0 for record in made.records)
    assert sizes[0] <= layout.gpus / 4
    assert sizes[-1] > (made.peaks[0].peak.gpus or 0)
    assert layout.gpus in sizes
    assert len(sizes) <= 13


# Time and money


def test_runs_take_the_expected_time_of_a_finite_run() -> None:
    """Wall time is that of optimize at the planned size, and its share at others; money is paid for all GPUs."""
    given = load("llama3-405b").scenario
    made = scaling(given, gpus=[32768], gpu_hour_price=2.0)
    planned = plan(given)
    assert planned.run is not None
    here = made.planned("asynchronous")
    assert here.wall_s == pytest.approx(planned.run.expected_s, rel=1e-14)
    (double,) = [r for r in made.records if (r.strategy, r.gpus) == ("asynchronous", 32768)]
    # The last piece ends without a save: a share of one period is won.
    assert double.wall_s == pytest.approx(27 * _DAY / double.goodput, rel=1e-4)
    assert double.money == pytest.approx(2.0 * 32768 * (double.wall_s or 0.0) / 3600, rel=1e-14)


def test_energy_with_classes_is_of_first_order_and_that_of_tiers_not_given(of_spectrum: Scaling) -> None:
    """What is not exact says so, and what is not known is left out with a word."""
    made = of_spectrum
    assert {r.energy_accounting for r in made.records} == {"first order", None}
    assert made.planned("tiers").energy_interval_s is None
    assert any("not reckoned" in text for text in made.warnings)
    first = made.planned("synchronous")
    assert (first.energy_interval_s or 0.0) < (first.interval_s or 0.0)
    assert (first.least_useful_gpu_power_w or 0.0) < (first.useful_gpu_power_w or 0.0)


# What must not be read as progress


def warned(made: Scaling, *words: str) -> bool:
    """Whether one warning has all the words."""
    return any(all(word in text for word in words) for text in made.warnings)


def test_sizes_without_progress_are_said_with_a_remedy() -> None:
    """Goodput below 5 % and a restart longer than the MTBF are one sentence each, at the first such size."""
    made = scaling(scenario(), gpus=[400_000, 800_000, 1_600_000])
    assert warned(made, "below 5 %", "800,000", "plan fewer GPUs")
    assert warned(made, "longer than the MTBF", "400,000", "shorten the restart")
    assert [r.status == "ok" for r in made.records] == [True, True, False, False]
    assert made.warnings == tuple(dict.fromkeys(made.warnings))
    assert scaling(scenario(), gpus=[16384]).warnings == ()


def test_a_plan_beyond_the_peak_is_said() -> None:
    """A planned size that does less than a smaller one is the first warning."""
    made = scaling(scenario(cluster=Cluster(512_000, 8, Layout(data=4000, tensor=8, pipeline=16))))
    assert "do less than 235,520 would" in made.warnings[0]
    assert made.records[0].gpus < 235_520


def test_gaps_that_allow_no_save_are_no_progress() -> None:
    """Recorded gaps too short for a restart at a large size: goodput 0 there, and no error."""
    given = load("llama3-405b").scenario
    law = Law(LawName.RECORDED, gaps_s=(9_000.0, 11_000.0, 13_000.0))
    made = scaling(replace(given, failures=replace(given.failures, law=law)), gpus=[524_288])
    last = [record for record in made.records if record.gpus == 524_288]
    assert [(r.interval_s, r.goodput, r.useful_gpus) for r in last] == [(None, 0.0, 0.0)] * 2
    assert all(record.status.startswith("no progress") for record in last)
