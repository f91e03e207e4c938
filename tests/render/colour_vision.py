"""How far apart colours are, for each kind of eye: what tests of pictures and terminals measure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

# Machado, Oliveira and Fernandes (2009), table 1, severity 1: what is left of linear RGB for each kind of blindness.
EYES = {
    "all colours": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> np.ndarray:
    """Linear RGB of a colour of the web (IEC 61966-2-1)."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear RGB."""
    x = _TO_XYZ @ np.clip(rgb, 0.0, 1.0) / _WHITE
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def nearest(colours: Iterable[str], eye: str) -> float:
    """The distance in CIE L*a*b* of the two that an eye tells apart least; some 2.3 are just seen."""
    seen = [lab(np.array(EYES[eye]) @ linear(colour)) for colour in colours]
    return min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2))


def contrast(colour: str, ground: str) -> float:
    """Contrast of two colours by WCAG 2.2."""
    light, dark = sorted((float(_TO_XYZ[1] @ linear(one)) for one in (colour, ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
