from __future__ import annotations

import pytest

from ckptplan.cost.architecture import Architecture, Cut, TensorKind, Tensors
from ckptplan.cost.stages import stage_parameters
from ckptplan.errors import InputError

LAYERS = tuple(range(6))
MODEL = Architecture(
    "made up",
    6,
    (
        Tensors("embed", (1000, 8), TensorKind.EMBEDDING, cut=Cut.COLUMN),
        Tensors("{}.q", (16, 8), TensorKind.ATTENTION, LAYERS, cut=Cut.COLUMN),
        Tensors("{}.o", (8, 16), TensorKind.ATTENTION, LAYERS, cut=Cut.ROW),
        Tensors("{}.norm", (8,), TensorKind.NORM, LAYERS),
        Tensors("{}.experts.{}", (4, 8), TensorKind.EXPERT, LAYERS[3:], each=5, cut=Cut.COLUMN),
        Tensors("norm", (8,), TensorKind.NORM, at_end=True),
    ),
    tied_head=True,
)


def test_every_parameter_lies_on_one_stage():
    """Totals of the stages sum to the model, whatever the number of stages."""
    for pipeline in range(1, 7):
        stages = stage_parameters(MODEL, 2, pipeline)
        assert sum(s.total_dense + s.total_expert for s in stages) == MODEL.total
        assert sum(s.layers for s in stages) == 6


def test_by_hand():
    """Two stages of three layers on two ranks: vocabulary padded to 1,024, a second copy of it on the last stage."""
    first, last = stage_parameters(MODEL, 2, 2)
    assert (first.dense_per_rank, first.expert_per_rank) == (512 * 8 + 3 * (64 + 64 + 8), 0)
    assert (last.dense_per_rank, last.expert_per_rank) == (512 * 8 + 3 * (64 + 64 + 8) + 8, 3 * 5 * 16)


def test_experts_are_divided():
    """Five experts over two expert-parallel ranks: the busiest holds three, each cut by tensor parallelism."""
    assert stage_parameters(MODEL, 2, 1, expert=2)[0].expert_per_rank == 3 * 3 * 16


def test_uneven_layers():
    """The first stages take one layer more."""
    assert [(s.first_layer, s.layers) for s in stage_parameters(MODEL, 1, 4)] == [(0, 2), (2, 2), (4, 1), (5, 1)]


@pytest.mark.parametrize(("tensor", "pipeline"), [(0, 1), (1, 0), (-1, 1), (1, 7)])
def test_refused(tensor, pipeline):
    """No ranks, or more stages than layers, are no layout."""
    with pytest.raises(InputError):
        stage_parameters(MODEL, tensor, pipeline)
