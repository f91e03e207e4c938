"""The pictures of a report, each in both themes, with a text instead of it."""

from typing import NamedTuple

from ckptplan.render.page.blocks import Picture


class Pictures(NamedTuple):
    """What is drawn; None where there is nothing to draw."""

    breakdown: Picture
    curve: Picture
    scale: Picture | None
    tornado: Picture | None
