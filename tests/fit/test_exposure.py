"""Time at risk, interruptions and their clock, from every content of a record."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.fit.counting import Counting, Per
from ckptplan.fit.fitting import exposure
from ckptplan.fit.record import Allocations, FailureRecord, LeftOut, Lifetimes, Outages, Outcome

_F, _C, _P, _M = Outcome.FAILURE, Outcome.CENSORED, Outcome.PREEMPTED, Outcome.MAINTENANCE


def _runs(*rows):
    """Runs of (job, start, end, outcome, nodes, gpus)."""
    job, start, end, outcome, nodes, gpus = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    codes = np.zeros(len(rows), dtype=np.int32)
    return _record(
        Allocations(start, end, outcome.astype(np.int32), nodes, gpus, job.astype(np.int32), codes, ("cause",))
    )


def _outages(*rows, units=1, from_s=(0.0,), until_s=(1000.0,), **more):
    """Outages of (unit, start, end, outcome)."""
    unit, start, end, outcome = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    codes = np.zeros(len(rows), dtype=np.int32)
    return _record(
        Outages(
            start,
            end,
            outcome.astype(np.int32),
            unit.astype(np.int32),
            codes,
            ("cause",),
            units,
            np.array(from_s),
            np.array(until_s),
            **more,
        )
    )


def _record(content):
    return FailureRecord("record.txt", "made up", 9, (LeftOut("steps", 2),), content)


_THREE = (
    (1, 0.0, 100.0, _F, 4, 32),
    (1, 130.0, 150.0, _C, 4, 32),
    (2, 50.0, 90.0, _F, 2, 16),
)


def test_runs_count_by_node_hours_and_scale_exactly_between_units():
    """Per node, GPU and job the same failures stand over time times nodes, GPUs and one."""
    by = {per: exposure(_runs(*_THREE), Counting(per=per)) for per in Per}
    assert [by[per].failures for per in Per] == [2, 2, 2]
    assert by[Per.NODE].exposure_s == 4 * 100 + 4 * 20 + 2 * 40
    assert by[Per.GPU].exposure_s == 8 * by[Per.NODE].exposure_s
    assert by[Per.JOB].exposure_s == 160.0
    assert by[Per.NODE].nodes == pytest.approx(560 / 160)


def test_the_clock_of_runs_is_the_sum_of_what_each_had_run_by_then():
    """An instant is the node time of all runs up to it, as a plain loop over the runs adds it up."""
    found = exposure(_runs(*_THREE), Counting(per=Per.NODE))

    def until(t):
        return sum(nodes * max(0.0, min(t, end) - start) for _, start, end, _, nodes, _ in _THREE if t > start)

    assert found.clock.instants_s == pytest.approx([until(90.0), until(100.0)])
    assert found.clock.end_s == found.exposure_s == until(150.0)
    assert found.clock.date_of(until(140.0)) == pytest.approx(140.0)


def test_a_second_end_of_the_same_job_within_the_window_is_the_same_interruption():
    """Ends of one job 30 s apart are one at the default and two at --merge 0; of two jobs they are two."""
    rows = ((1, 0.0, 100.0, _F, 1, 8), (1, 101.0, 130.0, _F, 1, 8), (2, 0.0, 131.0, _F, 1, 8))
    merged, apart = (exposure(_runs(*rows), Counting(merge_s=s)) for s in (60.0, 0.0))
    assert (merged.failures, merged.events, merged.merged) == (2, 3, 1)
    assert (apart.failures, apart.merged) == (3, 0)
    assert merged.exposure_s == apart.exposure_s
    assert list(merged.lives.failed) == [True, False, True]


def test_preemptions_count_only_where_asked_or_where_nothing_else_is_recorded():
    """A record of failures leaves preemptions to their own class; a spot trace has nothing else."""
    both = _runs((1, 0.0, 100.0, _F, 1, 8), (2, 0.0, 50.0, _P, 1, 8))
    only = _runs((1, 0.0, 100.0, _C, 1, 8), (2, 0.0, 50.0, _P, 1, 8))
    assert exposure(both, Counting()).failures == 1
    assert exposure(both, Counting(outcomes=frozenset({_F, _P}))).failures == 2
    assert exposure(only, Counting()).outcomes == {_P}


def test_runs_without_nodes_are_counted_per_job_and_refused_per_node():
    """What the record does not know is said, and never made up."""
    runs = _runs((1, 0.0, 100.0, _F, np.nan, np.nan))
    found = exposure(runs, Counting())
    assert (found.per, found.nodes, found.gpus) == (Per.JOB, None, None)
    assert any("how many nodes" in fact for fact in found.facts)
    with pytest.raises(InputError, match="1 of 1 runs do not say how many nodes"):
        exposure(runs, Counting(per=Per.NODE))


def test_gpus_follow_from_nodes_or_from_what_is_told():
    """GPUs of a run: recorded, else nodes times GPUs per node, else as told."""
    by_nodes = exposure(_runs((1, 0.0, 10.0, _F, 2, np.nan)), Counting(per=Per.GPU, gpus_per_node=8))
    told = exposure(_runs((1, 0.0, 10.0, _F, np.nan, np.nan)), Counting(per=Per.GPU, gpus=64))
    assert (by_nodes.exposure_s, told.exposure_s) == (160.0, 640.0)


def test_sizes_that_differ_scale_the_ages_of_runs():
    """A run of twice the mean size ages twice as fast; equal sizes are left alone."""
    found = exposure(_runs((1, 0.0, 10.0, _F, 1, 8), (2, 0.0, 10.0, _F, 3, 24)), Counting())
    assert found.lives.sizes_differ
    assert found.lives.time_s == pytest.approx([5.0, 15.0])
    assert not exposure(_runs(*_THREE[:2]), Counting()).lives.sizes_differ


def test_a_record_with_no_time_at_risk_is_refused_with_what_was_left_out():
    """Nothing to divide by is an error that says where the rows went."""
    with pytest.raises(InputError, match="no run with a start and an end") as caught:
        exposure(_runs((1, 5.0, 5.0, _F, 1, 8)), Counting())
    assert "2 steps" in caught.value.render()


def test_nodes_are_at_risk_while_they_are_up():
    """Exposure is the watch less the outages, node by node; a node without an outage counts from start to end."""
    found = exposure(_outages((0, 100.0, 200.0, _F), (1, 300.0, 350.0, _F), (0, 600.0, 700.0, _M), units=3), Counting())
    assert found.per is Per.NODE
    assert found.exposure_s == (1000 - 200) + (1000 - 50) + 1000
    assert found.failures == 2
    lives = sorted(zip(found.lives.time_s.tolist(), found.lives.failed.tolist(), strict=True))
    assert lives == [(100.0, True), (300.0, False), (300.0, True), (400.0, False), (650.0, False), (1000.0, False)]


def test_outages_that_overlap_or_follow_at_once_are_one():
    """A second report of a node that is down, or down again within the window, is no new failure."""
    rows = ((0, 100.0, 400.0, _F), (0, 150.0, 200.0, _F), (0, 430.0, 440.0, _F), (0, 700.0, np.nan, _F))
    found = exposure(_outages(*rows, units=2), Counting())
    assert (found.failures, found.events, found.merged) == (2, 4, 2)
    assert found.exposure_s == 100 + (700 - 440) + 300 + 1000


def test_every_node_has_its_own_watch_where_the_record_says_so():
    """Nodes that came later or left early are at risk for less; unlisted ones for all of the time."""
    record = _outages((0, 500.0, 600.0, _F), units=3, from_s=(400.0, 0.0), until_s=(1000.0, 300.0))
    assert exposure(record, Counting()).exposure_s == (1000 - 400 - 100) + 300 + 1000


def test_a_job_on_all_nodes_sees_an_outage_of_several_once():
    """Per job the clock is that of the wall, and outages that begin within the window are one interruption."""
    rows = ((0, 100.0, 200.0, _F), (1, 120.0, 900.0, _F), (2, 500.0, 600.0, _F))
    found = exposure(_outages(*rows, units=3), Counting(per=Per.JOB))
    assert (found.failures, found.events, found.merged, found.exposure_s) == (2, 3, 1, 1000.0)
    assert found.lives.time_s == pytest.approx([100.0, 400.0, 500.0])
    assert found.lives.failed.tolist() == [True, True, False]


def test_counting_that_begins_with_an_event_does_not_count_it():
    """Between n events lie n - 1 gaps: the first one only starts the clock."""
    rows = ((-1, 100.0, np.nan, _F), (-1, 400.0, np.nan, _F), (-1, 900.0, np.nan, _F))
    found = exposure(_outages(*rows, from_s=(100.0,), until_s=(900.0,), ends_at_last=True), Counting())
    assert (found.failures, found.exposure_s, found.until_failure) == (2, 800.0, True)
    assert found.clock.until_failure
    assert found.lives.time_s == pytest.approx([300.0, 500.0])


def test_outages_that_name_no_node_are_not_counted_per_node():
    """They are said, and counted per job."""
    record = _outages((-1, 100.0, 200.0, _F), (0, 300.0, 400.0, _F), units=2)
    found = exposure(record, Counting())
    assert found.failures == 1
    assert any("name no node" in fact for fact in found.facts)
    assert exposure(record, Counting(per=Per.JOB)).failures == 2


def test_outages_of_which_none_names_a_node_are_refused_per_node():
    """They would be no failures in all the time that the nodes were up, which is as false as a number can be."""
    with pytest.raises(InputError, match="none of 2 outages names a node"):
        exposure(_outages((-1, 100.0, 200.0, _F), (-1, 300.0, 400.0, _F), units=2), Counting(per=Per.NODE))


def test_times_without_a_calendar_show_a_trend_only_in_their_order():
    """Gaps follow each other; a sample of parts does not."""
    gaps = Lifetimes(np.array([10.0, 30.0]), np.array([True, True]))
    found = exposure(_record(gaps), Counting())
    assert (found.failures, found.exposure_s, found.until_failure) == (2, 40.0, True)
    assert found.clock.instants_s == pytest.approx([10.0, 40.0])
    assert exposure(_record(gaps._replace(in_order=False)), Counting()).clock is None


def test_a_large_record_agrees_with_a_loop_over_its_nodes():
    """Random outages of 40 nodes, overlapping and not, give what a plain loop over each node gives."""
    rng = np.random.default_rng(5)
    rows = [
        (
            int(rng.integers(40)),
            start := float(rng.uniform(0, 900)),
            start + float(rng.exponential(30)),
            int(rng.integers(1, 4)),
        )
        for _ in range(300)
    ]
    found = exposure(_outages(*rows, units=40), Counting(merge_s=5.0))
    failures, up_s = 0, 0.0
    for unit in range(40):
        mine = sorted((start, min(end, 1e9), kind) for u, start, end, kind in rows if u == unit)
        last, again = 0.0, None
        for start, end, kind in mine:
            if again is None or start - last > 5.0:
                up_s += max(0.0, start - last)
                again = kind == _F
                failures += again
            elif kind == _F and not again:
                again = True
                failures += 1
            last = max(last, end)
        up_s += max(0.0, 1000.0 - last)
    assert found.failures == failures
    assert found.exposure_s == pytest.approx(up_s, rel=1e-12)
