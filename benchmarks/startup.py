"""Start-up as a ratio: ckptplan against a bare import of what it is built on, alternating in one run.

``python benchmarks/startup.py`` prints the medians and exits 1 if a limit is passed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPEATS = 15
# A shell that forbids byte code would make every run compile the source tree again.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
BARE = [sys.executable, "-c", "import numpy, yaml, pydantic"]
CKPTPLAN = str(Path(sys.executable).with_name("ckptplan"))
COMMANDS = {
    "ckptplan --help": ([CKPTPLAN, "--help"], 1.5),
    "ckptplan optimize llama3-405b --format json": (
        [CKPTPLAN, "optimize", "llama3-405b", "--format", "json"],
        1.5,
    ),
}


def once(command: list[str]) -> float:
    """Wall time of one process, in seconds."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    return time.perf_counter() - start


def main() -> int:
    """Time each command right after the bare import; the ratio of a pair cancels what the machine does meanwhile."""
    once(BARE)
    failed = False
    for name, (command, limit) in COMMANDS.items():
        once(command)
        pairs = [(once(BARE), once(command)) for _ in range(REPEATS)]
        ratio = statistics.median(mine / bare for bare, mine in pairs)
        bare, mine = (1e3 * statistics.median(column) for column in zip(*pairs, strict=True))
        verdict = "ok" if ratio <= limit else "TOO SLOW"
        failed |= ratio > limit
        print(f"{name:48} {mine:6.0f} ms / {bare:4.0f} ms bare = {ratio:.2f} (at most {limit}) {verdict}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
