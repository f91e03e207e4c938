"""Kinds of state that a checkpoint can hold, and which of them exact resume needs."""

from enum import StrEnum


class StateKind(StrEnum):
    """What a stored tensor or object is."""

    PARAMETER = "parameters"
    BUFFER = "buffers"  # a checkpoint holds them and no optimizer trains them
    MASTER = "fp32 masters"  # beside parameters of lower precision
    FIRST_MOMENT = "first moments"
    SECOND_MOMENT = "second moments"
    OPTIMIZER_STEP = "optimizer step"
    HYPERPARAMETERS = "hyperparameters"  # of the optimizer: its param_groups
    SCHEDULER = "scheduler"  # of the learning rate
    PROGRESS = "progress"  # global step, tokens, samples
    DATA_POSITION = "data position"  # of the data loader
    RANDOM = "random-number states"
    LOSS_SCALER = "loss scaler"
    FP8 = "FP8 state"  # scales and histories of absolute maxima
    EMA = "averaged weights"  # a copy of the parameters that no step trains
    OTHER = "other"

    @property
    def word(self) -> str:
        """What one types for it: first-moments, random, fp8."""
        return _SHORT.get(self, self.value.lower().replace(" ", "-"))


_SHORT = {
    StateKind.MASTER: "masters",
    StateKind.RANDOM: "random",
    StateKind.FP8: "fp8",
    StateKind.EMA: "averages",
}


# Without one of these a run does not go on exactly as it would have. A loss scaler, FP8 state, masters and averages are
# needed only by runs that use them.
NEEDED_BY_EVERY_RUN = (
    StateKind.PARAMETER,
    StateKind.FIRST_MOMENT,
    StateKind.SECOND_MOMENT,
    StateKind.OPTIMIZER_STEP,
    StateKind.HYPERPARAMETERS,
    StateKind.SCHEDULER,
    StateKind.PROGRESS,
    StateKind.DATA_POSITION,
    StateKind.RANDOM,
)
