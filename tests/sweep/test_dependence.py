"""What of a scenario depends on what of a spec: nothing is missed where only some groups are read again."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.load import load, shipped_configs
from ckptplan.spec.build import build
from ckptplan.spec.reading import Spec
from ckptplan.spec.unheard import Unheard
from ckptplan.sweep.dependence import PARTS, axes_of, group_of, is_closed, keeps_closed
from ckptplan.sweep.study import GPUS, INTERVAL, Axis
from tests.sweep.studies import numeric_keys

CONFIGS = [config.name for config in shipped_configs()]


def in_full(spec: Spec, values: dict[str, float]) -> Scenario | str:
    """The scenario with every group read again, or the first fault."""
    fields = spec._fields
    assert fields is not None
    given = {key: fields.given[key]._replace(si=value) for key, value in values.items()}
    changed = replace(fields, given=fields.given | given, problems=[], faulty=set())
    scenario = build(Unheard(changed, spec._files, values))
    return changed.problems[0].message if scenario is None else scenario


def again(spec: Spec, values: dict[str, float]) -> Scenario | str:
    """The same by the way that reads only some of them."""
    try:
        return spec.with_values(values)
    except InputError as error:
        return error.problems[0].message


@pytest.mark.parametrize("name", CONFIGS)
def test_a_scenario_built_again_is_the_one_built_in_full(name: str) -> None:
    """With every numeric key alone, and with random sets of them, at values that fit and values that do not."""
    spec, keys, rng = load(name, environment={}), numeric_keys(name), random.Random(name)  # noqa: S311 - values only
    chosen = [[key] for key in keys] + [rng.sample(sorted(keys), min(3, len(keys))) for _ in range(60)]
    for some in chosen:
        for factor in (0.5, 1.0, 2.0, 1e6):
            values = {key: type(keys[key])(keys[key] * factor) for key in some}
            assert again(spec, values) == in_full(spec, values), values


@pytest.mark.parametrize("name", CONFIGS)
def test_parts_depend_on_no_axis_beside_those_of_the_table(name: str) -> None:
    """Other values of a key leave every part as it is that does not depend on its group."""
    spec, keys = load(name, environment={}), numeric_keys(name)
    if not is_closed(spec.scenario):
        pytest.skip("planned point by point")
    for key, value in keys.items():
        axis = Axis(key, (value,), ("",))
        for factor in (0.5, 2.0):
            found = in_full(spec, {key: type(value)(value * factor)})
            if key == GPUS or not keeps_closed(axis) or isinstance(found, str):
                continue
            changed = {part for part in PARTS if getattr(found, part) != getattr(spec.scenario, part)}
            assert all(axes_of(part, (axis,), spec.scenario) for part in changed), (key, changed)


def test_groups_of_keys() -> None:
    """A list belongs to the group of its name; a record of failures is one of its own."""
    assert group_of("save[1].stall") == "save"
    assert group_of("failures.interruptions.count") == "failures"
    assert group_of("failures.record.merge") == "failures.record"
    assert keeps_closed(Axis(INTERVAL, (60.0,), ("1 min",)))
    assert not keeps_closed(Axis("spares.nodes", (1.0,), ("1",)))
