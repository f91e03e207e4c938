"""Parameters that the optimizer has state for must be stored."""

from __future__ import annotations

import pytest

from ckptplan.checkpoint.audit.auditing import audit
from ckptplan.checkpoint.audit.counted import lost_parameters
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format
from tests.checkpoint.made import WEIGHTS, Maker, complete

SHAPES = [(10, 4), (7, 4), (7,), (10, 4), (4,)]


def numbered(stored=SHAPES, states=SHAPES, slots=("exp_avg", "exp_avg_sq"), listed=None):
    """A model, and an optimizer that keeps states by number."""
    maker = Maker()
    for at, shape in enumerate(stored):
        maker.tensor(f"model.p{at}", StateKind.PARAMETER, shape, path=("model", f"p{at}"), parameter=f"model.p{at}")
    for at, shape in enumerate(states):
        for slot, kind in zip(slots, (StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT), strict=False):
            path = ("optimizer", "state", at, slot)
            maker.tensor(f"optimizer.state.{at}.{slot}", kind, shape, path=path)
    if listed is not None:
        path = ("optimizer", "param_groups", 0, "params")
        maker.object("optimizer.param_groups.0.params", StateKind.HYPERPARAMETERS, list(range(listed)), path)
    return maker


def messages(maker, format_=Format.TORCH):
    """What is said to be lost."""
    faults = list(lost_parameters(maker.manifest(format=format_)))
    assert all(fault.flaw is Flaw.MISSING_ENTRY for fault in faults)
    return [fault.message for fault in faults]


def test_all_there():
    """By name and by number."""
    assert messages(complete()) == messages(numbered()) == messages(numbered(listed=5)) == []


def test_a_parameter_whose_state_has_its_name():
    """The state knows no parameter of that name."""
    maker = complete()
    gone = f"model.{WEIGHTS[-1]}"
    maker.tensors = [tensor for tensor in maker.tensors if tensor.key != gone]
    maker.tensors = [
        tensor._replace(parameter=None) if tensor.parameter == gone else tensor for tensor in maker.tensors
    ]
    assert messages(maker, Format.DCP) == ["the optimizer has state of 1 parameter that is not stored: norm.weight"]
    assert not audit(maker.manifest()).whole


def test_names_that_are_spelled_otherwise_throughout_say_nothing():
    """A prefix of the compiler's before every name."""
    maker = complete()
    maker.tensors = [
        tensor._replace(parameter=None) if tensor.kind is not StateKind.PARAMETER else tensor
        for tensor in maker.tensors
    ]
    assert messages(maker, Format.DCP) == []


def test_more_states_than_tensors():
    """Whatever their shapes."""
    (said,) = messages(numbered(stored=SHAPES[:4]))
    assert said == "the optimizer knows 5 parameters, and 4 tensors of the model are stored"


def test_more_listed_than_tensors():
    """Parameters that had no gradient yet are in the groups."""
    (said,) = messages(numbered(listed=6))
    assert said == "the optimizer knows 6 parameters, and 5 tensors of the model are stored"


def test_a_shape_that_too_few_tensors_have():
    """The head is gone; frozen parameters hide it from the count."""
    frozen = [(3, 3), (2, 2)]
    (said,) = messages(numbered(stored=[*SHAPES[:3], SHAPES[4], *frozen]))
    assert said == "the optimizer has state of 1 parameter that is not stored, of shape [10, 4]"


def test_frozen_parameters_are_no_fault():
    """The model has more than the optimizer."""
    assert messages(numbered(stored=[*SHAPES, (3, 3), (2, 2)])) == []


def test_buffers_and_what_no_name_tells_may_be_the_parameters():
    """Names do not always tell a buffer from a parameter."""
    maker = numbered()
    maker.tensors[0] = maker.tensors[0]._replace(kind=StateKind.BUFFER)
    maker.tensors[1] = maker.tensors[1]._replace(kind=StateKind.OTHER)
    assert messages(maker) == []


def test_moments_of_a_low_rank_are_no_fault():
    """Most of them have other shapes than their parameters."""
    assert messages(numbered(states=[(2, 4), (2, 4), (7,), (2, 4), (4,)])) == []


@pytest.mark.parametrize("slots", [("exp_avg_sq_row", "exp_avg_sq_col"), ("state1", "state2")])
def test_states_of_other_shapes_are_counted_only(slots):
    """Factored and blockwise states."""
    shapes = [(size[0],) for size in SHAPES]
    assert messages(numbered(states=shapes, slots=slots)) == []
    assert len(messages(numbered(states=[*shapes, (1,)], slots=slots))) == 1


def test_an_optimizer_alone_is_no_fault():
    """The verdict says that there are no weights."""
    assert messages(numbered(stored=[])) == []


def test_formats_with_slices_of_parameters_are_not_counted():
    """Megatron's and DeepSpeed's files hold what one rank had."""
    assert messages(numbered(stored=SHAPES[:4]), Format.MEGATRON_LEGACY) == []
