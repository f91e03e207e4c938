"""What is said of each kind of state: what its loss costs, and what becomes of it on another number of ranks."""

from __future__ import annotations

from typing import NamedTuple

from ckptplan.checkpoint.kinds import NEEDED_BY_EVERY_RUN, StateKind
from ckptplan.checkpoint.manifest import Format
from ckptplan.cost.ledgers import ADDITIONS, FIRST, MASTER, SECOND, SMALL_STATES

_PROGRESS, _POSITION, _RANDOM, _SCALER = (state.loss for state in SMALL_STATES)

LOSS = {
    StateKind.PARAMETER: "the model",
    StateKind.BUFFER: "running statistics start again; fixed tables are computed again",
    StateKind.MASTER: MASTER.loss,
    StateKind.FIRST_MOMENT: FIRST.loss,
    StateKind.SECOND_MOMENT: SECOND.loss,
    StateKind.OPTIMIZER_STEP: "bias correction starts again: the first updates are too large or too small",
    StateKind.HYPERPARAMETERS: "learning rate, betas and weight decay are those of the new start, not of the run",
    StateKind.SCHEDULER: _PROGRESS,
    StateKind.PROGRESS: "the run starts counting at zero: its schedule, its data and its end are wrong",
    StateKind.DATA_POSITION: _POSITION,
    StateKind.RANDOM: _RANDOM,
    StateKind.LOSS_SCALER: _SCALER,
    StateKind.FP8: "scales are found again: overflow or lost digits in the first steps",
    StateKind.EMA: ADDITIONS["ema"].loss,
    StateKind.OTHER: "what the program keeps there",
}


class OnOtherRanks(NamedTuple):
    """What becomes of a state on another number of ranks."""

    carried: bool  # what is saved can be used there
    safe_to_lose: bool  # nothing is lost that could have been kept
    message: str


CARRIED = OnOtherRanks(True, False, "carried over; not safe to lose")
_RESEED = "seed each rank anew from the run's seed, its rank and the step"
RANDOM_STREAMS = OnOtherRanks(False, True, f"they belong to as many ranks as saved; safe to lose: {_RESEED}")
_FROM_STEP = "work the position out from the global step and sample index, and reseed the order"
RANKED_POSITIONS = OnOtherRanks(
    False,
    False,
    "one position per rank: more ranks ask for keys that do not exist, fewer drop the rest without a word; "
    f"not safe to lose: {_FROM_STEP}",
)
LOST_POSITION = OnOtherRanks(False, False, f"not safe to lose: {_FROM_STEP}")
SCALER_REFOUND = OnOtherRanks(True, True, "carried over; without it some steps are skipped until the scale fits again")


# Formats whose tensors only as many ranks can load as saved them.
BOUND = {
    Format.DEEPSPEED: "ZeRO files load on as many data-parallel ranks as saved them; ds_to_universal.py converts them",
    Format.MEGATRON_LEGACY: "nothing says along which axis a tensor was cut: as many ranks must load it, and can save "
    "torch_dist",
    Format.FSDP1_FLAT: "flat vectors without names: as many ranks must load it, and can save a sharded state dict",
}
_TENSORS = frozenset(
    {
        StateKind.PARAMETER,
        StateKind.BUFFER,
        StateKind.MASTER,
        StateKind.FIRST_MOMENT,
        StateKind.SECOND_MOMENT,
        StateKind.EMA,
    }
)


def on_other_ranks(kind: StateKind, ranked: bool, there: bool, format_: Format) -> OnOtherRanks:
    """What becomes of a state on another number of ranks; ``ranked``: each rank has its own."""
    if kind in _TENSORS and format_ in BOUND:
        return OnOtherRanks(False, False, BOUND[format_])
    if kind is StateKind.RANDOM:
        return RANDOM_STREAMS
    if kind is StateKind.DATA_POSITION and (ranked or not there):
        return RANKED_POSITIONS if ranked else LOST_POSITION
    return SCALER_REFOUND if kind is StateKind.LOSS_SCALER else CARRIED


IF_USED = frozenset({StateKind.MASTER, StateKind.LOSS_SCALER, StateKind.FP8, StateKind.BUFFER, StateKind.EMA})
ALWAYS = frozenset(NEEDED_BY_EVERY_RUN)
