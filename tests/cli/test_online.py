"""``ckptplan online`` as its users see it."""

from __future__ import annotations

import json

import jsonschema
import pytest

from ckptplan.load import load
from ckptplan.online import IntervalController
from ckptplan.plan.adaptive import adaptive_plan
from ckptplan.render.schemas import output_schema
from tests.cli.harness import ckptplan


def test_rules_stand_beside_the_best_interval() -> None:
    """The first row is the exact optimum; every other rule loses something against it."""
    records = adaptive_plan(load("llama3-405b").scenario).records
    assert records[0].lost_goodput == 0.0
    assert all(record.lost_goodput >= 0.0 for record in records)
    assert records[0].interval_s == pytest.approx(330.3, abs=0.2)


def test_the_published_losses_of_a_wrong_prior() -> None:
    """A prior ten times too long costs 6.7 points at first, 3.6 after one failure and 1.1 after five (d = 60 s)."""
    sets = ["save=[{name: blocking, mode: sharded, stall: 60 s}]", "failures={mtbf: 11135.08 s}"]
    made = adaptive_plan(load("llama3-405b", sets=[*sets, "assume.failures_strike=safe"]).scenario)
    lost = {r.failures_seen: 100 * r.lost_goodput for r in made.records if "10 x" in r.rule}
    assert [lost[k] for k in (0, 1, 5)] == pytest.approx([6.7, 3.6, 1.1], abs=0.06)


def test_the_loop_runs_as_printed() -> None:
    """--code prints Python that compiles, holds the numbers of the spec, and nothing else."""
    ran = ckptplan("online", "llama3-405b", "--code")
    assert ran.code == 0, ran.err
    compile(ran.out, "loop.py", "exec")
    assert "IntervalController(" in ran.out
    assert "step_time=5.0" in ran.out


def test_formats() -> None:
    """JSON holds against its schema; CSV and Markdown have the same rules."""
    document = json.loads(ckptplan("online", "llama3-405b", "--format", "json").out)
    jsonschema.validate(document, output_schema("online"))
    rules = len(document["rules"])
    assert len(ckptplan("online", "llama3-405b", "-f", "csv").out.splitlines()) == rules + 1
    assert "```python" in ckptplan("online", "llama3-405b", "-f", "markdown").out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--prior-mtbf", "3"), 2, "no unit"),
        (("--prior-shape", "0"), 2, "0"),
        (("--budget", "nan"), 2, "nan"),
        (("--budget", "2"), 2, "2"),
        (("--strategy", "nobody"), 2, "not known"),
        (("--code", "--set", "training={duration: 9 d}"), 1, "no step time"),
    ],
)
def test_wrong_options_are_refused(arguments: tuple[str, ...], code: int, message: str) -> None:
    """One message and the documented exit code."""
    ran = ckptplan("online", "llama3-405b", *arguments)
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_all_rows_are_of_one_process_and_what_is_left_out_is_said() -> None:
    """Another law, copies and buffers change no row: the rules know none of them, and the command says so."""
    plain = adaptive_plan(load("llama3-405b").scenario)
    sets = ["failures.law={name: weibull, shape: 0.7}", "failures.host_copy_survives=0.5", "save[1].in_flight=4"]
    other = adaptive_plan(load("llama3-405b", sets=sets).scenario, strategy="asynchronous")
    assert other.records == plain.records
    assert (len(plain.left_out), len(other.left_out)) == (0, 3)
    ran = ckptplan("online", "llama3-405b", *[part for one in sets for part in ("--set", one)], "-f", "csv")
    assert ran.err.count("the rules do not know") == 3


def test_the_table_and_the_controller_round_alike() -> None:
    """The steps of the posterior rule before any failure are those at which the pasted loop saves first."""
    made = adaptive_plan(load("llama3-405b").scenario, prior_mtbf_s=30_000.0)
    first = next(record for record in made.records if record.failures_seen == 0)
    controller = IntervalController(5.0, made.stall_s, 30_000.0, flush=made.flush_s, speed=made.speed)
    assert first.interval_steps == controller.interval_steps
