from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.interval.retention import DelayLaw, checkpoints_to_keep, no_clean_probability
from ckptplan.interval.thinning import Stage, Thinning, doubling, kept, thinning
from ckptplan.interval.thinning_choice import clean_checkpoint, thinning_for

RULES = {
    "dense": thinning(10, keep_all=60),
    "three stages": thinning(10, keep_all=45, then_every=39, then_for=200, archive_every=12, archive_for=777),
    "spacings that do not divide": thinning(
        10, keep_all=30, then_every=40, then_for=333, archive_every=6, archive_for=500
    ),
    "an archive shorter than the middle": thinning(
        10, keep_all=20, then_every=20, then_for=300, archive_every=7, archive_for=90
    ),
    "doubling": doubling(10, 3, 3),
    "doubling, short at the end": doubling(10, 5, 2, oldest=3),
    "no dense stage": Thinning(10, (Stage(3, 71.0), Stage(4, 25.0))),
}
ENDLESS = thinning(10, keep_all=50, then_every=30, then_for=150, archive_every=15)

each_rule = pytest.mark.parametrize("name", RULES)


@cache
def _played(name):
    """Apply a rule at 40 instants in each of 168 periods: the ages on disk, infinite for those deleted.

    168 periods are whole cycles of every rule. All ends of stages and all delays of these tests are multiples of
    1/40 of a period: what happens is linear in time around each instant, so that a mean over the instants is exact.
    """
    rule, indices = RULES[name], np.arange(268)
    now = (100 + np.arange(168 * 40) / 40 + 1 / 80)[:, np.newaxis]
    age = (now - indices) * rule.period_s
    return np.where((age > 0) & rule.keeps(indices, age), age, np.inf)


@each_rule
def test_number_kept_against_the_rule_itself(name):
    """Most and mean are those of the rule applied at many instants."""
    counts, found = np.isfinite(_played(name)).sum(axis=1), kept(RULES[name], 1e12)
    assert counts.max() == found.most
    assert counts.mean() == pytest.approx(found.mean, rel=1e-12)
    assert found.most_bytes == found.most * 1e12
    assert found.mean_bytes == found.mean * 1e12
    assert sum(found.mean_by_stage) == pytest.approx(found.mean, rel=1e-15)


def test_numbers_by_hand():
    """A day of 20 minutes, a week of 3 hours, 90 days of every 504th save: 72, 48 and 12."""
    rule = thinning(
        1200, keep_all=86400, then_every=10800, then_for=7 * 86400, archive_every=504, archive_for=91 * 86400
    )
    found = kept(rule)
    np.testing.assert_allclose(found.mean_by_stage, (72, 48, 12), rtol=1e-14)
    assert found.mean == pytest.approx(132, rel=1e-14)
    assert found.most == 132


@each_rule
@pytest.mark.parametrize("rollback", [0.0, 17.0])
@pytest.mark.parametrize("delay", [0.0, 4.0, 55.0, 130.0, 340.0])
def test_fixed_delay_against_the_rule_itself(name, rollback, delay):
    """With a delay that is always the same, probability and work are those of the rule applied at many instants."""
    depth, period = delay + rollback, RULES[name].period_s
    ages = _played(name)
    used = np.where(ages > depth, ages, np.inf).min(axis=1)
    clean = np.isfinite(used)
    exact = clean_checkpoint(RULES[name], delay, law=DelayLaw.BOUNDED, rollback=rollback)
    assert exact.probability == pytest.approx(clean.mean(), abs=1e-12)
    assert exact.no_clean_probability == pytest.approx(1 - clean.mean(), abs=1e-12)
    if not clean.any():
        assert np.isnan([exact.rework_s, exact.extra_rework_s]).all()
        return
    work = used[clean] - depth
    assert exact.rework_s == pytest.approx(work.mean(), rel=1e-9)
    assert exact.extra_rework_s == pytest.approx(np.mean(period * np.floor(work / period)), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rule", [*RULES.values(), ENDLESS], ids=[*RULES, "endless"])
@pytest.mark.parametrize("rollback", [0.0, 23.0])
@pytest.mark.parametrize("mean", [6.0, 40.0, 2000.0])
def test_exponential_delay_against_drawn_corruptions(rule, rollback, mean):
    """Probability, work and extra work agree with 200,000 drawn corruptions within four standard errors."""
    rng, n = np.random.default_rng(3), 200_000
    now = rng.uniform(1e5, 2e5, n)  # time of detection: long after the start
    wanted = now - rng.exponential(mean, n) - rollback
    used = np.full(n, -np.inf)
    for stage in rule.stages:
        spacing = stage.every * rule.period_s
        candidate = np.floor(wanted / spacing) * spacing  # newest of this stage that is old enough
        used = np.maximum(used, np.where(now - candidate < stage.until_s, candidate, -np.inf))
    clean = used >= 0
    exact = clean_checkpoint(rule, mean, rollback=rollback)
    p = float(exact.probability)
    assert exact.no_clean_probability == pytest.approx(1 - p, abs=1e-15)
    assert abs(clean.mean() - p) <= 4 * np.sqrt(p * (1 - p) / n)
    work = (wanted - used)[clean]
    extra = work - (wanted % rule.period_s)[clean]
    for drawn, value in ((work, exact.rework_s), (extra, exact.extra_rework_s)):
        assert abs(drawn.mean() - value) <= 4 * drawn.std() / np.sqrt(drawn.size) + 1e-9


@pytest.mark.parametrize("mean", [3.0, 100.0, 1e6])
@pytest.mark.parametrize("rollback", [0.0, 17.0, 4000.0])
def test_keeping_all_is_plain_retention(mean, rollback):
    """One dense stage of k periods keeps the k newest: the closed form of retention, and no extra work."""
    found = clean_checkpoint(thinning(10, keep_all=70), mean, rollback=rollback)
    plain = no_clean_probability(7, 10, mean, rollback=rollback)
    assert found.no_clean_probability == pytest.approx(float(plain), rel=1e-12)
    if rollback < 70:
        assert found.extra_rework_s == 0
    if mean == 3.0 and rollback == 0.0:  # nearly always clean: any phase of the period
        assert found.rework_s == pytest.approx(5, rel=1e-6)


@each_rule
def test_exponential_is_a_mixture_of_fixed_delays(name):
    """Quadrature over fixed delays gives the exponential result: two independent closed forms."""
    mean, rule = 15.0, RULES[name]
    nodes, weights = np.polynomial.legendre.leggauss(6)
    ends = {0.0, *(stage.until_s % 10 for stage in rule.stages)}  # between these, a polynomial in the delay
    cuts = np.unique([10 * k + end for k in range(40) for end in ends])
    half = 0.5 * np.diff(cuts)[:, np.newaxis]
    delay = (cuts[:-1, np.newaxis] + half * (1 + nodes)).ravel()
    density = np.exp(-delay / mean) / mean * (half * weights).ravel()
    fixed = clean_checkpoint(rule, delay, law=DelayLaw.BOUNDED)
    found = clean_checkpoint(rule, mean)
    assert found.probability == pytest.approx(np.sum(density * fixed.probability), rel=1e-9)
    for name in ("rework_s", "extra_rework_s"):
        total = np.nansum(density * fixed.probability * getattr(fixed, name))
        assert found.probability * getattr(found, name) == pytest.approx(total, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("q", "delay", "law"), [(1e-3, 3600, "exponential"), (1e-6, 50000, "exponential"), (0, 50000, "bounded")]
)
@pytest.mark.parametrize("rollback", [0.0, 7000.0])
def test_thinning_reaches_far_enough_with_fewer(q, delay, law, rollback):
    """The choice keeps its probability by the exact account of its rule, with fewer checkpoints than keeping all."""
    choice = thinning_for(q, 1200, delay, law=law, rollback=rollback)
    found = clean_checkpoint(choice.thinning, delay, law=law, rollback=rollback)
    assert found.no_clean_probability <= q
    assert choice.no_clean_probability == pytest.approx(float(found.no_clean_probability), rel=1e-9)
    assert choice.extra_rework_s == found.extra_rework_s
    assert choice.keep_all == checkpoints_to_keep(q, 1200, delay, law=law, rollback=rollback)
    assert choice.most == kept(choice.thinning).most < choice.keep_all
    assert choice.sparser_from_s == choice.newest * 1200


def test_thinning_trades_checkpoints_for_work():
    """The less extra work is allowed, the more are kept; allowing none keeps all; no doubling is smaller."""
    allowed = [np.inf, 900, 600, 300, 100, 0]
    choices = [thinning_for(1e-3, 1200, 20000, max_extra_rework=a) for a in allowed]
    assert all(c.extra_rework_s <= a for c, a in zip(choices, allowed, strict=True))
    most = [c.most for c in choices]
    assert most == sorted(most)
    assert choices[-1].most == choices[-1].keep_all
    assert choices[-1].sparser_from_s == np.inf
    for choice, limit in zip(choices[1:-1], allowed[1:-1], strict=True):
        for newest, levels in itertools.product(range(2, 20), range(1, 6)):
            other = doubling(1200, newest, levels)
            if kept(other).most < choice.most:
                found = clean_checkpoint(other, 20000)
                assert found.no_clean_probability > 1e-3 or found.extra_rework_s > limit


def test_a_rule_can_be_run():
    """Indices and ages broadcast; an age equal to the end of a stage is no longer kept."""
    rule = thinning(10, keep_all=30, then_every=20, then_for=60)
    index, age = np.array([4, 5]), np.array([[0.0], [29.9], [30.0], [59.9], [60.0]])
    expected = [[True, True], [True, True], [True, False], [True, False], [False, False]]
    np.testing.assert_array_equal(rule.keeps(index, age), expected)
    assert kept(ENDLESS).most == kept(ENDLESS).mean == np.inf
    assert clean_checkpoint(ENDLESS, 1e4).no_clean_probability == 0


def test_invalid():
    """A rule outside its domain is refused with a reason; a delay outside it is nan beside valid neighbours."""
    for bad in (
        {"period": 0, "keep_all": 9},
        {"period": 10, "keep_all": 9},
        {"period": 10, "keep_all": 20, "then_for": -1},
    ):
        with pytest.raises(InputError):
            thinning(**bad)
    with pytest.raises(InputError, match="repeat only after"):
        kept(Thinning(10, (Stage(1009, 1e5), Stage(1013, 1e6))))
    for bad in ((0, 1200, 3600), (2, 1200, 3600), (0.1, 0, 3600), (0.1, 1200, np.inf)):
        with pytest.raises(InputError):
            thinning_for(*bad)
    with pytest.raises(InputError):
        doubling(10, 1, 1)
    found = clean_checkpoint(RULES["doubling"], [40, -1, 40, np.nan], rollback=[[0, 0, -1, 0], [5, 5, 5, 5]])
    np.testing.assert_array_equal(np.isnan(found.probability), [[False, True, True, True], [False, True, False, True]])
    assert found.probability[1, 2] == clean_checkpoint(RULES["doubling"], 40, rollback=5).probability
