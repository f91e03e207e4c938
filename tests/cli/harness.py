"""Runs the command line as a user's shell does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

_LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True)
class Ran:
    """What a finished command left behind; CPU time in seconds, memory in bytes."""

    code: int
    out: str
    err: str
    cpu_s: float
    peak_bytes: int


class Told(NamedTuple):
    """What a command run in this process printed."""

    code: int
    out: str
    err: str


Tell: TypeAlias = Callable[..., Told]


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
    report, reported = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_LAUNCHER), str(reported), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(env),
        cwd=cwd,
        pass_fds=(reported,),
    )
    os.close(reported)
    out, err = process.communicate(stdin or b"")
    with os.fdopen(report) as lines:
        status, cpu_s, peak_kib = lines.read().split()
    return Ran(
        os.waitstatus_to_exitcode(int(status)),
        out.decode("utf-8", "replace"),
        err.decode("utf-8", "replace"),
        float(cpu_s),
        int(peak_kib) * 1024,
    )
