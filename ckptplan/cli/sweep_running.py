"""A sweep carried out: on which engine, with what progress, and what an interruption leaves behind."""

from __future__ import annotations

import os
import select
import shlex
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ckptplan.errors import InputError, printable
from ckptplan.sweep.closed import is_closed_study
from ckptplan.sweep.columns import Columns
from ckptplan.sweep.evaluation import Chunk, Evaluation, chunks
from ckptplan.sweep.executors import executor_for
from ckptplan.sweep.identity import identity
from ckptplan.sweep.journal import Journal
from ckptplan.sweep.running import run
from ckptplan.sweep.study import Study

_ENDING = ".sweep-part"
_GOING_MS = 200


def is_quick(study: Study) -> bool:
    """Whether closed forms as arrays say everything, so that no other process is worth its start."""
    return all(is_closed_study(study, member) for member in study.members)


def parts_of(study: Study, executor: str, jobs: int | None, journal: Journal | None) -> Iterator[Columns]:
    """The parts of the result in order."""
    workers = jobs or _processors()
    runner = executor_for(executor, workers)  # a wrong name is an error also where it would not be used
    if is_quick(study):
        runner = executor_for("serial" if workers == 1 else "threads", min(workers, 4))
    parts = chunks(study)
    with _progress(parts) as on_progress:
        yield from run(Evaluation(study), parts, runner, journal=journal, on_progress=on_progress)


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _progress(parts: Sequence[Chunk]) -> Iterator[Callable[[Chunk, bool], object] | None]:
    """A bar on a terminal, a line on one that wants no escape codes, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from ckptplan.render.screen import Screen
    from ckptplan.render.sweep_progress import PlainLine, SweepBar

    kind = SweepBar if Screen.of(sys.stderr).colour else PlainLine
    with kind(sys.stderr, sum(part.stop - part.start for part in parts)) as update:
        yield lambda part, resumed: update(part.stop - part.start, resumed)


@contextmanager
def kept(study: Study, resume: Path | None, beside: Path, *, is_read: bool = False) -> Iterator[Journal | None]:
    """The journal while the study is carried out; finished, it is removed, and left early, one is told how to go on.

    Of a result that goes to standard output, ``is_read``, it is kept too where nobody reads on: ``| head -1``.
    """
    parts = chunks(study)
    journal = None if resume is None and is_quick(study) else _journal(study, parts, resume, beside)
    if journal is None:
        try:
            yield None
        except KeyboardInterrupt:
            sys.stderr.write("nothing is kept; --resume FILE would keep the parts that are finished\n")
            raise
        return
    with journal:
        try:
            yield journal
        except BaseException:
            _tell(journal, parts)
            raise
        if is_read and _reader_has_gone():
            _tell(journal, parts)
            return
        with suppress(OSError):
            journal.path.unlink()


def _reader_has_gone() -> bool:
    """Whether standard output is a pipe that nobody reads any more; who has read enough is given a moment to go."""
    with suppress(OSError, ValueError, AttributeError):  # AttributeError: a system without poll
        handle = sys.stdout.fileno()
        if stat.S_ISFIFO(os.fstat(handle).st_mode):
            poll = select.poll()
            poll.register(handle, 0)  # errors alone, of which a pipe without a reader is one
            return bool(poll.poll(_GOING_MS))
    return False


def _journal(study: Study, parts: Sequence[Chunk], resume: Path | None, beside: Path) -> Journal | None:
    known_by = identity(study, parts)
    path = resume or beside.with_name(f"{beside.name}-{known_by.fingerprint[:8]}{_ENDING}")
    try:
        journal = Journal(path, known_by)
    except InputError as error:
        if resume is not None:
            raise
        sys.stderr.write(f"warning: an interruption would lose all: {error.render()}\n")
        return None
    _tell_what_is_there(journal, parts)
    return journal


def _tell_what_is_there(journal: Journal, parts: Sequence[Chunk]) -> None:
    """From what a run goes on, and what it cannot use of that."""
    finished, points = _finished(journal, parts)
    if finished:
        sys.stderr.write(f"goes on from {printable(str(journal.path))}: {finished:,} of {points:,} points\n")
    if journal.cut_bytes:
        many = f"the last {journal.cut_bytes:,} bytes of {printable(str(journal.path))} are torn or damaged"
        sys.stderr.write(f"warning: {many}; what stood there is evaluated again\n")


def _finished(journal: Journal, parts: Sequence[Chunk]) -> tuple[int, int]:
    """Points that a journal holds, and of all parts."""
    points = [part.stop - part.start for part in parts]
    return sum(points[index] for index in journal.finished), sum(points)


def _tell(journal: Journal, parts: Sequence[Chunk]) -> None:
    """How much is kept, and what to type; a journal of nothing is removed."""
    finished, points = _finished(journal, parts)
    if not finished:
        with suppress(OSError):
            journal.path.unlink()
        return
    words = ["ckptplan", *sys.argv[1:]]
    if not any(word == "--resume" or word.startswith("--resume=") for word in words):
        words += ["--resume", str(journal.path)]
    sys.stderr.write(
        f"{finished:,} of {points:,} points are kept in {printable(str(journal.path))}; to go on:\n"
        f"  {printable(shlex.join(words))}\n"
    )
