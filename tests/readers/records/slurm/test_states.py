from __future__ import annotations

import pytest

from ckptplan.fit.record import Outcome
from ckptplan.readers.records.slurm.options import SlurmOptions
from ckptplan.readers.records.slurm.states import BY_ROOT, exit_code, rules, state_of, verdict

C, F, P, M = Outcome.CENSORED, Outcome.FAILURE, Outcome.PREEMPTED, Outcome.MAINTENANCE


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("COMPLETED", "COMPLETED"), ("CD", "COMPLETED"), ("F", "FAILED"), ("NF", "NODE_FAIL"), ("PR", "PREEMPTED"),
        ("TO", "TIMEOUT"), ("CA", "CANCELLED"), ("CANCELLED by 1001", "CANCELLED"), ("CANCELLED by 0", BY_ROOT),
        ("OOM", "OUT_OF_MEMORY"), ("BF", "BOOT_FAIL"), ("DL", "DEADLINE"), ("RV", "REVOKED"), ("S", "SUSPENDED"),
        (" node_fail ", "NODE_FAIL"), ("RQ", "REQUEUED"), ("RS", "RESIZING"),
        ("", None), ("CANCELLED+", None), ("FAILED twice", None), ("=NODE_FAIL", None), ("2026-01-01T00:00:00", None),
    ],
)  # fmt: skip
def test_names_of_states(text, name):
    """States are known by their full and short names; a cut-off or unknown one is none."""
    assert state_of(text) == name


@pytest.mark.parametrize(
    ("text", "code"),
    [("0:0", 0), ("1:0", 1), ("137:0", 137), ("0:9", 137), ("0:15", 143), ("15:0", 15),
     ("", None), ("9", None), ("a:b", None)],
)  # fmt: skip
def test_exit_codes(text, code):
    """An exit code is what a shell shows: 128 + signal for an end by a signal."""
    assert exit_code(text) == code


@pytest.mark.parametrize(
    ("state", "code", "outcome", "cause", "only_long"),
    [
        ("NODE_FAIL", 0, F, "node failure", False), ("BOOT_FAIL", 0, F, "boot failure", False),
        ("FAILED", 1, F, "failed, exit 1", True), ("FAILED", 137, F, "failed, exit 137", True),
        ("FAILED", None, F, "failed", True), ("FAILED", 127, C, "failed, exit 127", False),
        ("OUT_OF_MEMORY", 0, F, "out of memory", True), ("PREEMPTED", 0, P, "preempted", False),
        ("COMPLETED", 0, C, "completed", False), ("TIMEOUT", 0, C, "time limit", False),
        ("CANCELLED", 0, C, "cancelled", False), (BY_ROOT, 0, C, "cancelled by root", False),
        ("DEADLINE", 0, C, "deadline", False), ("REQUEUED", 0, C, "requeued", False),
        ("RUNNING", 0, C, "still running", False), ("SUSPENDED", 0, C, "still running", False),
    ],
)  # fmt: skip
def test_default_verdicts(state, code, outcome, cause, only_long):
    """Hardware is a failure at once, a program's own end only after a long run, and people's decisions never are."""
    assert verdict(state, code, SlurmOptions()) == (outcome, cause, only_long)


def test_verdicts_can_be_changed():
    """Exit codes, and the outcome of any state, are the user's to choose."""
    options = SlurmOptions(fail_exit_codes=(137,), outcomes=(("REQUEUED", F), ("cancelled by root", M)))
    assert verdict("FAILED", 1, options).outcome is C
    assert verdict("FAILED", 137, options).outcome is F
    assert verdict("REQUEUED", 0, options).outcome is F
    assert verdict(BY_ROOT, 0, options).outcome is M
    assert any("exit code 137" in rule for rule in rules(options))
    assert any("REQUEUED is failure" in rule for rule in rules(options))
