"""Files of pictures: the same bytes at every run, readable by others, and no trace of the machine in them."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib.colors
import matplotlib.image
import pytest

from ckptplan.render.plots.breakdown import breakdown_figure
from ckptplan.render.plots.saving import png_bytes, svg_bytes, svg_text
from ckptplan.render.plots.style import LIGHT, THEMES
from tests.render.plots.drawn import texts_of
from tests.render.plots.results import KINDS, fit_figure, plan_of

_SVG = "{http://www.w3.org/2000/svg}"
_ELSEWHERE = """
import sys
from hashlib import sha256
from ckptplan.render.plots.saving import png_bytes, svg_bytes
from ckptplan.render.plots.style import THEMES
from tests.render.plots.results import KINDS, fit_figure
figures = [KINDS[kind]("lab-64", THEMES["dark"]) for kind in sorted(KINDS)] + [fit_figure(THEMES["dark"])]
for figure in figures:
    print(sha256(svg_bytes(figure) + png_bytes(figure)).hexdigest())
print("matplotlib.pyplot" in sys.modules)
"""


def test_two_processes_draw_the_same_bytes_without_pyplot() -> None:
    """Every kind of picture, as SVG and as PNG, under another seed of hashes; pyplot is never loaded."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", _ELSEWHERE],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin", "PYTHONPATH": ".", "TZ": zone},
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].split()[-1] == "False"
    assert len(set(outputs[0].split())) == len(KINDS) + 2


@pytest.mark.parametrize("kind", KINDS)
def test_an_svg_is_read_as_xml_and_holds_every_text(kind: str) -> None:
    """Texts stay texts, in their order; title and description stand for the picture."""
    figure = KINDS[kind]("lab-64", LIGHT)
    root = ET.fromstring(svg_bytes(figure))  # noqa: S314 - our own
    assert root.tag == f"{_SVG}svg"
    written = [element.text for element in root.iter(f"{_SVG}text")]
    assert sorted(written) == sorted(one.text for one in texts_of(figure))
    title, description = root.find(f"{_SVG}title"), root.find(f"{_SVG}desc")
    assert title is not None
    assert description is not None
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert root.get("role") == "img"
    assert len(title.text or "") > 10
    assert len(description.text or "") > 40


@pytest.mark.parametrize("kind", KINDS)
def test_an_svg_needs_nothing_from_elsewhere_and_changes_nothing_around_it(kind: str) -> None:
    """No link out, no script, no style for the whole page, no date; identifiers are used and the picture's own."""
    text = svg_text(KINDS[kind]("lab-64", LIGHT))
    other = svg_text(KINDS[kind]("llama3-405b", LIGHT))
    assert re.findall(r"https?://[^\"']+", text) == ["http://www.w3.org/2000/svg"]
    for word in ("<script", "<style", "<metadata", "<!DOCTYPE", "xlink", str(matplotlib.__version__), "@import"):
        assert word not in text
    found = re.findall(r'\bid="([^"]+)"', text)
    assert len(found) == len(set(found))
    assert set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text)) <= set(found)
    assert not set(found) & set(re.findall(r'\bid="([^"]+)"', other))


def test_a_text_keeps_the_length_that_it_was_laid_out_with() -> None:
    """Another font cannot make texts overlap: the length of each is fixed, that of the renderer to a pixel."""
    figure = KINDS["curve"]("lab-64", LIGHT)
    root = ET.fromstring(svg_bytes(figure))  # noqa: S314 - our own
    lengths = {element.text: float(element.get("textLength", "nan")) for element in root.iter(f"{_SVG}text")}
    for one in texts_of(figure):
        assert lengths[one.text] / 72.0 * figure.dpi == pytest.approx(one.box.width, abs=2.5)


@pytest.mark.parametrize("theme", THEMES)
def test_a_png_is_read_and_is_twice_the_size_of_a_page(theme: str) -> None:
    """1,600 pixels wide, opaque, on the background of the theme, without a word on the program that wrote it."""
    data = png_bytes(fit_figure(THEMES[theme]))
    image = matplotlib.image.imread(io.BytesIO(data))
    assert image.shape[1] == 1600
    assert image[0, 0, :3] == pytest.approx(matplotlib.colors.to_rgb(THEMES[theme].background), abs=1e-6)
    assert image.shape[2] == 3 or (image[..., 3] == 1.0).all()
    assert b"Software" not in data
    assert b"tIME" not in data


def test_every_part_of_a_breakdown_is_light() -> None:
    """Hatches are few lines: all parts together make less than 60 kB of SVG."""
    made, _ = plan_of("lab-64")
    fields = ("save_fraction", "rework_fraction", "restart_fraction", "slow_fraction", "waiting_fraction")
    records = tuple(record._replace(**dict.fromkeys(fields, 0.05), goodput=0.75) for record in made.records)
    assert len(svg_bytes(breakdown_figure(made._replace(records=records), LIGHT))) < 60_000


def test_drawing_leaves_the_settings_of_matplotlib_alone() -> None:
    """A program that draws with its own settings finds them unchanged, and they change nothing here."""
    before = svg_text(KINDS["curve"]("lab-64", LIGHT))
    with matplotlib.rc_context({"font.size": 40.0, "text.color": "red", "svg.fonttype": "path", "axes.grid": True}):
        mine = dict(matplotlib.rcParams.copy())
        assert svg_text(KINDS["curve"]("lab-64", LIGHT)) == before
        assert dict(matplotlib.rcParams.copy()) == mine
