"""What is said of a measurement of storage, and when a burst is one of memory."""

from __future__ import annotations

from typing import Any

import pytest

from ckptplan.measure.doubts import doubts
from ckptplan.measure.host import FileSystem, HostMemory
from ckptplan.measure.reading import Past
from ckptplan.measure.repeats import Repeats
from ckptplan.measure.setting import Setting
from ckptplan.measure.storage import StorageMeasured

FOUND = StorageMeasured(
    folder="/mnt/checkpoints",
    by="ckptplan",
    setting=Setting(2, 10**9, 1 << 24, 2),
    file_system=FileSystem("ext4", "/dev/sda", "/"),
    memory=HostMemory(1e12, 1e12, 2e11),
    sustained=Repeats((2e9, 2e9)),
    burst=Repeats((9e9, 9e9)),
    writers=Repeats((1e9, 1.1e9, 1e9, 1.1e9)),
    seconds=Repeats((1.0, 1.0)),
    read=Repeats((3e9, 3e9)),
    past=Past.DROPPED,
    notes=(),
)


def _said(**changes: Any) -> tuple[str, ...]:
    return doubts(FOUND._replace(**changes))


def test_doubts_name_memory_layers_caches_and_short_runs() -> None:
    """What keeps the figures from being those of storage is said; a long run on a disk past the cache has no doubt."""
    short, burst = _said()
    assert short.startswith("a repetition took ")
    assert burst.startswith("the burst is what memory took")
    assert "this is memory, not storage" in _said(file_system=FileSystem("tmpfs"))[0]
    assert any("the servers of nfs4" in note for note in _said(file_system=FileSystem("nfs4")))
    assert "layer of a container" in _said(file_system=FileSystem("overlay"))[0]
    assert "left out of the block" in _said(past=Past.CACHE)[-1]
    long = {"seconds": Repeats((31.0,)), "setting": FOUND.setting._replace(direct=True), "past": Past.DIRECT}
    assert _said(**long) == ()


def test_uneven_writers_are_named() -> None:
    """Writers that differ by half, each taken by itself, are worth a word; smaller differences are not."""
    assert any(
        "writers are uneven: each by itself got 1 GB/s to 1.6 GB/s" in s for s in _said(writers=Repeats((1e9, 1.6e9)))
    )
    assert not any("uneven" in sentence for sentence in _said(writers=Repeats((1e9, 1.5e9))))


@pytest.mark.parametrize(
    ("limit_bytes", "is_memory", "phrase"),
    [
        (3e9, True, "the burst is what memory took"),
        (1e9, True, "in part what memory took"),
        (3e8, True, "in part what memory took"),
        (1e8, False, None),
        (None, True, None),
    ],
)
def test_a_burst_of_which_memory_may_hold_more_than_a_tenth(
    limit_bytes: float | None, is_memory: bool, phrase: str | None
) -> None:
    """Of 2 GB the page cache may hold all, half, 15 %, or 5 %, which is little; an unknown limit may be any."""
    found = FOUND._replace(memory=HostMemory(1e12, 1e12, limit_bytes))
    assert found.burst_is_memory is is_memory
    said = [sentence for sentence in doubts(found) if sentence.startswith("the burst")]
    assert len(said) == (phrase is not None)
    assert (phrase or "") in "".join(said)
    assert found._replace(setting=FOUND.setting._replace(direct=True)).burst_is_memory is False
    assert found._replace(file_system=FileSystem("tmpfs")).burst_is_memory is True
