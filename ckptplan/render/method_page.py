"""The optimizers as a list, and one of them as a page."""

from __future__ import annotations

from collections.abc import Sequence

from ckptplan import __version__
from ckptplan.interval.methods import Method
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Column, Sheet

_TEXTS = tuple(name for name in Method._fields if name != "function")
_SHOWN = ("name", "title", "accounting")


def methods_sheet(methods: Sequence[Method]) -> Sheet:
    """One row per method; tables show the short columns, CSV and JSON all of them."""
    columns = tuple(
        Column(key, "method" if key == "name" else key, str if key in _SHOWN else None, right=False) for key in _TEXTS
    )
    return Sheet(columns, tuple(tuple(_text(method, key) for key in _TEXTS) for method in methods))


def _text(method: Method, key: str) -> str:
    value = getattr(method, key)
    return "; ".join(value) if isinstance(value, tuple) else str(value)


def methods_document(methods: Sequence[Method]) -> dict[str, object]:
    """The JSON document ``ckptplan.methods/1``."""
    return {
        "schema": "ckptplan.methods/1",
        "ckptplan": __version__,
        "methods": methods_sheet(methods).records(),
    }


def method_page(method: Method, screen: Screen) -> str:
    """Equation, assumptions, validity, accounting and source."""
    parts = [screen.paragraph(f"{method.name}: {method.title}") + "\n"]
    for key in ("equation", "assumptions", "validity", "accounting", "source"):
        parts.append(f"{key.capitalize()}\n" + screen.paragraph(_text(method, key), indent="  ") + "\n")
    return "\n".join(parts)
