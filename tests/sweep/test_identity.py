"""When two sweeps are the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import ckptplan
from ckptplan.cost.scenario import Scenario
from ckptplan.load import load
from ckptplan.sweep.identity import _plain, fingerprint, identity, versions
from ckptplan.sweep.study import GPUS, Axis, Each, Member, Study
from tests.cli.harness import environment

ROOT = Path(__file__).parents[2]


def never(_: Mapping[str, float]) -> Scenario:
    """Stands for what makes scenarios of other values, which identities do not ask for."""
    raise AssertionError


def study() -> Study:
    """A sweep of a shipped spec."""
    scenario = load("llama3-405b").scenario
    member = Member("llama", scenario, never, {"cluster": {"gpus": 16384}, "failures": {"mtbf": 1.5}, "odd": {3, 1, 2}})
    axis = Axis(GPUS, (1024, 2048), ("1,024", "2,048"))
    return Study((member,), (axis,), ("goodput",), seed=3)


def with_scenario(scenario: Scenario) -> Study:
    """The same with another scenario."""
    one = study()
    return one._replace(members=(one.members[0]._replace(scenario=scenario),))


def test_the_same_in_every_process() -> None:
    """Neither the seed of hashes nor the process changes it."""
    code = "from tests.sweep.test_identity import *; print(fingerprint(study()))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment({"PYTHONHASHSEED": seed}),
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {fingerprint(study())}


CHANGES: dict[str, Callable[[], Study]] = {
    "seed": lambda: study()._replace(seed=4),
    "runs": lambda: study()._replace(runs=1),
    "columns": lambda: study()._replace(columns=("goodput", "interval_s")),
    "what a row is": lambda: study()._replace(each=Each.METHOD),
    "methods": lambda: study()._replace(methods=("daly",)),
    "price": lambda: study()._replace(gpu_hour_price=2.0),
    "value of an axis": lambda: study()._replace(axes=(Axis(GPUS, (1024, 2049), ("1,024", "2,048")),)),
    "whole number or not": lambda: study()._replace(axes=(Axis(GPUS, (1024, 2048.0), ("1,024", "2,048")),)),
    "name of a spec": lambda: study()._replace(members=(study().members[0]._replace(name="other"),)),
    "value in force": lambda: study()._replace(members=(study().members[0]._replace(si={"cluster": {}}),)),
    "two specs": lambda: study()._replace(members=study().members * 2),
    "last digit": lambda: with_scenario(
        replace(
            study().members[0].scenario,
            failures=replace(
                study().members[0].scenario.failures,
                mtbf_per_gpu_s=float(np.nextafter(study().members[0].scenario.failures.mtbf_per_gpu_s, 0.0)),
            ),
        )
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_decides_numbers_changes_it(name: str) -> None:
    """Every part of a study counts, down to the last digit of a number."""
    assert fingerprint(CHANGES[name]()) != fingerprint(study())


def test_the_version_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of the program may give other numbers."""
    before = fingerprint(study())
    monkeypatch.setattr(ckptplan, "__version__", "9.9.9")
    assert fingerprint(study()) != before
    assert versions()["ckptplan"] == "9.9.9"


def test_the_parts_belong_to_it() -> None:
    """The same study parted otherwise is another journal."""
    assert identity(study(), [(0, 0, 10)]) != identity(study(), [(0, 0, 5), (0, 5, 10)])
    assert identity(study(), [(0, 0, 10)]).chunks == 1


class _Word(StrEnum):
    ONE = "one"


class _Pair(NamedTuple):
    a: object
    b: object


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        ("1", 1),
        (0.0, -0.0),
        ((1, 2), (2, 1)),
        (_Word.ONE, "one"),
        (_Pair(1, 2), (1, 2)),
        (np.arange(5000), np.where(np.arange(5000) == 2500, 0, np.arange(5000))),
        (np.float64(1.0), np.float32(1.0)),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        ({"a", "b"}, {"a", "c"}),
        (("a", "b"), ("a', 'b",)),
    ],
)
def test_values_that_are_told_apart(one: object, other: object) -> None:
    """What is not the same has another text."""
    assert repr(_plain(one)) != repr(_plain(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], (1, 2)),
        ({"a": 1, "b": [2]}, {"b": (2,), "a": 1}),
        (float("nan"), -float("nan")),
        ({1, 2, 10**9}, {10**9, 2, 1}),
    ],
)
def test_values_that_are_the_same(one: object, other: object) -> None:
    """Neither the order of a mapping or set nor the kind of a sequence counts."""
    assert repr(_plain(one)) == repr(_plain(other))
