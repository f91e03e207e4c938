"""What a run's optimizer keeps, by the hyperparameters and states that real optimizers leave."""

import pytest

from ckptplan.checkpoint.audit.auditing import audit
from ckptplan.checkpoint.audit.findings import Need, Standing
from ckptplan.checkpoint.kinds import StateKind
from tests.checkpoint import made
from tests.checkpoint.made import Maker

FIRST, SECOND, STEP = StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT, StateKind.OPTIMIZER_STEP
SLOT_KINDS = {"step": STEP, "exp_avg": FIRST, "momentum_buffer": FIRST, "z": FIRST, "state1": FIRST}

ADAM = {"lr": 1e-3, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.1}
SGD = {"lr": 0.1, "momentum": 0, "dampening": 0, "weight_decay": 0, "nesterov": False, "maximize": False}
MUON = {"lr": 0.1, "momentum": 0.95, "nesterov": True, "ns_coefficients": (3.4, -4.7, 2.0), "eps": 1e-7, "ns_steps": 5}
RMSPROP = {"lr": 0.1, "momentum": 0, "alpha": 0.99, "eps": 1e-8, "centered": False}
SHAMPOO = {"lr": 0.1, "momentum": 0.9, "epsilon": 1e-4, "update_freq": 1}
HF_ADAFACTOR = {"lr": 1e-3, "clip_threshold": 1.0, "decay_rate": -0.8, "beta1": None, "relative_step": False}

# The optimizer, its hyperparameters, its states, and what it has not.
KEEPS = [
    ("Adam", ADAM, ("exp_avg", "exp_avg_sq", "step"), set()),
    ("SGD", SGD, (), {FIRST, SECOND, STEP}),
    ("SGD", SGD | {"momentum": 0.9}, ("momentum_buffer",), {SECOND, STEP}),
    ("Muon", MUON, ("momentum_buffer",), {SECOND, STEP}),
    ("Adafactor", {"lr": 1e-3, "beta2_decay": -0.8, "eps": (None, 1e-3), "d": 1.0}, ("row_var", "step"), {FIRST}),
    ("Adafactor", HF_ADAFACTOR, ("exp_avg_sq_row", "step"), {FIRST}),
    ("Adafactor", HF_ADAFACTOR | {"beta1": 0.9}, ("exp_avg", "exp_avg_sq_row", "step"), set()),
    ("Lion", {"lr": 1e-4, "betas": (0.9, 0.99), "weight_decay": 0.1}, ("exp_avg",), {SECOND, STEP}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0, "eps": 1e-10, "initial_accumulator_value": 0}, ("sum", "step"), {FIRST}),
    ("Adadelta", {"lr": 1.0, "rho": 0.9, "eps": 1e-6}, ("square_avg", "acc_delta", "step"), {FIRST}),
    ("RMSprop", RMSPROP, ("square_avg", "step"), {FIRST}),
    ("RMSprop", RMSPROP | {"momentum": 0.9}, ("momentum_buffer", "square_avg", "step"), set()),
    ("Sophia", {"lr": 1e-4, "betas": (0.9, 0.9), "rho": 0.04}, ("exp_avg", "hessian", "step"), set()),
    ("Shampoo", SHAMPOO, ("momentum_buffer", "precond_0", "step"), set()),
    ("schedule-free", ADAM | {"k": 7, "weight_sum": 1.0}, ("z", "exp_avg_sq"), set()),
    ("Adam, fused", ADAM | {"step": 7}, ("exp_avg", "exp_avg_sq"), set()),
    ("8-bit", ADAM | {"eps": 0.0}, ("state1", "step"), {SECOND}),
]  # fmt: skip


def _maker(slots, names=made.WEIGHTS, maker=None):
    maker = maker or Maker()
    for slot in slots:
        made.add_state(maker, slot, SLOT_KINDS.get(slot, SECOND), names)
    return maker


def _grouped(maker, *groups):
    for number, group in enumerate(groups):
        for word, value in ({"params": list(made.WEIGHTS)} | group).items():
            path = ("optim", "param_groups", number, word)
            maker.object(f"optim.param_groups.{number}.{word}", StateKind.HYPERPARAMETERS, value, path)
    return maker


def _states(maker, slots):
    made.add_parameters(maker)
    made.add_rest(maker)
    found = audit(maker.manifest())
    return found, {state.kind: state for state in found.states}


@pytest.mark.parametrize(("name", "group", "slots", "without"), KEEPS, ids=[f"{k[0]} {k[2]}" for k in KEEPS])
def test_what_an_optimizer_has_not_is_not_missing(name, group, slots, without):
    """A checkpoint with all that this optimizer keeps is complete; what it has not is said to be that."""
    found, states = _states(_grouped(_maker(slots), group), slots)
    assert found.usable, found.missing
    for kind in without:
        assert states[kind].standing is Standing.ABSENT
        assert states[kind].need is Need.NONE
        assert states[kind].detail.startswith("not kept by this optimizer (")
        assert name.split()[0] in states[kind].detail
    for kind in {FIRST, SECOND, STEP} - without:
        assert states[kind].standing is Standing.PRESENT


LOST = [(k, slot) for k in KEEPS for slot in k[2] if not (slot == "square_avg" and "acc_delta" in k[2])]


@pytest.mark.parametrize(("one", "lost"), LOST, ids=[f"{k[0]} without {slot}" for k, slot in LOST])
def test_what_an_optimizer_keeps_and_the_checkpoint_lacks_is_missing(one, lost):
    """The same checkpoints without one of their states are not complete."""
    name, group, slots, _ = one
    if lost == "acc_delta":
        lost = "square_avg"
        slots = ("square_avg", "step")
    rest = tuple(slot for slot in slots if slot != lost)
    found, states = _states(_grouped(_maker(rest), group), rest)
    kind = SLOT_KINDS.get(lost, SECOND)
    assert kind in {state.kind for state in found.missing}
    if name not in {"Adam", "Adam, fused", "8-bit"}:
        assert "Adam " not in states[kind].loss


def test_without_a_group_and_a_state_all_moments_are_missing():
    """Nothing tells which optimizer it was."""
    made.add_parameters(maker := Maker())
    made.add_rest(maker)
    assert {FIRST, SECOND, STEP} <= {state.kind for state in audit(maker.manifest()).missing}


@pytest.mark.parametrize("group", [{"lr": 0.1}, ADAM, {}])
def test_a_first_moment_alone_of_an_optimizer_that_is_not_known_misses_the_second(group):
    """`exp_avg` alone can be Lion's, and Adam's with its second moment lost: without Lion's own groups it is lost."""
    slots = ("exp_avg", "step")
    found, _ = _states(_grouped(_maker(slots), group) if group else _maker(slots), slots)
    assert SECOND in {state.kind for state in found.missing}


def test_a_group_of_adam_beside_one_of_muon_needs_its_moments():
    """Matrices by Muon and the rest by Adam: with the states of the rest lost, second moments and steps are missing."""
    maker = _grouped(_maker(("momentum_buffer",), made.WEIGHTS[1:3]), MUON, ADAM)
    found, _ = _states(maker, ())
    assert {SECOND, STEP} <= {state.kind for state in found.missing}


def test_a_value_that_cannot_be_read_excuses_nothing():
    """Whether SGD had a momentum cannot be known: its buffer is missing."""
    maker = _grouped(Maker(), SGD)
    del maker.values["optim.param_groups.0.momentum"]
    found, _ = _states(maker, ())
    assert {state.kind for state in found.missing} & {FIRST, SECOND, STEP} == {FIRST}


def test_groups_of_flat_and_of_older_checkpoints_tell_the_same():
    """Hyperparameters by each parameter's name, and all groups in one object as torch 2.2 stores them."""
    flat = Maker()
    for word, value in SGD.items():
        for name in made.WEIGHTS:
            path = ("optim", f"param_groups.{name}.{word}")
            flat.object(f"optim.param_groups.{name}.{word}", StateKind.HYPERPARAMETERS, value, path)
    whole = Maker()
    path = ("optim", "param_groups")
    whole.object("optim.param_groups", StateKind.HYPERPARAMETERS, [SGD | {"params": [0]}], path)
    for maker in (flat, whole):
        found, states = _states(maker, ())
        assert found.usable
        assert states[FIRST].detail == "not kept by this optimizer (SGD)"
