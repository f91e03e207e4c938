"""Which stage of a pipeline holds which layer."""

from __future__ import annotations

import numpy as np

from ckptplan.errors import InputError


def layers_of_stages(layers: int, stages: int) -> tuple[int, ...]:
    """Layers of each stage where nobody says: as many in each if they divide, as Megatron wants it; else torchtitan's.

    torchtitan counts the embedding and the head as one layer each, shares all out, and gives what is left over to the
    first stages.
    """
    if layers % stages == 0:
        return (layers // stages,) * stages
    each, over = divmod(layers + 2, stages)
    shares = [each + (stage < over) for stage in range(stages)]
    shares[0] -= 1
    shares[-1] -= 1
    if min(shares) < 0 or each == 0:
        raise InputError(
            f"{layers:,} layers do not fill {stages:,} pipeline stages", hint="say layers_per_stage in a layout file"
        )
    return tuple(shares)


def stage_of_layer(layer: int, layers_per_stage: tuple[int, ...]) -> int:
    """Stage of a layer; stages hold consecutive layers."""
    return int(np.searchsorted(np.cumsum(layers_per_stage), layer, side="right"))


def rank_of_stage(stage: int, ranks: int) -> int:
    """Place along pp of a stage: with more stages than ranks they go round, as interleaved schedules have them."""
    return stage % ranks
