"""Seeded mutations of the metadata and headers of every checkpoint: an answer or one error, and nothing runs.

Each mutation goes through the whole reading: format, manifest, audit, and a read of some tensors and objects.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import ml_dtypes  # noqa: F401 - imported before the watch begins
import pyarrow  # noqa: F401
import pytest

from ckptplan.checkpoint.audit.auditing import Depth, audit
from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.errors import InputError
from tests.checkpoint.mutations import mutated, read_all
from tests.checkpoint.shared_fixtures import NAMES, OWN, folder_of

ROUNDS = 12  # parts of the work on one checkpoint, so that several processes share it
PER_ROUND = 30
DEPTHS = (Depth.METADATA, Depth.METADATA, Depth.ITEMS, Depth.METADATA, Depth.DATA)
LONGEST_S = 10  # of one mutation; a hang is minutes

# What must not happen while a checkpoint is read.
FORBIDDEN = frozenset(
    {"os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pickle.find_class", "os.remove"}
    | {"os.rename", "os.mkdir", "socket.connect", "shutil.rmtree", "ctypes.dlopen", "exec"}
)
_watching: list[bool] = []  # an entry while something is watched
_seen: list[str] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    if event == "exec" and not getattr(arguments[0], "co_filename", "<").startswith("<"):
        return  # a module of ours or of a library that is imported for the first time
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if event in FORBIDDEN or writes:
        _seen.append(f"{event} {arguments!r}"[:300])


sys.addaudithook(_hook)


@contextmanager
def watched(seconds: int) -> Iterator[None]:
    """Record forbidden events, and break off what hangs."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    _watching.append(True)
    try:
        yield
    finally:
        _watching.clear()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def checkpoints() -> list[Path]:
    """Those of this project and, where they are at hand, all others."""
    return [*sorted(path for path in OWN.iterdir() if path.is_dir()), *map(folder_of, NAMES)]


def name_of(folder: Path) -> str:
    """The name of a checkpoint in the report."""
    return folder.parent.name if folder.name == "ckpt" else folder.name


def heads(folder: Path) -> list[Path]:
    """Every file: most bytes of these are metadata, headers, or archives with an index at their end."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def ask(folder: Path, depth: Depth = Depth.METADATA) -> None:
    """What the commands do with a checkpoint, up to some of its data."""
    manifest = read_manifest(folder)
    audit(manifest, depth)
    read_all(manifest, manifest.tensors[:6], manifest.objects[:6], rows=2)


@pytest.mark.parametrize("part", range(ROUNDS))
@pytest.mark.parametrize("folder", checkpoints(), ids=name_of)
def test_a_changed_byte_gives_an_answer_or_one_error(
    folder: Path, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback, no hang, nothing executed, no file written."""
    copy = tmp_path / "ckpt"
    shutil.copytree(folder, copy)
    monkeypatch.chdir(tmp_path)
    draw = random.Random(f"{name_of(folder)} {part}")  # noqa: S311 - seeded on purpose
    files = heads(copy)
    assert files
    with suppress(InputError):
        ask(copy)  # all that is imported when needed is there before the watch begins
    _seen.clear()
    said: list[str] = []
    for number in range(PER_ROUND):
        victim = draw.choice(files)
        original = victim.read_bytes()
        victim.write_bytes(mutated(original, draw))
        try:
            with watched(LONGEST_S):
                ask(copy, DEPTHS[number % len(DEPTHS)])
        except InputError as error:
            said += [problem.message for problem in error.problems]
        finally:
            victim.write_bytes(original)
    assert _seen == []
    assert all(said)
    assert not [name for name in os.listdir(tmp_path) if name != "ckpt"]  # noqa: PTH208 - every kind of entry


def test_the_watch_sees_what_it_must_not_miss(tmp_path: Path) -> None:
    """A check that could not fail would be none."""
    _seen.clear()
    with watched(LONGEST_S):
        (tmp_path / "made").write_text("x", encoding="utf-8")
    assert len(_seen) == 1
    _seen.clear()
    with pytest.raises(TimeoutError), watched(1):
        signal.pause()


def test_there_are_twenty_thousand_mutations() -> None:
    """Where all checkpoints are at hand."""
    if not NAMES:
        pytest.skip("only the checkpoints of the project are at hand")
    assert len(checkpoints()) * ROUNDS * PER_ROUND >= 20_000
