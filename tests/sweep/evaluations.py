"""Parts of a sweep to work out in tests; of module level, so that workers find them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from ckptplan.errors import InputError
from ckptplan.sweep.columns import Columns, Labels
from ckptplan.sweep.packing import packed

ROWS = 50
AWKWARD = np.array([-0.0, 5e-324, np.nan, np.inf, 0.1, 1 / 3, 1.7976931348623157e308])


def draw(seed: int, index: int) -> Columns:
    """Numbers, whole numbers and texts that depend on the seed and the number of the chunk alone."""
    rng = np.random.default_rng([seed, index])
    numbers = np.concatenate([rng.standard_normal(ROWS - AWKWARD.size), AWKWARD])
    names = ("young", "größe \U0001f4be", f"part {index}", "")
    return {
        "goodput": numbers,
        "cluster.gpus": np.arange(ROWS, dtype=np.int64) + index * 2**40,
        "strategy": Labels(rng.integers(-1, len(names), ROWS).astype(np.int32), names),
    }


def slow(delay_s: float, seed: int, index: int) -> Columns:
    """The same after a while."""
    time.sleep(delay_s)
    return draw(seed, index)


def deadly(folder: str, victim: int, times: int, index: int) -> Columns:
    """The same, but so many times one chunk kills the process that it runs in; files in the folder count them."""
    marks = sorted(Path(folder).glob(f"{index}-*"))
    Path(folder, f"{index}-{len(marks)}").touch()
    if index == victim and len(marks) < times:
        time.sleep(0.1)  # a worker of dask tells in batches what it has finished; this chunk alone is to be lost
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(0, index)


def refused(faulty: int, index: int) -> Columns:
    """The same, but one chunk cannot be evaluated."""
    if index == faulty:
        raise InputError(f"no answer for {index}", hint="none")
    return draw(0, index)


def settings(_: object, index: int) -> Columns:
    """What the process that runs this thinks of Ctrl-C, threads and its number."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    threads = int(os.environ.get("OPENBLAS_NUM_THREADS", "0"))
    return {name: np.array([value]) for name, value in (("pid", os.getpid()), ("deaf", ignored), ("threads", threads))}


def whole(seed: int, count: int) -> list[bytes]:
    """What `draw` gives for all chunks, one after another, as bytes."""
    return [packed(draw(seed, index)) for index in range(count)]
