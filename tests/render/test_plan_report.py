"""What the first lines and the line of facts of a plan say."""

from __future__ import annotations

import pytest

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.record import Plan
from ckptplan.render.plan_report import answers, facts, markdown, no_progress, report, ways
from ckptplan.render.screen import Screen


def _planned(mtbf: str) -> Plan:
    return plan(load("llama3-405b", sets=[f"failures.mtbf={mtbf}"]).scenario)


@pytest.mark.parametrize(
    ("mtbf", "text"),
    [
        ("1 us", "MTBF 1 us (16.4 ms per GPU). Restart 600 s (600 million times the MTBF)."),
        ("1 s", "MTBF 1 s (4.55 h per GPU). Restart 600 s (600 times the MTBF)."),
        ("200 s", "MTBF 200 s (910 h per GPU). Restart 600 s (300.00 % of the MTBF)."),
        ("3.09 h", "MTBF 3.09 h (50,627 h per GPU). Restart 600 s (5.39 % of the MTBF)."),
    ],
)
def test_a_short_mtbf_stands_in_its_own_unit(mtbf: str, text: str) -> None:
    """From an hour on hours, below it what a time of that length has; a restart of many MTBFs is so many times it."""
    assert facts(_planned(mtbf)).endswith(text)


@pytest.mark.parametrize("mtbf", ["1 us", "1 s", "20 s"])
def test_no_progress_comes_first_and_nothing_is_best(mtbf: str) -> None:
    """The sentence stands above the answers; no strategy is best, beats or wins, and there is no lever to pull."""
    made = _planned(mtbf)
    text = report(made, Screen(width=400))
    lines = text.splitlines()
    assert lines[2] == no_progress(made)[0]
    assert lines[3:5] == answers(made)
    for page in (text, markdown(made)):
        assert page.count("no progress is possible") == 1
        for word in ("(best)", " beats ", " wins ", "Do first", "**"):
            assert word not in page


def test_half_a_percent_is_bad_and_has_a_winner() -> None:
    """A run that gets on, however slowly, is planned as any other."""
    made = _planned("130 s")
    assert 0.005 < made.best_goodput < 0.01
    assert no_progress(made) == []
    assert ways(made) == list(made.advice)
    assert sum(line.endswith("(best)") for line in answers(made)) == 1
    assert "Do first: " in report(made, Screen(width=400))
