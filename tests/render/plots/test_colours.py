"""Series and parts are told apart by colour-blind eyes and on grey paper."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.colors import to_rgb

from ckptplan.render.plots.simulation import simulation_figure
from ckptplan.render.plots.style import THEMES, Look
from tests.render.plots.drawn import named
from tests.render.plots.results import simulation_of

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
_EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def _linear(colour: str) -> npt.NDArray[np.float64]:
    v = np.array(to_rgb(colour))
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def _lab(colour: str, eye: str) -> npt.NDArray[np.float64]:
    """CIE L*a*b* (D65) of a colour as an eye sees it."""
    xyz = _TO_XYZ @ np.clip(_EYES[eye] @ _linear(colour), 0.0, 1.0) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def _luminance(colour: str) -> float:
    return float(_TO_XYZ[1] @ _linear(colour))


def _contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _alike_without_colour(one: Look, other: Look) -> bool:
    return one.dash == other.dash and one.hatch == other.hatch and one.marker == other.marker


@pytest.mark.parametrize("theme", THEMES)
def test_every_line_stands_out_from_the_background(theme: str) -> None:
    """At least 3:1, as WCAG 2.1 (1.4.11) asks of graphics; texts 4.5:1 (1.4.3)."""
    found = THEMES[theme]
    assert [look.colour for look in found.series if _contrast(look.colour, found.background) < 3.0] == []
    for text in (found.text, found.muted, found.accent):
        assert _contrast(text, found.background) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_series_have_one_dash_and_neighbours_differ_to_every_eye(theme: str) -> None:
    """Two lines are told apart without colour by their dashes; of the first four also by colour, by every eye."""
    found = THEMES[theme]
    looks = [found.look(number) for number in range(6)]
    assert not any(_alike_without_colour(one, other) for one, other in combinations(looks, 2))
    assert len({str(look.dash) for look in looks}) == 6
    for one, other in combinations(looks[:4], 2):
        for eye in _EYES:
            apart = float(np.linalg.norm(_lab(one.colour, eye) - _lab(other.colour, eye)))
            assert apart > 11.0, (one.colour, other.colour, eye)  # about five just noticeable differences


@pytest.mark.parametrize("theme", THEMES)
def test_twelve_series_have_twelve_dashes_and_no_mark_of_a_turn(theme: str) -> None:
    """Where a colour comes again the dash is another; star and plus, which mark peaks and limits, are no series."""
    looks = [THEMES[theme].look(number) for number in range(12)]
    assert len({str(look.dash) for look in looks}) == 12
    assert not {look.marker for look in looks} & {"*", "P"}


@pytest.mark.parametrize("theme", THEMES)
def test_parts_that_may_touch_differ_in_grey(theme: str) -> None:
    """Any two differ in hatch, or in luminance by a ratio of 1.5: parts of no length let others touch."""
    parts = THEMES[theme].parts
    for (name, one), (other_name, other) in combinations(parts.items(), 2):
        assert one.hatch != other.hatch or _contrast(one.colour, other.colour) >= 1.5, (name, other_name)


@pytest.mark.parametrize("theme", THEMES)
def test_marks_stand_out_from_the_bars_of_a_histogram(theme: str) -> None:
    """At least 3:1 as well: quantiles, mean and prediction lie over the bars."""
    from matplotlib.colors import to_hex

    found = THEMES[theme]
    bars = to_hex(named(simulation_figure(simulation_of("lab-64"), found), "runs").get_facecolor())
    assert min(_contrast(colour, bars) for colour in (found.text, found.accent)) >= 3.0


def test_the_colours_of_a_map_rise_in_lightness_to_every_eye() -> None:
    """From end to end, so that more is lighter in grey too."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    colours = [to_hex(colormaps["cividis"](share)) for share in np.linspace(0.0, 1.0, 33)]
    for eye in _EYES:
        lightness = [_lab(colour, eye)[0] for colour in colours]
        assert np.all(np.diff(lightness) > 0.0)
