from __future__ import annotations

import pickle
import random
import struct
import tracemalloc

import pytest

from ckptplan.checkpoint.pickles.limits import Limits
from ckptplan.checkpoint.pickles.loading import load_pickle
from ckptplan.errors import InputError

MOST_MEMORY = 50e6  # bytes, for any of the files below


def nest(leaf: bytes, times: int) -> bytes:
    """A tuple of ten times a tuple of ten times ... : 10^times leaves in 25 bytes for each factor."""
    data = b"\x80\x04" + leaf + b"\x94"
    for memo in range(times):
        data += b"(" + (b"h" + bytes((memo,))) * 10 + b"t\x94"
    return data + b"."


REFUSED = {
    "bytes that claim 4 EiB": (b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b"xx", "byte 2"),
    "text that claims 4 GiB": (b"X" + struct.pack("<I", (1 << 32) - 1) + b"x.", "left"),
    "string of negative length": (b"T" + struct.pack("<i", -1) + b".", "negative"),
    "integer that claims 2 GB": (b"\x8b" + struct.pack("<i", (1 << 31) - 1) + b".", "integer of"),
    "integer of negative length": (b"\x8b" + struct.pack("<i", -5) + b".", "negative"),
    "integer of 100 KB": (b"\x8b" + struct.pack("<i", 100_000) + bytes(100_000) + b".", "integer of"),
    "integer of a million digits": (b"L" + b"9" * 1_000_000 + b"L\n.", "digits"),
    "integer that is none": (b"Inan\n.", "digits"),
    "number that is none": (b"F1_0\n.", "number"),
    "number of a million digits": (b"F" + b"9" * 1_000_000 + b"\n.", "number"),
    "lists nested 50,000 deep": (b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b".", "deep"),
    "tuples nested 200,000 deep": (b"\x80\x02)" + b"\x85" * 200_000 + b".", "deep"),
    "objects nested 30,000 deep": (b"cx\ny\n" * 30_000 + b")" + b"R\x85" * 30_000 + b".", "deep"),
    "10^12 shared leaves": (nest(b"K\x01", 12), "shared"),
    "10^200 shared leaves": (nest(b"K\x01", 200), "shared"),
    "a key of 10^12 leaves": (nest(b"K\x01", 12)[:-1] + b"}h\x0bNs.", "key"),
    "a set with an element of 10^12 leaves": (nest(b"K\x01", 12)[:-1] + b"\x8f(h\x0b\x90.", "element"),
    "a list as a key": (b"}]Ns.", "key"),
    "a dict as a key of many": (b"}(}Nu.", "key"),
    "integers that collide as keys": (b"}\x8a\x09" + ((1 << 61) - 1).to_bytes(9, "little") + b"Ns.", "key"),
    "no STOP": (b"\x80\x02K\x01", "STOP"),
    "nothing": (b"", "STOP"),
    "an empty stack": (b".", "stack"),
    "no mark": (b"\x80\x02t.", "mark"),
    "no mark of items": (b"\x80\x02}u.", "mark"),
    "a memo without a value": (b"h\x07.", "memo"),
    "a memo place below zero": (b"K\x01p-1\n.", "memo"),
    "a frame beyond the end": (b"\x80\x04\x95" + struct.pack("<Q", 1000) + b"N.", "frame"),
    "no opcode": (b"\xff.", "opcode"),
    "protocol 6": (b"\x80\x06N.", "protocol"),
    "an extension": (b"\x82\x01.", "outside"),
    "an extension of four bytes": (b"\x84\x01\x00\x00\x00.", "outside"),
    "a buffer from outside": (b"\x97.", "outside"),
    "text that is not UTF-8": (b"\x8c\x01\xff.", "UTF-8"),
    "a name that is a number": (b"K\x01K\x02\x93.", "name"),
    "a call of a number": (b"K\x01)R.", "calls"),
    "arguments that are a list": (b"cx\ny\n]R.", "arguments"),
    "a state of a number": (b"K\x01K\x02b.", "state"),
    "an item of a number": (b"K\x01K\x02a.", "appends"),
    "a key of a list": (b"]K\x01K\x02s.", "items"),
    "an odd number of keys and values": (b"}(K\x01u.", "value"),
    "a size of a number": (b"ctorch\nSize\nK\x01\x85R.", "Size"),
    "text without quotes": (b"Sabc\n.", "quotes"),
    "an escape that is none": (b"S'\\q'\n.", "escape"),
    "a text with half an escape": (b"V\\u12\n.", "escape"),
    "a line that does not end": (b"S'abc", "end"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_pickles_are_refused(name):
    """Each ends in one error that says what is wrong, in which file, with little memory."""
    data, said = REFUSED[name]
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            load_pickle(data, "state.pkl", None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert said in caught.value.render()
    assert "state.pkl" in caught.value.render()
    assert peak < MOST_MEMORY + 50 * len(data)


def test_a_far_place_of_the_memo_costs_nothing():
    """LONG_BINPUT at two thousand million takes one place, not so many."""
    tracemalloc.start()
    try:
        assert load_pickle(b"K\x07r\xff\xff\xff\x7f0j\xff\xff\xff\x7f.", "state.pkl", None).value == 7
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("limits", "data"),
    [
        (Limits(opcodes=100), pickle.dumps(list(range(1000)))),
        (Limits(containers=100), pickle.dumps([[] for _ in range(101)])),
        (Limits(depth=3), pickle.dumps([[[[]]]])),
        (Limits(text_bytes=10), pickle.dumps("x" * 11)),
        (Limits(text_bytes=10), pickle.dumps(b"x" * 11)),
        (Limits(text_bytes=10), pickle.dumps("x" * 11, 0)),
        (Limits(integer_bytes=8), pickle.dumps(1 << 70)),
        (Limits(pickle_bytes=10), pickle.dumps("x" * 11)),
        (Limits(key_parts=2), pickle.dumps({(1, 2, 3): 1})),
        (Limits(foreign=1), b"cx\ny\n0cx\nz\n."),
    ],
)
def test_every_limit_holds(limits, data):
    """One more than a limit allows is an error; without the limit the file is read."""
    load_pickle(data, "state.pkl", None)
    with pytest.raises(InputError):
        load_pickle(data, "state.pkl", None, limits)


def test_deep_values_within_the_limit():
    """A value nested as deep as the limit allows is read, however it is built."""
    assert load_pickle(b"\x80\x02)" + b"\x85" * 998 + b".", "state.pkl", None).value


def test_every_piece_of_a_pickle_is_refused():
    """Cut off anywhere, a pickle ends in an error."""
    value = {"a": [1, 2.5, "text", b"bytes", (1, 2), {3}, None, 1 << 80], "b": {"c": "é" * 300}}
    for protocol in range(6):
        data = pickle.dumps(value, protocol)
        for end in range(len(data)):
            with pytest.raises(InputError):
                load_pickle(data[:end], "state.pkl", None)


@pytest.mark.parametrize("protocol", range(6))
def test_mutations_end_in_a_value_or_an_error(protocol):
    """Bytes changed, cut out, doubled or put in anywhere: nothing else than a value or an InputError comes of it."""
    rng = random.Random(protocol)  # noqa: S311
    value = {"a": [1, 2.5, "text", b"bytes", (1, 2), {3}, None, 1 << 80], "b": {"c": (1, (2, 3))}, "d": frozenset("ab")}
    whole = pickle.dumps([value, value, complex(1, 2), bytearray(b"x")], protocol)
    read = refused = 0
    for _ in range(1_500):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            what = rng.randrange(4)
            if what == 0:
                data[at] = rng.randrange(256)
            elif what == 1:
                del data[at : at + rng.randint(1, 9)]
            elif what == 2:
                data[at:at] = data[at : at + rng.randint(1, 30)]
            else:
                data[at] = rng.choice(b"(0.12abcdehijlopqrstu]})\x81\x85\x86\x87\x8f\x90\x91\x92\x93\x94\x95")
            if not data:
                data = bytearray(b"N")
        try:
            load_pickle(bytes(data), "state.pkl", None)
            read += 1
        except InputError:
            refused += 1
    assert read > 50
    assert refused > 300
