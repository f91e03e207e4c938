"""Times of many saves at once: those of each by itself, to the last digit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckptplan.cost.save_times import Written, save_times
from ckptplan.cost.scenario import Mode, Save, SharedLink, Storage, Training
from ckptplan.errors import InputError

_COUNT = 200
_STORAGE = Storage(write_bandwidth_bytes_per_s=1e12, write_bandwidth_per_writer_bytes_per_s=2e9, latency_s=2.0)
_TRAINING = Training(step_time_s=5.0)
_SAVES = (
    Save("gathered", Mode.GATHERED),
    Save("sharded", Mode.SHARDED),
    Save("given", Mode.SHARDED, 30.0),
    Save("plain", Mode.ASYNCHRONOUS),
    Save("slow", Mode.ASYNCHRONOUS, 1.0, flush_s=40.0, training_speed_while_flushing=0.8, in_flight=3),
    Save("steps", Mode.ASYNCHRONOUS, step_time_while_flushing_s=6.0),
    Save("hidden", Mode.ASYNCHRONOUS, overlapped_copy=True, training_speed_while_flushing=0.9),
    Save("part", Mode.ASYNCHRONOUS, 0.5, overlapped_copy=True),
    Save("link", Mode.ASYNCHRONOUS, shared_link=SharedLink(2e10, 0.3)),
)


@pytest.mark.parametrize("save", _SAVES, ids=lambda save: save.name)
def test_arrays_give_what_each_number_gives_by_itself(save: Save) -> None:
    """Sizes, bandwidths, given times and the time of a step as arrays."""
    rng = np.random.default_rng(7)
    total = 10.0 ** rng.uniform(10, 14, _COUNT)
    written = Written(total, total / 4, total / 30)
    rates = 10.0 ** rng.uniform(8, 13, (3, _COUNT))
    steps_s, given_s = 10.0 ** rng.uniform(-1, 2, (2, _COUNT))

    def at(pick):  # type: ignore[no-untyped-def]
        of_save = {"copy_bandwidth_bytes_per_s": pick(rates[2])}
        of_save |= {} if save.stall_s is None else {"stall_s": pick(given_s)}
        of_storage = {"write_bandwidth_bytes_per_s": pick(rates[0]), "write_bandwidth_per_writer_bytes_per_s": None}
        if save.name != "sharded":
            of_storage["write_bandwidth_per_writer_bytes_per_s"] = pick(rates[1])
        return save_times(
            replace(save, **of_save),
            Written(*map(pick, written)),
            replace(_STORAGE, **of_storage),
            replace(_TRAINING, step_time_s=pick(steps_s)),
        )

    at_once = at(lambda array: array)
    for number in range(_COUNT):
        alone = at(lambda array, number=number: float(array[number]))
        for name, found, wanted in zip(alone._fields, at_once, alone, strict=True):
            assert np.broadcast_to(found, _COUNT)[number] == float(wanted), (name, number)


def test_what_is_not_known_is_an_error_for_arrays_too() -> None:
    """Without a bandwidth no stall follows; what is saved while training waits has no flush."""
    written = Written(np.array([1e12, 2e12]), 1e11, 1e10)
    with pytest.raises(InputError, match="no write bandwidth gives it"):
        save_times(Save("a", Mode.SHARDED), written, Storage(), _TRAINING)
    flushed = replace(_SAVES[1], flush_s=np.array([0.0, 3.0]))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="nothing is flushed"):
        save_times(flushed, written, _STORAGE, _TRAINING)


def test_given_times_below_what_bandwidths_allow_are_marked() -> None:
    """A stall below the write, a flush below the write, a stall below the copy; a computed or rounded one is not."""
    written, training = Written(1e12, 1e11, 1e10), Training(step_time_s=5.0)
    storage = Storage(write_bandwidth_bytes_per_s=np.array([1e9, 1e10, 1e11]))  # type: ignore[arg-type]

    def marked(save: Save) -> list[bool]:
        short = save_times(save, written, storage, training).is_short
        return [bool(one) for one in np.broadcast_to(short, 3)]

    assert marked(Save("s", Mode.SHARDED, 99.5)) == [True, False, False]  # rounded from 100 s
    assert marked(Save("s", Mode.SHARDED, 98.0)) == [True, True, False]
    assert marked(Save("s", Mode.SHARDED)) == [False] * 3
    asynchronous = Save("a", Mode.ASYNCHRONOUS, copy_bandwidth_bytes_per_s=1e10)  # a copy takes 1 s
    assert marked(asynchronous) == [False] * 3
    assert marked(replace(asynchronous, flush_s=50.0)) == [True, True, False]
    assert marked(replace(asynchronous, stall_s=0.5)) == [True] * 3
    assert marked(replace(asynchronous, stall_s=2.0)) == [False] * 3
