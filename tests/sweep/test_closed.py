"""Closed forms over blocks: the numbers of points planned one by one, to the last bit, and far less memory and time."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from ckptplan.load import shipped_configs
from ckptplan.sweep import closed
from ckptplan.sweep.closed import is_closed_study
from ckptplan.sweep.measures import MEASURES, Source
from ckptplan.sweep.study import GPUS, INTERVAL, Axis, Each
from tests.sweep.studies import RECORD_COLUMNS, differing, member, numbers, numeric_keys, point_by_point, study, swept

CONFIGS = [config.name for config in shipped_configs()]
_SHARES = ("speed", "fraction", "share", "precision", "recall", "survives", "noise", "slowdown")


def nearby(key: str, value: float, factors: Sequence[float]) -> tuple[float | int, ...]:
    """Values around one, that the key takes."""
    most = 1.0 if any(word in key for word in _SHARES) else 1e24
    scaled = [min(value * factor, most) for factor in factors]
    return tuple(dict.fromkeys(max(int(v), 1) for v in scaled) if isinstance(value, int) else dict.fromkeys(scaled))


@pytest.mark.parametrize("name", CONFIGS)
def test_every_numeric_key_alone_gives_the_numbers_of_its_plans(name: str) -> None:
    """Along each key that a shipped config gives, arrays and plans agree: the table of parts and groups holds."""
    spec, closed_keys = member(name), 0
    for key, value in numeric_keys(name).items():
        asked = study(spec, {key: nearby(key, value, (1.0, 0.5, 2.0))}, each=Each.STRATEGY)
        if is_closed_study(asked, spec):
            closed_keys += 1
            assert differing(swept(asked), point_by_point(asked)) == [], key
    exponential = not spec.scenario.has_spectrum and spec.scenario.failures.host_copy_survives == 0.0
    assert (closed_keys > 0) == (exponential and not spec.scenario.failures.law.gaps_s)


@pytest.mark.parametrize("seed", range(12))
def test_random_grids_give_the_numbers_of_their_plans(seed: int) -> None:
    """Grids over several keys, numbers of GPUs and given intervals agree with plans, faults and all."""
    rng = random.Random(seed)  # noqa: S311 - grids, no secrets
    name = rng.choice([one for one in CONFIGS if is_closed_study(study(one, {}), member(one))])
    keys = {key: value for key, value in numeric_keys(name).items() if key != GPUS}
    chosen = rng.sample(sorted(keys), min(rng.choice([1, 2, 2, 3]), len(keys)))
    axes = {key: nearby(key, keys[key], (0.5, 1.0, rng.choice([0.01, 3.0, 100.0]))) for key in chosen}
    gpus = member(name).scenario.cluster.gpus
    extra: dict[str, tuple[float | int, ...]] = {
        GPUS: tuple(dict.fromkeys((gpus, max(gpus // 3, 1), 7, 5 * gpus))),
        INTERVAL: (10.0, 900.0, 36_000.0),
    }
    axes |= {key: extra[key] for key in rng.sample(sorted(extra), rng.choice([0, 1, 2]))}
    order = rng.sample(sorted(axes), len(axes))
    asked = study(name, {key: axes[key] for key in order}, each=rng.choice(list(Each)))
    asked = asked._replace(
        methods=rng.choice([None, ("young", "daly"), ("young", "exact"), ("exact", "renewal")]),
        gpu_hour_price=rng.choice([None, 2.5]),
    )
    assert differing(swept(asked), point_by_point(asked)) == []


def test_parts_of_blocks_are_the_same_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows a chunk has, the numbers are the same."""
    from ckptplan.sweep import evaluation

    asked = study("lab-64", {GPUS: (8, 64, 640), "restart.detect": tuple(range(60, 660, 60)), INTERVAL: (60.0, 7200.0)})
    whole = swept(asked)
    for most in (1, 7, 33):
        monkeypatch.setattr(evaluation, "_CLOSED_ROWS", most)
        assert differing(swept(asked), whole) == []


def test_a_million_points_build_few_scenarios() -> None:
    """Without arrays, scenarios are built once per value of the axes that they depend on; with them, once per part."""
    spec, built, along = member("llama3-405b", ["restart.total=600s"]), [], []

    def counting(values: dict[str, float]) -> object:
        built.append(values)
        return spec.rebuild(values)

    def counting_along(values: dict[str, object]) -> object:
        along.append(values)
        return spec.along(values)  # type: ignore[misc]

    counted = spec._replace(rebuild=counting, along=None)  # type: ignore[arg-type]
    axes = {
        GPUS: tuple(range(1024, 13824, 1280)),
        "storage.write_bandwidth": tuple(np.geomspace(1e10, 6e12, 100).tolist()),
        "restart.total": tuple(np.linspace(60, 3600, 100).tolist()),
    }
    found = swept(study(counted, axes, ("goodput_typed",)))
    assert len(numbers(found, "goodput_typed")) == 100_000
    assert len(built) == 200
    at_once = swept(study(counted._replace(along=counting_along), axes, ("goodput_typed",)))  # type: ignore[arg-type]
    assert differing(at_once, found) == []
    assert (len(built), len(along)) == (200, 4)  # two of these try whether values can be taken at once


def test_refused_values_are_said_without_a_plan_of_each_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that its own group refuses leaves rows that say so; no point is planned for that."""
    axes = {"storage.write_bandwidth": (1e12, 8e12), "restart.total": tuple(np.linspace(60, 3600, 50).tolist())}
    asked = study(member("llama3-405b"), axes)
    wanted = point_by_point(asked)
    monkeypatch.setattr(closed, "planned_rows", lambda *_: pytest.fail("a point was planned"))
    assert differing(swept(asked), wanted) == []
    assert np.isnan(numbers(wanted, "goodput_typed")).sum() == 50


def test_other_laws_and_runs_are_not_taken_for_closed_forms() -> None:
    """Several classes, a share of surviving copies, noise, whole runs and simulations are planned point by point."""
    spec = member("llama3-405b")
    assert is_closed_study(study(spec, {"save[0].stall": (1.0,)}), spec)
    for key in ("failures.host_copy_survives", "training.step_noise", "failures.law.shape", "prediction.recall"):
        assert not is_closed_study(study(spec, {key: (0.5,)}), spec), key
    for name in (name for name, one in MEASURES.items() if one.source is not Source.RECORD):
        assert not is_closed_study(study(spec, {}, (name,)), spec), name
    causes = member("llama3-405b-causes")
    assert not is_closed_study(study(causes, {}), causes)


_MEASURED = """
import resource, sys
import numpy as np
from ckptplan.sweep.columns import joined
from ckptplan.sweep.evaluation import chunks, evaluate
from ckptplan.sweep.study import GPUS
from tests.sweep.studies import RECORD_COLUMNS, member, study

axes = {
    GPUS: tuple(range(1024, 1024 + 100 * 128, 128)),
    "storage.write_bandwidth": tuple(np.geomspace(1e10, 6e12, 100).tolist()),
    "restart.total": tuple(np.linspace(60, 3600, 100).tolist()),
}
asked = study(member("llama3-405b", ["restart.total=600s"]), axes, RECORD_COLUMNS, gpu_hour_price=2.0)
found = joined([evaluate(asked, chunk) for chunk in chunks(asked)])
print(len(found["goodput"]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def test_a_million_points_with_all_measures_stay_below_one_gigabyte() -> None:
    """The peak of the whole process, with the whole result held in memory at its end."""
    told = subprocess.run([sys.executable, "-c", _MEASURED], capture_output=True, text=True, check=True)
    rows, peak_bytes = map(int, told.stdout.split())
    assert rows == 1_000_000
    assert peak_bytes < 1e9


def test_every_record_column_is_a_number_or_a_text_of_each_row() -> None:
    """Columns have one element for each row, numbers as float64, also where one array stands for all points."""
    asked = study("lab-64", {GPUS: (8, 64), "restart.detect": (60.0, 600.0)}, each=Each.METHOD)
    found = swept(asked)
    rows = 4 * 2 * 3
    for name in RECORD_COLUMNS:
        column = found[name]
        codes = column.codes if hasattr(column, "codes") else column
        assert codes.shape == (rows,)
        assert codes.dtype == (np.int32 if MEASURES[name].text else np.float64), name
    assert Axis(GPUS, (8, 64), ("8", "64")).key in found
