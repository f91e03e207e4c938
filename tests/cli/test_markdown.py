"""Markdown of every command: a name stays the text that it is, read by a parser of Markdown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

from ckptplan.spec.starter import STARTER
from tests.cli.harness import Tell

NAME = "<script>alert(1)</script> *a* _b_ [x](y) | # `c` ~~d~~ &lt; $e$ @f"
_COMMENTS = re.compile(r"<!-- -->|</?span>")  # between what would reach out; no mark-up


def _spec(folder: Path, file: str = "run.yaml") -> str:
    """The starter, in which everything that can have a name has this one."""
    spec = yaml.safe_load(STARTER)
    spec["name"] = NAME
    for number, save in enumerate(spec["save"]):
        save["name"] = f"{NAME} {number}"
    spec["failures"]["classes"] = [{"name": NAME, "share": 0.7}, {"name": f"{NAME} 2", "share": 0.3}]
    path = folder / file
    path.write_text(yaml.safe_dump(spec), encoding="utf-8")
    return str(path)


def _read(text: str) -> tuple[str, set[str]]:
    """What people see, and the kinds of everything that is more than text, headings, lists and tables."""
    seen, kinds = [], set()
    for block in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text):
        kinds.add(block.type)
        for token in block.children or ():
            if token.type in {"html_inline", "html_block"} and _COMMENTS.fullmatch(token.content):
                continue
            kinds.add(token.type)
            seen.append(token.content)
        seen.append("\n")
    plain = {"text", "text_special", "softbreak", "inline", "fence"}
    blocks = ("heading", "paragraph", "list_item", "bullet_list", "table", "thead", "tbody", "tr", "th", "td")
    return "".join(seen), kinds - plain - {f"{one}_{end}" for one in blocks for end in ("open", "close")}


@pytest.mark.parametrize(
    "arguments",
    [
        ("optimize", "--interval", "1h"),
        ("optimize", "--gpus", "64,128", "--verify"),
        ("levers",),
        ("scale",),
        ("simulate", "--runs", "40"),
        ("retain",),
        ("size",),
        ("sweep", "--over", "cluster.gpus=64,128"),
        ("spec show",),
        ("report",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_name_is_text(tell: Tell, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """In headings, sentences, lists and tables, and it is read as it is written."""
    command, *options = arguments
    told = tell(*command.split(), _spec(tmp_path), *options, "--format", "markdown")
    assert told.code == 0, told.err
    seen, more = _read(told.out)
    of_report = {"strong_open", "strong_close", "html_block"}  # what is stressed, and what is folded away
    assert more <= (of_report if command == "report" else set())
    assert NAME in seen
    assert "\\" not in seen


def test_names_of_two_runs_are_text(tell: Tell, tmp_path: Path) -> None:
    """Side by side, with files of such names too."""
    told = tell("compare", _spec(tmp_path, "*a* <b>.yaml"), "lab-64", "-f", "markdown")
    assert told.code == 0, told.err
    seen, more = _read(told.out)
    assert more == set()
    assert all(text in seen for text in (NAME, "*a* <b>.yaml"))


def test_names_of_records_are_text(tell: Tell, tmp_path: Path) -> None:
    """The file that is fitted."""
    record = tmp_path / "*a* <b> [x](y).csv"
    record.write_text("gap_s\n" + "".join(f"{3600 + 37 * n}\n" for n in range(40)), encoding="utf-8")
    told = tell("fit", str(record), "--gpus", "64", "-f", "markdown")
    assert told.code == 0, told.err
    seen, more = _read(told.out)
    assert more == set()
    assert "*a* <b> [x](y).csv" in seen


@pytest.mark.parametrize("command", ["inspect", "audit"])
def test_names_of_checkpoints_are_text(tell: Tell, tmp_path: Path, command: str) -> None:
    """The folder, and the keys of its tensors."""
    import numpy as np

    from tests.checkpoint.average.folders import save

    file = tmp_path / "*a* <b> [x](y).safetensors"
    save(file, {"<i>*w*_": np.zeros(3, np.float32)})
    told = tell(command, str(file), *(["--tensors"] if command == "inspect" else []), "-f", "markdown")
    seen, more = _read(told.out)
    assert more == set(), told.out
    assert "*a* <b> [x](y).safetensors" in seen
    assert command == "audit" or "<i>*w*_" in seen
