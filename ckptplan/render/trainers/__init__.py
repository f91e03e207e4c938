"""Trainer-ready settings: the interval of a plan in the words of each training framework."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ckptplan.errors import UsageError
from ckptplan.render.trainers import deepspeed, huggingface, lightning, maxtext, megatron, nemo, torchtitan
from ckptplan.render.trainers.setting import Format, Trainer, TrainerSetting

__all__ = ["TRAINERS", "Format", "Trainer", "TrainerSetting", "snippet"]

_MODULES = (megatron, torchtitan, nemo, deepspeed, lightning, huggingface, maxtext)
TRAINERS: Mapping[str, Trainer] = MappingProxyType({m.TRAINER.name: m.TRAINER for m in _MODULES})


def snippet(name: str, setting: TrainerSetting) -> str:
    """The setting to paste for a trainer, in its own format, ready to use and commented.

    Parameters
    ----------
    name : str
        One of ``TRAINERS``.
    setting : TrainerSetting
        Steps between saves, asynchronous or not, how many to keep.

    Returns
    -------
    str
        Flags, Python or YAML, ending with a line break; ASCII only.

    Raises
    ------
    UsageError
        If no trainer has that name.
    """
    if name not in TRAINERS:
        raise UsageError(f"no trainer is called {name!r}", hint=f"one of {', '.join(TRAINERS)}")
    return TRAINERS[name].snippet(setting)
