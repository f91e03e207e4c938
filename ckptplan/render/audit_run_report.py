"""An audit of a run for people: from where to resume, then each checkpoint in one line."""

from __future__ import annotations

from collections.abc import Iterator

from ckptplan.checkpoint.audit.auditing import gone_without, series, verdict
from ckptplan.checkpoint.audit.findings import Audit, Standing
from ckptplan.checkpoint.audit.runs import NOT_THERE, RunAudit, step_of
from ckptplan.errors import printable
from ckptplan.render import audit_report
from ckptplan.render.audit_sheet import name_of, run_sheet
from ckptplan.render.marking import bullets, heading, sentences
from ckptplan.render.numbers import quantity
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import to_markdown


def report(run: RunAudit, screen: Screen) -> str:
    """The whole report for people."""
    parts = [screen.lines([answer(run), *_reason(run)])]
    if len(run.audits) > 1:
        parts.append(screen.table(run_sheet(run)))
    parts.append(screen.bullets("Pointers", list(_pointers(run))))
    parts += [audit_report.report(found, screen) for found in run.audits if len(run.audits) == 1]
    return "\n".join(part for part in parts if part)


def markdown(run: RunAudit) -> str:
    """The same as Markdown."""
    parts = [heading(answer(run)), *sentences(_reason(run))]
    if len(run.audits) > 1:
        parts.append(to_markdown(run_sheet(run)))
    pointers = list(_pointers(run))
    if pointers:
        parts.append(f"{heading('Pointers', 3)}\n{bullets(pointers)}")
    parts += [audit_report.markdown(found) for found in run.audits if len(run.audits) == 1]
    return "\n".join(parts)


def answer(run: RunAudit) -> str:
    """Where to resume from."""
    if run.best is not None:
        going_on = gone_without(run.best)
        return f"resume from {printable(str(run.best.path))}{_at(run.best)}{f', {going_on}' if going_on else ''}"
    number = len(run.audits)
    if not number:
        return f"nothing to resume from: no checkpoint in {printable(str(run.root))}"
    if number == 1:
        return f"nothing to resume from exactly: {_only(run.audits[0], run)}"
    return f"nothing to resume from exactly: none of {number:,} checkpoints is whole and complete"


def _only(found: Audit, run: RunAudit) -> str:
    """Of the only checkpoint: what it lacks and how to go on without it, or that it is broken."""
    name = f"the only checkpoint, {printable(name_of(found, run))},"
    if not found.whole or not found.states:
        return f"{name} is {printable(verdict(found))}"
    lacking = [state for state in found.missing if state.standing is Standing.ABSENT]
    partly = [state for state in found.missing if state.standing is not Standing.ABSENT]
    said = [f"lacks {series([str(state.kind) for state in lacking])}"] if lacking else []
    said += [f"has not all {state.kind}" for state in partly]
    words = ",".join(state.kind.word for state in found.missing)
    without = "it" if len(found.missing) == 1 else "them"
    return f"{name} is whole but {' and '.join(said)}: --allow {words} goes on without {without}"


def _at(found: Audit) -> str:
    step = step_of(found)
    return "" if step is None else f" (step {step:,})"


def _reason(run: RunAudit) -> Iterator[str]:
    """Why newer ones were passed over; without any, the newest that at least is whole."""
    if run.best is not None and "\n" in str(run.best.path):
        yield "its name has a line break, shown as ?: rename it, since --quiet does not print it"
    if run.best is not None:
        newer = run.audits.index(run.best)
        if newer:
            said = printable(f"{name_of(run.audits[0], run)}{_at(run.audits[0])}: {verdict(run.audits[0])}")
            yield f"{quantity(newer, 'newer checkpoint')} passed over, the newest {said}"
    elif run.newest_whole is not None and len(run.audits) > 1:
        found = run.newest_whole
        yield f"the newest whole one: {printable(name_of(found, run))}{_at(found)}; --allow KIND goes on from it"


def _pointers(run: RunAudit) -> Iterator[str]:
    for pointer in run.pointers:
        if pointer.message == NOT_THERE:
            yield printable(f"{pointer.file} points to {pointer.target}, but {NOT_THERE}")
        elif len(run.audits) > 1:  # of a single one the verdict is said already
            which = f", which is {pointer.message}" if pointer.message else ""
            yield printable(f"{pointer.file} points to {pointer.target}{which}")
