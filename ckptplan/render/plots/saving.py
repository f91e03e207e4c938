"""Figures as SVG and PNG: the same bytes at every run, the text of an SVG left as text."""

from __future__ import annotations

import hashlib
import io
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from ckptplan.render.plots.lettering import width
from ckptplan.render.plots.style import FONT, THEMES, applied

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DPI = 200
_FAMILIES = f"'{FONT}', 'Bitstream Vera Sans', Verdana, sans-serif"
_SIZE = re.compile(r"font-size: ([0-9.]+)px")
_WEIGHT = re.compile(r"font-weight: ([0-9]+)")
_FAMILY = re.compile(r"font-family: [^;]+")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_PX_AN_INCH = 72.0  # of the SVG, whose user unit is a point


def png_bytes(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    out = io.BytesIO()
    with applied(THEMES["light"]):
        figure.savefig(out, format="png", dpi=PNG_DPI, facecolor=figure.get_facecolor(), metadata={"Software": None})
    return out.getvalue()


def svg_bytes(figure: Figure) -> bytes:
    """The figure as an SVG file."""
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + svg_text(figure).encode() + b"\n"


def svg_text(figure: Figure) -> str:
    """The figure as an ``<svg>`` element to embed in a page.

    Text stays text, for search, selection and screen readers; each has the length that it was laid out with, so that
    another font than DejaVu cannot make texts overlap. Title and description are the label of the figure. Identifiers
    are unique to the picture, and no style leaks into the page around it.
    """
    out = io.BytesIO()
    with applied(THEMES["light"]):
        figure.savefig(out, format="svg", facecolor=figure.get_facecolor(), metadata={"Date": None})
    root = ET.fromstring(out.getvalue())  # noqa: S314
    title, _, description = str(figure.get_label()).partition("\n")
    mark = hashlib.sha256(out.getvalue()).hexdigest()[:10]
    _plain(root)
    _without(root, "metadata", "style")
    _identified(root, mark)
    for text in root.iter("text"):
        _fixed_length(text)
    root.set("xmlns", "http://www.w3.org/2000/svg")
    root.set("stroke-linejoin", "round")
    root.set("stroke-linecap", "butt")
    root.set("role", "img")
    root.set("aria-labelledby", f"{mark}-title {mark}-desc")
    for place, (name, words) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(name, {"id": f"{mark}-{name}"})
        element.text, element.tail = words, "\n"
        root.insert(place, element)
    return ET.tostring(root, encoding="unicode")


def _plain(root: ET.Element) -> None:
    """Names without their namespaces: ``xlink:href`` is ``href`` since SVG 2."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key in [key for key in element.attrib if key.startswith("{")]:
            element.set(key.rpartition("}")[2], element.attrib.pop(key))


def _without(root: ET.Element, *names: str) -> None:
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in names]:
            parent.remove(child)


def _identified(root: ET.Element, mark: str) -> None:
    """Identifiers that something refers to, made unique; the others left out."""
    used: set[str] = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "href":
                used.add(value.removeprefix("#"))
            used.update(_REFERENCE.findall(value))
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key == "id" and value not in used:
                del element.attrib[key]
            elif key == "id":
                element.set(key, f"{mark}-{value}")
            elif key == "href" and value.startswith("#"):
                element.set(key, f"#{mark}-{value[1:]}")
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{mark}-"))


def _fixed_length(text: ET.Element) -> None:
    style = text.get("style", "")
    size, weight = _SIZE.search(style), _WEIGHT.search(style)
    text.set("style", _FAMILY.sub(f"font-family: {_FAMILIES}", style))
    if size is None or not text.text:
        return
    bold = weight is not None and int(weight[1]) >= 600
    length = _PX_AN_INCH * width(text.text, float(size[1]), bold=bold)
    text.set("textLength", f"{length:.2f}")
    text.set("lengthAdjust", "spacingAndGlyphs")
