"""Checkpoints that cannot be read for another number of ranks, and why."""

from __future__ import annotations

from ckptplan.checkpoint.manifest import Flaw, Format, Manifest

_NEVER = {
    Format.MEGATRON_LEGACY: (
        "no file says along which axis a tensor was cut; Megatron's own conversion knows it from the model, and "
        "torch_dist checkpoints keep it"
    ),
    Format.FSDP1_FLAT: (
        "each rank holds a piece of flat, padded vectors, and nothing maps their elements to parameters; load it on as "
        "many ranks as saved it and save SHARDED_STATE_DICT"
    ),
}


def reshardable(manifest: Manifest) -> str | None:
    """Why a checkpoint cannot be read for another layout.

    Parameters
    ----------
    manifest : Manifest
        Of any format.

    Returns
    -------
    str or None
        The reason with a remedy, None where nothing stands against it. A fault of the kind NOT_RESHARDABLE that the
        reader found is a reason as well.
    """
    found = _NEVER.get(manifest.format)
    if found is not None:
        return found
    return next((fault.message for fault in manifest.faults if fault.flaw is Flaw.NOT_RESHARDABLE), None)
