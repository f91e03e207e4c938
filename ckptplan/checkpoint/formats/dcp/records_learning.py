"""Learning the shape of records from one of them: it is followed with gaps in place of its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ckptplan.checkpoint.formats.dcp.metadata_names import CHUNK, INDEX, SIZE, STORAGE
from ckptplan.checkpoint.formats.dcp.records_shapes import (
    FIXED,
    GET1,
    GET4,
    LITERAL,
    LONG1,
    LONGEST,
    MEMOIZE,
    MOST_PARTS,
    NUMBER,
    RECALL,
    TEXT,
    WIDTHS,
    Axes,
    Part,
    Shape,
)  # fmt: skip
from ckptplan.checkpoint.pickles.values import Global

Recall = Callable[[int], Any]


class _NoShape(Exception):  # noqa: N818 - a record that is written in another way is read opcode by opcode
    """The record is not like those that are read along."""


class _Gap(NamedTuple):
    part: int
    kind: int
    value: Any = None


class _Pile(NamedTuple):
    parts: tuple[Any, ...]


class _Thing:
    """An object of a class with its state."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.state: dict[str, Any] = {}


class _Size:
    """A torch.Size that is written out."""

    def __init__(self, numbers: tuple[_Gap, ...]) -> None:
        self.numbers = numbers
        self.memo = -1
        self.texts: tuple[int, ...] = ()


def shape_of(data: bytes, start: int, end: int, recall: Recall, base: int) -> Shape | None:
    """The shape of the record between two positions; None if it is not of a kind that is read along.

    ``recall`` gives values of the memo, ``base`` is how many it held when the record began.
    """
    learner = _Learner(data, recall, base)
    try:
        learner.follow(start, end)
        return learner.shape()
    except (_NoShape, IndexError):
        return None


class _Learner:
    """Follows one record with gaps in place of its values."""

    def __init__(self, data: bytes, recall: Recall, base: int) -> None:
        self.data, self.recall, self.base = data, recall, base
        self.parts: list[Part] = []
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memos = 0
        self.memos_before: dict[int, int] = {}  # texts
        self.head = b""

    def follow(self, start: int, end: int) -> None:
        """All opcodes of the record."""
        at = start
        while at < end:
            code = self.data[at]
            width = self._gap(code, at)
            if not width:
                width = 1
                self.parts.append(Part(FIXED, self.data[at : at + 1]))
                _STEPS.get(code, _unknown)(self)
            at += width
            if len(self.parts) > MOST_PARTS:
                raise _NoShape
            if not self.head and len(self.parts) > 1 and self.parts[-2].raw == b"(":
                self.head = self.data[start:at]
        if at != end:
            raise _NoShape

    def _gap(self, code: int, at: int) -> int:
        """A number, a text or a recalled value; gives its width, 0 if it is none of them."""
        kind, value = NUMBER, None
        if code in WIDTHS:
            width = WIDTHS[code]
        elif code == LONG1:
            width = 2 + self.data[at + 1]
            if width > 2 + LONGEST:
                raise _NoShape
        elif code == LITERAL:
            kind, width = TEXT, 3 + self.data[at + 1]
            if self.data[at + width - 1] != MEMOIZE:
                raise _NoShape
        elif code in (GET1, GET4):
            width = 2 if code == GET1 else 5
            index = int.from_bytes(self.data[at + 1 : at + width], "little")
            if index >= self.base:
                raise _NoShape
            value = self.recall(index)
            kind = TEXT if type(value) is str else RECALL
        else:
            return 0
        if kind == TEXT:
            self.memos_before[len(self.parts)] = self.memos
        self.stack.append(_Gap(len(self.parts), kind, value))
        self.parts.append(Part(kind, self.data[at : at + width]))
        return width

    def fixed(self, gap: Any) -> Any:
        """The value of a recalled gap that must be the same in all records."""
        if not isinstance(gap, _Gap) or gap.value is None:
            raise _NoShape
        self.parts[gap.part] = Part(FIXED, self.parts[gap.part].raw)
        return gap.value

    def since_mark(self) -> list[Any]:
        """What is on the stack above the mark."""
        at = self.marks.pop()
        found = self.stack[at:]
        del self.stack[at:]
        return found

    def texts(self) -> tuple[int, ...]:
        """Parts that are texts, up to now."""
        return tuple(number for number, part in enumerate(self.parts) if part.kind == TEXT)

    def shape(self) -> Shape:
        """The shape, once the whole record was followed."""
        things = [thing for thing in self.stack if isinstance(thing, _Thing)]
        if len(things) != len(self.stack):
            raise _NoShape
        calls = [thing.call for thing in things]
        if calls == [CHUNK]:
            found = {name: self._axes(things[0].state.get(name)) for name in ("offsets", "sizes")}
        elif calls == [INDEX, STORAGE]:
            found = self._of_pair(things[0].state, things[1].state)
        else:
            raise _NoShape
        if not self.head:
            raise _NoShape
        return self._numbered(calls[-1], found)

    def _of_pair(self, index: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
        offset = index.get("offset")
        return {
            "fqn": _of_kind(index.get("fqn"), TEXT),
            "offset": None if offset is None else self._axes(offset),
            "relative_path": _of_kind(info.get("relative_path"), TEXT),
            "start": _of_kind(info.get("offset"), NUMBER),
            "length": _of_kind(info.get("length"), NUMBER),
            "descriptors": self._descriptors(info.get("transform_descriptors")),
        }

    def _descriptors(self, found: Any) -> tuple[Any, ...]:
        """Gaps of texts, or texts, that say how an item is packed."""
        if found is None:
            return ()
        if isinstance(found, list):
            return tuple(_of_kind(each, TEXT) for each in found)
        value = self.fixed(found)
        if not isinstance(value, list) or not all(type(each) is str for each in value):
            raise _NoShape
        return tuple(value)

    def _axes(self, found: Any) -> Axes:
        if isinstance(found, _Size):
            return Axes(tuple(gap.part for gap in found.numbers), -1, found.memo, found.texts)
        gap = found if isinstance(found, _Gap) else None
        if gap is None or gap.kind != RECALL or type(gap.value) is not tuple:
            raise _NoShape
        return Axes(None, gap.part)

    def _numbered(self, kind: Global, found: dict[str, Any]) -> Shape:
        """Fixed parts joined, and gaps numbered without them."""
        used = set(_parts_of(found))
        for number, part in enumerate(self.parts):
            if part.kind == RECALL and number not in used:
                self.parts[number] = Part(FIXED, part.raw)
        numbers: dict[int, int] = {}
        joined: list[Part] = []
        for number, part in enumerate(self.parts):
            if part.kind != FIXED:
                numbers[number] = len(numbers)
                joined.append(Part(part.kind))
            elif joined and joined[-1].kind == FIXED:
                joined[-1] = Part(FIXED, joined[-1].raw + part.raw)
            else:
                joined.append(part)
        fields = {name: _renumbered(value, numbers) for name, value in found.items()}
        texts = tuple((numbers[part], memos) for part, memos in self.memos_before.items() if part in numbers)
        return Shape(kind, tuple(joined), self.memos, self.head, texts, fields)


def _of_kind(gap: Any, kind: int) -> _Gap:
    if not isinstance(gap, _Gap) or gap.kind != kind:
        raise _NoShape
    return gap


def _parts_of(found: dict[str, Any]) -> list[int]:
    return [value.recall for value in found.values() if isinstance(value, Axes)]


def _renumbered(value: Any, numbers: dict[int, int]) -> Any:
    if isinstance(value, _Gap):
        return numbers[value.part]
    if isinstance(value, Axes):
        gaps = None if value.numbers is None else tuple(numbers[part] for part in value.numbers)
        texts = tuple(numbers[part] for part in value.texts if part in numbers)
        return Axes(gaps, numbers.get(value.recall, -1), value.memo, texts)
    if isinstance(value, tuple):
        return tuple(_renumbered(each, numbers) for each in value)
    return value


def _unknown(_: _Learner) -> None:
    raise _NoShape


def _constant(m: _Learner) -> None:
    m.stack.append(None)


def _memoize(m: _Learner) -> None:
    top = m.stack[-1]
    if isinstance(top, _Size):
        top.memo, top.texts = m.memos, m.texts()
    m.memos += 1


def _mark(m: _Learner) -> None:
    m.marks.append(len(m.stack))


def _pile(number: int) -> Callable[[_Learner], None]:
    def pile(m: _Learner) -> None:
        parts = tuple(m.stack[len(m.stack) - number :])
        if len(parts) != number:
            raise _NoShape
        del m.stack[len(m.stack) - number :]
        m.stack.append(_Pile(parts))

    return pile


def _marked_pile(m: _Learner) -> None:
    m.stack.append(_Pile(tuple(m.since_mark())))


def _empty_dict(m: _Learner) -> None:
    m.stack.append({})


def _empty_list(m: _Learner) -> None:
    m.stack.append([])


def _append(m: _Learner) -> None:
    last = m.stack.pop()
    _list_on_top(m).append(last)


def _appends(m: _Learner) -> None:
    found = m.since_mark()
    _list_on_top(m).extend(found)


def _list_on_top(m: _Learner) -> list[Any]:
    if not isinstance(m.stack[-1], list):
        raise _NoShape
    found: list[Any] = m.stack[-1]
    return found


def _set_items(m: _Learner) -> None:
    pairs = m.since_mark()
    top = m.stack[-1]
    if not isinstance(top, dict) or len(pairs) % 2:
        raise _NoShape
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        top[m.fixed(key)] = value


def _new_object(m: _Learner) -> None:
    args = m.stack.pop()
    call = m.fixed(m.stack.pop())
    if args != _Pile(()) or call not in (CHUNK, INDEX, STORAGE):
        raise _NoShape
    m.stack.append(_Thing(call))


def _reduce(m: _Learner) -> None:
    args = m.stack.pop()
    call = m.fixed(m.stack.pop())
    inner = args.parts[0] if isinstance(args, _Pile) and len(args.parts) == 1 else None
    if call != SIZE or not isinstance(inner, _Pile):
        raise _NoShape
    m.stack.append(_Size(tuple(_of_kind(gap, NUMBER) for gap in inner.parts)))


def _build(m: _Learner) -> None:
    state = m.stack.pop()
    thing = m.stack[-1]
    if not isinstance(thing, _Thing) or not isinstance(state, dict) or thing.state:
        raise _NoShape
    thing.state = state


_STEPS: dict[int, Callable[[_Learner], None]] = {
    ord("N"): _constant, MEMOIZE: _memoize, ord("("): _mark, ord(")"): _pile(0), 0x85: _pile(1), 0x86: _pile(2),
    0x87: _pile(3), ord("t"): _marked_pile, ord("}"): _empty_dict, ord("]"): _empty_list, ord("a"): _append,
    ord("e"): _appends, ord("u"): _set_items, 0x81: _new_object, ord("R"): _reduce, ord("b"): _build,
}  # fmt: skip
