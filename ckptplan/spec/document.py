"""YAML text to a tree with positions, from parser events and without recursion; every limit ends in one message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ckptplan.errors import InputError, Place, Problem
from ckptplan.spec.scalars import plain_scalar
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode, Source

LARGEST_FILE = 1 << 20  # bytes
DEEPEST = 32
MOST_NODES = 20_000  # with every alias expanded


class Size(NamedTuple):
    """How large a document may be, and how large the usual ones are."""

    largest_file: int = LARGEST_FILE  # bytes
    most_nodes: int = MOST_NODES
    usual_file: str = "a spec has a few kilobytes"
    usual_nodes: str = "a spec needs a hundred"
    start: str = "ckptplan spec init prints a spec to start from"  # what to do with an empty one


OF_SPEC = Size()

_CONTROL = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
)  # no YAML text holds these
_UTF16_OR_32 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_TOO_DEEP, _FOUR_LEVELS = f"nested more than {DEEPEST} levels deep", "a spec needs four levels"
_ALIKE = "indent keys of one group alike"
# What the parser says, what it means, what to do.
_PLAIN_ENGLISH = (
    (
        "that cannot start any token",
        "this character cannot start a value",
        "indent with spaces; quote texts that begin with @, ` or %",
    ),
    ("could not find expected ':'", "a colon is missing after a key", "write key: value, with a space after the colon"),
    ("mapping values are not allowed", "a second colon in the line", f"quote a text that holds a colon; {_ALIKE}"),
    ("did not find expected <document start>", "text follows after the end of the document", _ALIKE),
    (
        "did not find expected key",
        "a key was expected here",
        f"{_ALIKE}; close every quote and brace; quote a text that begins with [ or {{",
    ),
    ("did not find expected ',' or", "a list or group in brackets is not closed", "close every [ and {; use commas"),
    ("did not find expected '-' indicator", "an entry of the list was expected here", "begin each entry with '- '"),
    ("found unexpected end of stream", "a quoted text is not closed", "close the quote"),
    ("while scanning an alias", "* begins an alias", "quote a text that begins with *"),
    ("while scanning an anchor", "& begins an anchor", "quote a text that begins with &"),
)


def read_text(data: bytes, file: str, size: Size = OF_SPEC) -> tuple[str, Source]:
    """The text of a file, which must be UTF-8, of sane size, and printable."""
    if len(data) > size.largest_file:
        raise InputError(
            Problem(
                f"the file is larger than {size.largest_file >> 20} MiB; {size.usual_file}",
                Place(file),
                hint="is this the right file?",
            )
        )
    if data.startswith(_UTF16_OR_32) or data[1:2] == b"\0" or data[:1] == b"\0":
        raise InputError(Problem("the text is UTF-16 or UTF-32, not UTF-8", Place(file), hint="save the file as UTF-8"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            Problem(
                f"byte 0x{data[error.start]:02X} is not UTF-8 (Latin-1, or no text at all?)",
                Place(file, line),
                hint="save the file as UTF-8",
            )
        ) from error
    source = Source(file, text.splitlines())
    strange = _CONTROL.search(text)
    if strange:
        before = text[: strange.start()].splitlines() or [""]
        place = Place(file, len(before), len(before[-1]) + 1)
        raise InputError(Problem(f"a control character (U+{ord(strange[0]):04X}) in the text", place, hint="delete it"))
    return text, source


def parse(text: str, source: Source, size: Size = OF_SPEC) -> tuple[Node, list[Problem]]:
    """The tree of one document, and the faults that do not stop the reading (duplicate and odd keys)."""
    builder = _Builder(source, size)
    try:
        for event in _events(text, source):
            builder.take(event)
    except _Stop as stop:
        raise InputError([*builder.problems, stop.problem]) from None
    if builder.root is None:
        raise InputError(Problem("the file is empty", Place(source.name), hint=size.start))
    return builder.root, builder.problems


class _Stop(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def _events(text: str, source: Source) -> Iterator[Any]:
    import yaml  # start-up stays light

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    except yaml.MarkedYAMLError as error:
        raise _Stop(_syntax(error, source)) from error
    except yaml.YAMLError as error:
        said = (str(error).splitlines() or [""])[0]
        raise _Stop(Problem(f"this is not YAML: {said}", Place(source.name))) from error
    finally:
        loader.dispose()


def _syntax(error: Any, source: Source) -> Problem:
    mark = error.problem_mark or error.context_mark
    place = Place(source.name) if mark is None else source.place(mark.line + 1, mark.column + 1)
    said = f"{error.context or ''} {error.problem or ''}".strip()
    if "maximum nesting depth" in said:
        return Problem(_TOO_DEEP, place, hint=_FOUR_LEVELS)
    for phrase, message, hint in _PLAIN_ENGLISH:
        if phrase in said:
            return Problem(f"this is not YAML: {message}", place, hint=hint)
    return Problem(f"this is not YAML: {said}", place, hint="check quotes, brackets and indentation")


class _Builder:
    """Takes events one by one; keeps the open lists and mappings on a stack of its own."""

    def __init__(self, source: Source, size: Size) -> None:
        self.source = source
        self._size = size
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self._open: list[MapNode | ListNode] = []
        self._keys: list[ScalarNode | None] = []  # the key that waits for its value, per open container
        self._anchors: dict[str, Node] = {}
        self._documents = 0
        self._nodes = 0

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                self._stop(event, "a second document begins here", "one spec per file: keep one, delete its ---")
        elif kind == "ScalarEvent":
            self._scalar(event)
        elif kind == "AliasEvent":
            self._alias(event)
        elif kind == "MappingStartEvent":
            self._begin(event, MapNode(self.source, *_position(event)))
        elif kind == "SequenceStartEvent":
            self._begin(event, ListNode(self.source, *_position(event)))
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            self._end()

    def _stop(self, event: Any, message: str, hint: str) -> None:
        raise _Stop(Problem(message, self.source.place(*_position(event)), hint=hint))

    def _count(self, event: Any, nodes: int, levels: int) -> None:
        self._nodes += nodes
        if len(self._open) + levels > DEEPEST:
            self._stop(event, _TOO_DEEP, _FOUR_LEVELS)
        if self._nodes > self._size.most_nodes:
            self._stop(event, f"more than {self._size.most_nodes:,} values, aliases expanded", self._size.usual_nodes)

    def _scalar(self, event: Any) -> None:
        self._count(event, 1, 0)
        self._refuse_tag(event)
        plain = event.style is None or event.style == ""
        value = plain_scalar(event.value) if plain else event.value
        node = ScalarNode(self.source, *_position(event), value=value, raw=event.value)
        if plain and event.value == "<<" and self._wants_key():
            self._stop(event, "merge keys (<<) are not accepted", "write the keys out, or name a preset")
        self._anchor(event, node)
        self._place(event, node)

    def _alias(self, event: Any) -> None:
        node = self._anchors.get(event.anchor)
        if node is None:
            self._stop(event, f"the alias *{event.anchor} has no anchor", "write the value itself, or quote the text")
        elif any(node is container for container in self._open):
            self._stop(event, f"the alias *{event.anchor} contains itself", "write the value out")
        else:
            self._count(event, node.size, node.height)
            self._place(event, node)

    def _begin(self, event: Any, node: MapNode | ListNode) -> None:
        self._count(event, 1, 1)
        self._refuse_tag(event)
        if self._wants_key():
            self._stop(event, "a list or group cannot be a key", "write key: value")
        self._anchor(event, node)
        self._open.append(node)
        self._keys.append(None)

    def _end(self) -> None:
        node = self._open.pop()
        self._keys.pop()
        self._place(None, node)

    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1], MapNode) and self._keys[-1] is None

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is not None:
            shown = str(event.tag).replace("tag:yaml.org,2002:", "!!")[:40]
            self._stop(event, f"tags such as {shown} are not accepted", "delete the tag, keep the value")

    def _anchor(self, event: Any, node: Node) -> None:
        if event.anchor is not None:
            self._anchors[event.anchor] = node

    def _place(self, event: Any, node: Node) -> None:
        """Hang a finished node into its container, or take it as a key."""
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        if isinstance(parent, ListNode):
            parent.items.append(node)
        elif self._keys[-1] is None:
            self._keys[-1] = self._as_key(event, node)
            return
        else:
            self._enter(parent, self._keys[-1], node)
            self._keys[-1] = None
        parent.size += node.size
        parent.height = max(parent.height, node.height + 1)

    def _as_key(self, event: Any, node: Node) -> ScalarNode:
        if not isinstance(node, ScalarNode) or type(event).__name__ == "AliasEvent":
            self._stop(event, "an alias cannot be a key", "write key: value")
        return node  # type: ignore[return-value]

    def _enter(self, parent: MapNode, key: ScalarNode, node: Node) -> None:
        place, name = key.place, key.raw
        first = parent.entries.get(name)
        if first is None:
            parent.entries[name] = (place, node)
            return
        where = "" if first[0].line is None else f", first in line {first[0].line} column {first[0].column}"
        self.problems.append(Problem(f"the key is given twice{where}", place, self._path(name), "keep one of them"))

    def _path(self, name: str) -> str:
        path = ""
        for container, key in zip(self._open[:-1], self._keys, strict=False):
            path += f"[{len(container.items)}]" if isinstance(container, ListNode) else f".{key.raw if key else ''}"
        return f"{path}.{name}".lstrip(".")[:80]


def _position(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1
