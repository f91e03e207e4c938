"""What saves to several tiers yield at a size that was asked for: the best pattern of that size."""

from __future__ import annotations

import pytest

from ckptplan.load import load
from ckptplan.plan.scale.curve import Curve
from ckptplan.plan.scale.yields import Yields
from ckptplan.sweep.study import GPUS, Each
from tests.sweep.studies import member, numbers, study, swept, texts

SIZES = (1000, 65_536)  # the first fills no whole number of replicas


@pytest.mark.parametrize("sets", [(), ("training.scaling_exponent=0.9",), ("training.step_time=2 s",)])
def test_sizes_have_the_pattern_of_a_sweep(sets: tuple[str, ...]) -> None:
    """Goodput, interval and steps at each size are those of a sweep over them, which plans each point by itself."""
    asked = study(
        member("spectrum-16384", sets),
        {GPUS: SIZES},
        ("goodput_typed", "typed_interval_s", "interval_steps"),
        Each.STRATEGY,
    )
    found = swept(asked)
    names = zip(texts(found, "strategy"), numbers(found, GPUS), strict=True)
    figures = zip(*(numbers(found, name) for name in asked.columns), strict=True)
    wanted = {size: row for (name, size), row in zip(names, figures, strict=True) if name == "tiers"}
    yields = Yields(Curve(load("spectrum-16384", sets=sets, environment={}).scenario))
    here = [yields.at("tiers", gpus) for gpus in SIZES]
    assert {
        n: (one.goodput, one.interval_s, one.interval_steps) for n, one in zip(SIZES, here, strict=True) if one
    } == wanted
