"""``--plot FILE``: the picture beside the result, on every command that has one."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib.image
import pytest

from ckptplan.spec.starter import STARTER
from tests.cli.harness import Tell
from tests.cli.test_startup import loaded

ROOT = Path(__file__).resolve().parents[2]
RECORD = str(ROOT / "docs" / "example" / "sacct.txt")
COMMANDS = {
    "optimize": ["optimize", "lab-64", "--interval", "1h"],
    "scale": ["scale", "lab-64", "--gpu-hour-price", "2", "--useful-hour-worth", "4"],
    "simulate": ["simulate", "lab-64", "--runs", "50"],
    "fit": ["fit", RECORD],
    "levers": ["levers", "lab-64"],
    "sweep": ["sweep", "lab-64", "--over", "cluster.gpus=64,128,256"],
}


def _svg(path: Path) -> ET.Element:
    return ET.fromstring(path.read_bytes())  # noqa: S314 - our own


@pytest.mark.parametrize("command", COMMANDS)
def test_the_result_is_printed_as_before_and_the_picture_is_written(command: str, tell: Tell, tmp_path: Path) -> None:
    """Both kinds of file are made, reopened and hold a picture; nothing is said of them on standard output."""
    plain = tell(*COMMANDS[command])
    svg = tell(*COMMANDS[command], "--plot", str(tmp_path / "a.svg"))
    png = tell(*COMMANDS[command], "--plot", str(tmp_path / "b.PNG"), "--theme", "dark")
    assert (plain.code, svg.code, png.code) == (0, 0, 0)
    assert plain.out == svg.out == png.out
    assert plain.err == svg.err == png.err
    assert len(list(_svg(tmp_path / "a.svg").iter("{http://www.w3.org/2000/svg}text"))) >= 10
    image = matplotlib.image.imread(io.BytesIO((tmp_path / "b.PNG").read_bytes()))
    assert image.shape[1] == 1600
    assert image[0, 0, :3].max() < 0.2  # dark
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "b.PNG"]


def test_the_words_of_the_picture_are_those_of_the_json(tell: Tell, tmp_path: Path) -> None:
    """Interval, goodput, what a given interval loses, and where the optimum is flat."""
    told = tell("optimize", "llama3-405b", "--interval", "1h", "-f", "json", "--plot", str(tmp_path / "a.svg"))
    document = json.loads(told.out)
    texts = " ".join(element.text or "" for element in _svg(tmp_path / "a.svg").iter())
    best, flat = document["best"], document["flat"]
    (given,) = [
        r for r in document["plans"] if r["given"] and (r["strategy"], r["method"]) == ("asynchronous", "exact")
    ]
    assert f"exact {best['interval_s']:.0f} s; goodput {100 * best['goodput']:.2f} %" in texts
    assert f"from {flat['low_s']:.0f} s" in texts
    assert f"to {flat['high_s']:.0f} s" in texts
    assert f"given 3,600 s: loses {100 * given['lost_goodput']:.2f} points with asynchronous" in texts
    for part in ("save", "rework", "restart"):
        for row in document["plans"]:
            if row["method"] == "exact" and not row["given"]:
                assert f"{100 * row[f'{part}_fraction']:.2f} %" in texts


def test_only_the_strategies_asked_for_are_drawn(tell: Tell, tmp_path: Path) -> None:
    """--strategy, --set and --method hold for the picture too."""
    file = tmp_path / "a.svg"
    options = ["--strategy", "synchronous", "--method", "daly", "--set", "name=renamed"]
    assert tell("optimize", "llama3-405b", *options, "--plot", str(file)).code == 0
    texts = " ".join(element.text or "" for element in _svg(file).iter())
    assert "renamed" in texts
    assert "Daly" in texts
    assert "asynchronous" not in texts
    assert "Young" not in texts


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_files_are_refused_before_the_work(command: str, tell: Tell, tmp_path: Path) -> None:
    """Another ending, none, a folder, a folder that is not there, a pipe: exit 2, nothing printed, nothing written."""
    (tmp_path / "folder.svg").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.iterdir())
    for name, says in (
        ("plan.pdf", "ends in .pdf"),
        ("plan", "has no ending"),
        (".svg", "has no ending"),
        ("folder.svg", "not a regular file"),
        ("pipe.png", "not a regular file"),
        ("none/plan.svg", "there is no folder"),
        ("file/plan.svg", ""),
        ("x" * 300 + ".svg", ""),
        ("esc\x1b[31m.jpg", "esc?[31m"),
    ):
        told = tell(*COMMANDS[command], "--plot", str(tmp_path / name))
        assert told.code == 2, name
        assert told.out == "", name
        assert says in told.err
        assert "hint:" in told.err
        assert "\x1b" not in told.err
    assert sorted(tmp_path.iterdir()) == before


def test_an_input_is_never_drawn_over(tell: Tell, tmp_path: Path) -> None:
    """A spec, a record or a file that a spec names, also by a link; nor the file of -o."""
    shutil.copytree(ROOT / "docs" / "example", tmp_path / "example")
    spec, record = tmp_path / "plan.svg", tmp_path / "record.png"
    shutil.copy(ROOT / "configs" / "lab-64.yaml", spec)
    shutil.copy(RECORD, record)
    (tmp_path / "link.svg").symlink_to(spec)
    named = tmp_path / "example" / "sacct.svg"
    named.symlink_to("sacct.txt")
    kept = {path: path.read_bytes() for path in (spec, record, named)}
    for arguments in (
        ["optimize", str(spec), "--plot", str(spec)],
        ["scale", str(spec), "--plot", str(tmp_path / "link.svg")],
        ["fit", str(record), "--plot", str(record)],
        ["optimize", str(tmp_path / "example" / "run.yaml"), "--plot", str(named)],
        ["sweep", str(spec), "--over", "cluster.gpus=64,128", "--plot", str(spec)],
    ):
        told = tell(*arguments)
        assert told.code == 2, arguments
        assert "would overwrite an input" in told.err
        assert "--plot" in told.err
    told = tell("optimize", "lab-64", "-o", str(tmp_path / "a.svg"), "--plot", str(tmp_path / "a.svg"))
    assert (told.code, "name one file" in told.err) == (2, True)
    assert {path: path.read_bytes() for path in kept} == kept


def test_options_that_would_do_nothing_are_refused(tell: Tell, tmp_path: Path) -> None:
    """A theme without a picture, a theme that is not known, one picture of two specs, a distribution of one run."""
    file = str(tmp_path / "a.svg")
    for arguments, says in (
        (["optimize", "lab-64", "--theme", "dark"], "--theme does nothing without --plot"),
        (["optimize", "lab-64", "--plot", file, "--theme", "blue"], "blue"),
        (["optimize", "lab-64", "tinyllama-16", "--plot", file], "--plot draws one spec"),
        (["simulate", "lab-64", "--runs", "1", "--plot", file], "distribution of several runs"),
    ):
        told = tell(*arguments)
        assert (told.code, told.out) == (2, ""), arguments
        assert says in told.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("over", "says"),
    [
        (["cluster.gpus=64,128", "restart.total=1 min,2 min", "failures.mtbf=1 h,2 h"], "3 axes are too many"),
        (["cluster.gpus=64"], "one point"),
        (["failures.mtbf=1..9 h:300", "restart.total=1..9 min:300"], "90,000 points are too many"),
    ],
)
def test_sweeps_that_make_no_picture_are_refused_before_the_work(
    over: list[str], says: str, tell: Tell, tmp_path: Path
) -> None:
    """With a hint; nothing is swept."""
    options = [part for one in over for part in ("--over", one)]
    told = tell("sweep", "lab-64", *options, "-f", "csv", "--plot", str(tmp_path / "a.svg"))
    assert (told.code, told.out) == (1, "")
    assert says in told.err
    assert "hint:" in told.err


def test_a_record_that_tells_no_law_is_fitted_and_not_drawn(tell: Tell, tmp_path: Path) -> None:
    """The result is printed, the error says why there is no picture, the exit code is 1."""
    record = tmp_path / "gaps.csv"
    record.write_text("gap_h\n5\n6\n")
    plain = tell("fit", str(record), "--column", "gap=gap_h", "--unit", "h")
    told = tell("fit", str(record), "--column", "gap=gap_h", "--unit", "h", "--plot", str(tmp_path / "a.svg"))
    assert plain.code == 0, plain.err
    assert (told.code, told.out) == (1, plain.out)
    assert "nothing to draw" in told.err
    assert not (tmp_path / "a.svg").exists()


def test_without_matplotlib_one_error_says_what_to_install(
    tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any work; the same command without --plot works."""
    from ckptplan.render.plots.importing import import_matplotlib

    import_matplotlib.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = tell("optimize", "lab-64", "--plot", str(tmp_path / "a.svg"))
    assert (told.code, told.out) == (2, "")
    assert "pip install '.[plot]'" in told.err
    assert tell("optimize", "lab-64").code == 0


@pytest.mark.parametrize("command", [["optimize", "lab-64", "--plot"], ["report", "lab-64", "-o"]])
def test_settings_of_matplotlib_have_no_effect(command: list[str], tmp_path: Path) -> None:
    """A back end of a notebook or one that is not there, broken or other settings, no folder to write to: the same."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "matplotlibrc").write_bytes(b"\xff\xfe : :\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "matplotlibrc").write_text("font.size: 30\nagg.path.chunksize: 7\nbackend: nonsense\n")
    (tmp_path / "file").write_text("")
    made = set()
    file = tmp_path / ("a.png" if "--plot" in command else "a.html")
    for folder, name, value in (
        ("", "PLAIN", "1"),
        ("", "MPLBACKEND", "module://matplotlib_inline.backend_inline"),
        ("broken", "MPLBACKEND", "nonsense"),
        ("other", "PLAIN", "1"),
        ("", "MATPLOTLIBRC", str(tmp_path / "other")),
        ("", "MPLCONFIGDIR", str(tmp_path / "file")),
    ):
        told = subprocess.run(
            [sys.executable, "-m", "ckptplan", *command, str(file)],
            cwd=tmp_path / folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), name: value},
            capture_output=True,
            check=False,
        )
        assert told.returncode == 0, told.stderr
        assert b"atplotlib" not in told.stderr
        pictures = re.findall(b"<svg.*?</svg>", file.read_bytes(), re.DOTALL) or [file.read_bytes()]
        made.add((told.stderr, *pictures))
    assert len(made) == 1


def test_the_environment_and_the_folder_are_as_before() -> None:
    """Matplotlib is imported elsewhere and under other settings; a program that goes on finds its own."""
    code = (
        "import os\nfrom ckptplan.render.plots.importing import import_matplotlib\n"
        "before = (dict(os.environ), os.getcwd())\nimport_matplotlib()\n"
        "assert before == (dict(os.environ), os.getcwd())\nimport matplotlib\nprint(matplotlib.matplotlib_fname())"
    )
    environment = {**os.environ, "MPLBACKEND": "nonsense", "MPLCONFIGDIR": "/proc/nowhere", "PYTHONPATH": str(ROOT)}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert told.stderr == ""


def test_a_file_is_replaced_whole(tell: Tell, tmp_path: Path) -> None:
    """An older picture keeps its permissions and is never half written; a link leads to the file that is replaced."""
    file, link = tmp_path / "a.svg", tmp_path / "link.svg"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    assert tell("optimize", "lab-64", "--plot", str(link)).code == 0
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert _svg(file).tag.endswith("svg")


def test_nothing_loads_matplotlib_without_a_picture() -> None:
    """Neither help nor any command that is not asked to draw."""
    for arguments in (["optimize", "--help"], ["sweep", "--help"], *COMMANDS.values()):
        assert loaded(arguments, ("matplotlib",)) == []


@pytest.mark.parametrize(
    "command",
    [
        ("optimize",),
        ("levers",),
        ("scale",),
        ("simulate", "--runs", "50"),
        ("sweep", "--over", "cluster.gpus=64,128", "--each", "strategy"),
    ],
    ids=lambda command: command[0],
)
def test_letters_that_a_picture_loses_are_said_once(tell: Tell, tmp_path: Path, command: tuple[str, ...]) -> None:
    """One warning behind the result, which keeps them; none where the font has all letters."""
    name, *options = command
    spec = tmp_path / "run.yaml"
    text = STARTER.replace("name: sharded", "name: \u540c\u671f").replace("name: asynchronous", "name: \u975e \u00e9")
    for shown, lost in ((text, True), (STARTER, False)):
        spec.write_text(shown, encoding="utf-8")
        told = tell(name, str(spec), *options, "--plot", str(tmp_path / "a.svg"))
        assert told.code == 0, told.err
        said = [line for line in told.err.splitlines() if "shows ? for letters" in line]
        assert len(said) == lost
        if lost:
            assert said[0].startswith("warning: ")
            assert "a.svg" in said[0]
            assert "\u975e" in said[0]
            assert "\u975e" in told.out


def test_runs_without_a_failure_say_how_many_there_were(tell: Tell, tmp_path: Path) -> None:
    """Several runs have no distribution where none met a failure: that is what the hint is about."""
    ran = tell("simulate", "lab-64", "--set", "failures.mtbf=1e9 h", "--runs", "20", "--plot", str(tmp_path / "a.svg"))
    assert ran.code == 1
    assert "all simulated runs took 30 d, so there is no distribution" in ran.err
    assert "hint: none of 20 runs met a failure: raise --runs, until some do" in ran.err
    assert list(tmp_path.iterdir()) == []
