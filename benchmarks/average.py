"""Averaging as a ratio to a plain copy of the same bytes: ``python benchmarks/average.py [FOLDER]``.

Four checkpoints of 1 GB, of bf16 and of fp32, as safetensors. In turn: all are read through one buffer of 1 MB and
as many bytes as one of them are written and synced (the copy), and ``average`` does its work, neighbourhood included,
written and synced too. Twice: with the inputs dropped from the page cache before each, as the checkpoints of a run are
when they are averaged, and with the inputs in it. Medians of pairs that alternate which comes first. Exits with 1 if
averaging from storage takes more than 1.5 times the copy.

Measured on two cores that had other load too: from storage 1.24 (bf16) and 1.36 (fp32); single pairs from 0.7 to 1.6.
In the page cache 2.8 to 3.2: arithmetic and reading take 2.0 to 2.6 s of a core, the copy 0.5 s and a sync, so
that 1.5 there needs more than two cores.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ckptplan.checkpoint.average.averaging import average
from ckptplan.checkpoint.average.weighting import uniform
from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.writing.single import SafetensorsWriter

CHECKPOINTS = 4
TENSORS, TENSOR_BYTES = 32, 1 << 25
REPEATS = 5
LIMIT = 1.5
BUFFER_BYTES = 1 << 20


def make(path: Path, dtype: str, seed: int) -> None:
    """One checkpoint: neighbours differ by half a percent."""
    width = 2 if dtype == "bfloat16" else 4
    rows = TENSOR_BYTES // width // 4096
    entries = [(f"layers.{n}.weight", dtype, (rows, 4096)) for n in range(TENSORS)]
    with SafetensorsWriter(path, entries) as writer:
        for n, (name, _, shape) in enumerate(entries):
            values = 0.02 * np.random.default_rng(n).standard_normal(shape, np.float32)
            values += np.float32(1e-4) * np.random.default_rng(1000 * seed + n).standard_normal(shape, np.float32)
            stored = (values.view(np.uint32) >> 16).astype(np.uint16) if dtype == "bfloat16" else values
            writer.write(name, 0, stored)
        writer.finish()


def copy(paths: list[Path], out: Path) -> None:
    """Read everything, write as much as one of them holds, sync."""
    buffer = bytearray(BUFFER_BYTES)
    with out.open("wb", buffering=0) as target:
        for path in paths:
            with path.open("rb", buffering=0) as source:
                while size := source.readinto(buffer):
                    if path == paths[-1]:
                        target.write(memoryview(buffer)[:size])
        os.fsync(target.fileno())


def mean(paths: list[Path], out: Path) -> None:
    """What is measured."""
    average([read_manifest(path) for path in paths], out, uniform)


def timed(action: Callable[[list[Path], Path], None], paths: list[Path], *, cold: bool) -> float:
    """Seconds of one run, from the asked state of the page cache."""
    out = paths[0].with_name("out.safetensors")
    os.sync()
    for path in paths if cold else ():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    start = time.perf_counter()
    action(paths, out)
    taken = time.perf_counter() - start
    out.unlink()
    return taken


def ratio(paths: list[Path], *, cold: bool) -> tuple[float, float, float]:
    """Medians: averaging over copying, and the seconds of both."""
    pairs = []
    for repeat in range(REPEATS):
        found: dict[str, float] = {}
        for action in (copy, mean) if repeat % 2 else (mean, copy):
            found[action.__name__] = timed(action, paths, cold=cold)
        pairs.append((found["mean"] / found["copy"], found["mean"], found["copy"]))
    one, two, three = (statistics.median(values) for values in zip(*pairs, strict=True))
    return one, two, three


def main() -> int:
    """Print the ratios."""
    failed = False
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        for dtype in ("bfloat16", "float32"):
            paths = [Path(folder) / f"{dtype}-{seed}.safetensors" for seed in range(CHECKPOINTS)]
            for seed, path in enumerate(paths):
                make(path, dtype, seed)
            for cold in (True, False):
                found, taken, plain = ratio(paths, cold=cold)
                state = "from storage" if cold else "in the page cache"
                print(f"{dtype}, {state}: average {taken:.2f} s, copy {plain:.2f} s, ratio {found:.2f}", flush=True)
                failed |= cold and found > LIMIT
            for path in paths:
                path.unlink()
    print("too slow" if failed else f"averaging from storage takes at most {LIMIT} times a plain copy")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
