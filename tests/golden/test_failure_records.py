"""Records of failures with published answers, from the file to the rate, the law and the trend."""

from __future__ import annotations

import csv
from datetime import datetime

import numpy as np
import pytest
from scipy import stats

from ckptplan.cost.scenario import LawName
from ckptplan.fit.combining import combined
from ckptplan.fit.counting import Counting, Per
from ckptplan.fit.fitting import Fitted, fit_record
from ckptplan.fit.laws import fit_law
from ckptplan.readers.records.asked import record_options
from ckptplan.readers.records.failures import read_record
from tests.golden.shared_records import RECORDS, needs_records

pytestmark = needs_records
_HOUR_S = 3600.0


def _fit(name: str, counting: Counting | None = None, **keys: object) -> Fitted:
    record = read_record(RECORDS / name, record_options(keys))
    return fit_record(combined([record]), counting or Counting())


def test_bearings_of_lieblein_and_zelen_are_weibull_2_102_and_81_87():
    """40-digit arithmetic: 2.10184686, 81.8745587; books print 48.48 for the paper's 48.40, which gives 81.88."""
    fitted = _fit("textbook/lieblein_zelen_1956_bearings.csv")
    weibull = next(one for one in fitted.laws.fits if one.name is LawName.WEIBULL)
    assert (weibull.shape, weibull.scale) == (
        pytest.approx(2.10184686376, rel=1e-6),
        pytest.approx(81.8745587241, rel=1e-6),
    )
    assert fitted.trend is None
    time_s = fitted.exposure.lives.time_s
    printed = fit_law(LawName.WEIBULL, np.where(np.isclose(time_s, 48.4), 48.48, time_s), np.ones(23, dtype=bool))
    assert (float(f"{printed.shape:.4g}"), float(f"{printed.scale:.4g}")) == (2.102, 81.88)


def test_the_repairs_of_the_nist_handbook_follow_its_power_law():
    """NIST 8.4.5.2: b = 0.483506, a = 0.2913003, MTBF at 1500 h 310.234, 80 % interval (157.7138, 548.5566)."""
    level = Counting(level=0.8)
    fitted = _fit("textbook/nist_8223_case1_repair_times.csv", level, since="0 h", until="1500 h")
    power = fitted.trend.power_law
    assert power.shape_modified == pytest.approx(0.483506, abs=5e-7)
    assert power.scale_modified * _HOUR_S**power.shape_modified == pytest.approx(0.2913003, abs=5e-8)
    assert power.mtbf_at_end / _HOUR_S == pytest.approx(310.234, abs=5e-4)
    assert power.mtbf_low / _HOUR_S == pytest.approx(157.7138, abs=5e-5)
    assert power.mtbf_high / _HOUR_S == pytest.approx(548.5566, abs=5e-5)


def test_air_conditioning_fails_every_108_083_hours():
    """Davison and Hinkley, example 1.1: the exponential mean of 12 times."""
    fitted = _fit("textbook/boot_aircondit.csv")
    assert fitted.rate.failures == 12
    assert round(fitted.rate.mtbf_s / _HOUR_S, 3) == 108.083


def test_the_table_of_llama_3_counts_419_in_54_days():
    """One in 3.093 h, 95 % 2.811 to 3.412; 148 of the causes are faulty GPUs, whatever percentage was printed."""
    fitted = _fit("published/llama3_405b_table5.csv", Counting(gpus=16_384), since="0 d", until="54 d")
    hours = [round(s / _HOUR_S, 3) for s in (fitted.rate.mtbf_s, fitted.rate.low_s, fitted.rate.high_s)]
    assert (fitted.rate.failures, hours) == (419, [3.093, 2.811, 3.412])
    most = fitted.causes[0]
    assert most.ends == 148
    assert most.share == pytest.approx(148 / 419)


@pytest.mark.parametrize("dup", [True, False])
def test_the_cluster_with_injected_faults_has_4_failures_and_2_preemptions_with_d(dup):
    """With -D 4 and 2; without it 3 and 0, and the warning that interruptions are missing."""
    fitted = _fit(f"slurm/gen_sacct_{'dup' if dup else 'nodup'}_parsable2.txt")
    preempted = sum(row.ends for row in fitted.causes if row.cause == "preempted")
    assert (fitted.rate.failures, preempted) == ((4, 2) if dup else (3, 0))
    assert any("without -D" in warning for warning in fitted.record.warnings) is not dup


def test_the_same_records_in_two_time_zones_give_the_same_fit():
    """Stamps of Los Angeles and of UTC, each read in its zone: equal exposures, ends, laws and instants."""
    utc = _fit("slurm/gen_sacct_dup_X_tz_UTC.txt", until="2026-11-30T02:45:06")
    local = _fit("slurm/gen_sacct_dup_X_tz_Los_Angeles.txt", zone="America/Los_Angeles", until="2026-11-29T18:45:06")
    assert utc.rate == local.rate
    assert utc.causes == local.causes
    assert utc.laws.fits == local.laws.fits
    assert utc.laws.survival.survival.tolist() == local.laws.survival.survival.tolist()
    assert utc.record.content.start_s.tolist() == local.record.content.start_s.tolist()
    assert utc.exposure.clock.instants_s.tolist() == local.exposure.clock.instants_s.tolist()


def _lanl(number: int) -> list[dict[str, str]]:
    with (RECORDS / f"lanl/lanl_system{number}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("number", [8, 13, 19, 23])
def test_outages_of_los_alamos_count_as_a_plain_loop_counts_them(number):
    """Per system: events a minute apart are one, over the wall time from production to the last row."""
    rows = _lanl(number)
    starts = sorted(
        datetime.strptime(row["Prob Started"], "%m/%d/%Y %H:%M") for row in rows if row["Hardware"] != "Maintenance"
    )
    kept = [
        later
        for earlier, later in zip([datetime.min, *starts], starts, strict=False)
        if (later - earlier).total_seconds() > 60
    ]
    fitted = _fit(f"lanl/lanl_system{number}.csv", Counting(per=Per.JOB), zone="America/Denver")
    assert fitted.record.rows == len(rows)
    assert abs(fitted.rate.failures - len(kept)) <= 1  # an event in the hour that comes twice may join another
    assert fitted.exposure.events == len(starts)
    k, t = fitted.rate.failures, fitted.rate.exposure_s
    stopped = fitted.rate.until_failure
    assert fitted.rate.mtbf_s == t / k
    assert fitted.rate.low_s == pytest.approx(2 * t / stats.chi2.ppf(0.975, 2 * k + 2 * (not stopped)), rel=1e-9)


@pytest.mark.parametrize("number", [8, 13, 19, 23])
def test_a_node_of_los_alamos_is_at_risk_while_it_is_up(number):
    """Down time of a plain interval union per node, off the time in service, gives the node hours of the fit."""
    fitted = _fit(f"lanl/lanl_system{number}.csv", Counting(merge_s=0.0), zone="America/Denver")
    content = fitted.record.content
    down_s, failures = 0.0, 0
    for unit in np.unique(content.unit):
        mine = np.flatnonzero(content.unit == unit)
        last, is_failure = content.from_s[unit], False
        for row in mine[np.argsort(content.start_s[mine], kind="stable")]:
            start, end = content.start_s[row], content.end_s[row]
            if start > last:
                is_failure = False
            if content.outcome[row] == 1 and not is_failure:
                failures += 1
                is_failure = True
            down_s += max(0.0, min(end, content.until_s[unit]) - max(start, last))
            last = max(last, end)
    in_service_s = float(np.sum(content.until_s - content.from_s))
    assert fitted.rate.exposure_s == pytest.approx(in_service_s - down_s, rel=1e-3)
    assert fitted.rate.failures == pytest.approx(failures, abs=2)
    assert fitted.exposure.nodes == int(_lanl(number)[0]["nodes"])


def test_nodes_of_the_spot_market_live_an_exponential_time():
    """Every removal is a preemption; node hours are the area under the number of nodes of a plain walk."""
    alive, area_ms, removed, before = set(), 0, 0, 0
    for line in (RECORDS / "spot/bamboo_p3_trace.csv").read_text(encoding="utf-8").splitlines():
        at, action, node = line.split(",")
        area_ms += len(alive) * (int(at) - before)
        before = int(at)
        removed += action == "remove"
        (alive.add if action == "add" else alive.discard)(node)
    fitted = _fit("spot/bamboo_p3_trace.csv")
    assert fitted.rate.failures == removed
    assert fitted.rate.exposure_s == pytest.approx(area_ms / 1000)
    assert fitted.laws.choice.best.name is LawName.EXPONENTIAL


@pytest.mark.parametrize("name", ["atlassian_developers", "github-status_global-status"])
def test_outages_of_services_are_gaps_of_their_starts(name):
    """N starts more than a minute apart leave n - 1 gaps, from the first to the last."""
    with (RECORDS / f"outages/cua_{name}_operator_reported.csv").open(encoding="utf-8") as file:
        starts = sorted(float(row["start_time"]) for row in csv.DictReader(file))
    kept = [b for a, b in zip([-1e9, *starts], starts, strict=False) if b - a > 60.0]
    fitted = _fit(f"outages/cua_{name}_operator_reported.csv")
    assert fitted.rate.failures == len(kept) - 1
    assert fitted.rate.exposure_s == pytest.approx(fitted.record.content.until_s[0] - starts[0])
    assert fitted.recovery.phase == "outage"
