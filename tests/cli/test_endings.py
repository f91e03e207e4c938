"""The file of ``-o``: its ending is a format, and its place is looked at before the work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.main import get_group

from ckptplan.cli import output as writing
from ckptplan.cli.app import app
from ckptplan.cli.endings import ResultCommand, promised_format
from ckptplan.errors import UsageError
from tests.cli.harness import Tell

SWEEP = ("sweep", "llama3-405b", "--over", "cluster.gpus=1024,2048")


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKPTPLAN_FORMAT", raising=False)


def _written(tell: Tell, *arguments: str) -> bytes:
    told = tell(*arguments)
    assert (told.code, told.out) == (0, ""), told.err
    return Path(arguments[arguments.index("-o") + 1]).read_bytes()


@pytest.mark.parametrize("command", [("optimize", "tinyllama-16"), SWEEP, ("configs",)], ids=lambda one: one[0])
@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("a.json", "json"),
        ("a.JSON", "json"),
        ("a.csv", "csv"),
        ("a.md", "markdown"),
        ("a.markdown", "markdown"),
        ("a.txt", "table"),
        ("a.log", "table"),
        ("a", "table"),
    ],
)
def test_the_ending_chooses_the_format(tell: Tell, command: tuple[str, ...], name: str, format_: str) -> None:
    """A file gets what its name promises, and the default where it promises nothing."""
    assert _written(tell, *command, "-o", name) == _written(tell, *command, "-f", format_, "-o", "asked")


def test_an_ending_chooses_parquet_where_there_is_parquet(tell: Tell) -> None:
    """Only a sweep has it; elsewhere the name is refused."""
    assert _written(tell, *SWEEP, "-o", "study.parquet").startswith(b"PAR1")
    told = tell("optimize", "tinyllama-16", "-o", "plan.parquet")
    assert (told.code, "ckptplan optimize writes a table, JSON, CSV or Markdown" in told.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-f", "json", "-o", "a.csv"), "a.csv with --format json: the name promises the other format"),
        (("-o", "a.csv", "--format", "json"), "ends in .json, or leave --format out"),
        (("-f", "table", "-o", "a.md"), "ends in .txt"),
        (("-o", "a.yaml"), "writes a table, JSON, CSV or Markdown"),
        (("-o", "a.yml"), "ends in .txt, .json, .csv or .md"),
        (("-f", "json", "-o", "a.html"), "ckptplan report"),
        (("-o", "a.pdf"), "ckptplan report"),
        (("-o", "a.png"), "--plot"),
        (("-o", "a.xlsx"), "writes a table"),
        (("-o", "a.csv.gz"), "writes a table"),
        (("-o", "\x1b[31m.tsv"), "?[31m.tsv"),
    ],
)
def test_a_name_that_promises_another_format_is_refused(tell: Tell, arguments: tuple[str, ...], said: str) -> None:
    """One error of usage before the spec is read, and no file."""
    told = tell("optimize", "no such spec", *arguments)
    assert (told.code, told.out) == (2, "")
    assert said in told.err
    assert "no such spec" not in told.err
    assert list(Path().iterdir()) == []


def test_text_of_every_format_may_be_called_txt(tell: Tell) -> None:
    """JSON and CSV are text, Parquet is not."""
    assert _written(tell, "optimize", "tinyllama-16", "-f", "json", "-o", "a.txt").startswith(b"{")
    told = tell(*SWEEP, "-f", "parquet", "-o", "a.txt")
    assert (told.code, "promises the other format" in told.err) == (2, True)


def test_a_default_of_the_environment_is_no_contradiction(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds where the name says nothing, and gives way to the name."""
    monkeypatch.setenv("CKPTPLAN_FORMAT", "json")
    assert _written(tell, "optimize", "tinyllama-16", "-o", "a").startswith(b"{")
    assert _written(tell, "optimize", "tinyllama-16", "-o", "a.csv").startswith(b"spec,")


def test_what_has_no_format_has_no_ending(tell: Tell) -> None:
    """A number, a setting of a trainer and a loop go into a file of any name."""
    assert _written(tell, "optimize", "tinyllama-16", "-q", "-o", "a.json").strip().isdigit()
    assert _written(tell, "optimize", "llama3-405b", "--for", "nemo", "-o", "a.yaml")
    assert _written(tell, "online", "llama3-405b", "--code", "-o", "a.yaml").startswith(b"import ")


def test_what_is_printed_in_one_format_keeps_to_it(tell: Tell) -> None:
    """The starter is YAML, a schema JSON; both are text."""
    assert tell("spec", "init", "-o", "run.json").code == 2
    assert "writes JSON" in tell("spec", "schema", "-o", "schema.yaml").err
    assert _written(tell, "spec", "init", "-o", "run.yaml") == _written(tell, "spec", "init", "-o", "run.txt")
    assert json.loads(_written(tell, "spec", "schema", "-o", "schema.json"))


def test_an_input_is_called_an_input(tell: Tell) -> None:
    """A spec as its own result is refused for that, not for its ending."""
    _written(tell, "spec", "init", "-o", "run.yaml")
    told = tell("optimize", "run.yaml", "-o", "run.yaml")
    assert (told.code, "would overwrite an input" in told.err) == (2, True)


def test_a_report_keeps_to_the_same_rule() -> None:
    """HTML and Markdown under any of their endings."""
    formats = ("html", "md", "markdown")
    found = [promised_format(Path(f"a{end}"), formats, None, "report") for end in (".htm", ".HTML", ".md", ".markdown")]
    assert found == ["html", "html", "markdown", "markdown"]
    assert promised_format(Path("a.markdown"), formats, "md", "report") is None
    with pytest.raises(UsageError, match="promises the other format"):
        promised_format(Path("a.md"), formats, "html", "report")


def _commands() -> dict[tuple[str, ...], object]:
    found: dict[tuple[str, ...], object] = {}
    for name, command in get_group(app).commands.items():
        inner = getattr(command, "commands", None)
        found |= {(name,): command} if inner is None else {(name, one): made for one, made in inner.items()}
    return found


def test_every_command_with_a_file_for_its_result_looks_at_it() -> None:
    """No command with -o is left out; that of ``average`` is for weights, not for the report."""
    of_results = {
        name: command
        for name, command in _commands().items()
        if any(one.name == "output" for one in command.params)  # type: ignore[attr-defined]
    }
    assert {("optimize",), ("report",), ("measure", "storage"), ("spec", "init")} <= set(of_results)
    assert all(isinstance(command, ResultCommand) for command in of_results.values())
    bare = [name for name, command in of_results.items() if all(one.name != "format_" for one in command.params)]
    assert bare == [("spec", "schema"), ("spec", "init")]


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("optimize", "nothing"), "-o"),
        (("simulate", "nothing"), "-o"),
        (("fit", "nothing"), "-o"),
        (("audit", "nothing"), "-o"),
        (("inspect", "nothing"), "-o"),
        (("measure", "import", "nothing"), "-o"),
        (("spec", "show", "nothing"), "-o"),
        (("spec", "init"), "-o"),
        (("reshard", "nothing", "--to", "2"), "-o"),
        (("reshard", "nothing"), "--extract"),
        (("average", "nothing", "nobody"), "-o"),
        (("sweep", "nothing"), "--resume"),
        (("levers", "nothing"), "--plot"),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, tuple) else one,
)
def test_a_file_that_cannot_be_written_is_an_error_of_usage_before_the_work(
    tell: Tell, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], option: str
) -> None:
    """A folder that is missing, is a file or may not be written to: exit 2, whatever else is wrong."""
    Path("file").touch()
    ending = ".svg" if option == "--plot" else ".safetensors" if "average" in arguments else ""
    for name in ("none/x", "file/x"):
        told = tell(*arguments, option, name + ending)
        assert (told.code, told.out) == (2, "")
        assert f"{option} {name}{ending}: there is no folder" in told.err
    monkeypatch.setattr("os.access", lambda *_: False)
    told = tell(*arguments, option, f"x{ending}")
    assert told.code == 2
    assert "cannot be written to" in told.err
    assert [path.name for path in Path().iterdir()] == ["file"]


def test_a_folder_is_no_file(tell: Tell) -> None:
    """A directory ends every result file, and is a place for weights, which their writer judges."""
    Path("folder").mkdir()
    told = tell("optimize", "nothing", "-o", "folder")
    assert (told.code, "it is a directory" in told.err) == (2, True)
    told = tell("average", "nothing", "nobody", "-o", "folder")
    assert "it is a directory" not in told.err


def test_a_disk_that_fails_at_the_end_is_no_error_of_usage(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody could know before the work exits 1, and leaves nothing."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "replace", full)
    told = tell("optimize", "tinyllama-16", "-o", "a.json")
    assert (told.code, "cannot write a.json: No space left on device" in told.err) == (1, True)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        ("optimize", "tinyllama-16"),
        ("levers", "tinyllama-16"),
        ("sweep", "tinyllama-16", "--over", "cluster.gpus=16,32"),
        ("report", "tinyllama-16"),
        ("configs",),
        ("methods",),
    ],
    ids=lambda one: one[0],
)
def test_markdown_goes_by_its_ending_too(tell: Tell, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    """``md`` is ``markdown`` in every command, typed or from the environment."""
    whole = tell(*command, "-f", "markdown")
    assert whole.code == 0
    assert tell(*command, "--format", "md") == whole
    if command[0] != "report":
        monkeypatch.setenv("CKPTPLAN_FORMAT", "md")
        assert tell(*command) == whole


@pytest.mark.parametrize(
    ("arguments", "example"),
    [
        (("optimize", "nothing", "-o"), "-o plan.json, or leave -o out"),
        (("report", "nothing", "-o"), "-o report.html, or leave -o out"),
        (("spec", "init", "-o"), "-o run.yaml, or leave -o out"),
        (("levers", "nothing", "--plot"), "--plot plan.svg, or leave --plot out"),
        (("sweep", "nothing", "--plot"), "--plot study.svg, or leave --plot out"),
        (("sweep", "nothing", "--resume"), "--resume kept.journal, or leave --resume out"),
    ],
)
def test_no_name_of_a_file_is_refused_with_one_that_would_do(
    tell: Tell, arguments: tuple[str, ...], example: str
) -> None:
    """An empty text, as of a variable that is not set, is not the folder that one is in."""
    for empty in ("", "  "):
        told = tell(*arguments, empty)
        option = arguments[-1]
        assert told.err == f"error: {option} is given no file\n  hint: write for example {example}\n"
        assert (told.code, told.out) == (2, "")


def test_the_example_of_a_picture_is_a_picture(tell: Tell) -> None:
    """The name that was given, where it has one, with an ending that can be drawn."""
    for given, example in (("a.jpg", "a.svg"), ("b", "b.svg"), (".", "plan.svg"), (".svg", "plan.svg")):
        assert tell("levers", "nothing", "--plot", given).err.endswith(f"write for example --plot {example}\n")
