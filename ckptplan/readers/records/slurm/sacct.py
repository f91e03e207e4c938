"""The reader of sacct's tables: --parsable2 or --parsable, with any delimiter and any columns that say enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ckptplan.errors import InputError, Place, Problem, printable
from ckptplan.fit.record import FailureRecord
from ckptplan.readers.files import open_record, refused
from ckptplan.readers.records.slurm.blocks import (
    MOST_TORN,
    Block,
    TooTornError,
    begin_with_a_digit,
    blocks,
    first_line,
    parse,
)
from ckptplan.readers.records.slurm.columns import Header, header_of, is_fixed_width, is_sacct, lacks_state
from ckptplan.readers.records.slurm.jobs import ROLES, Jobs, jobs_of, together
from ckptplan.readers.records.slurm.judging import Read, judged
from ckptplan.readers.records.slurm.options import COMMAND, SlurmOptions, slurm_options
from ckptplan.readers.records.slurm.states import state_of
from ckptplan.readers.records.slurm.torn import MOST_JOINED, Mender, TornLine, joined
from ckptplan.readers.records.slurm.words import counted

WORKERS = 2  # blocks that are parsed at a time: more take memory for little
MOST_ALLOCATIONS = 20_000_000
_ALWAYS = ("job", "state", "start", "end", "elapsed", "exit", "nodes", "tres", "restarts", "system", "admin")
TORN = "torn (fields cannot be told apart)"
_MOST_STATES = 20  # that an error lists


def looks_like(head: bytes) -> bool:
    """Whether a file begins with a header of sacct that has delimiters; one without State is refused on reading."""
    if is_fixed_width(head):
        return False
    header = header_of(head.split(b"\n", 1)[0])
    return is_sacct(header) or lacks_state(header)


def read(path: str | Path, options: Any = None) -> FailureRecord:
    """Allocations and how they ended.

    Raises
    ------
    InputError
        Where the columns do not say when allocations ran, or no row is one.
    """
    own, name = slurm_options(options), str(path)
    with open_record(path) as stream:
        header = first_line(stream, name, own.delimiter)
        if lacks_state(header):
            raise refused(
                path, "a table of sacct without a column State: how jobs ended is not known", f"run {COMMAND}", 1
            )
        if header is None or not is_sacct(header):
            hint = f"run {COMMAND}; of another delimiter than the header shows say which"
            raise refused(path, "the first line is no header of sacct: no columns JobID and State", hint, 1)
        return _Reading(name, header, own).record(stream)


class _Reading:
    """One table while it is read."""

    def __init__(self, path: str, header: Header, options: SlurmOptions) -> None:
        self.path, self.header, self.options = path, header, options
        self.roles = self._columns()
        self.rows = self.steps = self.torn = self.undecodable = self.mended = self.joined = self.repeated = 0
        self.parts: list[Jobs] = []
        self.held: list[TornLine] = []  # at the end of a block: the next one may go on with them

    def _columns(self) -> dict[str, int]:
        """Where the needed columns are."""
        found = {role: self.header.at(*names) for role, names in ROLES.items()}
        wishes = (("name", "job_name"), ("user", "user"), ("account", "account"), ("partition", "partition"))
        wanted = [role for role, wish in wishes if getattr(self.options, wish) is not None]
        for role in wanted:
            if found[role] is None:
                column = {"name": "JobName"}.get(role, role.capitalize())
                raise refused(self.path, f"no column {column}, by which to choose jobs", f"run {COMMAND},{column}", 1)
        roles = [*_ALWAYS, *wanted]
        roles += ["gres"] if found["tres"] is None else []
        roles += ["list"] if found["nodes"] is None and found["tres"] is None else []
        return {role: place for role in roles if (place := found[role]) is not None}

    def record(self, stream: BinaryIO) -> FailureRecord:
        """Read everything, then judge."""
        timed = {"start", "end"} <= self.roles.keys() or (
            "elapsed" in self.roles and ("start" in self.roles or "end" in self.roles)
        )
        states: dict[bytes, int] = {}
        for block in self._parsed(stream):
            part = self._part(block)
            if self.torn > MOST_TORN and self.torn > 0.5 * self.rows:
                raise self._too_torn()
            if timed:
                self.parts.append(part)
            else:
                _count(part, states)
            if sum(len(part.never) for part in self.parts) > MOST_ALLOCATIONS:
                hint = "cut it into several by --starttime and --endtime"
                raise refused(self.path, f"more than {MOST_ALLOCATIONS:,} allocations", hint)
        if self.rows == 0:
            raise refused(self.path, "no matching jobs: the table holds its header alone", "widen --starttime")
        if not timed:
            raise self._no_times(states)
        if not sum(len(part.never) for part in self.parts):
            found = f"of {self.rows:,} rows {self.steps:,} are job steps and {self.torn:,} torn lines: no allocation"
            raise refused(self.path, found, f"allocations are what is counted; run {COMMAND}")
        jobs = together(self.parts)
        self.parts = []
        return judged(jobs, self._said(), self.options)

    def _parsed(self, stream: BinaryIO) -> Iterator[Block]:
        """Blocks in order, parsed side by side; at last one of the lines that were held."""
        from pyarrow import ArrowException

        needed = list(self.roles.values())
        with ThreadPoolExecutor(WORKERS) as pool:
            waiting: deque[Future[Block]] = deque()
            try:
                for block in blocks(stream, self.path):
                    waiting.append(pool.submit(parse, block, self.header, needed))
                    if len(waiting) > WORKERS:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            except TooTornError:
                raise self._too_torn() from None
            except ArrowException as error:
                said = printable(str(error).split("\n")[0][:200])
                raise refused(self.path, f"cannot be read as a table: {said}", f"run {COMMAND}") from None
            finally:
                for future in waiting:
                    future.cancel()
        if self.held:
            yield Block([], 0, [], 0, self.header.delimiter.decode())

    def _part(self, block: Block) -> Jobs:
        """Allocations of a block, mended rows among them, in the order of the file."""
        import pyarrow as pa

        self.undecodable += block.undecodable
        places, mended = self._mend(block)
        columns = block.columns or [pa.array([], pa.binary()) for _ in self.roles]
        columns, kept = self._allocations(columns)
        if mended:
            more, also = self._allocations([pa.array(cells, pa.binary()) for cells in zip(*mended, strict=True)])
            whole = np.delete(np.arange(block.rows), [line.row for line in block.torn])
            order = pa.array(np.argsort(np.concatenate([whole[kept], np.array(places)[also]]), kind="stable"))
            columns = [pa.concat_arrays(pair).take(order) for pair in zip(columns, more, strict=True)]
        return jobs_of(dict(zip(self.roles, columns, strict=True)), self.options)

    def _allocations(self, columns: list[Any]) -> tuple[list[Any], NDArray[np.bool_]]:
        """Rows that are no steps, and which; a row without a job id is the rest of one that its own name cut."""
        import pyarrow as pa
        from pyarrow import compute

        job = columns[list(self.roles).index("job")]
        steps = np.asarray(compute.match_substring(job, "."))
        known = begin_with_a_digit(job)
        header = compute.match_substring_regex(job.filter(pa.array(~known)), "^JobID(Raw)?$")  # of one more table
        repeated = compute.sum(header).as_py() or 0
        kept = known & ~steps
        self.rows += len(job)
        self.steps += int((steps & known).sum())
        self.repeated += repeated
        self.torn += int((~known).sum()) - repeated
        mask = pa.array(kept)
        return [column.filter(mask) for column in columns], kept

    def _mend(self, block: Block) -> tuple[list[int], list[list[bytes]]]:
        """Rows that can be put together: places and needed cells; others are counted as torn."""
        lines = [*self.held, *block.torn]
        self.held = []
        last = block.rows - 1
        while block.rows and lines and lines[-1].row == last - len(self.held) and len(self.held) < MOST_JOINED:
            self.held.append(lines.pop())
        self.held = [TornLine(line.row - block.rows, line.text) for line in reversed(self.held)]
        places, cells = [], []
        fields = len(self.header.names)
        mender = Mender(self.header, self.roles.values(), block.delimiter)
        for row, text, count in joined(lines, block.delimiter, fields, mender.fits):
            found = mender.cells(text.split(block.delimiter))
            if found is None:
                self.torn += count
                self.rows += count
                continue
            self.mended += count == 1
            self.joined += count > 1
            places.append(row)
            cells.append([cell.encode() for cell in found])
        return places, cells

    def _too_torn(self) -> InputError:
        mark = printable(self.header.delimiter.decode())
        message = f"most lines have another number of fields than the {len(self.header.names):,} of the header"
        return refused(self.path, message, f"is the delimiter {mark}, and the header of these rows?", 1)

    def _no_times(self, states: dict[bytes, int]) -> InputError:
        ranked = sorted(states.items(), key=lambda pair: -pair[1])[:_MOST_STATES]
        counts = ", ".join(f"{count:,} {printable(name.decode(errors='replace')[:30])}" for name, count in ranked)
        lacking = [c for role, c in (("start", "Start"), ("end", "End")) if role not in self.roles]
        message = (
            f"no column {' and no column '.join(lacking)}: when jobs ran is not known. "
            f"{self.rows:,} rows, {self.steps:,} of them job steps; allocations by state: {counts or 'none'}"
        )
        hint = f"needed are JobID, State, and two of Start, End and ElapsedRaw: run {COMMAND}"
        return InputError(Problem(message, Place(self.path, 1), hint=hint))

    def _said(self) -> Read:
        left = {
            "of job steps": self.steps,
            "with the header once more": self.repeated,
            TORN: self.torn,
        }
        warnings, facts = [], []
        if self.undecodable:
            warnings.append(
                f"{counted(self.undecodable, 'line')} with bytes that are not UTF-8: those were read as U+FFFD"
            )
        if self.torn:
            warnings.append(
                f"{counted(self.torn, 'torn line')} (fields cannot be told apart, or no job id) do not count"
            )
        if self.mended:
            facts.append(
                f"{counted(self.mended)} with the delimiter in a text such as the job's name: put together again"
            )
        if self.joined:
            facts.append(f"{counted(self.joined)} with a line break in a text: joined")
        mark = self.header.delimiter.decode()
        kind = "parsable" if self.header.names[-1] == "" else "parsable2"
        form = f"Slurm sacct, {kind}" + ("" if mark == "|" else f", delimiter {printable(mark)}")
        return Read(self.path, form, self.rows, left, warnings, facts)


def _count(part: Jobs, states: dict[bytes, int]) -> None:
    """Add up allocations by state."""
    counts = np.bincount(np.asarray(part.state.indices), minlength=len(part.state.dictionary))
    for name, count in zip(part.state.dictionary.to_pylist(), counts.tolist(), strict=True):
        full = (state_of(name.decode(errors="replace")) or name.decode(errors="replace")).encode()
        states[full] = states.get(full, 0) + count
