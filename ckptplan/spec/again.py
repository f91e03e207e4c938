"""A scenario with other values, built from another one: only the groups whose values changed are read again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ckptplan.cost.scenario import Scenario
from ckptplan.spec.build import build, build_restart
from ckptplan.spec.record import Record
from ckptplan.spec.saves import build_saves, build_storage
from ckptplan.spec.training import build_training

# Their builders read nothing of each other but what is given there: of the rest, only whether a key is there at all.
_BY_THEMSELVES = frozenset({"storage", "save", "restart", "training"})


def build_again(record: Record, base: Scenario, keys: Iterable[str]) -> Scenario | None:
    """The scenario of a record that differs from that of ``base`` in the values of some keys.

    Parameters
    ----------
    record : Record
        With the new values.
    base : Scenario
        Built from the same keys with other values, without a fault.
    keys : iterable of str
        Those whose values changed.

    Returns
    -------
    Scenario or None
        None if any fault was noted in the fields of the record.
    """
    groups = {key.partition(".")[0].partition("[")[0] for key in keys}
    recorded = "failures.record" in record.fields.groups  # which may say how long a restart takes
    if not groups <= _BY_THEMSELVES or base.has_spectrum or recorded:
        return build(record)
    parts: dict[str, Any] = {}
    if "storage" in groups:
        parts["storage"] = build_storage(record)
    if "restart" in groups:
        parts["restart"] = build_restart(record)
    if "training" in groups:
        parts["training"] = build_training(record, base.cluster)
    if groups & {"save", "training"}:  # the step time of a save is held against that of training
        parts["saves"] = build_saves(record)
    if record.fields.problems or parts.get("saves", ()) is None:
        return None
    return replace(base, **parts)
