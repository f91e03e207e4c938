"""An audit of a run for people: from where to resume, then each checkpoint in one line."""

from __future__ import annotations

from collections.abc import Iterator

from ckptplan.checkpoint.audit.auditing import verdict
from ckptplan.checkpoint.audit.findings import Audit
from ckptplan.checkpoint.audit.runs import RunAudit, step_of
from ckptplan.errors import printable
from ckptplan.render.audit_sheet import name_of, run_sheet
from ckptplan.render.numbers import quantity
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import to_markdown


def report(run: RunAudit, screen: Screen) -> str:
    """The whole report for people."""
    parts = [screen.lines([answer(run), *_reason(run)])]
    if run.audits:
        parts.append(screen.table(run_sheet(run)))
    parts.append(screen.bullets("Pointers", list(_pointers(run))))
    return "\n".join(part for part in parts if part)


def markdown(run: RunAudit) -> str:
    """The same as Markdown."""
    parts = [f"## {answer(run)}\n", *(f"{text}\n" for text in _reason(run))]
    if run.audits:
        parts.append(to_markdown(run_sheet(run)))
    pointers = list(_pointers(run))
    if pointers:
        parts.append("### Pointers\n\n" + "".join(f"- {text}\n" for text in pointers))
    return "\n".join(parts)


def answer(run: RunAudit) -> str:
    """Where to resume from."""
    if run.best is not None:
        return f"resume from {printable(str(run.best.path))}{_at(run.best)}"
    number = len(run.audits)
    if not number:
        return f"nothing to resume from: no checkpoint in {printable(str(run.root))}"
    one = "the only checkpoint is not whole and complete"
    none = one if number == 1 else f"none of {number:,} checkpoints is whole and complete"
    return f"nothing to resume from exactly: {none}"


def _at(found: Audit) -> str:
    step = step_of(found)
    return "" if step is None else f" (step {step:,})"


def _reason(run: RunAudit) -> Iterator[str]:
    """The newest that at least is whole; how many newer ones were passed over."""
    if run.best is not None:
        newer = run.audits.index(run.best)
        if newer:
            yield f"{quantity(newer, 'newer checkpoint')} passed over: {printable(_why(run.audits[0], run))}"
    elif run.newest_whole is not None:
        found = run.newest_whole
        yield f"the newest whole one is {printable(_why(found, run))}"
        yield "--allow KIND goes on without a state"


def _why(found: Audit, run: RunAudit) -> str:
    return f"{name_of(found, run)}{_at(found)} is {verdict(found)}"


def _pointers(run: RunAudit) -> Iterator[str]:
    for pointer in run.pointers:
        wrong = f", but {pointer.message}" if pointer.message == "it is not there" else f", which is {pointer.message}"
        yield printable(f"{pointer.file} points to {pointer.target}{wrong if pointer.message else ''}")
