"""Runs the command line as a user's shell does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """What a finished command left behind; CPU time in seconds, memory in bytes."""

    code: int
    out: str
    err: str
    cpu_s: float
    peak_bytes: int


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without what steers the output."""
    steering = (
        "COLUMNS",
        "NO_COLOR",
        "FORCE_COLOR",
        "TERM",
        "LC_ALL",
        "LANG",
        "PYTHONUTF8",
        "PYTHONIOENCODING",
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CKPTPLAN_") and k not in steering}
    return {**kept, "LC_ALL": "C.UTF-8", **(changes or {})}


def ckptplan(
    *arguments: str,
    stdin: bytes | None = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Ran:
    """Run ``ckptplan``; ``stdin`` None closes standard input altogether."""
    command = [sys.executable, "-m", "ckptplan", *arguments]
    if stdin is None:
        command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(env),
        cwd=cwd,
    )
    # Small outputs fit the pipes, so the child can be waited for with its own resource usage after reading.
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        process.stdin.write(stdin or b"")
        process.stdin.close()
    except BrokenPipeError:
        pass
    out, err = process.stdout.read(), process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ran(
        process.returncode,
        out.decode("utf-8", "replace"),
        err.decode("utf-8", "replace"),
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1024,
    )
