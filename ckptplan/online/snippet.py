"""The lines to paste into a training loop."""

from __future__ import annotations

from ckptplan.online.controller import IntervalController

_TEMPLATE = """\
import time

from ckptplan.online import IntervalController

# Yours: train_step, total_steps, load_checkpoint, save_checkpoint, read_note and write_note (a small JSON file beside
# the checkpoints, written by rank 0), and broadcast. What is read or broadcast must be the same on every rank: then
# every rank decides the same.
controller = IntervalController(
{arguments}
)
checkpoint, note = load_checkpoint(), read_note()  # None at the first start
step = checkpoint["step"] if checkpoint else 0
state = checkpoint["interval_controller"] if checkpoint else None
if note and note["step"] == step:
    state = note  # the job failed again before its next save: the checkpoint does not know of the failure before
if state:
    controller.load_state_dict(state)
    controller.observe_failure()  # leave out after a planned restart; at_step=... if the log tells it
write_note(controller.state_dict())

while step < total_steps:
    train_step(step)
    step += 1
    if controller.should_save(step):
        started = time.perf_counter()
        save_checkpoint({{"step": step, "interval_controller": controller.state_dict()}})
        controller.observe_save(broadcast(time.perf_counter() - started))
"""


def training_loop_snippet(
    step_time: float,
    stall: float,
    prior_mtbf: float,
    *,
    prior_shape: float = 1.0,
    flush: float = 0.0,
    speed: float = 1.0,
) -> str:
    """Python text of a training loop that saves when an `IntervalController` says so.

    Parameters
    ----------
    step_time, stall, prior_mtbf, prior_shape, flush, speed
        As for `IntervalController`, which refuses what is out of range. [s, 1]

    Returns
    -------
    str
        The text, ending in a line break; ASCII.
    """
    IntervalController(step_time, stall, prior_mtbf, prior_shape=prior_shape, flush=flush, speed=speed)
    lines = [
        (step_time, "step_time", "s, of one step"),
        (stall, "stall", "s, that one save blocks training"),
        (prior_mtbf, "prior", "s, MTBF of the whole job as expected"),
        (prior_shape, "prior_shape", "failures that this expectation is worth"),
    ]
    if flush > 0.0:
        lines += [(flush, "flush", "s, of one save in the background"), (speed, "speed", "of training meanwhile")]
    return _TEMPLATE.format(arguments="\n".join(f"    {name}={float(v)!r},  # {text}" for v, name, text in lines))
