"""YAML by the rules of 1.2, with positions and limits."""

from __future__ import annotations

import math

import pytest

from ckptplan.errors import InputError
from ckptplan.spec.document import parse, read_text
from ckptplan.spec.scalars import plain_scalar
from ckptplan.spec.tree import ListNode, MapNode, ScalarNode, Source


def _tree(text: str) -> MapNode:
    clean, source = read_text(text.encode(), "run.yaml")
    root, problems = parse(clean, source)
    assert not problems
    assert isinstance(root, MapNode)
    return root


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e9", 1e9),
        ("405e9", 405e9),
        ("70_553_706_496", 70_553_706_496),
        ("176_247e6", 176_247e6),
        ("16384", 16384),
        ("-3", -3),
        (".5", 0.5),
        ("5.", 5.0),
        ("0x10", 16),
        ("0o17", 15),
        ("017", 17),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("no", "no"),
        ("on", "on"),
        ("yes", "yes"),
        ("10:30", "10:30"),
        ("1__0", "1__0"),
        ("_1", "_1"),
        ("50_000 h", "50_000 h"),
        ("2026-11-30", "2026-11-30"),
        ("1e", "1e"),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("nan", "nan"),
        ("9" * 50, 1e50),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: object) -> None:
    """Numbers are numbers, and neither clock times nor yes and no are anything but text."""
    found = plain_scalar(text)
    assert (found, type(found)) == (value, type(value))


def test_nan_is_a_number() -> None:
    """``.nan`` is the one spelling of not-a-number."""
    found = plain_scalar(".nan")
    assert isinstance(found, float)
    assert math.isnan(found)


def test_every_node_knows_its_position() -> None:
    """Lines and columns count from 1, and the source line is at hand for a caret."""
    root = _tree("a: 1\nb:\n  - c: two words\n")
    place, node = root.entries["b"]
    assert (place.line, place.column) == (2, 1)
    assert isinstance(node, ListNode)
    item = node.items[0]
    assert isinstance(item, MapNode)
    inner = item.entries["c"][1]
    assert isinstance(inner, ScalarNode)
    assert inner.value == "two words"
    assert (inner.place.line, inner.place.column, inner.place.text) == (3, 8, "  - c: two words")
    assert inner.origin == "run.yaml:3"


def test_quoted_scalars_stay_texts() -> None:
    """A quoted number is a text, and so is a block scalar."""
    root = _tree("a: '5'\nb: |\n  5\n")
    assert [node.value for _, node in root.entries.values() if isinstance(node, ScalarNode)] == ["5", "5\n"]


def test_a_utf8_mark_is_no_fault() -> None:
    """A file that begins with a UTF-8 byte order mark is read as if it had none."""
    text, source = read_text(b"\xef\xbb\xbfa: 1\n", "run.yaml")
    root, _ = parse(text, source)
    assert isinstance(root, MapNode)
    assert list(root.entries) == ["a"]


def test_an_alias_shares_what_its_anchor_names() -> None:
    """A plain use of anchors is read."""
    root = _tree("a: &x {b: 1}\nc: *x\n")
    assert root.child("a") is root.child("c")


def test_an_alias_counts_with_everything_below_it() -> None:
    """The size of a mapping is that of its expanded values."""
    root = _tree("a: &x [1, 2, 3]\nb: [*x, *x]\n")
    assert root.size == 1 + 4 + (1 + 4 + 4)
    assert root.height == 3


def test_an_alias_cannot_hide_depth() -> None:
    """Levels below an alias count where it is used."""
    lines = ["a0: &a0 [1]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 60))]
    text, source = read_text("\n".join(lines).encode(), "run.yaml")
    with pytest.raises(InputError, match="nested more than 32 levels"):
        parse(text, source)


def test_both_parsers_of_yaml_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the C library the pure Python parser gives the same tree."""
    import yaml

    text = "a: [1, {b: 'x'}]\n'c': |\n  d\n"
    fast = _tree(text)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert _tree(text) == fast


def test_a_source_without_lines_is_named_only() -> None:
    """Values of flags have a name but no line."""
    place = Source("--set a=1").place(1, 1)
    assert str(place) == "--set a=1"
