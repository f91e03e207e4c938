"""Files of a DeepSpeed folder, and what is in each."""

from __future__ import annotations

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.deepspeed.names import LATEST, state_files
from ckptplan.checkpoint.manifest import File

_HOLDS = {
    "zero_to_fp32.py": "a program that puts the weights together; it is not run",
    "optimizer_state.pt": "hyperparameters, and the flat vectors of one rank",
}


def told_files(folder: CheckpointFolder, prefix: str) -> tuple[File, ...]:
    """Every file; those outside of the tag belong to other saves of the run."""
    states = {one.name: one for one in state_files(folder, prefix)}
    found: list[File] = []
    for file in folder.files():
        last = file.name.rsplit("/", 1)[-1]
        state = states.get(file.name)
        if state is not None:
            holds = "partition of masters and moments" if state.optimizer else "model and progress"
            found.append(file._replace(rank=state.dp, holds=holds))
        elif not file.name.startswith(prefix) and file.name not in LATEST:
            found.append(file._replace(referenced=False, holds="not of this save"))
        elif file.name in LATEST:
            found.append(file._replace(holds="the name of the newest save"))
        else:
            found.append(
                file._replace(holds=_HOLDS.get(last, "state of one parameter" if "/zero/" in f"/{file.name}" else ""))
            )
    return tuple(found)
