from __future__ import annotations

from ckptplan.checkpoint.naming.classify import Entry, classify
from ckptplan.checkpoint.naming.numbers import guess_by_order

SHAPES = {"a.weight": (4, 2), "a.bias": (4,), "b.bias": (4,)}


def checkpoint(order: list[str]) -> list[Entry]:
    """A model, and an optimizer that has numbered its parameters in another order."""
    entries = [Entry(f"model.{name}", ("model", name), True, "float32", shape) for name, shape in SHAPES.items()]
    for number, name in enumerate(order):
        for slot, shape in (("exp_avg", SHAPES[name]), ("step", ())):
            path = ("optim", "state", number, slot)
            entries.append(Entry(f"optim.state.{number}.{slot}", path, True, "float32", shape))
    return entries


def test_the_order_saved_is_taken_where_all_shapes_agree():
    """States get the parameters in their order, and a sentence says how many are told by the order alone."""
    entries = checkpoint(list(SHAPES))
    named, remark = guess_by_order(entries, classify(entries))
    assert [name.parameter for name in named[3::2]] == ["model.a.weight", "model.a.bias", "model.b.bias"]
    assert [name.parameter for name in named[4::2]] == ["model.a.weight", "model.a.bias", "model.b.bias"]
    assert remark is not None
    assert "2 of 3 parameters share their shape" in remark


def test_a_shape_out_of_order_refutes_the_guess():
    """One state of another shape than its parameter: no state gets one."""
    entries = checkpoint(["a.bias", "a.weight", "b.bias"])
    named, remark = guess_by_order(entries, classify(entries))
    assert [name.parameter for name in named[3:]] == [None] * 6
    assert remark is not None
    assert "optim.state.0.exp_avg has not the shape of model.a.weight" in remark


def test_another_number_of_states_refutes_the_guess():
    """Frozen or tied parameters have no state, so that the numbers name others."""
    entries = checkpoint(["a.weight", "a.bias"])
    named, remark = guess_by_order(entries, classify(entries))
    assert [name.parameter for name in named[3:]] == [None] * 4
    assert remark is not None
    assert "2 are there for 3 parameters" in remark


def test_named_states_need_no_guess():
    """Nothing is changed or said where states carry names."""
    path = ("optim", "state", "a", "exp_avg")
    entries = [Entry("model.a", ("model", "a")), Entry("optim.state.a.exp_avg", path)]
    named = classify(entries)
    assert guess_by_order(entries, named) == (named, None)
