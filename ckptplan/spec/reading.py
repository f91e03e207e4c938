"""Bytes of a spec to a Scenario with its provenance, or to one error that holds every fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ckptplan.cost.scenario import Scenario
from ckptplan.cost.spread import Spread
from ckptplan.errors import InputError, Problem, printable
from ckptplan.spec.assignments import from_environment, from_flags
from ckptplan.spec.build import build
from ckptplan.spec.document import parse, read_text
from ckptplan.spec.fields import Fields, read_fields
from ckptplan.spec.named_files import NamedFiles
from ckptplan.spec.overlay import apply, expand_presets
from ckptplan.spec.record import Record, Value, nested
from ckptplan.spec.shorthand import spelled_out
from ckptplan.spec.tree import MapNode, Node

__all__ = ["Spec", "Value", "read_spec", "spec_json_schema"]

_NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})
_MOST_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class Spec:
    """A spec as read: the scenario, every value in force, and ``si``, the same nested and ready for JSON."""

    file: str
    scenario: Scenario
    values: tuple[Value, ...]
    si: dict[str, Any]
    warnings: tuple[Problem, ...]
    spreads: Mapping[str, Spread] = field(default_factory=dict)  # key -> what is known of a value that is not exact
    named: tuple[str, ...] = ()  # files that it names and that were read
    _fields: Fields | None = None
    _files: NamedFiles | None = None

    def with_values(self, values: Mapping[str, float]) -> Scenario:
        """The scenario with other values, in SI, for keys that are not known exactly.

        Raises
        ------
        InputError
            If no scenario has these values together.
        """
        if self._fields is None:
            return self.scenario
        from ckptplan.spec.unheard import Unheard

        return self._again(Unheard(self._with(values), self._files, values), values)

    def with_arrays(self, values: Mapping[str, Any]) -> tuple[Scenario, Sequence[Any]]:
        """The same with many values at once: arrays of several each, that broadcast against each other.

        Returns
        -------
        scenario, refused
            Numbers that follow from the values are arrays. Each of ``refused`` is an array that is true where the
            values are refused.

        Raises
        ------
        InputError
            If none of these values make a scenario.
        ValueError, TypeError
            If something but numbers depends on a value: then `with_values` must take them one by one.
        """
        from ckptplan.spec.unheard import Along

        record = Along(self._with(values), self._files, values)
        return self._again(record, values), record.refused

    def _with(self, values: Mapping[str, Any]) -> Fields:
        """The fields with other values."""
        if self._fields is None:
            raise TypeError("a scenario that was not read from fields takes no other values")
        given = {key: self._fields.given[key]._replace(si=value) for key, value in values.items()}
        return replace(self._fields, given=self._fields.given | given, problems=[], faulty=set())

    def _again(self, record: Record, values: Mapping[str, Any]) -> Scenario:
        from ckptplan.spec.again import build_again

        scenario = build_again(record, self.scenario, values)
        if scenario is None:
            raise InputError(_in_order(record.fields.problems))
        return scenario


def read_spec(
    data: bytes,
    file: str,
    *,
    sets: Sequence[str] = (),
    environment: Mapping[str, str] = _NO_ENVIRONMENT,
    files: NamedFiles | None = None,
) -> Spec:
    """Read a spec of format version 1.

    Parameters
    ----------
    data : bytes
        The YAML text, UTF-8.
    file : str
        Its name, for messages.
    sets : sequence of str
        ``KEY=VALUE``, each overriding a key of the file and of the environment.
    environment : mapping
        Variables; those named ``CKPTPLAN_SPEC__CLUSTER__GPUS`` and so on override keys of the file.
        A preset that a flag or a variable names replaces the group (storage, failures, restart), or the keys that it
        speaks of and what an older preset gave (model, cluster, save).
    files : NamedFiles, optional
        Reads the files that the spec names.

    Raises
    ------
    InputError
        With every fault of the file and of the overrides.
    """
    text, source = read_text(data, file)
    root, problems = parse(text, source)
    if isinstance(root, MapNode):
        root = spelled_out(expand_presets(root, problems))
        root = spelled_out(apply(root, from_environment(environment, problems), problems))
        root = spelled_out(apply(root, from_flags(sets, problems), problems))
    _refuse_a_study(root)
    fields = read_fields(root, file)
    fields.faulty |= {problem.key for problem in problems if problem.key}
    fields.problems[:0] = problems
    if "sweep" in fields.groups:
        from ckptplan.spec.sweep_group import take_sweep

        take_sweep(fields, alone=False)  # of no use to a scenario, but checked with the rest of the file
    record = Record(fields, files)
    if "storage.measured" in fields.given:
        from ckptplan.spec.measured import take_measured

        take_measured(record)
    scenario = build(record)
    if scenario is None:
        raise InputError(_in_order(fields.problems))
    return Spec(
        file,
        scenario,
        tuple(record.values),
        nested(record.values),
        tuple(record.warnings),
        {key: given.spread for key, given in fields.given.items() if given.spread is not None},
        _fields=fields,
        _files=files,
    )


def _refuse_a_study(root: Node) -> None:
    if not isinstance(root, MapNode) or "sweep" not in root.entries:
        return
    from ckptplan.spec.sweep_group import is_study

    if is_study(root):
        message = "this file asks for a sweep of other specs, and is none itself"
        hint = f"ckptplan sweep {printable(root.source.name)}; or name one of its specs here"
        raise InputError(Problem(message, root.place, "sweep", hint))


def spec_json_schema() -> dict[str, Any]:
    """The JSON Schema of a spec file."""
    from ckptplan.spec.json_schema import json_schema

    return json_schema()


def _in_order(problems: Sequence[Problem]) -> list[Problem]:
    """Faults by position, those of flags last, and not more than a screen or two."""

    def position(problem: Problem) -> tuple[bool, int, int]:
        place = problem.place
        line = None if place is None else place.line
        return line is None, line or 0, (place.column if place else 0) or 0

    ordered = sorted(dict.fromkeys(problems), key=position)
    if len(ordered) <= _MOST_PROBLEMS:
        return ordered
    return [*ordered[:_MOST_PROBLEMS], Problem(f"and {len(ordered) - _MOST_PROBLEMS:,} more faults")]
