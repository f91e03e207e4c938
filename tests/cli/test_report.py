"""``ckptplan report``: one file to send, the same bytes at every run, and clear errors for every option."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path

import pytest

from ckptplan.load import shipped_configs
from ckptplan.render.plots.importing import import_matplotlib
from ckptplan.spec.starter import STARTER
from tests.cli.harness import Tell, ckptplan
from tests.render.page import hostile

_DATA = re.compile(r'<script type="application/json" id="ckptplan-(\w+)">\n(.*?)</script>', re.DOTALL)


def _formulas(page: str) -> set[str]:
    """Methods whose equation and source are in a report."""
    return set(re.findall(r'<h3 id="formulas-\d+">(\w+): ', page))


def _embedded(page: str) -> dict[str, dict]:
    return {name: json.loads(text) for name, text in _DATA.findall(page)}


@pytest.mark.parametrize("name", [c.name for c in shipped_configs() if c.name != "spectrum-16384"])
def test_every_shipped_config_has_a_report(tell: Tell, name: str) -> None:
    """As HTML and as Markdown, with the answer of optimize in both."""
    plain = json.loads(tell("optimize", name, "--format", "json").out)
    page = tell("report", name)
    assert page.code == 0, page.err
    assert _embedded(page.out)["optimize"] == plain
    text = tell("report", name, "--format", "md")
    goodput = f"{100 * plain['best']['goodput']:.2f} %"
    assert text.code == 0
    assert f"Goodput: {goodput}" in text.out
    assert f"<strong>{goodput}</strong>" in page.out
    assert _formulas(page.out) == {record["method"] for record in plain["plans"]}


@pytest.mark.parametrize(
    "options",
    [
        ("--interval", "1h", "--gpu-hour-price", "2.5"),
        ("--strategy", "synchronous"),
        ("--set", "cluster.gpus=8192", "--set", "name=other", "--interval", "10 min", "--interval", "20 min"),
        ("--steps", "100", "--gpus", "8192,32768", "--seed", "7"),
    ],
)
def test_embedded_documents_are_those_of_the_commands(tell: Tell, options: tuple[str, ...]) -> None:
    """Whatever is asked: the JSON inside is what optimize and levers print for the same."""
    inside = _embedded(tell("report", "llama3-405b", *options).out)
    assert inside["optimize"] == json.loads(tell("optimize", "llama3-405b", *options, "--format", "json").out)
    taken = [part for part in _pairs(options) if part[0] in _OF_LEVERS]
    words = [word for pair in taken for word in pair]
    assert inside["levers"] == json.loads(tell("levers", "llama3-405b", *words, "--format", "json").out)


_OF_LEVERS = {"--gpu-hour-price", "--strategy", "--set"}


def _pairs(options: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(zip(options[::2], options[1::2], strict=True))


def test_sizes_that_are_asked_for_stand_in_the_section_of_sizes(tell: Tell) -> None:
    """With what to type at each, as optimize says it, and in the table, which has no other size beside the planned."""
    text = tell("report", "llama3-405b", "--gpus", "8192,32768", "--format", "md").out
    section = text.partition("## Other numbers of GPUs")[2].partition("\n## ")[0]
    sentence = "at 8,192 GPUs (MTBF 6.19 h), asynchronous: save every 469 s = 94 steps of 5 s (whole steps: 470 s)"
    assert sentence in section
    assert sentence in " ".join(tell("optimize", "llama3-405b", "--gpus", "8192").out.split())
    sizes = re.findall(r"^\| \**asynchronous\** \| \**([0-9,]+)\** \|", section, re.MULTILINE)
    assert sizes == ["8,192", "16,384", "32,768"]


def test_an_interval_in_steps_is_compared(tell: Tell) -> None:
    """As one in seconds is, and with the words of optimize."""
    text = tell("report", "llama3-405b", "--steps", "720", "--format", "md").out
    assert "- asynchronous at the given 3,600 s = 720 steps of 5 s: goodput 80.11 %" in text


def test_formulas_are_those_of_the_plan(tell: Tell) -> None:
    """Another law of failures brings its own formula and source; where it is exponential that one is left out."""
    weibull = tell("report", "llama3-405b", "--set", "failures.law={name: weibull, shape: 0.7}").out
    assert "renewal" in _formulas(weibull)
    assert "variational calculus approach" in weibull
    assert "renewal" not in _formulas(tell("report", "llama3-405b").out)


def test_a_price_alone_is_worth_something(tell: Tell) -> None:
    """Unlike optimize, a report needs no given interval for a price: it prices levers and sizes."""
    said = tell("report", "llama3-405b", "--gpu-hour-price", "2.5", "--format", "md")
    assert said.code == 0
    assert "| money |" in said.out
    assert "What the run, a useful GPU-hour and one more of them cost at 2.50 per GPU-hour:" in said.out


def test_days_and_money_of_a_run_have_names_of_their_own(tell: Tell) -> None:
    """What a run takes and what it costs stand under heads that cannot be confused, as in scale."""
    for command in (("report", "--format", "md"), ("scale",)):
        said = tell(command[0], "llama3-405b", "--gpu-hour-price", "2.5", *command[1:]).out
        heads = [line for line in said.splitlines() if "strategy" in line and "GPUs" in line]
        assert sum("run takes" in line for line in heads) == sum("run costs" in line for line in heads) == 1
        assert not any(re.search(r"\brun(?! takes| costs)", line) for line in heads)


def test_reruns_are_byte_identical(tell: Tell, tmp_path: Path) -> None:
    """To a file, again to a file and to a pipe, in this process and in another: the same bytes."""
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    for path in (first, second):
        assert tell("report", "llama3-70b", "-o", str(path)).code == 0
    other = ckptplan("report", "llama3-70b", env={"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"})
    assert first.read_bytes() == second.read_bytes() == other.out.encode()


def test_a_page_is_ascii_and_asks_for_nothing(tell: Tell) -> None:
    """No letter that a mail program could spoil, no address to load from, no script but data."""
    page = tell("report", "llama3-405b").out
    assert page.isascii()
    assert page.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in page
    assert re.findall(r"<script(?! type=\"application/json\")", page) == []
    addresses = {address for address in re.findall(r"""(?:href|src)=["']([^"']*)""", page) if address[:1] != "#"}
    assert addresses == {"data:,"}
    assert set(re.findall(r"https?://[^\s\"<]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_a_date_is_printed_only_if_given(tell: Tell) -> None:
    """By default no date stands in the file."""
    made = "Made by ckptplan"
    assert re.search(rf"{made} [0-9.a-z]+\.", tell("report", "tinyllama-16").out)
    dated = tell("report", "tinyllama-16", "--date", "2026-11-30", "--format", "md").out
    assert re.search(rf"{made} [0-9.a-z]+ on 2026-11-30\.", dated)


def test_the_ending_of_the_file_says_the_format(tell: Tell, tmp_path: Path) -> None:
    """FILE.md is Markdown and FILE.html is HTML, unless --format says so itself."""
    for name, start in (("a.md", "# "), ("a.html", "<!DOCTYPE"), ("a", "<!DOCTYPE")):
        assert tell("report", "tinyllama-16", "-o", str(tmp_path / name)).code == 0
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    same = tell("report", "tinyllama-16", "-f", "markdown").out
    assert same == (tmp_path / "a.md").read_text(encoding="utf-8")


def test_hostile_names_leave_no_mark_up(tell: Tell, tmp_path: Path) -> None:
    """In neither format does a name of a spec open an element."""
    for text in (hostile.one_tier(), hostile.tiers()):
        path = tmp_path / "run.yaml"
        path.write_text(text, encoding="utf-8")
        page = tell("report", str(path)).out
        for tag in ("<img", "<iframe", "<math", "<svg onload", "<script>", "<a href=j", "<link rel=stylesheet"):
            assert tag not in page
        text_of = tell("report", str(path), "--format", "md").out
        assert set(re.findall(r"<[^>]*>", text_of)) <= _OWN_TAGS


_OWN_TAGS = {"<!-- -->", "<span>", "</span>", "<details>", "</details>", "<summary>", "</summary>"}


def test_warnings_are_in_the_report_and_on_standard_error(tell: Tell, tmp_path: Path) -> None:
    """Who is sent the file sees what the sender saw."""
    path = tmp_path / "run.yaml"
    path.write_text(hostile.one_tier(), encoding="utf-8")
    said = tell("report", str(path), "--format", "md")
    assert "warning: the ledger holds no optimizer state" in said.err
    assert "## Warnings" in said.out
    assert "the ledger holds no optimizer state" in said.out


def test_warnings_of_every_part_are_in_one_place(tell: Tell) -> None:
    """Each once, with the part that it concerns: whoever reads the section has read them all."""
    said = tell("report", "llama3-405b", "--gpu-hour-price", "2.5", "--interval", "1h", "--format", "md")
    alone = tell("scale", "llama3-405b", "--gpu-hour-price", "2.5").err
    text = "at 524,288 GPUs a restart of 600 s is longer than the MTBF of 348 s"
    assert text in alone
    section = said.out.partition("## Warnings")[2].partition("\n## ")[0]
    assert f"- Other numbers of GPUs: {text}" in section
    assert said.out.count(text) == 1
    assert f"warning: Other numbers of GPUs: {text}" in said.err


def test_warnings_of_levers_and_sizes_are_in_the_same_place(tell: Tell) -> None:
    """What levers and size print as warnings of their own stands there too."""
    for name in ("palm-540b", "lab-64"):
        said = tell("report", name, "--format", "md").err
        for command in ("levers", "scale", "size"):
            for line in tell(command, name).err.splitlines():
                assert line.removeprefix("warning: ").strip() in " ".join(said.split()), (command, line)


def test_a_warning_of_the_spec_is_one_line(tell: Tell, tmp_path: Path) -> None:
    """With its place, key and hint, and without the line of the spec that a terminal shows."""
    path = tmp_path / "run.yaml"
    path.write_text(hostile.one_tier().replace("restart: {total: 10 min}\n", ""), encoding="utf-8")
    said = tell("report", str(path), "--format", "md").out
    line = next(line for line in said.splitlines() if "10 min are assumed" in line)
    assert "restart: left out: 10 min are assumed; hint: write restart" in line
    assert "?" not in line


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--interval", "nonsense"), 2, "--interval nonsense"),
        (("--interval", "0 s"), 2, "not between zero"),
        (("--interval", "nan s"), 2, "--interval"),
        (("--strategy", "synchronus"), 2, "did you mean synchronous?"),
        (("--set", "cluster.gpu=5"), 1, "cluster.gpu"),
        (("--set", "cluster.gpus=no"), 1, "cluster.gpus"),
        (("--gpu-hour-price", "-1"), 2, "--gpu-hour-price"),
        (("--gpu-hour-price", "nan"), 2, "not a finite number"),
        (("--gpu-hour-price", "inf"), 2, "not a finite number"),
        (("--gpu-hour-price", "2,5"), 2, "--gpu-hour-price"),
        (("--title", ""), 2, "--title is empty"),
        (("--title", " \t"), 2, "--title is empty"),
        (("--title", "x" * 201), 2, "201 characters"),
        (("--date", "today"), 2, "write for example 2026-01-31"),
        (("--date", "2026-02-30"), 2, "not a date"),
        (("--date", "20260130"), 2, "not a date"),
        (("--date", "2026-W05-1"), 2, "not a date"),
        (("--date", "<b>"), 2, "not a date"),
        (("--format", "pdf"), 2, "--format pdf: not known"),
        (("--format", "md", "-o", "x.html"), 2, "promises the other format"),
        (("--format", "html", "-o", "x.md"), 2, "promises the other format"),
        (("-o", "x.pdf"), 2, "a browser prints the HTML as PDF"),
        (("-o", "nowhere/x.html"), 2, "there is no folder"),
        (("-o", "nowhere/x.md"), 2, "there is no folder"),
        (("-o", "."), 2, "it is a directory"),
        (("-o", f"{'x' * 300}.html"), 2, "File name too long"),
        (("--steps", "0"), 2, "--steps"),
        (("--gpus", "16384,none"), 2, "'none' is not a number of GPUs"),
        (("--seed", "-1"), 2, "--seed"),
        (("--frmat", "md"), 2, "--frmat"),
        (("another",), 2, "another"),
    ],
)
def test_bad_input_of_every_option(
    tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], code: int, said: str
) -> None:
    """One clear error, no output, nothing written."""
    monkeypatch.chdir(tmp_path)
    told = tell("report", "llama3-405b", *options)
    assert told.code == code, told.err
    assert said in told.err
    assert "Traceback" not in told.err
    assert told.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_spec_that_is_missing_or_would_be_overwritten(tell: Tell, tmp_path: Path) -> None:
    """The same errors as those of optimize."""
    path = tmp_path / "run.html"
    path.write_text(hostile.one_tier(), encoding="utf-8")
    assert "would overwrite an input" in tell("report", str(path), "-o", str(path)).err
    assert path.read_text(encoding="utf-8") == hostile.one_tier()
    assert "no such file" in tell("report", str(tmp_path / "none.yaml")).err


def test_html_is_not_for_a_terminal(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output may be a pipe; a terminal is told what to write instead, and shows Markdown."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    told = tell("report", "tinyllama-16")
    assert told.code == 2
    assert "add -o report.html, or --format md" in told.err
    assert tell("report", "tinyllama-16", "--format", "md").code == 0


@pytest.mark.parametrize(
    "value",
    ["failures.interruptions.count=4_000_000_000", "restart.total=30 d", "training={step_time: 1e6 s}"],
    ids=["failures", "restart", "step"],
)
def test_a_run_that_does_nothing_useful_has_a_report(tell: Tell, value: str) -> None:
    """What cannot be answered says so, and the rest stands: the goodput, which is nothing, before all."""
    page = tell("report", "llama3-405b", "--set", value)
    assert page.code == 0, page.err
    assert "Goodput" in page.out
    assert tell("report", "llama3-405b", "--set", value, "--format", "md").code == 0


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_a_missing_library_is_one_clear_error(tell: Tell, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """Before any work: HTML needs jinja2 and matplotlib, and says what to install; Markdown needs neither."""
    import_matplotlib.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    told = tell("report", "no such spec.yaml")
    assert told.code == 2
    assert f"{missing} is not installed" in told.err
    assert "pip install '.[report]'" in told.err
    assert told.out == ""
    assert tell("report", "tinyllama-16", "--format", "md").code == 0


def test_a_mistake_has_one_exit_code(tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not there ends a report as it ends --plot, in the same words."""
    monkeypatch.chdir(tmp_path)
    report = tell("report", "tinyllama-16", "-o", "none/x.html")
    plot = tell("optimize", "tinyllama-16", "--plot", "none/x.svg")
    assert report.code == plot.code
    assert report.err.partition(":")[0] == plot.err.partition(":")[0] == "error"
    assert report.err.partition("there is")[2] == plot.err.partition("there is")[2] != ""


def test_a_folder_is_looked_at_before_the_spec(tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read or computed for a file that cannot be written."""
    monkeypatch.chdir(tmp_path)
    told = tell("report", "no such spec.yaml", "-o", "none/x.html")
    assert "there is no folder" in told.err
    assert "no such spec" not in told.err
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "there is no folder" in tell("report", "tinyllama-16", "-o", "file/x.html").err
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "cannot be written to" in tell("report", "no such spec.yaml", "-o", "x.html").err


def test_a_report_may_go_to_a_device(tell: Tell) -> None:
    """A device or pipe is no mistake: it is written to."""
    assert tell("report", "tinyllama-16", "--format", "md", "-o", "/dev/null").code == 0


def test_markdown_loads_neither_templates_nor_plots() -> None:
    """A report as Markdown starts as fast as optimize does."""
    code = (
        "import sys; from ckptplan.cli.edge import run; run(['report', 'tinyllama-16', '--format', 'md']);"
        "sys.exit(any(name in sys.modules for name in ('jinja2', 'matplotlib')))"
    )
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_letters_that_only_pictures_lose_are_said_once(tell: Tell, tmp_path: Path) -> None:
    """The text of the page keeps them; as Markdown, which has no pictures, nothing is lost."""
    spec = tmp_path / "run.yaml"
    spec.write_text(STARTER.replace("name: my run", "name: \u5927\u898f\u6a21"), encoding="utf-8")
    page = tell("report", str(spec))
    assert page.err.count("a picture of the report shows ? for letters that its font (DejaVu Sans) lacks") == 1
    assert "<h1>\u5927\u898f\u6a21" in html.unescape(page.out)
    text = tell("report", str(spec), "--format", "md")
    assert "shows ?" not in text.err
    assert re.match("# .*\u5927\u898f\u6a21", text.out)
