"""The few calls whose outcome is a plain value, worked out here; every other one stays a description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ckptplan.checkpoint.pickles.machine import Machine, Refused
from ckptplan.checkpoint.pickles.names import BUILTINS, COPYREG
from ckptplan.checkpoint.pickles.values import Built, Global

Args = tuple[Any, ...]


def outcome(m: Machine, call: Global, args: Args) -> Any:
    """The plain value of a call, or its description."""
    worked_out = _OUTCOMES.get(call)
    return Built(call, args) if worked_out is None else worked_out(m, call, args)


def _size(_: Machine, call: Global, args: Args) -> Any:
    """The axes of a tensor."""
    if len(args) != 1 or type(args[0]) not in (tuple, list):
        raise Refused(f"{call} of something that is no list of lengths")
    return tuple(args[0])


def _mapping(m: Machine, call: Global, args: Args) -> Any:
    """A dict, from nothing, from a factory of defaults, or from a list of pairs (as Python 2 wrote it)."""
    pairs = args[0] if args and call.name == "OrderedDict" else []
    if type(pairs) is dict:
        return dict(pairs)
    if type(pairs) not in (list, tuple) or not all(type(p) in (list, tuple) and len(p) == 2 for p in pairs):
        raise Refused(f"{call} of something that is no list of pairs")
    for key, _ in pairs:
        m.check_key(key)
    return dict(pairs)


def _elements(m: Machine, call: Global, args: Args) -> Any:
    """A set of the elements of a list."""
    found = args[0] if args else ()
    if len(args) > 1 or type(found) not in (list, tuple, set, frozenset):
        raise Refused(f"{call} of something that is no list")
    for each in found:
        m.check_key(each)
    return set(found) if call.name == "set" else frozenset(found)


def _complex(_: Machine, call: Global, args: Args) -> Any:
    if len(args) != 2 or not all(type(part) in (int, float) for part in args):
        raise Refused(f"{call} of something else than two numbers")
    try:
        return complex(*args)
    except OverflowError:
        raise Refused(f"{call} of a number that is too large") from None


def _encoded(_: Machine, call: Global, args: Args) -> Any:
    """Bytes as protocols 0 to 2 write them: a text whose characters are the bytes."""
    if len(args) != 2 or type(args[0]) is not str or args[1] not in ("latin1", "latin-1"):
        return Built(call, args)
    try:
        return args[0].encode("latin1")
    except UnicodeEncodeError:
        raise Refused(f"{call} of a text that is no latin-1") from None


def _octets(_: Machine, call: Global, args: Args) -> Any:
    """Bytes, or an array of them, from nothing, from bytes or from a text."""
    kind = bytes if call.name == "bytes" else bytearray
    if not args:
        return kind()
    if len(args) == 1 and type(args[0]) in (bytes, bytearray):
        return kind(args[0])
    if len(args) == 2 and type(args[0]) is str and args[1] in ("latin1", "latin-1"):
        try:
            return kind(args[0].encode("latin1"))
        except UnicodeEncodeError:
            raise Refused(f"{call} of a text that is no latin-1") from None
    raise Refused(f"{call} of something that is no text and no bytes")


def _reconstructed(m: Machine, call: Global, args: Args) -> Any:
    """An object as protocols 0 and 1 make it: class, the built-in class behind it, and its value."""
    if len(args) != 3 or type(args[0]) is not Global:
        return Built(call, args)
    return outcome(m, args[0], () if args[2] is None else (args[2],))


_OUTCOMES: dict[Global, Callable[[Machine, Global, Args], Any]] = {
    Global("torch", "Size"): _size,
    Global("collections", "OrderedDict"): _mapping,
    Global("collections", "defaultdict"): _mapping,
    Global("_codecs", "encode"): _encoded,
    **{Global(*name): _reconstructed for name in COPYREG},
    **{Global(module, name): _elements for module in BUILTINS for name in ("set", "frozenset")},
    **{Global(module, name): _octets for module in BUILTINS for name in ("bytes", "bytearray")},
    **{Global(module, "complex"): _complex for module in BUILTINS},
}
