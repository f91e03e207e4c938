"""Values in force of two specs: which differ, and which entries of lists are held against each other."""

from __future__ import annotations

from ckptplan.load import load, shipped_configs
from ckptplan.plan.comparison.inputs import Side, differing_inputs


def _value(key: str, si: float | str | None, text: str | None = None) -> Side:
    return Side(key, si, "", str(si) if text is None else text, "default")


def _saves(*names: str) -> list[Side]:
    found = []
    for place, name in enumerate(names):
        found += [_value(f"save[{place}].name", name), _value(f"save[{place}].stall", 1.0 + len(name))]
    return found


def test_a_spec_against_itself_has_no_difference() -> None:
    """Every value of every shipped config is equal to itself, the name of the run left out of the count."""
    for config in shipped_configs():
        values = load(config.name).values
        assert differing_inputs(values, values) == ((), len(values) - 1)


def test_values_and_texts_count() -> None:
    """A number differs, or what is said of one that is computed later; a value that one spec lacks is None there."""
    a = [_value("name", "A"), _value("x", 1.0), _value("y", None, "computed"), _value("only", 3.0), _value("z", 5.0)]
    b = [_value("name", "B"), _value("x", 2.0), _value("y", None, "not known"), _value("z", 5.0)]
    found, equal = differing_inputs(a, b)
    assert [one.label for one in found] == ["x", "y", "only"]
    assert found[2].second is None
    assert equal == 1


def test_entries_of_one_name_are_held_against_each_other() -> None:
    """The order of strategies is no difference, and the label has their name."""
    assert differing_inputs(_saves("slow", "fast"), _saves("fast", "slow"))[0] == ()
    a, b = _saves("slow", "fast"), _saves("fast")
    b[1] = _value("save[0].stall", 99.0)
    found, _ = differing_inputs(a, b)
    assert [one.label for one in found] == ["save[0].name", "save[0].stall", "save[fast].stall"]
    assert found[0].second is None
    assert (found[2].first, found[2].second) == (a[3], b[1])


def test_entries_of_other_names_go_by_their_order() -> None:
    """Those that only one spec has are held against each other, so that two single strategies stand side by side."""
    found, _ = differing_inputs(_saves("both", "mine"), _saves("yours, too", "both"))
    assert [one.label for one in found] == ["save[0].name", "save[0].stall"]
    assert [(one.first and one.first.key, one.second and one.second.key) for one in found] == [
        ("save[1].name", "save[0].name"),
        ("save[1].stall", "save[0].stall"),
    ]


def test_a_name_that_looks_like_a_number_is_no_place() -> None:
    """A strategy called 0 is not the first entry of the other spec."""
    found, _ = differing_inputs(_saves("0", "x"), _saves("y", "0"))
    assert all(one.first is not None and one.second is not None for one in found)
    assert {one.first.si for one in found if one.first and one.first.key.endswith("name")} == {"x"}


def test_values_of_one_group_stay_together() -> None:
    """What only the second spec has stands beside its group, not at the end."""
    a = [_value("cluster.gpus", 1.0), _value("restart.total", 1.0)]
    b = [_value("cluster.gpus", 2.0), _value("restart.detect", 2.0), _value("cluster.nodes", 2.0)]
    found, _ = differing_inputs(a, b)
    assert [one.label for one in found] == ["cluster.gpus", "cluster.nodes", "restart.total", "restart.detect"]
