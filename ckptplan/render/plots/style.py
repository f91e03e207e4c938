"""Themes of pictures: colours, dashes, markers and hatches that tell series apart without colour too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

FONT = "DejaVu Sans"  # comes with matplotlib: the same letters on every machine
DPI = 100
BODY, SMALL, HEAD = 9.5, 8.5, 12.0  # sizes of text [pt]


class Look(NamedTuple):
    """How one series or one part of a stack is drawn."""

    colour: str
    dash: Any = "-"
    marker: str = "o"
    hatch: str = ""


class Theme(NamedTuple):
    """Colours of a picture. Series are told apart by dash and marker, parts of a stack by luminance or hatch."""

    name: str
    background: str
    text: str
    muted: str
    grid: str
    shade: str  # of a region
    accent: str  # of what the user gave
    series: tuple[Look, ...]
    parts: MappingProxyType[str, Look]

    def look(self, number: int) -> Look:
        """The look of a series by its number; after the last colour they come again with other dashes and markers."""
        found = self.series[number % len(self.series)]
        return found._replace(dash=_DASHES[number % len(_DASHES)], marker=_MARKERS[number % len(_MARKERS)])


_MARKERS = ("o", "s", "^", "D", "v", "X", "<", ">", "d", "p")  # a star and a plus are those of turning points
_DASHES: tuple[Any, ...] = (
    *("-", (0, (5, 2)), (0, (1.2, 1.4)), (0, (7, 2, 1.2, 2)), (0, (3, 1.2)), (0, (9, 3))),
    *((0, (3, 1, 1, 1)), (0, (1, 3)), (0, (2.5, 2.5)), (0, (3, 1, 1, 1, 1, 1)), (0, (6, 1)), (0, (5, 1, 2, 1))),
)

# Okabe and Ito (2008), "Color universal design"; the light ones are darkened where they would vanish on white.
_ON_LIGHT = ("#0072B2", "#C24A00", "#00795A", "#A8508A", "#3D3D3D", "#8A6100")
_ON_DARK = ("#56B4E9", "#F0A030", "#2CC59B", "#E39BC4", "#F0E442", "#D0D0D0")


def _series(colours: tuple[str, ...]) -> tuple[Look, ...]:
    return tuple(Look(colour, dash) for colour, dash in zip(colours, _DASHES, strict=False))


def _parts(useful: str) -> MappingProxyType[str, Look]:
    return MappingProxyType(
        {
            "save": Look("#6BB6EA"),
            "rework": Look("#F0B440", hatch="////"),
            "restart": Look("#C44A12"),
            "slow": Look("#E3A5C8", hatch="----"),
            "waiting": Look("#0B8A68", hatch="xxxx"),
            "useful": Look(useful),
        }
    )


LIGHT = Theme(
    name="light",
    background="#FFFFFF",
    text="#1A1A1A",
    muted="#555555",
    grid="#DDDDDD",
    shade="#D9E8F2",
    accent="#B0003A",
    series=_series(_ON_LIGHT),
    parts=_parts("#DCDCDC"),
)
DARK = Theme(
    name="dark",
    background="#15181D",
    text="#EDEDED",
    muted="#B4B9C2",
    grid="#383D46",
    shade="#203A4C",
    accent="#FF8FA8",
    series=_series(_ON_DARK),
    parts=_parts("#4A4F58"),
)
THEMES = MappingProxyType({theme.name: theme for theme in (LIGHT, DARK)})


def paler(colour: str, theme: Theme, share: float) -> str:
    """A colour with as much of the background in it; not seen through, so that lines behind it stay behind it."""
    from matplotlib.colors import to_hex, to_rgb

    own, behind = to_rgb(colour), to_rgb(theme.background)
    mixed = [(1.0 - share) * one + share * other for one, other in zip(own, behind, strict=True)]
    return to_hex((mixed[0], mixed[1], mixed[2]))


def _settings(theme: Theme) -> dict[str, Any]:
    return {
        "font.family": [FONT],
        "font.size": BODY,
        "text.color": theme.text,
        "text.parse_math": False,  # names may hold dollar signs
        "text.usetex": False,
        "text.hinting": "no_hinting",  # so that a text is as wide in a file of twice the pixels
        "figure.dpi": DPI,
        "figure.facecolor": theme.background,
        "savefig.facecolor": theme.background,
        "savefig.dpi": "figure",
        "axes.facecolor": theme.background,
        "axes.edgecolor": theme.muted,
        "axes.labelcolor": theme.text,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "xtick.color": theme.muted,
        "ytick.color": theme.muted,
        "xtick.labelcolor": theme.text,
        "ytick.labelcolor": theme.text,
        "grid.color": theme.grid,
        "grid.linewidth": 0.7,
        "lines.linewidth": 1.8,
        "hatch.linewidth": 0.7,
        "path.simplify": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "ckptplan",
    }


@contextmanager
def applied(theme: Theme) -> Iterator[None]:
    """Matplotlib's own defaults and those of the theme, whatever a user's matplotlibrc says; restored afterwards."""
    from ckptplan.render.plots.importing import import_matplotlib

    import_matplotlib()
    import matplotlib

    settings: Any = {k: v for k, v in dict.items(matplotlib.rcParamsDefault) if k.partition(".")[0] in _OF_DRAWING}
    settings |= _settings(theme)
    with matplotlib.rc_context(settings):
        yield


_OF_DRAWING = frozenset(
    (
        *("axes", "figure", "font", "grid", "hatch", "legend", "lines", "markers", "mathtext", "patch", "path"),
        *(
            "agg",
            "pcolor",
            "pcolormesh",
            "savefig",
            "svg",
            "text",
            "xtick",
            "ytick",
            "scatter",
            "errorbar",
            "contour",
            "image",
            "xaxis",
            "yaxis",
        ),
    )
)
