"""The numbers of a model configuration: checked, bounded, and completed where a key is absent."""

from collections.abc import Iterable, Mapping
from typing import Any

from ckptplan.architectures.class_facts import (
    ADDING,
    ALIASES,
    ALWAYS,
    BOUNDS,
    EXPERTS,
    GROUPS,
    MOST,
    MOST_LAYERS,
    NEVER_NULL,
    defaults,
)
from ckptplan.errors import InputError, Place, Problem, printable

MOST_PROBLEMS = 20
PARAMETERS = "write parameters: with the count of the model's card instead"
_MOST_COMPARED = 500  # keys; no configuration has more
_ALIKE = 0.9  # num_hiden_layers is 0.97 like num_hidden_layers, v_head_dim 0.89 like head_dim

_ABSENT = object()
_LAYER_KEYS = ("num_hidden_layers", "depth")


class Dimensions:
    """Values of one configuration or of a group in it; faults are collected, and ``check`` raises them all."""

    def __init__(
        self, values: Mapping[str, Any], model_type: str, source: str = "", parent: "Dimensions | None" = None
    ) -> None:
        self.values, self.model_type, self.source = values, model_type, source
        self.group_name = ""
        self._read: set[str] = set()
        self.problems: list[Problem] = parent.problems if parent else []
        self.assumed: list[str] = parent.assumed if parent else []
        self.defaulted = defaults().get(model_type, {})
        self._names = ALIASES.get(model_type, {})

    def size(self, key: str, default: int | None = None) -> int:
        """A number of at least 1."""
        return self._integer(key, 1, default)

    def count(self, key: str, default: int | None = None) -> int:
        """A number of at least 0."""
        return self._integer(key, 0, default)

    def maybe(self, key: str, derived: int | None = None, least: int = 1) -> int | None:
        """A number that may be null: then the derived one."""
        value = self.value(key)
        if value is None and self.model_type in NEVER_NULL.get(key, ()):
            self.fault(key, "null, which this family does not allow", "write the number")
        if value is not None:
            return self._checked(key, value, least)
        if derived is not None and not self._is_given(key):
            self.assume(f"{key} = {derived} (derived)")
        return derived

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value = self.value(key, default)
        if isinstance(value, bool):
            return value
        self.fault(key, f"{shown(value)} is not true or false")
        return False

    def numbers(self, key: str, most: int) -> tuple[int, ...]:
        """A list of layer numbers below ``most``; null and absent are an empty one."""
        value = self.value(key, None)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > MOST_LAYERS:
            self.fault(key, f"{shown(value)} is not a list of at most {MOST_LAYERS:,} layer numbers")
            return ()
        wrong = next((v for v in value if not _is_integer(v) or not 0 <= v < most), _ABSENT)
        if wrong is not _ABSENT:
            known = f"layers are 0 to {most - 1:,} here"
            self.contradiction((key, *_LAYER_KEYS), f"{shown(wrong)} is not the number of a layer", known)
            return ()
        return tuple(value)

    def words(self, key: str, length: int, allowed: Iterable[str]) -> tuple[str, ...] | None:
        """One word for each layer; None where the key is null or absent."""
        value = self.value(key, None)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != length:
            found = f"a list of {len(value):,}" if isinstance(value, list) else shown(value)
            self.contradiction((key, *_LAYER_KEYS), f"{found}, where each of the {length:,} layers has one word")
            return None
        known = tuple(allowed)
        wrong = next((v for v in value if v not in known), _ABSENT)
        if wrong is not _ABSENT:
            self.fault(key, f"{shown(wrong)} is not a kind of layer here", f"kinds are {', '.join(known)}")
            return None
        return tuple(value)

    def group(self, key: str, model_type: str = "") -> "Dimensions":
        """The group of keys under a key; where absent, an empty one."""
        value = self.value(key, None)
        if value is not None and not isinstance(value, Mapping):
            self.fault(key, f"{shown(value)} is not a group of keys")
            value = None
        inner = Dimensions(value or {}, model_type, self.source, self)
        inner.group_name = f"{self.group_name}{key}."
        return inner

    def value(self, key: str, default: Any = _ABSENT) -> Any:
        """The value as it stands, or that of the class; names that mean the same must agree."""
        self._read.add(key)
        given = {name: self.values[name] for name in (key, *self._names.get(key, ())) if name in self.values}
        first = next(iter(given.values()), _ABSENT)
        if any(other != first for other in given.values()):
            written = ", ".join(f"{name} = {shown(value)}" for name, value in given.items())
            self.fault(key, f"two names of one dimension disagree: {written}")
        if first is not _ABSENT:
            return first
        taken = self.defaulted.get(key, default)
        near = self._misspelt(key)
        if near:
            self.fault(near, f"is not known; is it {key}, which is missing?", "correct or delete the key")
        if taken is _ABSENT:
            if not near:
                self.fault(key, "missing", f"{self.model_type or 'this group'} has no default for it")
            return 1
        if taken is not None and (taken is not False or key == "tie_word_embeddings"):
            self.assume(f"{key} = {str(taken).lower() if isinstance(taken, bool) else taken}")
        return taken

    def assume(self, note: str) -> None:
        """Keep what was taken for a key that is absent; the same is named once."""
        if f"{self.group_name}{note}" not in self.assumed:
            self.assumed.append(f"{self.group_name}{note}")

    def has(self, key: str) -> bool:
        """Whether the configuration gives the key, and not as null."""
        return any(self.values.get(name) is not None for name in (key, *self._names.get(key, ())))

    def _is_given(self, key: str) -> bool:
        """Whether the configuration gives the key, be it as null."""
        return any(name in self.values for name in (key, *self._names.get(key, ())))

    def refuse(self, key: str, accepted: Iterable[Any], why: str) -> None:
        """A fault where the key is given with a value under which the tensors are not known."""
        value = self.values.get(key)
        if key in self.values and not any(value == one and type(value) is type(one) for one in accepted):
            self.fault(key, f"{shown(value)}: {why}", PARAMETERS)

    def fault(self, key: str, message: str, hint: str | None = None) -> None:
        """Keep a fault; the same key is named once."""
        name = f"{self.group_name}{key}"
        if not any(problem.key == name for problem in self.problems):
            self.problems.append(Problem(message, Place(self.source) if self.source else None, name, hint))

    def check_unread(self) -> None:
        """A fault for each flag, group and number of experts that adds tensors and was not asked for."""
        known = self._read | self.defaulted.keys() | {name for key in self._read for name in self._names.get(key, ())}
        family = self.model_type or "this family"
        for key in GROUPS:
            if key not in known and isinstance(self.values.get(key), Mapping) and self.values[key]:
                hint = "name the model_type of the whole model, or the config.json of the language model by itself"
                self.fault(key, f"a group that {family} does not have: what it says would be left out", hint)
        for key in EXPERTS:
            given = self.values.get(key)
            if key not in known and isinstance(given, int) and int(given) > 1:
                self.fault(key, f"{shown(given)} experts, which {family} does not have", "is model_type right?")
        always = ALWAYS.get(self.model_type, ())
        for key in ADDING:
            given = self.values.get(key)
            if given is False and key in always and key == "use_qk_norm" and self.model_type != "llama4_text":
                self.fault(key, "false, but this family always has these norms", PARAMETERS)
            elif given is True and key not in self._read and key not in always:
                self.fault(key, "true, which is not known of this family", PARAMETERS)

    def contradiction(self, keys: tuple[str, ...], message: str, hint: str | None = None) -> None:
        """A fault of the first key by what the others say, unless one of them is at fault itself."""
        wrong = {problem.key for problem in self.problems}
        if not any(f"{self.group_name}{key}" in wrong for key in keys):
            self.fault(keys[0], message, hint)

    def check(self) -> None:
        """Raise what was found, 20 faults and a count at most."""
        kept, more = self.problems[:MOST_PROBLEMS], len(self.problems) - MOST_PROBLEMS
        if more > 0:
            place = Place(self.source) if self.source else None
            kept.append(Problem(f"and {more:,} more fault{'' if more == 1 else 's'}", place))
        if kept:
            raise InputError(kept)

    def _misspelt(self, key: str) -> str | None:
        """A key that is given, means nothing, and is almost the one that is absent."""
        if len(self.values) > _MOST_COMPARED:
            return None
        known = {*self.defaulted, *(name for names in self._names.values() for name in names)}
        given = [name for name in self.values if name not in known and len(name) <= 2 * len(key)]
        from difflib import get_close_matches  # only an absent key needs it

        near = get_close_matches(key, given, n=1, cutoff=_ALIKE)
        return near[0] if near else None

    def _integer(self, key: str, least: int, default: int | None) -> int:
        value = self.value(key) if default is None else self.value(key, default)
        return self._checked(key, value, least)

    def _checked(self, key: str, value: Any, least: int) -> int:
        most = BOUNDS.get(key, MOST)
        if value is None:
            self.fault(key, "null, where a number is needed", "write the number that the model has")
        elif not _is_integer(value):
            self.fault(key, f"{shown(value)} is not a whole number", "write it without quotes, point or exponent")
        elif not least <= value <= most:
            self.fault(key, f"{shown(value)} is not between {least} and {most:,}")
        else:
            return int(value)
        return max(least, 1)


def shown(value: Any) -> str:
    """A value of the user's as a message can hold it."""
    if isinstance(value, list | Mapping):
        return "a list" if isinstance(value, list) else "a group of keys"
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else _plain(value)
    return printable(text if len(text) <= 40 else f"{text[:37]}...")


def _plain(value: Any) -> str:
    if _is_integer(value) and abs(value) >= 10**30:
        return "a number of more than 30 digits"  # Python refuses to print very long ones
    return repr(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
