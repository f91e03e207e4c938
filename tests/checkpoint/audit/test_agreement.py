"""States of different steps in one checkpoint: files of two saves are told from parameters that were frozen."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from ckptplan.checkpoint.audit.agreement import MOST_READ, STEP, agreement
from ckptplan.checkpoint.audit.auditing import audit, verdict
from ckptplan.checkpoint.audit.findings import Depth
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format
from tests.checkpoint.made import Maker, add_parameters

NAMES = tuple(f"layers.{number}.weight" for number in range(12))


class Clocks:
    """A checkpoint of four ranks: the step of parameter n in the file of rank n mod 4, and states of ranks."""

    def __init__(self, steps: dict[str, int] | None = None, ranked: dict[str, dict[int, object]] | None = None) -> None:
        self.maker = Maker()
        add_parameters(self.maker)
        self.steps: dict[str, int] = {}
        for at, (name, step) in enumerate((steps or {}).items()):
            path = ("optim", "state", name, "step")
            key = ".".join(path)
            self.maker.tensor(key, StateKind.OPTIMIZER_STEP, (), path=path, rank=at % 4)
            self.steps[key] = step
        for key, values in (ranked or {}).items():
            kind = StateKind.PROGRESS if key.startswith("train") else StateKind.DATA_POSITION
            for rank, value in values.items():
                self.maker.object(f"{key}.rank_{rank}", kind, value, (key, f"rank_{rank}"), rank)
        self.read = 0

    def manifest(self, **changes: object):
        """Its manifest, whose source knows the steps."""
        made = self.maker.manifest(**changes)

        def read(tensor, row):
            self.read += 1
            return np.frombuffer(np.float32(self.steps[tensor.key]).tobytes(), np.uint8)

        made.source.read = read
        return made


def steps(of_ranks=(4, 4, 4, 4)) -> dict[str, int]:
    """Each parameter's step, by the rank in whose file it is."""
    return {name: of_ranks[at % 4] for at, name in enumerate(NAMES)}


def test_equal_steps_are_in_agreement():
    """Nothing to say."""
    assert agreement(Clocks(steps(), {"dataloader": {rank: {"pos": 4} for rank in range(4)}}).manifest()) == ((), ())


def test_a_file_of_an_older_step_is_a_fault():
    """All steps in the file of rank 2 are 3, and all others 4; the audit says so before anything else."""
    manifest = Clocks(steps((4, 4, 3, 4))).manifest()
    (fault,) = agreement(manifest).faults
    assert fault.flaw is Flaw.CORRUPT
    assert "is 3 (3 times) in __2_0.distcp and 4 (9 times) in the other files" in fault.message
    assert not audit(manifest).whole
    assert verdict(audit(manifest)).startswith("not usable: states of different steps")


def test_a_newer_file_is_a_fault_too():
    """What most files say is taken for right."""
    (fault,) = agreement(Clocks(steps((9, 4, 4, 4))).manifest()).faults
    assert "is 9 (3 times) in __0_0.distcp" in fault.message


def test_with_the_metadata_alone_no_step_is_read():
    """--quick opens no item."""
    clocks = Clocks(steps((4, 4, 3, 4)))
    assert audit(clocks.manifest(), Depth.METADATA).whole
    assert clocks.read == 0


def test_parameters_that_were_frozen_for_a_while_are_a_note():
    """Their steps lie in files with those of others."""
    values = steps()
    values[NAMES[0]] = values[NAMES[1]] = values[NAMES[5]] = 2
    found = agreement(Clocks(values).manifest())
    assert found.faults == ()
    assert "2 (3 times), 4 (9 times)" in found.notes[0]
    assert "frozen" in found.notes[0]
    assert audit(Clocks(values).manifest()).whole


def test_two_steps_in_a_file_of_their_own_may_be_chance():
    """A norm and its bias that began later."""
    few = {"a": 4, "b": 4, "c": 2, "d": 4, "e": 4, "f": 4, "g": 2, "h": 4}
    found = agreement(Clocks(few).manifest())
    assert (found.faults, len(found.notes)) == ((), 1)


def test_few_steps_and_the_data_position_of_the_same_file_are_no_chance():
    """Two clocks that differ in the same file."""
    few = {"a": 4, "b": 4, "c": 2, "d": 4}
    position = {rank: {"pos": 2 if rank == 2 else 4} for rank in range(4)}
    assert [fault.flaw for fault in agreement(Clocks(few, {"dataloader": position}).manifest()).faults] == [
        Flaw.CORRUPT,
        Flaw.CORRUPT,
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_ranks_at_their_own_pace_through_the_data_are_a_note(packed):
    """Alone it is no fault; positions that a library pickles are looked into."""
    values = [{"inner": {"num_batches": 4 + rank, "seed": rank}} for rank in range(4)]
    position = {rank: pickle.dumps(value) if packed else value for rank, value in enumerate(values)}
    found = agreement(Clocks(steps(), {"dataloader": position}).manifest())
    assert found.faults == ()
    assert "the data position of ranks, num_batches is not the same everywhere" in found.notes[0]


def test_progress_of_ranks_that_differs_is_a_fault():
    """All ranks step together."""
    progress = {rank: {"step": 7 if rank == 1 else 8} for rank in range(4)}
    (fault,) = agreement(Clocks(steps(), {"train": progress}).manifest()).faults
    assert "the progress of ranks, step is 7 (1 time) in __1_0.distcp and 8 (3 times)" in fault.message


def test_in_one_file_no_step_is_of_another_save():
    """Files of torch.save and Trainers hold all steps: unequal ones are a note whatever their order."""
    found = agreement(Clocks(steps((4, 4, 3, 4))).manifest(format=Format.TRAINER))
    assert (found.faults, len(found.notes)) == ((), 1)


def test_of_very_many_steps_evenly_spaced_ones_are_read():
    """A bound on what is opened; a file of another save shows in what is read of it."""
    many = {f"p{number}": 3 if number % 4 == 2 else 4 for number in range(3 * MOST_READ + 1)}
    clocks = Clocks(many)
    (fault,) = agreement(clocks.manifest()).faults
    assert clocks.read == MOST_READ
    assert fault.message.startswith(f"states of different steps: {STEP} is 3")


def test_states_that_cannot_be_read_are_passed_over():
    """Damage has its own faults."""
    maker = Clocks(steps(), {"dataloader": dict.fromkeys(range(4), b"\x80\x04broken")})
    assert agreement(maker.manifest()) == ((), ())
