"""Opcodes of names, objects and references: they describe, and nothing is imported or called."""

from __future__ import annotations

from typing import Any

from ckptplan.checkpoint.pickles.atoms import line
from ckptplan.checkpoint.pickles.calls import outcome
from ckptplan.checkpoint.pickles.machine import ENDED, Machine, Operation, Refused
from ckptplan.checkpoint.pickles.values import Built, Global, Reference

_PLAIN = (dict, tuple, set, frozenset)  # what known classes are evaluated to; what else is set of them does not matter


def _global_line(m: Machine, at: int) -> int:
    module, at = line(m, at)
    name, at = line(m, at)
    m.stack.append(m.named(_decoded(module), _decoded(name)))
    return at


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Refused("a global whose name is no text") from None


def _stack_global(m: Machine, at: int) -> int:
    name = m.stack.pop()
    m.stack[-1] = m.named(m.stack[-1], name)
    return at


def _called(m: Machine, call: Any, args: Any) -> Any:
    """The value of a call, if it is one of a few that make plain values, else its description."""
    m.new_container()
    if type(args) is not tuple:
        raise Refused(f"arguments that are a {type(args).__name__}, not a tuple")
    if type(call) is Global:
        return outcome(m, call, args)
    if m.allowed is not None or type(call) is not Built:
        raise Refused(f"it calls a {type(call).__name__}, not a name")
    return Built(call, args)


def _reduce(m: Machine, at: int) -> int:
    args = m.stack.pop()
    m.stack[-1] = _called(m, m.stack[-1], args)
    return at


def _new_object(m: Machine, at: int) -> int:
    args = m.stack.pop()
    m.stack[-1] = _called(m, m.stack[-1], args)
    return at


def _new_object_ex(m: Machine, at: int) -> int:
    keywords = m.stack.pop()
    args = m.stack.pop()
    if not isinstance(keywords, dict) or type(args) is not tuple:
        raise Refused("arguments that are none")
    m.stack[-1] = _called(m, m.stack[-1], (*args, keywords) if keywords else args)
    return at


def _instance(m: Machine, at: int) -> int:
    module, at = line(m, at)
    name, at = line(m, at)
    args = tuple(m.since_mark())
    m.stack.append(_called(m, m.named(_decoded(module), _decoded(name)), args))
    return at


def _object(m: Machine, at: int) -> int:
    found = m.since_mark()
    if not found:
        raise Refused("an object without a class")
    m.stack.append(_called(m, found[0], tuple(found[1:])))
    return at


def _build(m: Machine, at: int) -> int:
    state = m.stack.pop()
    top = m.stack[-1]
    if type(top) is Built:
        top.state = state
    elif type(top) not in _PLAIN:
        raise Refused(f"it sets the state of a {type(top).__name__}")
    return at


def _reference(m: Machine, at: int) -> int:
    m.new_container()
    m.stack[-1] = Reference(m.stack[-1])
    return at


def _reference_line(m: Machine, at: int) -> int:
    raw, at = line(m, at)
    m.stack.append(Reference(_decoded(raw)))
    return at


def _stop(m: Machine, at: int) -> int:
    m.value = m.stack.pop()
    m.ended = at
    return ENDED


OBJECTS: dict[int, Operation] = {
    ord("c"): _global_line, 0x93: _stack_global, ord("R"): _reduce, 0x81: _new_object, 0x92: _new_object_ex,
    ord("i"): _instance, ord("o"): _object, ord("b"): _build, ord("Q"): _reference, ord("P"): _reference_line,
    ord("."): _stop,
}  # fmt: skip
