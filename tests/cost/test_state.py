"""The ledger: what each name holds, what the loss of a state costs, and user lists."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from ckptplan.cost.scenario import Kind, Model, Scope, State
from ckptplan.cost.state import (
    DEFAULT_LEDGER,
    addition,
    addition_names,
    bytes_per_parameter,
    compose,
    ledger,
    ledger_names,
    saved_states,
)
from ckptplan.errors import InputError

BYTES = {
    "adam-12": 12.0,
    "adam-14": 14.0,
    "adam-16": 16.0,
    "adam-18": 18.0,
    "adam-8bit": 8.0 + 2 * 4 / 256,
    "adam-bf16-moments": 10.0,
    "sgd-momentum": 10.0,
    "lion": 10.0,
    "muon": 10.2,
    "weights-only": 2.0,
}


def of(name: str, **kwargs: float) -> float:
    """Bytes per parameter of a named ledger."""
    return bytes_per_parameter(Model(1e9, ledger(name, **kwargs)))


@pytest.mark.parametrize(("name", "expected"), BYTES.items())
def test_named_ledgers_hold_the_bytes_of_their_sources(name, expected):
    """Each named ledger adds up to the bytes per parameter that its source gives."""
    assert of(name) == pytest.approx(expected, rel=1e-12)


def test_every_name_is_a_ledger_and_the_default_is_one():
    """All names resolve, each ledger carries its name and a source, and the default is adam-14."""
    assert set(ledger_names()) == {*BYTES, "adafactor"}
    assert DEFAULT_LEDGER == "adam-14"
    for name in ledger_names():
        assert ledger(name).name == name
        assert ledger(name).source


def test_adafactor_keeps_almost_nothing_beside_the_weights():
    """Row and column sums of large matrices weigh less than a hundredth of a byte per parameter."""
    rows, columns = 4_096, 16_384
    factored = 4 * (rows + columns) / (rows * columns)
    assert of("adafactor") == pytest.approx(6.0 + factored, rel=1e-12)
    assert factored < 0.01


@pytest.mark.parametrize(("fraction", "expected"), [(1.0, 10.0), (0.5, 12.0), (0.0, 14.0)])
def test_muon_lies_between_one_momentum_and_adam(fraction, expected):
    """With no matrices Muon is adam-14; with matrices alone it saves one moment of four bytes."""
    assert of("muon", matrix_fraction=fraction) == pytest.approx(expected, rel=1e-12)


def test_adam_16_and_18_add_gradients_to_adam_14_and_nothing_else():
    """ZeRO counts 16-bit gradients in its 16 bytes, Megatron Core fp32 ones in its 18."""
    base = ledger("adam-14").states
    for name, extra in (("adam-16", 2.0), ("adam-18", 4.0)):
        added = [s for s in ledger(name).states if s not in base]
        assert [(s.kind, s.bytes_each) for s in added] == [(Kind.GRADIENT, extra)]
        assert "seldom" in ledger(name).source
        assert added[0].loss.startswith("nothing")


@pytest.mark.parametrize("name", ledger_names())
def test_every_state_says_what_its_loss_costs(name):
    """No state is listed without the price of resuming without it and a source."""
    for state in ledger(name).states:
        assert state.loss
        assert state.source


def test_a_resumable_ledger_holds_the_small_states_too():
    """Progress, data position, random-number state and loss scaling are in every ledger to resume from."""
    for name in set(ledger_names()) - {"weights-only"}:
        scopes = {(s.kind, s.scope) for s in ledger(name).states if s.scope is not Scope.PARAMETER}
        assert scopes == {
            (Kind.PROGRESS, Scope.JOB),
            (Kind.PROGRESS, Scope.DATA_RANK),
            (Kind.RANDOM, Scope.RANK),
            (Kind.SCALER, Scope.JOB),
        }


def test_weights_alone_say_that_training_cannot_go_on():
    """Weights only is no resumable checkpoint, and its ledger says what is missing."""
    only = ledger("weights-only")
    assert [s.kind for s in only.states] == [Kind.WEIGHTS]
    assert any("cannot go on" in text for text in only.omits)


@pytest.mark.parametrize("name", ledger_names())
def test_what_is_not_saved_is_said(name):
    """Every ledger names activations and buffers as not saved, and gradients unless it holds them."""
    text = " ".join(ledger(name).omits)
    assert "activations" in text
    assert "communication buffers" in text
    assert ("gradients" in text) is (name not in {"adam-16", "adam-18"})


def test_random_number_state_matches_the_generators_of_numpy_and_python():
    """The estimate covers the raw Mersenne Twister states and is within half of their pickles."""
    state = next(s for s in ledger("adam-14").states if s.kind is Kind.RANDOM)
    raw = np.random.MT19937(0).state["state"]["key"].nbytes + 4 * len(random.getstate()[1])
    pickled = len(pickle.dumps(np.random.RandomState(0).get_state())) + len(pickle.dumps(random.getstate()))
    ours = state.bytes_each - 5_056 - 3 * 16
    assert raw <= ours + 8
    assert ours <= pickled <= 1.5 * ours


def test_additions_come_by_name():
    """Averaged weights in fp32 or 16 bits and AMSGrad's bound may be added."""
    assert addition("ema").bytes_each == 4.0
    assert addition("ema-bf16").bytes_each == 2.0
    assert {"ema", "ema-bf16", "amsgrad"} <= set(addition_names())
    adam = [s for s in ledger("adam-14").states if s.scope is Scope.PARAMETER]
    assert bytes_per_parameter(Model(1e9, compose("mine", adam, ["ema"]))) == 18.0


def test_a_users_list_gets_the_small_states_once():
    """A list of large states is completed with the small ones; one that the user names is kept as written."""
    own = State("random-number state", Kind.RANDOM, 123.0, Scope.RANK)
    made = compose("mine", [State("fp16 weights", Kind.WEIGHTS, 2.0), own])
    assert [s.bytes_each for s in made.states if s.kind is Kind.RANDOM] == [123.0]
    assert len(made.states) == 5
    assert len(made.omits) == 3


def test_a_users_gradients_are_not_reported_as_left_out():
    """A list that saves gradients does not say that gradients are not saved."""
    made = compose("mine", [State("grad", Kind.GRADIENT, 2.0)])
    assert not any("gradients" in text for text in made.omits)


@pytest.mark.parametrize(
    ("name", "near"), [("adam14", "adam-14"), ("Lion", "lion"), ("adam-8bits", "adam-8bit"), ("sgd", None)]
)
def test_an_unknown_ledger_names_the_nearest_one(name, near):
    """A typo gets the nearest name; a name that resembles none gets the list."""
    with pytest.raises(InputError) as caught:
        ledger(name)
    hint = caught.value.problems[0].hint
    assert hint is not None
    assert (f"did you mean {near}?" == hint) if near else ("known: adam-12" in hint)


def test_other_wrong_input_is_refused():
    """An unknown addition, an empty list, a doubled name and a fraction above one are input errors."""
    with pytest.raises(InputError, match="addition"):
        addition("emma")
    with pytest.raises(InputError, match="at least one state"):
        compose("mine", [])
    twice = State("a", Kind.MOMENT, 4.0)
    with pytest.raises(InputError, match="listed twice"):
        compose("mine", [twice, twice])
    with pytest.raises(InputError, match="matrix_fraction"):
        ledger("muon", matrix_fraction=1.5)


def test_a_trainable_fraction_scales_every_state_kept_per_parameter():
    """LoRA on one percent of the parameters saves one percent of the bytes."""
    model = Model(7e9, ledger("adam-14"), trainable_fraction=0.01)
    assert bytes_per_parameter(model) == pytest.approx(0.14, rel=1e-12)


@pytest.mark.parametrize(("name", "frozen"), [("adam-14", 2.0), ("adam-12", 2.0), ("weights-only", 2.0)])
def test_frozen_weights_count_only_if_they_are_saved(name, frozen):
    """Frozen weights add two bytes for each parameter that is not trained."""
    model = Model(7e9, ledger(name), trainable_fraction=0.25, frozen_weights_saved=True)
    expected = 0.25 * BYTES[name] + 0.75 * frozen
    assert bytes_per_parameter(model) == pytest.approx(expected, rel=1e-12)
    assert saved_states(model)[-1].kind is Kind.WEIGHTS


def test_frozen_weights_weigh_what_the_ledgers_weights_weigh():
    """With fp32 weights in the list, frozen ones are fp32 too."""
    states = [State("fp32 weights", Kind.WEIGHTS, 4.0), State("momentum", Kind.MOMENT, 4.0)]
    model = Model(1e9, compose("mine", states), trainable_fraction=0.5, frozen_weights_saved=True)
    assert bytes_per_parameter(model) == pytest.approx(0.5 * 8 + 0.5 * 4, rel=1e-12)
