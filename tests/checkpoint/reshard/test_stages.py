"""Layers of pipeline stages."""

from __future__ import annotations

import pytest

from ckptplan.checkpoint.reshard.stages import layers_of_stages, rank_of_stage, stage_of_layer
from ckptplan.errors import InputError


@pytest.mark.parametrize(
    ("layers", "stages", "expected"),
    [
        (32, 4, (8, 8, 8, 8)),
        (27, 4, (7, 7, 7, 6)),  # torchtitan: 29 with embedding and head, 8, 7, 7, 7
        (3, 2, (2, 1)),
        (61, 16, (3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2)),
        (1, 1, (1,)),
        (1, 3, (0, 1, 0)),
    ],
)
def test_layers_are_shared_out_evenly(layers: int, stages: int, expected: tuple[int, ...]) -> None:
    """As many in each where they divide, else by torchtitan's rule: embedding and head count as a layer each."""
    assert layers_of_stages(layers, stages) == expected
    assert sum(expected) == layers


def test_more_stages_than_layers_are_refused() -> None:
    """There would be a stage without anything."""
    with pytest.raises(InputError, match="5 layers do not fill 8 pipeline stages"):
        layers_of_stages(5, 8)


def test_a_layer_is_in_the_stage_that_counts_up_to_it() -> None:
    """Stages of 2, 0 and 3 layers."""
    assert [stage_of_layer(layer, (2, 0, 3)) for layer in range(5)] == [0, 0, 2, 2, 2]
    assert [rank_of_stage(stage, 2) for stage in range(4)] == [0, 1, 0, 1]
