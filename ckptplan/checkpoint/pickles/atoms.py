"""Opcodes of numbers, texts, bytes and the memo."""

from __future__ import annotations

import re
from struct import Struct
from typing import Any, NoReturn

from ckptplan.checkpoint.pickles.machine import Machine, Operation, Refused

_UINT2, _INT4, _UINT4 = Struct("<H").unpack_from, Struct("<i").unpack_from, Struct("<I").unpack_from
_UINT8, _FLOAT = Struct("<Q").unpack_from, Struct(">d").unpack_from
_HIGHEST_PROTOCOL = 5
_DIGITS = re.compile(rb"\s*[-+]?[0-9]+\s*")
_REAL = re.compile(rb"\s*[-+]?(nan|inf|[0-9.]+(e[-+]?[0-9]{1,4})?)\s*", re.IGNORECASE)
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\", b"'": b"'", b'"': b'"'}
_LONGEST_REAL = 2_000  # characters; "%r" of a float has 24


def line(machine: Machine, at: int) -> tuple[bytes, int]:
    """The text up to the next line break, and the position behind it."""
    end = machine.data.find(b"\n", at)
    if end < 0:
        raise Refused("a line that does not end", "the file is cut off")
    if end - at > machine.limits.text_bytes:
        raise Refused(f"a text of {end - at:,} bytes", "no checkpoint has one that long")
    return machine.data[at:end], end + 1


def piece(machine: Machine, at: int, length: int) -> bytes:
    """So many bytes of the data: nothing is made for more than there are."""
    if length > len(machine.data) - at:
        raise Refused(f"a text of {length:,} bytes where {len(machine.data) - at:,} are left", "the file is cut off")
    if length > machine.limits.text_bytes:
        raise Refused(f"a text of {length:,} bytes", "no checkpoint has one that long")
    return machine.data[at : at + length]


def _text(raw: bytes) -> str:
    try:
        return str(raw, "utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise Refused("a text that is not UTF-8") from None


def _old_text(raw: bytes) -> str | bytes:
    """A string of Python 2: text if it is UTF-8, else bytes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _unescape(found: re.Match[bytes]) -> bytes:
    what = found[1]
    if what[:1] == b"x" and len(what) == 3:
        return bytes((int(what[1:], 16),))
    if what not in _ESCAPED:
        raise Refused("an escape that no string is written with")
    return _ESCAPED[what]


def _integer(raw: bytes, machine: Machine) -> int:
    """A whole number that is written in digits."""
    if len(raw) > 2 * machine.limits.integer_bytes:
        raise Refused(f"an integer of {len(raw):,} digits", "no checkpoint has one that long")
    if not _DIGITS.fullmatch(raw):
        raise Refused("an integer that is not written in digits")
    return int(raw)


def _none(m: Machine, at: int) -> int:
    m.stack.append(None)
    return at


def _true(m: Machine, at: int) -> int:
    m.stack.append(True)
    return at


def _false(m: Machine, at: int) -> int:
    m.stack.append(False)
    return at


def _int_line(m: Machine, at: int) -> int:
    raw, end = line(m, at)
    m.stack.append(raw == b"01" if raw in (b"00", b"01") else _integer(raw, m))
    return end


def _long_line(m: Machine, at: int) -> int:
    raw, end = line(m, at)
    m.stack.append(_integer(raw.removesuffix(b"L"), m))
    return end


def _float_line(m: Machine, at: int) -> int:
    raw, end = line(m, at)
    if len(raw) > _LONGEST_REAL or not _REAL.fullmatch(raw) or raw.count(b".") > 1 or raw.strip() in (b".", b"-."):
        raise Refused("a number that is not written as one")
    m.stack.append(_real(raw))
    return end


def _real(raw: bytes) -> float:
    try:
        return float(raw)
    except ValueError:
        raise Refused("a number that is not written as one") from None


def _uint1(m: Machine, at: int) -> int:
    m.stack.append(m.data[at])
    return at + 1


def _uint2(m: Machine, at: int) -> int:
    m.stack.append(_UINT2(m.data, at)[0])
    return at + 2


def _int4(m: Machine, at: int) -> int:
    m.stack.append(_INT4(m.data, at)[0])
    return at + 4


def _long(m: Machine, at: int, length: int) -> int:
    if length > m.limits.integer_bytes:
        raise Refused(f"an integer of {length:,} bytes", "no checkpoint has one that long")
    m.stack.append(int.from_bytes(piece(m, at, length), "little", signed=True))
    return at + length


def _long1(m: Machine, at: int) -> int:
    return _long(m, at + 1, m.data[at])


def _long4(m: Machine, at: int) -> int:
    length = _INT4(m.data, at)[0]
    if length < 0:
        raise Refused("an integer of a negative length")
    return _long(m, at + 4, length)


def _float8(m: Machine, at: int) -> int:
    m.stack.append(_FLOAT(m.data, at)[0])
    return at + 8


def _sized(m: Machine, at: int, length: int) -> tuple[bytes, int]:
    if length < 0:
        raise Refused("a text of a negative length")
    return piece(m, at, length), at + length


def _unicode_line(m: Machine, at: int) -> int:
    raw, end = line(m, at)
    try:
        m.stack.append(str(raw, "raw-unicode-escape"))
    except UnicodeDecodeError:
        raise Refused("a text with an escape that is none") from None
    return end


def _short_unicode(m: Machine, at: int) -> int:
    length = m.data[at]
    m.stack.append(_text(piece(m, at + 1, length)))
    return at + 1 + length


def _unicode4(m: Machine, at: int) -> int:
    raw, end = _sized(m, at + 4, _UINT4(m.data, at)[0])
    m.stack.append(_text(raw))
    return end


def _unicode8(m: Machine, at: int) -> int:
    raw, end = _sized(m, at + 8, _UINT8(m.data, at)[0])
    m.stack.append(_text(raw))
    return end


def _string_line(m: Machine, at: int) -> int:
    raw, end = line(m, at)
    raw = raw.strip()
    if len(raw) < 2 or raw[:1] != raw[-1:] or raw[:1] not in (b"'", b'"'):
        raise Refused("a string without quotes")
    m.stack.append(_old_text(_ESCAPE.sub(_unescape, raw[1:-1])))
    return end


def _string1(m: Machine, at: int) -> int:
    raw, end = _sized(m, at + 1, m.data[at])
    m.stack.append(_old_text(raw))
    return end


def _string4(m: Machine, at: int) -> int:
    raw, end = _sized(m, at + 4, _INT4(m.data, at)[0])
    m.stack.append(_old_text(raw))
    return end


def _bytes1(m: Machine, at: int) -> int:
    raw, end = _sized(m, at + 1, m.data[at])
    m.stack.append(raw)
    return end


def _bytes4(m: Machine, at: int) -> int:
    raw, end = _sized(m, at + 4, _UINT4(m.data, at)[0])
    m.stack.append(raw)
    return end


def _bytes8(m: Machine, at: int) -> int:
    raw, end = _sized(m, at + 8, _UINT8(m.data, at)[0])
    m.stack.append(raw)
    return end


def _bytearray8(m: Machine, at: int) -> int:
    raw, end = _sized(m, at + 8, _UINT8(m.data, at)[0])
    m.stack.append(bytearray(raw))
    return end


def recalled(m: Machine, index: int) -> Any:
    """A value of the memo."""
    try:
        return m.memo[index]
    except KeyError:
        raise Refused(f"the memo holds nothing at {index:,}") from None


def _get_line(m: Machine, at: int) -> int:
    raw, end = line(m, at)
    m.stack.append(recalled(m, _integer(raw, m)))
    return end


def _get1(m: Machine, at: int) -> int:
    m.stack.append(recalled(m, m.data[at]))
    return at + 1


def _get4(m: Machine, at: int) -> int:
    m.stack.append(recalled(m, _UINT4(m.data, at)[0]))
    return at + 4


def _put_line(m: Machine, at: int) -> int:
    raw, end = line(m, at)
    index = _integer(raw, m)
    if not 0 <= index < 1 << 32:
        raise Refused(f"a place {index} of the memo")
    m.memo[index] = m.stack[-1]
    return end


def _put1(m: Machine, at: int) -> int:
    m.memo[m.data[at]] = m.stack[-1]
    return at + 1


def _put4(m: Machine, at: int) -> int:
    m.memo[_UINT4(m.data, at)[0]] = m.stack[-1]
    return at + 4


def _memoize(m: Machine, at: int) -> int:
    memo = m.memo
    memo[len(memo)] = m.stack[-1]
    return at


def _protocol(m: Machine, at: int) -> int:
    if m.data[at] > _HIGHEST_PROTOCOL:
        raise Refused(f"pickle protocol {m.data[at]}", f"protocols up to {_HIGHEST_PROTOCOL} are read")
    return at + 1


def _frame(m: Machine, at: int) -> int:
    length = _UINT8(m.data, at)[0]
    if length > len(m.data) - at - 8:
        raise Refused(f"a frame of {length:,} bytes where {len(m.data) - at - 8:,} are left", "the file is cut off")
    return at + 8


def _outside(_: Machine, __: int) -> NoReturn:
    raise Refused("it takes data from outside of the file, or from a registry of extensions", "such files are not read")


ATOMS: dict[int, Operation] = {
    ord("N"): _none, 0x88: _true, 0x89: _false, ord("I"): _int_line, ord("L"): _long_line, ord("F"): _float_line,
    ord("K"): _uint1, ord("M"): _uint2, ord("J"): _int4, 0x8A: _long1, 0x8B: _long4, ord("G"): _float8,
    ord("V"): _unicode_line, 0x8C: _short_unicode, ord("X"): _unicode4, 0x8D: _unicode8, ord("S"): _string_line,
    ord("U"): _string1, ord("T"): _string4, ord("C"): _bytes1, ord("B"): _bytes4, 0x8E: _bytes8, 0x96: _bytearray8,
    ord("g"): _get_line, ord("h"): _get1, ord("j"): _get4, ord("p"): _put_line, ord("q"): _put1, ord("r"): _put4,
    0x94: _memoize, 0x80: _protocol, 0x95: _frame, 0x82: _outside, 0x83: _outside, 0x84: _outside, 0x97: _outside,
    0x98: _outside,
}  # fmt: skip
