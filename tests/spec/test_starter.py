"""The starter spec: what it shows behind comment signs can be used."""

from __future__ import annotations

import re

import pytest

from ckptplan.cost.scenario import Power
from ckptplan.spec.reading import Spec, read_spec
from ckptplan.spec.starter import STARTER

_SPECTRUM = (
    "power",
    "classes",
    "watchdog",
    "tiers",
    "verification",
    "retention",
    "spares",
    "prediction",
    "global_batch",
    "step_noise",
    "scaling_exponent",
)
_BEHIND = [line for line in STARTER.splitlines() if re.match(r"\s*# [a-z_]+: ", line)]
_RIVALS = {
    "state": "  state: adam-14",
    "step_time_while_flushing": "    training_speed_while_flushing: 0.95",
    "shared_link": "    training_speed_while_flushing: 0.95",
    **dict.fromkeys(("mtbf", "mtbf_per_gpu", "mtbf_per_node", "rate_per_node_day"), "  interruptions: {"),
}


def _read(text: str) -> Spec:
    return read_spec(text.encode(), "run.yaml")


def _key(line: str) -> str:
    return line.partition(":")[0].strip(" #")


def _uncommented(lines: list[str]) -> str:
    """The starter with some of its optional keys, and without what they replace."""
    text = STARTER
    for line in lines:
        if rival := _RIVALS.get(_key(line)):
            text = "".join(kept for kept in text.splitlines(keepends=True) if not kept.startswith(rival))
        text = text.replace(f"{line}\n", line.replace("# ", "", 1) + "\n")
    return text


@pytest.mark.parametrize("line", _BEHIND, ids=_key)
def test_every_key_behind_a_comment_sign_can_be_uncommented(line: str) -> None:
    """Each is read by itself, and is then in force; all that is said is that a guard lacks its class."""
    text = _uncommented([line])
    spec = _read(text)
    places = [int(value.origin.rpartition(":")[2]) for value in spec.values if value.origin.startswith("run.yaml:")]
    assert any(text.splitlines()[place - 1].strip().startswith(f"{_key(line)}:") for place in places)
    assert all("finds nothing" in warning.message for warning in spec.warnings)


def test_all_keys_of_the_fault_spectrum_in_the_starter_work_together() -> None:
    """Classes, watchdog, tiers, guards, power, noise and batch in one spec, without a warning."""
    lines = [line for line in _BEHIND if _key(line) in _SPECTRUM]
    assert len(lines) == len(_SPECTRUM)
    spec = _read(_uncommented(lines))
    assert spec.warnings == ()
    assert [one.name for one in spec.scenario.failures.classes] == ["hang", "silent corruption"]
    assert spec.scenario.cluster.power == Power(700.0, 500.0, 300.0)
