"""Keys that describe one run in full are read into the scenario."""

from __future__ import annotations

from datetime import datetime

import pytest

from ckptplan.cost.scenario import Law, LawName, SharedLink
from ckptplan.cost.spread import Spread
from ckptplan.spec.named_files import NamedFiles
from ckptplan.spec.reading import Spec, read_spec
from tests.spec.broken import GOOD

_RATE = "{mtbf_per_gpu: 50_000 h}"


class _Files(NamedFiles):
    """Says the same of every file."""

    def gaps(self, name):
        return (10.0, 20.0, 30.0)


def _read(*changes: tuple[str, str]) -> Spec:
    text = GOOD
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return read_spec(text.encode(), "run.yaml", files=_Files())


@pytest.mark.parametrize(
    ("written", "law"),
    [
        ("{name: exponential}", Law(LawName.EXPONENTIAL)),
        ("{name: weibull, shape: 0.7}", Law(LawName.WEIBULL, 0.7)),
        ("{name: gamma, shape: 3}", Law(LawName.GAMMA, 3.0)),
        ("{name: lognormal, sigma: 1.5}", Law(LawName.LOGNORMAL, 1.5)),
        ("{name: weibull, shape: 0.7, of: node}", Law(LawName.WEIBULL, 0.7, of_nodes=True)),
        ("{name: recorded, file: gaps.csv}", Law(LawName.RECORDED, gaps_s=(10.0, 20.0, 30.0))),
    ],
)
def test_every_law_can_be_written(written: str, law: Law) -> None:
    """A law stands beside the source of its mean, with the parameter that it needs."""
    spec = _read((_RATE, f"{{mtbf_per_gpu: 50_000 h, law: {written}}}"))
    assert spec.scenario.failures.law == law
    assert spec.scenario.failures.mtbf_per_gpu_s == 50_000 * 3600


def test_a_record_alone_gives_its_own_mean() -> None:
    """Recorded gaps without another source are those of the job: their mean is its MTBF."""
    spec = _read((_RATE, "{law: {name: recorded, file: gaps.csv}}"))
    assert spec.scenario.failures.mtbf_per_gpu_s == 20.0 * 512


def test_a_count_is_kept_with_its_prior() -> None:
    """The evidence is the count, its exposure in GPU-seconds, what ended it, and the prior's shape and exposure."""
    counted = "interruptions: {count: 9, over: 10 d, gpus: 100, until: failure}"
    evidence = _read((_RATE, f"{{{counted}, prior: {{shape: 2, mtbf_per_gpu: 10 h}}}}")).scenario.failures.evidence
    assert evidence is not None
    assert evidence == (9.0, 10 * 86400.0 * 100, True, 2.0, 2 * 36_000.0)


def test_without_a_failure_the_prior_gives_the_mean() -> None:
    """No failure in 10 days of 512 GPUs: by the prior of Jeffreys the rate is half a failure over that time."""
    failures = _read((_RATE, "{interruptions: {count: 0, over: 10 d}}")).scenario.failures
    assert failures.mtbf_per_gpu_s == pytest.approx(2 * 10 * 86400.0 * 512)


def test_background_saves_in_full() -> None:
    """Buffers, an overlapped copy and the three ways to write a slow-down reach the strategy."""
    stall = "mode: asynchronous, stall: 1 s"
    save = _read((stall, f"{stall}, in_flight: 2, copy_out: overlapped")).scenario.saves[1]
    assert (save.in_flight, save.overlapped_copy, save.training_speed_while_flushing) == (2, True, None)
    save = _read((stall, f"{stall}, step_time_while_flushing: 6.1 s, step_time_outside: 5.5 s")).scenario.saves[1]
    assert (save.step_time_while_flushing_s, save.step_time_outside_s) == (6.1, 5.5)
    link = "shared_link: {bandwidth: 50 GB/s, exposed_communication: 20 %}"
    save = _read((stall, f"{stall}, {link}")).scenario.saves[1]
    assert save.shared_link == SharedLink(50e9, 0.2)


@pytest.mark.parametrize(
    ("written", "work_s", "steps"),
    [
        ("step_time: 5 s, duration: 30 d", 30 * 86400.0, None),
        ("step_time: 5 s, steps: 1_000", 5000.0, 1000),
        ("step_time: 5 s, tokens: 1e9, tokens_per_step: 3e6", 334 * 5.0, 334),
    ],
)
def test_work_is_a_duration_or_steps_or_tokens(written: str, work_s: float, steps: int | None) -> None:
    """The work of a run can be written in three ways; tokens that do not fill the last step still take it."""
    training = _read(("step_time: 5 s, duration: 30 d", written)).scenario.training
    assert (training.work_s, training.steps) == (work_s, steps)


def test_a_start_is_a_date() -> None:
    """A start is read as ISO 8601, with or without a time of day."""
    training = _read(("duration: 30 d", "duration: 30 d, start: 2026-12-01T08:00")).scenario.training
    assert training.start == datetime(2026, 12, 1, 8)


@pytest.mark.parametrize(
    ("written", "spread"),
    [
        ("4 s .. 6 s", Spread(5.0, low=4.0, high=6.0)),
        ("4 .. 6 s", Spread(5.0, low=4.0, high=6.0)),
        ("{mean: 5 s, cv: 0.3}", Spread(5.0, cv=0.3)),
    ],
)
def test_a_value_may_be_a_range_or_a_distribution(written: str, spread: Spread) -> None:
    """The scenario takes the mean; what is known of the value is kept beside it, and shown as it was written."""
    spec = _read(("step_time: 5 s", f"step_time: {written}"))
    assert spec.scenario.training.step_time_s == 5.0
    assert spec.spreads == {"training.step_time": spread}
    shown = {value.key: value.text for value in spec.values}["training.step_time"]
    assert shown in {"4 s .. 6 s", "5 s, cv 0.3"}


def test_a_range_can_be_set_by_a_flag() -> None:
    """--set takes a range as the file does."""
    spec = read_spec(GOOD.encode(), "run.yaml", sets=["save[1].stall=40 s .. 90 s"])
    assert spec.spreads["save[1].stall"] == Spread(65.0, low=40.0, high=90.0)


def test_a_scenario_is_rebuilt_with_other_values() -> None:
    """Other values of unsure keys give another scenario; the spec itself is not changed."""
    spec = _read(("step_time: 5 s", "step_time: 4 s .. 6 s"))
    assert spec.with_values({"training.step_time": 4.5}).training.step_time_s == 4.5
    assert spec.scenario.training.step_time_s == 5.0


@pytest.mark.parametrize("flag", ["training.duration=9 d", "training.steps=7"])
def test_an_amount_of_work_on_the_command_line_replaces_the_other_one(flag: str) -> None:
    """--set of one amount of work drops the tokens of the file, as a failure source drops another."""
    text = GOOD.replace("step_time: 5 s, duration: 30 d", "step_time: 5 s, tokens: 1e9, tokens_per_step: 1e6")
    training = read_spec(text.encode(), "run.yaml", sets=[flag]).scenario.training
    assert training.work_s in {9 * 86400.0, 35.0}
