"""What is said for and against averaging: warnings with numbers where they belong, and nowhere else."""

from itertools import pairwise

import numpy as np
import pytest

from ckptplan.checkpoint.average.neighbourhood import neighbourhood
from ckptplan.checkpoint.average.rates import Rate
from ckptplan.checkpoint.average.weighting import exponential, uniform
from tests.checkpoint.average.test_geometry import Points, gram_of

DECAYED, HIGH, UNKNOWN = Rate(1e-5, 1e-5, 1e-3), Rate(8e-4, 8e-4, 1e-3), Rate()


def wandering(apart: float = 0.01) -> Points:
    """Four independent points about a centre of norm 1."""
    rng = np.random.default_rng(5)
    centre = rng.standard_normal(5_000)
    centre /= np.linalg.norm(centre)
    return centre + apart * rng.standard_normal((4, 5_000)) / np.sqrt(5_000)


def travelling() -> Points:
    """Four points on a line, with a little noise."""
    points = wandering(0.001)
    return points + 0.01 * np.arange(4)[:, None] * np.eye(1, 5_000)


def warnings(points: Points, rate: Rate = DECAYED, steps: tuple[int | None, ...] = (100, 200, 300, 400)) -> list[str]:
    """What speaks against averaging these four points."""
    rates = [rate] * 4
    return list(neighbourhood(gram_of(points), uniform(4), "abcd", steps, rates).warnings)


def test_noise_about_a_centre_at_a_decayed_rate_has_no_warning() -> None:
    """The case that averaging is for."""
    assert warnings(wandering()) == []
    found = neighbourhood(gram_of(wandering()), uniform(4), "abcd", (1, 2, 3, 4), [DECAYED] * 4)
    assert found.facts[-1] == "none of this promises a gain: evaluate the mean"
    assert "3 for noise about a centre" in found.facts[1]


def test_travelling_at_a_high_or_unknown_rate_is_said_with_its_cosine_and_lag() -> None:
    """A straight way lags by half the displacement; at a decayed rate it is small, and not said."""
    (said,) = warnings(travelling(), HIGH)
    moves = np.diff(travelling(), axis=0)
    cosines = [a @ b / np.sqrt((a @ a) * (b @ b)) for a, b in pairwise(moves)]
    assert f"still travelling in one direction: cosines between moves are {np.mean(cosines):.2f} on average" in said
    assert "80 % of its peak" in said
    assert "the mean lies behind the last by 0.5 of the displacement" in said
    (said,) = warnings(travelling(), UNKNOWN)
    assert "its learning rate is not known" in said
    assert warnings(travelling(), DECAYED) == []


def test_a_high_rate_is_said_where_the_points_wander_too() -> None:
    """A mean stands in for a decay that has not come."""
    (said,) = warnings(wandering(), HIGH)
    assert said.startswith("the learning rate of the last is 0.0008, 80 % of its peak")


def test_far_apart_is_said_with_the_norm_that_is_lost() -> None:
    """Two independent points at 0.6 of the norm."""
    (said,) = warnings(wandering(0.5))
    relative = float(np.sqrt(gram_of(wandering(0.5))[3, 3] / gram_of(wandering(0.5))[0, 0]))
    assert f"far apart: the last is {100 * relative:.3g} % of the norm" in said
    assert f"{100 * (1 - np.sqrt(1 - relative**2 / 4)):.2g} % smaller" in said


def test_a_distance_that_no_weights_of_one_run_have_is_called_damage() -> None:
    """At 243 times the norm nothing is said of two weights of equal norm, which cannot be that far apart."""
    points = wandering()
    points[3] *= 243.0
    (said,) = warnings(points)
    relative = float(np.sqrt(gram_of(points)[3, 3] / gram_of(points)[0, 0]))
    assert f"{100 * relative:,.0f} % of the norm" in said
    assert "is one of them damaged, or of another run?" in said
    assert "smaller" not in said
    assert "e+" not in said


def test_the_text_has_the_unit_of_the_table() -> None:
    """Percent of the norm, in the fact as in the columns."""
    found = neighbourhood(gram_of(wandering()), uniform(4), "abcd", (1, 2, 3, 4), [DECAYED] * 4)
    relative = found.geometry.relative_displacement
    assert relative is not None
    assert found.facts[0] == f"from the first to the last: {100 * relative:.3g} % of the norm of the parameters"


def test_rates_gaps_and_order() -> None:
    """Rates further apart than twice, gaps further apart than one and a half times, steps that go back."""
    rates = [HIGH, HIGH, DECAYED, DECAYED]
    found = neighbourhood(gram_of(wandering()), uniform(4), "abcd", (100, 200, 300, 400), rates)
    assert [text.split(":")[0] for text in found.warnings] == ["learning rates differ"]
    assert "0.0008, 0.0008, 1e-05, 1e-05" in found.warnings[0]
    (said,) = warnings(wandering(), steps=(100, 200, 300, 700))
    assert (
        said == "gaps between the checkpoints are 100, 100, 400 steps: equal weights favour the part saved more often"
    )
    (said,) = warnings(wandering(), steps=(400, 200, 300, 700))
    assert said.startswith("steps are not in the order of the run, which moves assume: 400, 200, 300, 700")
    weighted = neighbourhood(gram_of(wandering()), exponential(0.9, 4), "abcd", (1, 2, 3, 9), [DECAYED] * 4)
    assert weighted.warnings == ()


def test_equal_checkpoints_and_what_is_unknown() -> None:
    """Two that hold the same are named; unknown steps and rates are facts."""
    points = wandering()
    points[2] = points[1]
    (said,) = warnings(points)
    assert said.startswith("checkpoints 2 and 3 hold the same parameters: b, c")
    rates = [DECAYED] * 4
    told = neighbourhood(gram_of(points), uniform(4), "abcd", (100, 200, 300, 400), rates, not_compared={1})
    assert told.warnings == ()
    found = neighbourhood(gram_of(wandering()), uniform(4), "abcd", (1, None, 3, 4), [DECAYED, UNKNOWN] * 2)
    assert "the steps of some checkpoints are not known" in found.facts
    assert "the learning rates of some checkpoints are not known" in found.facts


def test_a_share_of_the_peak_needs_a_peak() -> None:
    """Without the peak nothing is said of a high rate."""
    assert Rate(1e-3, 1e-3, None).share_of_peak is None
    assert Rate(1e-4, 1e-4, 1e-3).share_of_peak == pytest.approx(0.1)
    assert warnings(wandering(), Rate(1e-3, 1e-3, None)) == []
