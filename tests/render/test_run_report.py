"""What the sentences on the whole run say."""

from __future__ import annotations

import pytest

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.record import Plan
from ckptplan.render.run_report import to_the_end


def _divided(gain_s: float, expected_s: float) -> str:
    """The sentence on the best division of a run, whose gain is made this one."""
    made: Plan = plan(load("llama3-405b").scenario)
    assert made.run is not None
    run = made.run._replace(expected_s=expected_s, best_pieces_s=expected_s - gain_s)
    (line,) = [line for line in to_the_end(made._replace(run=run)) if line.startswith("divided best")]
    return line.rpartition(": ")[2]


@pytest.mark.parametrize(
    ("gain_s", "expected_s", "text"),
    [
        (28.3, 4.7e6, "28.3 s sooner"),
        (0.6, 4.7e6, "600 ms sooner"),
        (0.4, 4.7e6, "no sooner"),
        (0.125, 3600.0, "125 ms sooner"),
        (2**-20, 100.0, "no sooner"),
        (0.0, 3600.0, "no sooner"),
        (-(2.0**-20), 3600.0, "no sooner"),
    ],
)
def test_a_gain_that_no_clock_would_show_is_none(gain_s: float, expected_s: float, text: str) -> None:
    """A millisecond of any run is nothing, and half a second of one that takes weeks; a longer one is said."""
    assert _divided(gain_s, expected_s) == text


def _end(*sets: str) -> list[str]:
    return to_the_end(plan(load("lab-64", sets=sets, environment={}).scenario))


def test_a_run_whose_end_is_not_known_has_a_reason() -> None:
    """What it would take by its goodput, and why no more is said; nothing where no progress is possible."""
    many = ("failures={mtbf: 20 s, law: {name: weibull, shape: 0.7}}", "restart.total=1s", "training.duration=1000 d")
    (line,) = _end(*many, "save[0].stall=1 s")
    assert line.startswith("2.74 years of work would take ")
    assert line.endswith(
        " at this goodput, by the long run: it has too many failures to be played, so that no quantiles are known"
    )
    (line,) = _end("failures.mtbf=320 s")
    assert line.startswith("30 d of work would take ")
    assert line.endswith(" years at this goodput: such a run never ends")
    assert _end("failures.mtbf=60 s") == []
    assert _end("training={step_time: 4 s}") == []
