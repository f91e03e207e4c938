"""The formats that are known, in the order in which they are tried: those with the most particular marks first."""

from __future__ import annotations

from typing import Protocol

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.manifest import Manifest

# What was looked for, for the message when nothing is recognised.
MARKS = (
    ".metadata or __R.metadata (torch DCP, Megatron), trainer_state.json (Trainer), random_states_R.pkl (accelerate), "
    "*_model_states.pt (DeepSpeed), model_optim_rng.pt (Megatron), _CHECKPOINT_METADATA (Orbax), *.safetensors, "
    "files of torch.save"
)


class Reader(Protocol):
    """A module that reads one format."""

    def recognised(self, folder: CheckpointFolder) -> bool:
        """Whether a folder is of this format."""
        ...

    def read(self, folder: CheckpointFolder) -> Manifest:
        """The manifest of a folder."""
        ...


def formats() -> tuple[Reader, ...]:
    """Every format, the most particular first."""
    from ckptplan.checkpoint.formats import accelerate, deepspeed, fsdp1, orbax, safetensors, torch_save, trainer
    from ckptplan.checkpoint.formats.dcp import hf_storage
    from ckptplan.checkpoint.formats.dcp import reader as dcp
    from ckptplan.checkpoint.formats.megatron import legacy, torch_dist

    return (trainer, accelerate, torch_dist, legacy, dcp, deepspeed, orbax, hf_storage, fsdp1, safetensors, torch_save)


def format_of(folder: CheckpointFolder) -> Reader | None:
    """The format of a folder, or None."""
    return next((reader for reader in formats() if reader.recognised(folder)), None)
