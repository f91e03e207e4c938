"""Several records of one thing as one: parts of a long record, and other logs that say why."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ckptplan.errors import InputError
from ckptplan.fit.record import (
    Allocations,
    Counts,
    FailureRecord,
    Floats,
    LeftOut,
    Lifetimes,
    Marks,
    Outages,
    Outcome,
    Recoveries,
)

# A node dies of what was logged shortly before; Slurm notices minutes later (SlurmdTimeout is 5 min by default).
JOIN_BEFORE_S, JOIN_AFTER_S = 600.0, 60.0

_Rows = TypeVar("_Rows", Allocations, Outages)


class Combined(NamedTuple):
    """One record to count, and what other files said of its failures."""

    record: FailureRecord
    facts: tuple[str, ...]


class _Reasons(NamedTuple):
    """What was noted when, in order of time."""

    at_s: Floats
    text: tuple[str, ...]


def combined(records: Sequence[FailureRecord]) -> Combined:
    """Records that go together as one.

    Parameters
    ----------
    records : sequence of FailureRecord
        Runs of jobs, outages, or gaps, of one kind; beside runs, outages and marks are only asked for causes.

    Returns
    -------
    Combined

    Raises
    ------
    InputError
        If they cannot be counted together.
    """
    runs = [r for r in records if isinstance(r.content, Allocations)]
    outages = [r for r in records if isinstance(r.content, Outages)]
    times = [r for r in records if isinstance(r.content, Lifetimes | Counts)]
    marks = [r for r in records if isinstance(r.content, Marks)]
    if times and len(records) > 1:
        others = ", ".join(r.file for r in records if r is not times[0])
        message = f"{times[0].file}: times without a calendar cannot be counted together with {others}"
        raise InputError(message, hint="fit each file by itself")
    counted = runs or outages or times
    if not counted:
        named = ", ".join(dict.fromkeys(r.format for r in marks))
        hint = "give the record of the failures too: ckptplan fit sacct.txt dmesg.log"
        raise InputError(f"{marks[0].file}: {named} holds causes, not failures with their exposure", hint=hint)
    one = counted[0] if len(counted) == 1 else _joined(counted)
    sayers = [*(outages if runs else []), *marks]
    return _with_causes(one, sayers) if sayers else Combined(one, ())


# --- parts of one record ----------------------------------------------------------------------------------------------


def _joined(records: Sequence[FailureRecord]) -> FailureRecord:
    """Parts one after another; what two of them hold is counted once."""
    if not all(r.on_calendar == records[0].on_calendar for r in records):
        odd = next(r for r in records if not r.on_calendar)
        raise InputError(f"{odd.file}: its times are not on a calendar, unlike the others", hint="fit it by itself")
    contents = [r.content for r in records]
    content: Allocations | Outages
    if isinstance(contents[0], Allocations):
        content, twice = _all_runs([c for c in contents if isinstance(c, Allocations)])
    else:
        content, twice = _all_outages([c for c in contents if isinstance(c, Outages)])
    left_out = [one for r in records for one in r.left_out]
    if twice:
        left_out.append(LeftOut("also in another of the files", twice))
    recoveries = [r.recoveries for r in records if r.recoveries is not None]
    return FailureRecord(
        file=", ".join(r.file for r in records),
        format=", ".join(dict.fromkeys(r.format for r in records)),
        rows=sum(r.rows for r in records),
        left_out=_summed(left_out),
        content=content,
        on_calendar=records[0].on_calendar,
        zone=records[0].zone,
        warnings=tuple(dict.fromkeys(w for r in records for w in r.warnings)),
        facts=tuple(dict.fromkeys(f for r in records for f in r.facts)),
        recoveries=_all_recoveries(recoveries),
    )


def _summed(left_out: Sequence[LeftOut]) -> tuple[LeftOut, ...]:
    rows: dict[str, int] = {}
    for one in left_out:
        rows[one.reason] = rows.get(one.reason, 0) + one.rows
    return tuple(LeftOut(reason, count) for reason, count in rows.items())


def _all_runs(parts: Sequence[Allocations]) -> tuple[Allocations, int]:
    parts = [p for p in parts if p.start_s.size] or parts[:1]
    causes, cause = _one_list_of_causes(parts)
    job, names = _jobs(parts)
    whole = Allocations(
        start_s=np.concatenate([p.start_s for p in parts]),
        end_s=np.concatenate([p.end_s for p in parts]),
        outcome=np.concatenate([p.outcome for p in parts]),
        nodes=np.concatenate([p.nodes for p in parts]),
        gpus=np.concatenate([p.gpus for p in parts]),
        job=job,
        cause=cause,
        causes=causes,
        names=names,
    )
    part = np.repeat(np.arange(len(parts)), [p.start_s.size for p in parts])
    if names:
        kept = _last_told(whole)
    else:
        kept = _first_of_equals((whole.start_s, whole.end_s, whole.outcome, whole.nodes, whole.gpus), part)
    return whole.only(kept), int(np.count_nonzero(~kept))


def _jobs(parts: Sequence[Allocations]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Jobs of all parts: by name where the scheduler gave names, else those of each part apart."""
    if all(p.names for p in parts):
        names = list(dict.fromkeys(name for p in parts for name in p.names))
        number = {name: n for n, name in enumerate(names)}
        codes = [np.array([number[name] for name in p.names], dtype=np.int32)[p.job] for p in parts]
        return np.concatenate(codes), tuple(names)
    first = np.cumsum([0, *(int(p.job.max(initial=-1)) + 1 for p in parts)])
    return np.concatenate([p.job + first[n] for n, p in enumerate(parts)]).astype(np.int32), ()


def _last_told(runs: Allocations) -> NDArray[np.bool_]:
    """Of the rows of one job and start the one that ends last: an older dump shows it still running."""
    gpus = np.nan_to_num(runs.gpus, nan=-1.0)  # a dump without them tells less
    order = np.lexsort((gpus, runs.end_s, np.round(runs.start_s), runs.job))
    same = (np.diff(runs.job[order]) == 0) & (np.diff(np.round(runs.start_s[order])) == 0.0)
    kept = np.ones(order.size, dtype=np.bool_)
    kept[order[:-1][same]] = False
    return kept


def _all_outages(parts: Sequence[Outages]) -> tuple[Outages, int]:
    """Outages of the same nodes go together by name; systems without names are one system."""
    causes, cause = _one_list_of_causes(parts)
    names = list(dict.fromkeys(name for p in parts for name in p.unit_names))
    if names and not all(p.unit_names for p in parts):
        raise InputError("outages of named nodes and of others cannot be counted together", hint="fit them one by one")
    number = {name: n for n, name in enumerate(names)}
    whole = Outages(
        start_s=np.concatenate([p.start_s for p in parts]),
        end_s=np.concatenate([p.end_s for p in parts]),
        outcome=np.concatenate([p.outcome for p in parts]),
        unit=np.concatenate([_units_by_name(p, number) for p in parts]),
        cause=cause,
        causes=causes,
        units=_units(parts, len(names)),
        from_s=np.array([min(float(p.from_s.min()) for p in parts)]),
        until_s=np.array([max(float(p.until_s.max()) for p in parts)]),
        ends_at_last=max(parts, key=lambda p: float(p.until_s.max())).ends_at_last,
        unit_names=tuple(names),
    )
    part = np.repeat(np.arange(len(parts)), [p.start_s.size for p in parts])
    kept = _first_of_equals((whole.start_s, whole.end_s, whole.outcome, whole.unit), part)
    return whole.only(kept), int(np.count_nonzero(~kept))


def _units(parts: Sequence[Outages], named: int) -> int:
    """How many were watched; where no part knows, events stay those of one system, however many nodes they name."""
    most = max(p.units for p in parts)
    return 1 if most == 1 else max(named, most)


def _units_by_name(part: Outages, number: dict[str, int]) -> NDArray[np.int32]:
    if not part.unit_names:
        return part.unit
    numbers = np.array([number[name] for name in part.unit_names], dtype=np.int32)
    return np.where(part.unit >= 0, numbers[np.maximum(part.unit, 0)], part.unit).astype(np.int32)


def _one_list_of_causes(parts: Sequence[_Rows]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    causes = list(dict.fromkeys(name for p in parts for name in p.causes))
    number = {name: n for n, name in enumerate(causes)}
    codes = [np.array([number[name] for name in p.causes] or [0], dtype=np.int32)[p.cause] for p in parts]
    return tuple(causes), np.concatenate(codes)


def _first_of_equals(columns: Sequence[NDArray[np.generic]], part: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Rows that no earlier part holds; equal rows of one part are its own affair."""
    keys = np.stack([np.nan_to_num(np.asarray(c, dtype=np.float64), nan=-1.0) for c in columns], axis=1)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    kept: NDArray[np.bool_] = part == part[first][inverse.reshape(-1)]
    return kept


def _all_recoveries(parts: Sequence[Recoveries]) -> Recoveries | None:
    """Those of the phase of the first; causes of several files are not told apart."""
    if not parts:
        return None
    same = [p for p in parts if p.phase == parts[0].phase]
    if len(same) == 1:
        return same[0]
    seconds = np.concatenate([p.seconds for p in same])
    return Recoveries(parts[0].phase, np.full(seconds.size, -1, dtype=np.int32), seconds)


# --- causes from other files ------------------------------------------------------------------------------------------


def _with_causes(record: FailureRecord, sayers: Sequence[FailureRecord]) -> Combined:
    """Each failure with what the other files noted shortly before it, nearest first."""
    content = record.content
    reasons = _reasons(sayers)
    files = ", ".join(s.file for s in sayers)
    if not isinstance(content, Allocations | Outages) or not record.on_calendar or reasons.at_s.size == 0:
        return Combined(record, (f"{files}: holds no cause with a date that could be joined",))
    at_s = content.end_s if isinstance(content, Allocations) else content.start_s
    rows = np.flatnonzero(content.outcome == Outcome.FAILURE)
    found = _nearest(at_s[rows], reasons)
    causes, cause = list(content.causes), content.cause.copy()
    number: dict[str, int] = {}
    for row, reason in zip(rows[found >= 0], found[found >= 0], strict=True):
        text = f"{content.causes[cause[row]]}: {reasons.text[reason]}"
        cause[row] = number.setdefault(text, len(causes) + len(number))
    joined = int(np.count_nonzero(found >= 0))
    fact = (
        f"{files}: {joined:,} of {rows.size:,} failures have a cause noted at most {JOIN_BEFORE_S / 60:.0f} min "
        "before; joined by time, not by node"
    )
    uncounted = tuple(
        f"{s.file}: its {s.content.start_s.size:,} events only say why runs of {record.file} ended, and are not "
        "counted; fit it by itself for its own rate"
        for s in sayers
        if isinstance(s.content, Outages)
    )
    content = content._replace(cause=cause, causes=(*causes, *number))
    return Combined(record._replace(content=content, warnings=(*record.warnings, *uncounted)), (fact,))


def _reasons(sayers: Sequence[FailureRecord]) -> _Reasons:
    at_s: list[Floats] = []
    text: list[str] = []
    for sayer in sayers:
        content = sayer.content
        if not sayer.on_calendar or not isinstance(content, Marks | Outages):
            continue
        times = content.at_s if isinstance(content, Marks) else content.start_s
        kept = np.isfinite(times)
        if isinstance(content, Outages):
            kept &= content.outcome == Outcome.FAILURE
        at_s.append(times[kept])
        text += [content.causes[code] for code in content.cause[kept]]
    if not at_s:
        return _Reasons(np.empty(0), ())
    times = np.concatenate(at_s)
    order = np.argsort(times, kind="stable")
    return _Reasons(times[order], tuple(text[n] for n in order))


def _nearest(at_s: Floats, reasons: _Reasons) -> NDArray[np.intp]:
    """The last reason before each time, or one right after it; -1 for none."""
    last = np.searchsorted(reasons.at_s, at_s + JOIN_AFTER_S, side="right") - 1
    near = (last >= 0) & (reasons.at_s[np.maximum(last, 0)] >= at_s - JOIN_BEFORE_S)
    return np.where(near, last, -1)
