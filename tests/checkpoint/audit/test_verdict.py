"""The verdict, in one sentence."""

from ckptplan.checkpoint.audit.auditing import audit, verdict
from ckptplan.checkpoint.audit.words import ALWAYS
from ckptplan.checkpoint.kinds import StateKind
from tests.checkpoint import made
from tests.checkpoint.made import Maker, complete


def _verdict(maker, *allowed):
    return verdict(audit(maker.manifest(), required=ALWAYS - set(allowed)))


def _without(*kinds):
    maker = complete()
    maker.tensors = [tensor for tensor in maker.tensors if tensor.kind not in kinds]
    maker.objects = [entry for entry in maker.objects if entry.kind not in kinds]
    return maker


def test_whole_and_complete():
    """The good case."""
    assert _verdict(complete()) == "whole, and it holds all that exact resume needs"


def test_what_is_missing_is_named():
    """One state, or a series of them."""
    assert _verdict(_without(StateKind.SCHEDULER)) == "whole, but without scheduler"
    found = _verdict(_without(StateKind.DATA_POSITION, StateKind.RANDOM, StateKind.SCHEDULER))
    assert found == "whole, but without scheduler, data position and random-number states"


def test_weights_alone_are_said_to_be_that():
    """Nothing of the optimizer: a run starts anew from the weights."""
    maker = Maker()
    made.add_parameters(maker)
    assert _verdict(maker).startswith("whole, but without any state of the optimizer")


def test_a_state_of_some_ranks_is_named_with_them():
    """Partial is said after absent."""
    maker = _without(StateKind.RANDOM, StateKind.SCHEDULER)
    maker.object("rng.rank_0.python", StateKind.RANDOM, rank=0)
    assert _verdict(maker) == "whole, but without scheduler; random-number states of rank 0 only, of 4"


def test_what_was_allowed_is_said_of_a_checkpoint_without_it():
    """It does not hold all that exact resume needs; of one that has all, nothing was allowed."""
    found = _verdict(_without(StateKind.RANDOM, StateKind.SCHEDULER), StateKind.RANDOM, StateKind.SCHEDULER)
    assert found == "whole; goes on without scheduler and random-number states, as allowed"
    assert _verdict(complete(), StateKind.RANDOM) == "whole, and it holds all that exact resume needs"


def test_what_was_allowed_is_said_beside_what_is_missing():
    """One of the two is asked for."""
    found = _verdict(_without(StateKind.RANDOM, StateKind.SCHEDULER), StateKind.RANDOM)
    assert found == "whole, but without scheduler; without random-number states, as allowed"


def test_an_allowed_state_of_some_ranks_is_named_with_them():
    """It is there in part."""
    maker = _without(StateKind.RANDOM)
    maker.object("rng.rank_0.python", StateKind.RANDOM, rank=0)
    found = _verdict(maker, StateKind.RANDOM)
    assert found == "whole; goes on without all random-number states (of rank 0 only, of 4), as allowed"


def test_without_weights_that_is_said_before_all_else():
    """Progress alone, or an optimizer alone: no run starts anew from weights that are not there."""
    maker = Maker()
    maker.tensor("train.step", StateKind.PROGRESS, (), "int64", ("train", "step"))
    assert (
        _verdict(maker)
        == "whole, but it holds neither weights nor any state of the optimizer: no run can start from it"
    )
    assert _verdict(_without(StateKind.PARAMETER)).startswith("whole, but it holds no weights: only with those")
    assert _verdict(_without(StateKind.PARAMETER, StateKind.SCHEDULER)).endswith("; also without scheduler")
