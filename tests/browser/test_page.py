"""The report in a real browser: nothing but the file itself, readable in every light and width, by everybody."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pytest

from ckptplan.load import shipped_configs
from tests.browser.cells import CONTRASTS, CUT_LETTERS, SCROLLED, TABLES, UNFOLD
from tests.browser.chromium import Chromium, Tab
from tests.browser.conftest import OPTIONS, Report, Shown
from tests.cli.harness import ckptplan

SAMPLES = ("llama3-405b", "spectrum-16384", "one_tier")
LEAST_CONTRAST = 4.5  # WCAG 2.2, criterion 1.4.3


@pytest.mark.parametrize("name", [config.name for config in shipped_configs()])
def test_every_shipped_config_renders_without_complaint(browser: Chromium, report: Report, name: str) -> None:
    """No message of the console, no exception, no dialog, no request but for the file itself."""
    path = report(name)
    with browser.tab() as tab:
        tab.open(path.as_uri())
        assert tab.complaints == []
        assert tab.requests == [path.as_uri()]
        assert tab.ask("document.querySelectorAll('h2').length") >= 10


def test_a_server_sees_one_request(browser: Chromium, report: Report) -> None:
    """Served over HTTP, the page asks for nothing more: no script, font, icon or picture."""
    with _served(report("llama3-405b")) as (address, asked), browser.tab() as tab:
        tab.open(address)
        tab.settle()
        assert asked == ["/report.html"]
        assert [url for url in tab.requests if not url.startswith("data:")] == [address]
        assert tab.complaints == []


def test_nothing_can_be_loaded_or_run(browser: Chromium, report: Report) -> None:
    """The policy of the page refuses scripts and requests, even if somebody managed to bring them in."""
    with _served(report("llama3-405b")) as (address, asked), browser.tab() as tab:
        tab.open(address)
        tab.ask(
            "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
        )
        assert tab.ask("window.ran === undefined")
        assert tab.ask("fetch('/elsewhere').then(() => 'loaded', () => 'refused')") == "refused"
        tab.settle()
        assert asked == ["/report.html"]


def test_it_works_without_scripts(browser: Chromium, report: Report) -> None:
    """With JavaScript switched off it looks the same, to the last pixel."""
    path = report("llama3-405b")
    seen = []
    for off in (False, True):
        with browser.tab() as tab:
            tab.send("Emulation.setScriptExecutionDisabled", value=off)
            tab.open(path.as_uri(), scripts=not off)
            seen.append(tab.screenshot())
    assert seen[0] == seen[1]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_stands_out_from_its_ground(page: Shown, name: str, dark: bool) -> None:
    """Contrast of the computed colours is at least 4.5 to 1, with all that is folded opened."""
    tab = page(name, dark=dark)
    tab.ask(UNFOLD)
    found = tab.ask(CONTRASTS)
    assert len(found) > 200
    assert found[0][0] >= LEAST_CONTRAST, found[:5]
    ground = tab.ask("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark


@pytest.mark.parametrize("name", [*SAMPLES, "tiers"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_letter_of_a_picture_is_cut(page: Shown, name: str, dark: bool, width: int) -> None:
    """Each text of each picture lies within the box of its picture, which would hide what goes beyond."""
    tab = page(name, dark=dark, width=width)
    found = tab.ask(CUT_LETTERS)
    assert found["all"] > 80
    assert found["cut"] == []


def test_a_letter_that_is_cut_is_found(browser: Chromium, report: Report) -> None:
    """The check itself sees a text that is moved over an edge of its picture, whichever edge it is."""
    with browser.tab() as tab:
        tab.open(report("llama3-405b").as_uri())
        for shift in ("-1000px, 0", "1000px, 0", "0, -1000px", "0, 1000px"):
            tab.ask(f"document.querySelector('svg text').style.transform = 'translate({shift})'")
            assert len(tab.ask(CUT_LETTERS)["cut"]) == 1, shift


@pytest.mark.parametrize("name", [*SAMPLES, "tiers"])
def test_a_table_that_is_cut_says_that_it_goes_on(page: Shown, name: str) -> None:
    """On a wide window next to no table has to be scrolled; each that has to be has a shade at its edge."""
    tab = page(name)
    tab.ask(UNFOLD)
    scrolled = tab.ask(SCROLLED)
    assert {table["caption"] for table in scrolled} <= {"Each strategy by each method"}
    tab.look(width=390)
    on_a_phone = tab.ask(SCROLLED)
    assert len(on_a_phone) > 5
    assert all(table["hint"] for table in (*scrolled, *on_a_phone))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_picture_that_is_cut_shows_that_it_goes_on(page: Shown, dark: bool) -> None:
    """On a phone the right edge of each picture is shaded, and no longer where it is scrolled to its end."""
    tab = page("llama3-405b", dark=dark, width=390)
    (ground, edge), (_, at_end) = (_edges(tab, scroll) for scroll in ("0", "1e4"))
    assert len(edge) == 4
    assert all(abs(one - ground) > 20 for one in edge)
    assert all(abs(one - ground) < 3 for one in at_end)


def _edges(tab: Tab, scroll: str) -> tuple[float, list[float]]:
    """Lightness of the page, and of the last pixel of each picture, above its lower corner. [0 to 255]."""
    from PIL import Image

    boxes = "[...document.querySelectorAll('.drawn')].filter(box => box.offsetWidth)"
    tab.ask(f"{boxes}.forEach(box => box.scrollLeft = {scroll})")
    tab.settle()
    at = tab.ask(f"{boxes}.map(box => box.getBoundingClientRect()).map(r => [r.right - 3, r.bottom + scrollY - 12])")
    shown = Image.open(io.BytesIO(tab.screenshot())).convert("L")
    return float(shown.getpixel((1, 1))), [float(shown.getpixel((round(x), round(y)))) for x, y in at]


@pytest.mark.parametrize("name", [*SAMPLES, "tiers"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_page_never_scrolls_sideways(page: Shown, name: str, width: int) -> None:
    """On a phone wide tables scroll inside their own box, however long a name is."""
    title = ("--title", "x" * 200) if name == "one_tier" else ()
    tab = page(name, *title, width=width)
    tab.ask(UNFOLD)
    assert tab.ask("document.documentElement.scrollWidth") == width
    tab.ask("scrollTo(500, 0)")
    assert tab.ask("scrollX") == 0
    boxes = "[...document.querySelectorAll('.scroll')]"
    assert tab.ask(f"{boxes}.every(box => box.getBoundingClientRect().right <= innerWidth)")
    assert tab.ask(f"{boxes}.some(box => box.scrollWidth > box.clientWidth)") or width == 1280


@pytest.mark.parametrize("name", SAMPLES)
def test_headings_are_in_order(page: Shown, name: str) -> None:
    """One heading of the first level, and none that skips a level."""
    levels = [_property(node, "level") for node in page(name).tree() if node["role"]["value"] == "heading"]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("name", SAMPLES)
def test_landmarks_tables_and_pictures_have_names(page: Shown, name: str) -> None:
    """What a screen reader lists: banner, navigation, main, footer, named tables with headers both ways."""
    tab = page(name)
    nodes, tables = tab.tree(), tab.ask(TABLES)
    assert tab.ask("document.documentElement.lang") == "en"
    by_role: dict[str, list[str]] = {}
    for node in nodes:
        by_role.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert len(by_role[role]) == 1, role
    assert all(by_role["region"])
    assert all(by_role["table"])
    assert len(by_role["columnheader"]) >= sum(len(table["heads"]) for table in tables if table["heads"]) / 2
    assert len(by_role["rowheader"]) > len(tables)
    pictures = [name for role in ("image", "img", "graphics-document") for name in by_role.get(role, [])]
    assert len(pictures) == 4  # of one theme: the other is not there for anybody


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pictures_are_of_the_theme_and_say_their_numbers(page: Shown, dark: bool) -> None:
    """One of two themes is shown; its name and description state the best goodput."""
    tab = page("llama3-405b", dark=dark)
    shown = "[...document.querySelectorAll('svg')].filter(one => one.checkVisibility())"
    assert tab.ask(f"{shown}.map(one => one.parentElement.className)") == [f"drawn on-{_theme(dark)}"] * 4
    said = [
        f"{node['name']['value']} {node.get('description', {}).get('value', '')}"
        for node in tab.tree()
        if node["role"]["value"] in {"image", "img", "graphics-document"}
    ]
    assert len(said) == 4
    for text in said:
        assert any(letter.isdigit() for letter in text), text
    assert sum("91.92 %" in text for text in said) >= 2


def _theme(dark: bool) -> str:
    return "dark" if dark else "light"


def test_every_cell_has_a_header_both_ways(page: Shown) -> None:
    """In the mark-up: a scope on each header, a caption on each table, a title on each column."""
    tab = page("spectrum-16384")
    assert tab.ask("[...document.querySelectorAll('th')].every(one => ['col', 'row'].includes(one.scope))")
    assert tab.ask("[...document.querySelectorAll('tbody tr')].every(row => row.cells[0].scope === 'row')")
    assert all(table["caption"].strip() and all(table["heads"]) for table in tab.ask(TABLES))
    assert tab.ask("new Set([...document.querySelectorAll('[id]')].map(one => one.id)).size") == tab.ask(
        "document.querySelectorAll('[id]').length"
    )


def test_the_keyboard_finds_its_way(browser: Chromium, report: Report) -> None:
    """The first stop skips to the report; every stop is outlined and in view."""
    with browser.tab() as tab:
        tab.open(report("llama3-405b").as_uri())
        for stop in range(12):
            for kind in ("keyDown", "keyUp"):
                tab.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            outline = tab.ask("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid", tab.ask("document.activeElement.outerHTML")
            assert tab.ask("document.activeElement.getBoundingClientRect().left") >= 0
            if stop == 0:
                assert tab.ask("document.activeElement.getAttribute('href')") == "#main"
        assert tab.ask("[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))")


@pytest.mark.parametrize("name", ["llama3-405b", "spectrum-16384", "one_tier"])
def test_the_json_is_that_of_optimize(page: Shown, report: Report, name: str) -> None:
    """The browser parses the embedded document, and it is what the command prints, to the last digit."""
    tab = page(name)
    text = tab.ask("document.getElementById('ckptplan-optimize').textContent")
    assert tab.ask("JSON.parse(document.getElementById('ckptplan-optimize').textContent).schema")
    spec = name if name != "one_tier" else str(report(name).parent / "one_tier.yaml")
    assert json.loads(text) == json.loads(ckptplan("optimize", spec, *OPTIONS, "--format", "json").out)


def test_closing_the_browser_leaves_no_process(tmp_path: Path, browser: Chromium) -> None:
    """None of its processes is left, whatever it started."""
    profile = tmp_path / "profile"
    other = Chromium(browser.path, profile)
    with other.tab() as tab:
        assert tab.ask("1 + 1") == 2
    assert len(_processes(str(profile))) > 1
    other.close()
    assert _processes(str(profile)) == []


def _processes(profile: str) -> list[str]:
    """Command lines that name a profile; those of processes that have ended are empty."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(path.read_bytes().decode(errors="replace"))
    return [line for line in lines if profile in line]


def _property(node: dict, name: str) -> int:
    return next(one["value"]["value"] for one in node["properties"] if one["name"] == name)


@contextmanager
def _served(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The report on a web server of this machine, and what was asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer everything, so that nothing is missed."""
            asked.append(self.path)
            body = path.read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/report.html", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_installed_command_writes_the_same_file(report: Report, tmp_path: Path) -> None:
    """Another process, another time: the same bytes."""
    again = tmp_path / "again.html"
    assert ckptplan("report", "llama3-405b", *OPTIONS, "-o", str(again)).code == 0
    assert again.read_bytes() == report("llama3-405b").read_bytes()
