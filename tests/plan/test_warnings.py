"""Broken assumptions are said in one sentence with the remedy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptplan.cost.scenario import Cluster, Layout, Mode, Model, Restart, Save, Shard, Storage, Strike, Training
from ckptplan.cost.state import addition, compose, ledger
from ckptplan.load import load
from ckptplan.plan import plan
from tests.plan.test_plan import scenario


def said(phrase: str, texts: tuple[str, ...]) -> bool:
    """Whether one of the sentences holds the phrase."""
    return any(phrase in text for text in texts)


def test_incomplete_ledgers() -> None:
    """Weights alone, or averages alone, are no checkpoint to resume from."""
    weights = scenario(model=Model(405e9, ledger("weights-only")))
    assert said("no optimizer state", plan(weights).warnings)
    averages = scenario(model=Model(405e9, compose("mine", [addition("ema")])))
    assert said("holds no weights", plan(averages).warnings)
    assert not said("ledger", plan(scenario()).warnings)


def test_state_larger_than_a_gpu() -> None:
    """405e9 parameters on eight GPUs do not fit."""
    crowded = scenario(cluster=Cluster(8, 8, Layout(8, shard=Shard.FSDP)))
    assert said("more than any has", plan(crowded).warnings)
    assert not said("more than any has", plan(scenario()).warnings)


def test_run_shorter_than_the_interval() -> None:
    """Where no save is due before the end, the plan says so."""
    short = scenario(training=Training(step_time_s=5.0, duration_s=900.0))
    assert said("longer than the run", plan(short).warnings)
    assert not said("longer than the run", plan(scenario()).warnings)


def test_large_terms_name_scale_and_remedy() -> None:
    """A restart of a third of the MTBF, at 100,000 GPUs only, is named there."""
    warnings = plan(scenario(), gpus=(100_000,)).warnings
    assert said("at 100,000 GPUs; use the exact rows, and shorten the restart first", warnings)
    assert not said("restart of", plan(scenario()).warnings)
    slow = scenario(saves=(Save("slow", Mode.SHARDED, stall_s=1200.0),))
    assert said("shorten the save first", plan(slow).warnings)


def test_host_memory_at_another_scale() -> None:
    """Buffers that fit 16,384 GPUs and not 1,024 are warned of at 1,024."""
    cluster = replace(scenario().cluster, host_memory_per_node_bytes=10e9)
    buffered = scenario(cluster=cluster, saves=(Save("background", Mode.ASYNCHRONOUS),))
    assert not said("save needs", plan(buffered).warnings)
    assert said("background at 1,024 GPUs: an asynchronous save needs", plan(buffered, gpus=(1024,)).warnings)


def test_stall_shorter_than_the_copy() -> None:
    """A stall of a microsecond for 346 MB per GPU is not believed silently."""
    quick = scenario(saves=(Save("quick", Mode.ASYNCHRONOUS, stall_s=1e-6),))
    assert said("shorter than the copy", plan(quick).warnings)


@pytest.mark.parametrize(("interval", "phrase"), [(864000.0, "times the MTBF"), (60.0, "ok")])
def test_hopeless_given_intervals_name_their_cause(interval: float, phrase: str) -> None:
    """A given interval of many MTBFs makes no progress by itself, whatever failures and restarts do."""
    (row,) = [r for r in plan(scenario(), intervals_s=(interval,)).records if r.given and r.method == "exact"]
    assert phrase in row.status


def test_assumptions_name_what_is_held_and_what_is_free() -> None:
    """Given times at other scales, a gathered save's transfer, and a restart without downtime are assumptions."""
    assert said("stall of blocking, restart time: as given", plan(scenario(), gpus=(1024,)).assumptions)
    gathered = scenario(saves=(Save("one", Mode.GATHERED),))
    assert said("one host holds all 5.67", plan(gathered).assumptions)
    assert said("all of the recovery is restart", plan(scenario(failures_strike=Strike.R)).assumptions)


def test_peak_is_shown_as_a_burst_and_not_used() -> None:
    """7 TB/s would take 5.67 TB in 0.81 s; the plan's write time stays that of 2 TB/s."""
    peak = scenario(
        saves=(Save("computed", Mode.SHARDED),),
        storage=Storage(write_bandwidth_bytes_per_s=2e12, peak_write_bandwidth_bytes_per_s=7e12),
    )
    made = plan(peak)
    assert said("burst of 810 ms", made.binds)
    assert made.saves[0].stall_s == pytest.approx(2.835, rel=1e-4)


def test_restart_phases_without_a_time_are_named() -> None:
    """Phases that the spec leaves out count as nothing, and the plan says which."""
    made = plan(scenario(restart=Restart(detect_s=30.0, load_s=10.0)))
    assert said("no time to replace, initialise, warm up", made.assumptions)
    assert not said("no time to", plan(scenario()).assumptions)


def test_a_save_that_fills_its_interval_is_the_reason() -> None:
    """Where a save is longer than a fifth of its interval, that is why first order is off, not the restart."""
    made = plan(scenario(saves=(Save("slow", Mode.SHARDED, 300.0),)), intervals_s=[300.0])
    given = next(r for r in made.records if r.given and r.method == "young")
    assert "each save is 100 % of the interval" in given.status


def test_rows_that_hold_are_those_of_the_law() -> None:
    """Where failures are not exponential, the exact rows are as wrong as first order, and the renewal rows hold."""
    sets = ["failures.mtbf=30 min", "failures.law={name: weibull, shape: 0.6}"]
    warnings = plan(load("llama3-405b", sets=sets, environment={}).scenario).warnings
    assert said("use the renewal rows, and shorten the restart first", warnings)
    assert not said("exact rows", warnings)
