"""The reader of ``sacct --json``: of Slurm 21.08 to 22.05, plain numbers; of later ones, numbers that may be unset."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ckptplan.fit.record import FailureRecord
from ckptplan.readers.files import open_record, refused
from ckptplan.readers.records.slurm.jobs import Jobs, jobs_of, together
from ckptplan.readers.records.slurm.json_jobs import JsonJobs
from ckptplan.readers.records.slurm.judging import Read, judged
from ckptplan.readers.records.slurm.options import COMMAND, SlurmOptions, slurm_options
from ckptplan.readers.records.slurm.states import state_of
from ckptplan.readers.records.slurm.words import counted

BATCH = 20_000  # jobs that are held as objects
MOST_JOBS = 20_000_000
_ROLES = (
    "job", "state", "start", "end", "elapsed", "exit", "nodes", "tres", "restarts", "name", "user", "account",
    "partition", "system", "admin", "list",
)  # fmt: skip
_WHOLE = 2**53


def looks_like(head: bytes) -> bool:
    """Whether a file is a JSON object that speaks of jobs and of Slurm's accounting."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith(b"{"):
        return False
    if b'"job_state"' in start:  # of squeue or scontrol
        return False
    jobs = re.search(rb'"jobs"\s*:\s*\[\s*(\])?', start)
    meta = re.match(rb'\{\s*"meta"', start) is not None and b'"Slurm"' in start
    # What jq leaves of jobs may lack the account, and has its keys in any order.
    of_accounting = b'"account' in start or (b'"job_id"' in start and b'"state"' in start)
    return meta or (jobs is not None and (of_accounting or jobs[1] is not None))


def read(path: str | Path, options: Any = None) -> FailureRecord:
    """Allocations and how they ended; the steps within each job are counted and left out."""
    own = slurm_options(options)
    with open_record(path) as stream:
        return _Reading(str(path), own).record(JsonJobs(stream, str(path)))


class _Reading:
    """One document while it is read."""

    def __init__(self, path: str, options: SlurmOptions) -> None:
        self.path, self.options = path, options
        self.jobs = self.steps = self.strange = self.untimed = 0
        self.newer = False
        self.parts: list[Jobs] = []
        self.batch: list[tuple[str, ...]] = []

    def record(self, document: JsonJobs) -> FailureRecord:
        """Read everything, then judge."""
        for job in document:
            self.jobs += 1
            cells = self._cells(job)
            if cells is None:
                self.strange += 1
                continue
            self.batch.append(cells)
            if len(self.batch) == BATCH:
                self._keep()
            if self.jobs > MOST_JOBS:
                raise refused(self.path, f"more than {MOST_JOBS:,} jobs", "cut it by --starttime and --endtime")
        self._keep()
        said = f"; Slurm says: {'; '.join(document.errors)}" if document.errors else ""
        if not document.found:
            raise refused(self.path, f"no list of jobs in the document{said}", f"run {COMMAND}")
        if self.jobs == 0 and document.cut:
            raise refused(self.path, "the document is cut off within its first job", "run sacct --json again")
        if self.jobs == 0:
            raise refused(self.path, f"no matching jobs: the list of jobs is empty{said}", "widen --starttime")
        if not self.parts or self.untimed == self.jobs - self.strange:
            raise refused(
                self.path, "no job has an id, a state and times", f"is it of sacct, not squeue? Run {COMMAND}"
            )
        jobs = together(self.parts)
        self.parts = []
        form = "Slurm sacct, JSON" + (", numbers that may be unset" if self.newer else "")
        return judged(jobs, self._said(form, document), self.options)

    def _said(self, form: str, document: JsonJobs) -> Read:
        left = {"of job steps": self.steps, "without an id or a state": self.strange}
        warnings = []
        if document.cut:
            warnings.append("the document is cut off: its last job is missing, and maybe more")
        if document.errors:
            warnings.append(f"Slurm noted in it: {'; '.join(document.errors)}")
        facts = [f"{counted(self.steps, 'step')} within jobs left out"] if self.steps else []
        return Read(self.path, form, self.jobs + self.steps, left, warnings, facts)

    def _keep(self) -> None:
        import pyarrow as pa

        if self.batch:
            columns = {
                role: pa.array([cell.encode("utf-8", "replace") for cell in cells], pa.binary())
                for role, cells in zip(_ROLES, zip(*self.batch, strict=True), strict=True)
            }
            self.parts.append(jobs_of(columns, self.options))
            self.batch = []

    def _cells(self, job: Any) -> tuple[str, ...] | None:
        """The cells that sacct -P would have printed."""
        if not isinstance(job, dict):
            return None
        number, state = _id(job), self._state(job)
        if number is None or state is None:
            return None
        times, steps = _dict(job.get("time")), job.get("steps")
        self.steps += len(steps) if isinstance(steps, list) else 0
        comment = _dict(job.get("comment"))
        start = _time(times.get("start"))
        self.untimed += not times
        return (
            number, state, start, _time(times.get("end")), _text(times.get("elapsed")), _exit(job.get("exit_code")),
            _text(job.get("allocation_nodes")), _tres(job), _text(job.get("restart_cnt")), _text(job.get("name")),
            _text(job.get("user")) or _text(_dict(job.get("association")).get("user")), _text(job.get("account")),
            _text(job.get("partition")), _text(comment.get("system")), _text(comment.get("administrator")),
            _text(job.get("nodes")),
        )  # fmt: skip

    def _state(self, job: dict[str, Any]) -> str | None:
        """The first of the states that is known; of CANCELLED by whom."""
        state = job.get("state")
        current = state.get("current") if isinstance(state, dict) else state
        if isinstance(current, list):
            self.newer = True
            known = [each for each in current if isinstance(each, str) and state_of(each)]
            current = known[0] if known else (str(current[0]) if current else None)
        if not isinstance(current, str):
            return None
        by = job.get("kill_request_user")
        return f"CANCELLED by {by}" if current == "CANCELLED" and by in ("root", "0", 0) else current


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> int | None:
    """A plain number, or one that says whether it is set; infinite ones are none."""
    if isinstance(value, dict):
        if value.get("set") is False or value.get("infinite") is True:
            return None
        value = value.get("number", value.get("id"))
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _WHOLE:
        return None
    return int(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    number = _number(value)
    return "" if number is None else str(number)


def _time(value: Any) -> str:
    """Seconds since 1970 as text; 0 is what Slurm writes for no time."""
    number = _number(value)
    return "Unknown" if number is None or number <= 0 else str(number).zfill(10)


def _id(job: dict[str, Any]) -> str | None:
    """As sacct writes it: 5_1 for a task of an array, 19+0 for a part of a heterogeneous job."""
    number = _number(job.get("job_id"))
    if number is None:
        return None
    array, het = _dict(job.get("array")), _dict(job.get("het"))
    parent, task = _number(array.get("job_id")), _number(array.get("task_id"))
    if parent and task is not None:
        return f"{parent}_{task}"
    leader, offset = _number(het.get("job_id")), _number(het.get("job_offset"))
    return f"{leader}+{offset}" if leader and offset is not None else str(number)


def _exit(value: Any) -> str:
    """``code:signal``; SIGNALED ends have the signal under its old or its new name."""
    code = _dict(value)
    signal = _dict(code.get("signal"))
    number = _number(signal.get("signal_id", signal.get("id")))
    returned = _number(code.get("return_code"))
    return "" if returned is None and number is None else f"{returned or 0}:{number or 0}"


def _tres(job: dict[str, Any]) -> str:
    """Trackable resources as AllocTRES writes them."""
    allocated = _dict(job.get("tres")).get("allocated")
    parts = []
    for each in allocated if isinstance(allocated, list) else []:
        count = _number(_dict(each).get("count"))
        kind, name = _dict(each).get("type"), _dict(each).get("name")
        if count is not None and isinstance(kind, str):
            parts.append(f"{kind}/{name}={count}" if isinstance(name, str) and name else f"{kind}={count}")
    return ",".join(parts)
