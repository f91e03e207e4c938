from __future__ import annotations

import collections
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.checkpoint.pickles.loading import load_pickle
from ckptplan.checkpoint.pickles.values import Built, Global, Reference
from ckptplan.errors import InputError

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
NUMBERS = st.integers() | st.integers(-(1 << 2000), 1 << 2000) | st.floats()
TEXTS = st.text() | st.text(st.characters(codec=None, exclude_categories=()))
ATOMS = st.none() | st.booleans() | NUMBERS | TEXTS | st.binary() | st.complex_numbers() | st.binary().map(bytearray)
KEYS = st.none() | st.booleans() | st.integers(-(1 << 60), 1 << 60) | st.floats(allow_nan=False) | TEXTS | st.binary()
PLAIN = st.recursive(
    ATOMS | st.frozensets(KEYS, max_size=5) | st.sets(KEYS, max_size=5),
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.lists(inner, max_size=6).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=6)
        | st.lists(inner, max_size=3).map(lambda values: [*values, *values])
    ),
    max_leaves=40,
)


def loaded(data: bytes, allowed: frozenset[tuple[str, str]] | None = None) -> Any:
    """The value of a pickle."""
    return load_pickle(data, "state.pkl", allowed).value


def same(found: Any, wanted: Any) -> bool:
    """Equal in type and value, nan to nan, dicts in order."""
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return same(list(found.items()), list(wanted.items()))
    if isinstance(wanted, list | tuple):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, set | frozenset):
        return found == wanted
    return repr(found) == repr(wanted)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(value=PLAIN)
def test_plain_values_are_those_of_pickle(protocol, value):
    """Every plain value is read from every protocol as Python's own pickle reads it, and ends at its STOP."""
    data = pickle.dumps(value, protocol)
    found = load_pickle(data + b"more", "state.pkl", None)
    assert same(found.value, pickle.loads(data))  # noqa: S301 - our own
    assert found.end == len(data)
    assert not found.foreign


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_shared_parts_stay_shared(protocol):
    """A list that occurs twice is one list, and a list may hold itself."""
    inner: list[Any] = [1]
    inner.append(inner)
    found = loaded(pickle.dumps({"a": inner, "b": inner}, protocol))
    assert found["a"] is found["b"]
    assert found["a"][1] is found["a"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_long_values_and_many_items(protocol):
    """Batches of a thousand items, frames of 64 KiB, and texts that stand outside of frames, are followed."""
    value = {"items": list(range(3_500)), "pairs": {str(n): n for n in range(2_500)}, "text": "é" * 200_000}
    value |= {"bytes": bytes(range(256)) * 1_000, "set": set(range(1_500)), "large": [1 << 31, -1 << 31, 1 << 2047]}
    assert same(loaded(pickle.dumps(value, protocol)), value)


def test_several_pickles_in_a_row():
    """Each is read from where the one before ended, as in files that torch wrote before 1.6."""
    data = b"".join(pickle.dumps(value, protocol) for protocol, value in enumerate(([1], "two", {3: 4.0}, (5,), {6})))
    found, at = [], 0
    while at < len(data):
        each = load_pickle(memoryview(data), "state.pt", None, start=at)
        found.append(each.value)
        at = each.end
    assert found == [[1], "two", {3: 4.0}, (5,), {6}]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ordered_and_default_dicts_become_dicts(protocol):
    """Dicts of the standard library are dicts, in order, and no name is foreign."""
    value = [collections.OrderedDict(b=1, a=2), collections.defaultdict(list, x=[1]), collections.OrderedDict()]
    found = load_pickle(pickle.dumps(value, protocol), "state.pkl", None)
    assert same(found.value, [{"b": 1, "a": 2}, {"x": [1]}, {}])
    assert not {str(name) for name in found.foreign} - {"builtins.list", "__builtin__.list"}


class Point:
    """An object with a state."""

    def __init__(self) -> None:
        self.x = 1


class Words(list[str]):
    """A list with a name."""


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_objects_are_described(protocol):
    """An object of an unknown class is its class, its arguments, its state and its items; the class is foreign."""
    found = load_pickle(pickle.dumps([Point(), Words(["a", "b"])], protocol), "state.pkl", None)
    point, words = found.value
    assert isinstance(point, Built)
    assert point.call == Global(__name__, "Point")
    assert point.state == {"x": 1}
    assert words.items == ["a", "b"] or words.args == (["a", "b"],)
    assert set(found.foreign) == {Global(__name__, "Point"), Global(__name__, "Words")}


def test_attributes_of_a_dict_do_not_matter():
    """The metadata that torch sets on the ordered dict of a module's state is passed over."""
    data = b"\x80\x02ccollections\nOrderedDict\n)RX\x01\x00\x00\x00aK\x01s}X\x09\x00\x00\x00_metadata}sb."
    assert loaded(data) == {"a": 1}


def test_persistent_ids_are_references():
    """What torch.save names by an id, a storage, stays a reference, in text and in binary."""
    assert loaded(b"P7\n.") == Reference("7")
    assert loaded(b"\x80\x02(X\x07\x00\x00\x00storageK\x05tQ.") == Reference(("storage", 5))


def test_sizes_and_python_2():
    """torch.Size is a tuple; strings of Python 2 are texts where they are UTF-8, else bytes."""
    assert loaded(b"\x80\x02ctorch\nSize\n(K\x03K\x04t\x85R.") == (3, 4)
    assert loaded(b"S'a\\x41\\n'\n.") == "aA\n"
    assert loaded(b"\x80\x02U\x02\xff\xfe.") == b"\xff\xfe"
    assert loaded(b"\x80\x02T\x02\x00\x00\x00ab.") == "ab"
    assert loaded(b"I01\n.") is True
    assert loaded(b"L12L\n.") == 12


def test_allowed_names():
    """With a list, a name on it is a stand-in, and any other is an error that names it, dotted names included."""
    allowed = frozenset({("torch", "float32")})
    assert loaded(b"\x80\x02ctorch\nfloat32\n.", allowed) == Global("torch", "float32")
    for module, name in (
        ("os", "system"),
        ("torch", "float32.x"),
        ("torch", "os.system"),
        ("collections", "OrderedDict"),
    ):
        data = b"\x80\x04" + b"".join(b"\x8c" + bytes((len(t),)) + t.encode() for t in (module, name)) + b"\x93."
        with pytest.raises(InputError, match=f"{module}.{name}"):
            loaded(data, allowed)


@pytest.mark.parametrize(
    "data",
    [
        b"(ios\nsystem\nN.",
        b"(cos\nsystem\no.",
        b"cos\nsystem\n.",
        b"\x80\x02cos\nsystem\n)\x81.",
        b"(S'x'\nios\nsystem\n.",
    ],
)
def test_every_way_to_a_name_is_listed(data):
    """INST, OBJ, GLOBAL and NEWOBJ give descriptions without a list, and errors with one."""
    found = load_pickle(data, "state.pkl", None)
    assert found.foreign == (Global("os", "system"),)
    with pytest.raises(InputError, match=r"os\.system"):
        loaded(data, frozenset())
