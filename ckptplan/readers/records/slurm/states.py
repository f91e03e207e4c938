"""Slurm's job states: their short names, what they count as, and the cause that a report names."""

from __future__ import annotations

import re
from typing import NamedTuple

from ckptplan.fit.record import Outcome
from ckptplan.readers.records.slurm.options import NOT_OUR_FAULT, SlurmOptions

# Short names as squeue and sacct write them, from the table of states in sacct(1) and squeue(1).
_SHORT = {
    "BF": "BOOT_FAIL", "CA": "CANCELLED", "CD": "COMPLETED", "CF": "CONFIGURING", "CG": "COMPLETING",
    "DL": "DEADLINE", "F": "FAILED", "LF": "LAUNCH_FAILED", "NF": "NODE_FAIL", "OOM": "OUT_OF_MEMORY",
    "PD": "PENDING", "PO": "POWER_UP_NODE", "PR": "PREEMPTED", "R": "RUNNING", "RD": "RESV_DEL_HOLD",
    "RF": "RECONFIG_FAIL", "RH": "REQUEUE_HOLD", "RQ": "REQUEUED", "RS": "RESIZING", "RV": "REVOKED",
    "S": "SUSPENDED", "SE": "SPECIAL_EXIT", "SI": "SIGNALING", "SO": "STAGE_OUT", "ST": "STOPPED",
    "TO": "TIMEOUT", "UN": "UPDATE_DB",
}  # fmt: skip
BY_ROOT = "CANCELLED by root"
LASTING = frozenset(
    ("RUNNING", "SUSPENDED", "RESIZING", "STOPPED", "CONFIGURING", "COMPLETING", "SIGNALING", "STAGE_OUT")
)
NEVER_RAN = frozenset(("PENDING", "REVOKED", "REQUEUE_HOLD", "RESV_DEL_HOLD"))
_ENDED = {
    "COMPLETED": "completed", "TIMEOUT": "time limit", "DEADLINE": "deadline", "CANCELLED": "cancelled",
    BY_ROOT: "cancelled by root", "REQUEUED": "requeued", "SPECIAL_EXIT": "special exit",
}  # fmt: skip
_BROKEN = {
    "NODE_FAIL": "node failure", "BOOT_FAIL": "boot failure", "LAUNCH_FAILED": "launch failed",
    "RECONFIG_FAIL": "reconfiguration failed",
}  # fmt: skip
KNOWN = frozenset(_SHORT.values()) | {BY_ROOT}
_LARGEST_CODE = 255  # of a process
_EXIT = re.compile(r"([0-9]{1,10}):([0-9]{1,5})")


class Verdict(NamedTuple):
    """What a state with its exit code says; ``only_long`` where a short run makes it the user's own."""

    outcome: Outcome
    cause: str
    only_long: bool = False


def state_of(text: str) -> str | None:
    """The full name of a state; None for what is none.

    ``CANCELLED by 1001`` keeps no user, except root; a plus at the end is a cut-off one of a table.
    """
    words = text.strip().upper().split()
    if not words:
        return None
    name = _SHORT.get(words[0], words[0])
    if name == "CANCELLED" and words[1:] in (["BY", "0"], ["BY", "ROOT"]):
        return BY_ROOT
    if name not in KNOWN or (len(words) > 1 and words[1] != "BY"):
        return None
    return name


def exit_code(text: str) -> int | None:
    """The code that a shell would show for ``0:9`` or ``137:0``: 128 + signal where a signal ended it."""
    found = _EXIT.fullmatch(text.strip())
    if found is None:
        return None
    code, signal = int(found[1]), int(found[2])
    if code > _LARGEST_CODE or signal > _LARGEST_CODE:
        return None
    return 128 + signal if signal else code


def verdict(state: str, code: int | None, options: SlurmOptions) -> Verdict:
    """How an allocation counts that ended in a state."""
    cause = _cause(state, code)
    for name, outcome in options.outcomes:
        if name.upper() == state.upper():
            return Verdict(outcome, cause)
    if state in _BROKEN:
        return Verdict(Outcome.FAILURE, cause)
    if state == "PREEMPTED":
        return Verdict(Outcome.PREEMPTED, cause)
    if state == "OUT_OF_MEMORY" or (state == "FAILED" and _counts(code, options)):
        return Verdict(Outcome.FAILURE, cause, only_long=True)
    return Verdict(Outcome.CENSORED, cause)


def _counts(code: int | None, options: SlurmOptions) -> bool:
    if options.fail_exit_codes is None:
        return code not in NOT_OUR_FAULT
    return code in options.fail_exit_codes


def _cause(state: str, code: int | None) -> str:
    if state == "FAILED":
        return "failed" if code is None else f"failed, exit {code}"
    if state in LASTING:
        return "still running"
    return _BROKEN.get(state) or _ENDED.get(state) or state.lower().replace("_", " ")


def rules(options: SlurmOptions, *, coded: bool = True) -> tuple[str, ...]:
    """The rules in force, in sentences; ``coded`` says whether the record has exit codes."""
    least = f"where the run lasted at least {options.minimum_run_s:,.0f} s"
    how_long = least if options.minimum_run_s else "however short the run"
    said = [
        "NODE_FAIL and BOOT_FAIL are failures; PREEMPTED is a class of its own; COMPLETED, TIMEOUT, DEADLINE, "
        "CANCELLED (by a user or by root), REQUEUED by hand and running jobs are censored",
        f"{_of_failed(options, coded)}, {how_long}",
    ]
    if options.outcomes:
        judged = ", ".join(f"{name} is {outcome.name.lower()}" for name, outcome in options.outcomes)
        said.append(f"as asked for: {judged}")
    return tuple(said)


def _of_failed(options: SlurmOptions, coded: bool) -> str:
    given = options.fail_exit_codes
    if not coded:
        if given is None:
            return "exit codes are not known: FAILED and OUT_OF_MEMORY are failures"
        return "exit codes are not known: FAILED is no failure, OUT_OF_MEMORY is one"
    if given is None:
        codes = f"with any exit code but {', '.join(map(str, NOT_OUR_FAULT))}"
    else:
        codes = f"with exit code {', '.join(map(str, given)) or '(none)'}"
    return f"FAILED is a failure {codes}, OUT_OF_MEMORY with any"
