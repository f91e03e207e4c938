"""A program that carries out a small sweep with a journal, for tests that end it in various ways."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import partial
from pathlib import Path

from ckptplan.sweep.executors import executor_for
from ckptplan.sweep.identity import Identity
from ckptplan.sweep.journal import Journal
from ckptplan.sweep.packing import packed
from ckptplan.sweep.running import run
from tests.sweep.evaluations import slow

CHUNKS, SEED = 40, 11
IDENTITY = Identity("0" * 64, CHUNKS, {"ckptplan": "1"})


def main(executor: str, delay_s: str, journal: str, out: str) -> None:
    """Write the columns of all chunks to a file."""
    evaluate = partial(slow, float(delay_s), SEED)
    with (
        Journal(journal, IDENTITY) as kept,
        executor_for(executor, 2) as runner,
        closing(run(evaluate, range(CHUNKS), runner, journal=kept)) as parts,
    ):
        Path(out).write_bytes(b"".join(packed(part) for part in parts))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
