"""Each kind of state: there, absent, there in part; and what is asked of it."""

import pytest

from ckptplan.checkpoint.audit.auditing import audit
from ckptplan.checkpoint.audit.findings import Need, Standing
from ckptplan.checkpoint.kinds import NEEDED_BY_EVERY_RUN, StateKind
from ckptplan.checkpoint.manifest import Format
from tests.checkpoint import made
from tests.checkpoint.made import Maker, complete


def _states(maker, **changes):
    return {state.kind: state for state in audit(maker.manifest(**changes)).states}


def _without(maker, *kinds):
    maker.tensors = [tensor for tensor in maker.tensors if tensor.kind not in kinds]
    maker.objects = [entry for entry in maker.objects if entry.kind not in kinds]
    return maker


def _drop(maker, *keys):
    maker.tensors = [tensor for tensor in maker.tensors if tensor.key not in keys]
    maker.objects = [entry for entry in maker.objects if entry.key not in keys]
    return maker


def _standings(maker, **changes):
    return {kind: state.standing for kind, state in _states(maker, **changes).items()}


def test_a_complete_checkpoint_has_all_that_every_run_needs():
    """All needed states are present, those of other runs absent, and nothing is missing."""
    found = audit(complete().manifest())
    standings = {state.kind: state.standing for state in found.states}
    assert all(standings[kind] is Standing.PRESENT for kind in NEEDED_BY_EVERY_RUN)
    assert standings[StateKind.FP8] is Standing.ABSENT
    assert found.usable
    assert found.notes == ()


@pytest.mark.parametrize("kind", NEEDED_BY_EVERY_RUN)
def test_each_needed_state_is_missed(kind):
    """Without any one kind of state the checkpoint is whole and not complete, and just this kind is named."""
    found = audit(_without(complete(), kind).manifest())
    assert found.whole
    assert [state.kind for state in found.missing] == [kind]
    assert found.missing[0].standing is Standing.ABSENT


@pytest.mark.parametrize("kind", [StateKind.MASTER, StateKind.LOSS_SCALER, StateKind.FP8, StateKind.BUFFER])
def test_what_only_some_runs_use_is_not_asked_for(kind):
    """A loss scaler, FP8 state, masters and buffers are needed by runs that use them."""
    state = _states(complete())[kind]
    assert (state.standing, state.need, state.missing) == (Standing.ABSENT, Need.IF_USED, False)


def test_a_state_is_asked_for_or_not_as_chosen():
    """`required` replaces what every run needs."""
    manifest = _without(complete(), StateKind.SCHEDULER).manifest()
    assert audit(manifest, required=set(NEEDED_BY_EVERY_RUN) - {StateKind.SCHEDULER}).usable
    missing = audit(manifest, required={StateKind.FP8, StateKind.PARAMETER}).missing
    assert [state.kind for state in missing] == [StateKind.FP8]


def test_states_of_some_ranks_only_are_partial():
    """Random-number states of rank 0 and positions of ranks 0 and 1, of 4 ranks that saved."""
    maker = _without(complete(), StateKind.RANDOM, StateKind.DATA_POSITION)
    maker.object("rng.rank_0.python", StateKind.RANDOM, rank=0)
    for rank in (0, 1):
        maker.object(f"dataloader.rank_{rank}", StateKind.DATA_POSITION, rank=rank)
    states = _states(maker)
    random, position = states[StateKind.RANDOM], states[StateKind.DATA_POSITION]
    assert (random.standing, random.ranks, random.of) == (Standing.PARTIAL, (0,), 4)
    assert (position.standing, position.ranks, position.of) == (Standing.PARTIAL, (0, 1), 4)


def test_a_rank_that_left_less_than_the_others_is_missing():
    """Rank 2 left the state of Python and not that of torch."""
    state = _states(_drop(complete(), "rng.rank_2.torch"))[StateKind.RANDOM]
    assert (state.standing, state.ranks, state.of) == (Standing.PARTIAL, (0, 1, 3), 4)


def test_data_parallel_ranks_are_counted_by_what_the_loader_says():
    """Of 4 ranks with tensor parallelism over 2, two have a position; the loader says how many there should be."""
    maker = _without(complete(), StateKind.DATA_POSITION)
    for rank in (0, 1):
        maker.object(f"dataloader.dp_rank_{rank}", StateKind.DATA_POSITION, rank=rank)
    assert _standings(maker)[StateKind.DATA_POSITION] is Standing.PRESENT
    maker.object("dataloader.world_size", StateKind.DATA_POSITION, 4)
    state = _states(maker)[StateKind.DATA_POSITION]
    assert (state.standing, state.ranks, state.of) == (Standing.PARTIAL, (0, 1), 4)


def test_data_parallel_ranks_that_do_not_divide_the_world_are_partial():
    """Positions of 3 data-parallel ranks cannot be all of a world of 4."""
    maker = _without(complete(), StateKind.DATA_POSITION)
    for rank in range(3):
        maker.object(f"dataloader.dp_rank_{rank}", StateKind.DATA_POSITION, rank=rank)
    assert _standings(maker)[StateKind.DATA_POSITION] is Standing.PARTIAL


def test_every_place_of_megatrons_grid_is_needed():
    """`rng_state/shard_0.1_1.2` is place (0, 1) of a grid of 1 x 2; the data-parallel ranks share them."""
    maker = _without(complete(), StateKind.RANDOM)
    maker.object("rng_state/shard_0.0_1.2", StateKind.RANDOM)
    assert _standings(maker)[StateKind.RANDOM] is Standing.PARTIAL
    maker.object("rng_state/shard_0.1_1.2", StateKind.RANDOM)
    assert _standings(maker)[StateKind.RANDOM] is Standing.PRESENT


@pytest.mark.parametrize(
    ("slot", "kind"),
    [
        ("exp_avg", StateKind.FIRST_MOMENT),
        ("exp_avg_sq", StateKind.SECOND_MOMENT),
        ("step", StateKind.OPTIMIZER_STEP),
    ],
)
def test_a_state_of_some_parameters_only_is_partial(slot, kind):
    """A parameter whose other states are there lacks this one."""
    states = _states(_drop(complete(), f"optim.state.norm.weight.{slot}"))
    assert [k for k, state in states.items() if state.standing is Standing.PARTIAL] == [kind]
    assert "3 of 4 parameters; not of model.norm.weight" in states[kind].detail


def test_a_parameter_that_is_listed_as_trained_and_has_no_state_is_missed():
    """The optimizer lists four parameters and has moments of three."""
    keys = [f"optim.state.norm.weight.{slot}" for slot in ("exp_avg", "exp_avg_sq", "step")]
    states = _states(_drop(complete(), *keys))
    assert states[StateKind.FIRST_MOMENT].standing is Standing.PARTIAL
    assert states[StateKind.SECOND_MOMENT].standing is Standing.PARTIAL


def test_tied_and_frozen_parameters_need_no_state():
    """A parameter that no group lists and that has no state is a note, not a fault."""
    maker = complete()
    maker.tensor("model.output.weight", StateKind.PARAMETER, parameter="model.output.weight")
    found = audit(maker.manifest())
    assert found.usable
    said = "1 parameter has no state of the optimizer (model.output.weight): right if frozen or tied, else it is lost"
    assert found.notes == (said,)


def test_momentum_alone_needs_neither_second_moment_nor_step():
    """SGD and Muon keep one buffer."""
    maker = Maker()
    made.add_parameters(maker)
    made.add_state(maker, "momentum_buffer", StateKind.FIRST_MOMENT)
    made.add_groups(maker)
    made.add_rest(maker)
    assert audit(maker.manifest()).usable


def test_momentum_for_matrices_and_adam_for_the_rest_is_complete():
    """Muon: no second moment where the first one is a momentum buffer."""
    maker = Maker()
    made.add_parameters(maker)
    made.add_state(maker, "momentum_buffer", StateKind.FIRST_MOMENT, made.WEIGHTS[1:3])
    for slot, kind in (
        ("exp_avg", StateKind.FIRST_MOMENT),
        ("exp_avg_sq", StateKind.SECOND_MOMENT),
        ("step", StateKind.OPTIMIZER_STEP),
    ):
        made.add_state(maker, slot, kind, (made.WEIGHTS[0], made.WEIGHTS[3]))
    made.add_groups(maker)
    made.add_rest(maker)
    assert audit(maker.manifest()).usable


def test_a_master_is_missed_beside_others_and_not_for_fp32_parameters():
    """bf16 parameters with masters for three of four; a parameter of fp32 needs none."""
    maker = Maker()
    made.add_parameters(maker, "bfloat16")
    made.add_state(maker, "exp_avg", StateKind.FIRST_MOMENT)
    made.add_state(maker, "master_param", StateKind.MASTER, made.WEIGHTS[:3])
    assert _standings(maker)[StateKind.MASTER] is Standing.PARTIAL
    maker.tensors[3] = maker.tensors[3]._replace(dtype="float32")
    assert _standings(maker)[StateKind.MASTER] is Standing.PRESENT


def test_groups_that_one_pipeline_stage_has_overwritten_are_partial():
    """Two of four parameters with moments are in no group: their stage's groups are lost."""
    maker = _without(complete(), StateKind.HYPERPARAMETERS)
    made.add_groups(maker, made.WEIGHTS[:2])
    states = _states(maker)
    assert states[StateKind.HYPERPARAMETERS].standing is Standing.PARTIAL
    assert "layers.0.wo.weight, norm.weight" in states[StateKind.HYPERPARAMETERS].detail


def test_what_follows_from_another_place_is_present():
    """Megatron's step stands in common.pt."""
    maker = _without(complete(), StateKind.OPTIMIZER_STEP)
    state = _states(maker, elsewhere=((StateKind.OPTIMIZER_STEP, "in common.pt"),))[StateKind.OPTIMIZER_STEP]
    assert (state.standing, state.detail) == (Standing.PRESENT, "in common.pt")


def test_masters_alone_give_the_parameters_back():
    """DeepSpeed's stage 3 stores no 16-bit weights."""
    maker = Maker()
    made.add_state(maker, "master_param", StateKind.MASTER)
    assert "masters" in _states(maker)[StateKind.PARAMETER].detail
    assert _standings(maker)[StateKind.PARAMETER] is Standing.PRESENT


def test_16_bit_parameters_without_a_copy_are_noted():
    """A loss for anyone who thinks that masters exist."""
    maker = Maker()
    made.add_parameters(maker, "bfloat16")
    assert any("enough to evaluate" in note for note in audit(maker.manifest()).notes)
    made.add_state(maker, "exp_avg", StateKind.FIRST_MOMENT)
    assert any("without an fp32 copy" in note for note in audit(maker.manifest()).notes)


def test_one_state_for_all_ranks_is_noted_where_a_key_is_written_once():
    """Four ranks that write `rng` under one key leave one state; in other formats one may be right."""
    maker = _without(complete(), StateKind.RANDOM)
    maker.object("rng", StateKind.RANDOM)
    assert any("one for 4 ranks" in note for note in audit(maker.manifest()).notes)
    assert audit(maker.manifest(format=Format.ORBAX)).notes == ()


@pytest.mark.parametrize(
    ("kind", "carried", "safe"),
    [
        (StateKind.PARAMETER, True, False),
        (StateKind.SECOND_MOMENT, True, False),
        (StateKind.RANDOM, False, True),
        (StateKind.DATA_POSITION, False, False),
    ],
)
def test_what_another_number_of_ranks_takes_over(kind, carried, safe):
    """Tensors are carried over; random streams cannot be, and are safe to lose; positions by rank are neither."""
    other = _states(complete())[kind].other_ranks
    assert (other.carried, other.safe_to_lose) == (carried, safe)


def test_a_global_position_is_carried_over():
    """Megatron's consumed_train_samples is no rank's own."""
    maker = _without(complete(), StateKind.DATA_POSITION)
    states = _states(maker, elsewhere=((StateKind.DATA_POSITION, "args.consumed_train_samples"),))
    assert states[StateKind.DATA_POSITION].other_ranks.carried


@pytest.mark.parametrize("format_", [Format.DEEPSPEED, Format.MEGATRON_LEGACY, Format.FSDP1_FLAT])
def test_formats_that_are_bound_to_their_ranks_carry_no_tensor_over(format_):
    """ZeRO files of 32 ranks do not load on 128."""
    states = _states(complete(), format=format_)
    assert not states[StateKind.FIRST_MOMENT].other_ranks.carried
    assert states[StateKind.SCHEDULER].other_ranks.carried
