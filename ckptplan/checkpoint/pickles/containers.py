"""Opcodes of lists, tuples, dicts and sets, and of the stack itself."""

from __future__ import annotations

from typing import Any

from ckptplan.checkpoint.pickles.machine import Machine, Operation, Refused
from ckptplan.checkpoint.pickles.values import Built


def _mark(m: Machine, at: int) -> int:
    m.marks.append(len(m.stack))
    return at


def _pop(m: Machine, at: int) -> int:
    if m.marks and m.marks[-1] == len(m.stack):
        m.since_mark()
    else:
        m.stack.pop()
    return at


def _pop_mark(m: Machine, at: int) -> int:
    m.since_mark()
    return at


def _dup(m: Machine, at: int) -> int:
    m.stack.append(m.stack[-1])
    return at


def _empty_list(m: Machine, at: int) -> int:
    m.new_container()
    m.stack.append([])
    return at


def _empty_tuple(m: Machine, at: int) -> int:
    m.stack.append(())
    return at


def _empty_dict(m: Machine, at: int) -> int:
    m.new_container()
    m.stack.append({})
    return at


def _empty_set(m: Machine, at: int) -> int:
    m.new_container()
    m.stack.append(set())
    return at


def _list(m: Machine, at: int) -> int:
    m.new_container()
    m.stack.append(m.since_mark())
    return at


def _tuple(m: Machine, at: int) -> int:
    m.new_container()
    m.stack.append(tuple(m.since_mark()))
    return at


def _tuple1(m: Machine, at: int) -> int:
    m.new_container()
    m.stack[-1] = (m.stack[-1],)
    return at


def _tuple2(m: Machine, at: int) -> int:
    m.new_container()
    last = m.stack.pop()
    m.stack[-1] = (m.stack[-1], last)
    return at


def _tuple3(m: Machine, at: int) -> int:
    m.new_container()
    last = m.stack.pop()
    middle = m.stack.pop()
    m.stack[-1] = (m.stack[-1], middle, last)
    return at


def _dict(m: Machine, at: int) -> int:
    m.new_container()
    found: dict[Any, Any] = {}
    _put_pairs(m, found, m.since_mark())
    m.stack.append(found)
    return at


def _frozenset(m: Machine, at: int) -> int:
    m.new_container()
    found = m.since_mark()
    for each in found:
        m.check_key(each)
    m.stack.append(frozenset(found))
    return at


def _append(m: Machine, at: int) -> int:
    last = m.stack.pop()
    _list_on_top(m).append(last)
    return at


def _appends(m: Machine, at: int) -> int:
    found = m.since_mark()
    _list_on_top(m).extend(found)
    return at


def _list_on_top(m: Machine) -> list[Any]:
    """The list that is appended to; of a stand-in that of its items."""
    top = m.stack[-1]
    if isinstance(top, Built):
        return top.items
    if isinstance(top, list):
        return top
    raise Refused(f"it appends to a {type(top).__name__}")


def _set_item(m: Machine, at: int) -> int:
    value = m.stack.pop()
    key = m.stack.pop()
    _put_pairs(m, _dict_on_top(m), [key, value])
    return at


def _set_items(m: Machine, at: int) -> int:
    found = m.since_mark()
    _put_pairs(m, _dict_on_top(m), found)
    return at


def _dict_on_top(m: Machine) -> dict[Any, Any]:
    """The dict that is filled; of a stand-in that of its pairs."""
    top = m.stack[-1]
    if isinstance(top, Built):
        return top.pairs
    if isinstance(top, dict):
        return top
    raise Refused(f"it sets items of a {type(top).__name__}")


def _put_pairs(m: Machine, found: dict[Any, Any], pairs: list[Any]) -> None:
    if len(pairs) % 2:
        raise Refused("a key without a value")
    check = m.check_key
    for key in pairs[::2]:
        if type(key) is not str:
            check(key)
    found.update(zip(pairs[::2], pairs[1::2], strict=True))


def _add_items(m: Machine, at: int) -> int:
    found = m.since_mark()
    top = m.stack[-1]
    if not isinstance(top, set):
        raise Refused(f"it adds elements to a {type(top).__name__}")
    for each in found:
        m.check_key(each)
    top.update(found)
    return at


CONTAINERS: dict[int, Operation] = {
    ord("("): _mark, ord("0"): _pop, ord("1"): _pop_mark, ord("2"): _dup, ord("]"): _empty_list, ord(")"): _empty_tuple,
    ord("}"): _empty_dict, 0x8F: _empty_set, ord("l"): _list, ord("t"): _tuple, 0x85: _tuple1, 0x86: _tuple2,
    0x87: _tuple3, ord("d"): _dict, 0x91: _frozenset, ord("a"): _append, ord("e"): _appends, ord("s"): _set_item,
    ord("u"): _set_items, 0x90: _add_items,
}  # fmt: skip
