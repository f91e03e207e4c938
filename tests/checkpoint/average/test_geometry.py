"""Distances and angles against the points themselves, and against noisy gradient descent, whose distances are known."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from ckptplan.checkpoint.average.geometry import geometry

Points = NDArray[np.float64]


def gram_of(points: Points) -> Points:
    """Inner products as the pass over checkpoints gives them."""
    apart = points - points[0]
    gram = apart @ apart.T
    gram[0, 0] = points[0] @ points[0]
    return gram


def test_geometry_is_that_of_the_points() -> None:
    """Every number from the coordinates, by numpy's norms."""
    rng = np.random.default_rng(1)
    points = rng.standard_normal((5, 40))
    weights = rng.dirichlet(np.ones(5))
    found = geometry(gram_of(points), weights)
    expected = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.testing.assert_allclose(found.distances, expected, rtol=1e-12, atol=1e-12)
    moves = np.diff(points, axis=0)
    lengths = np.linalg.norm(moves, axis=1)
    assert found.moves == pytest.approx(lengths.tolist(), rel=1e-12)
    cosines = [a @ b / math.sqrt((a @ a) * (b @ b)) for a, b in pairwise(moves)]
    assert list(found.cosines) == pytest.approx(cosines, rel=1e-10)
    mean = weights @ points
    assert found.lag == pytest.approx(np.linalg.norm(points[-1] - mean), rel=1e-12)
    assert found.spread == pytest.approx(math.sqrt(weights @ ((points - mean) ** 2).sum(axis=1)), rel=1e-12)
    assert found.norm == pytest.approx(np.linalg.norm(points[0]), rel=1e-12)
    assert found.displacement == pytest.approx(expected[0, -1], rel=1e-12)
    assert found.path == pytest.approx(lengths.sum(), rel=1e-12)


def test_a_straight_line_has_cosine_one_and_no_detour() -> None:
    """Equal steps: path over displacement is 1, and the uniform mean lies half the way behind."""
    points = np.ones(7) + np.arange(5)[:, None] * np.arange(1.0, 8.0)
    found = geometry(gram_of(points), [0.2] * 5)
    assert list(found.cosines) == pytest.approx([1.0] * 3, abs=1e-12)
    assert found.wandering == pytest.approx(1.0, rel=1e-12)
    assert found.lag == pytest.approx(found.displacement / 2, rel=1e-12)


def test_equal_points_have_no_direction() -> None:
    """Zero distances, no cosine, no ratio."""
    found = geometry(gram_of(np.ones((3, 4))), [1 / 3] * 3)
    assert (found.displacement, found.cosines, found.wandering) == (0.0, (None,), None)
    assert geometry(np.zeros((2, 2)), [0.5, 0.5]).relative_displacement is None


@pytest.mark.parametrize("gap", [1, 5, 40])
def test_noisy_descent_on_a_quadratic_has_the_known_distances_and_angles(gap: int) -> None:
    """Stationary x <- (1 - a) x + noise, 400 runs: moves, displacement and cosines within 4 standard errors of theory.

    200 dimensions, 4 points of each run.
    """
    a, sigma, dimensions, runs = 0.05, 0.1, 200, 400
    rng = np.random.default_rng(gap)
    variance = sigma**2 / (1.0 - (1.0 - a) ** 2)
    x = rng.standard_normal((runs, dimensions)) * math.sqrt(variance)
    seen = [x]
    for _ in range(3):
        for _ in range(gap):
            x = (1.0 - a) * x + sigma * rng.standard_normal((runs, dimensions))
        seen.append(x)
    found = [geometry(gram_of(points), [0.25] * 4) for points in np.stack(seen, axis=1)]
    correlation = (1.0 - a) ** gap
    expected = {
        "move": 2.0 * variance * dimensions * (1.0 - correlation),
        "displacement": 2.0 * variance * dimensions * (1.0 - correlation**3),
        "product": -variance * dimensions * (1.0 - correlation) ** 2,
    }
    samples = {
        "move": [one.moves[0] ** 2 for one in found],
        "displacement": [one.displacement**2 for one in found],
        "product": [(one.cosines[0] or 0.0) * one.moves[0] * one.moves[1] for one in found],
    }
    for name, values in samples.items():
        error = np.std(values, ddof=1) / math.sqrt(runs)
        assert abs(np.mean(values) - expected[name]) < 4.0 * error, name
    # The cosine itself has a bias of the order of 1/dimensions.
    cosines = [one.cosines[1] or 0.0 for one in found]
    error = np.std(cosines, ddof=1) / math.sqrt(runs)
    assert abs(np.mean(cosines) + (1.0 - correlation) / 2.0) < 4.0 * error + 1.0 / dimensions
