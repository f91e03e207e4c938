"""Presets: every one of them is usable, and says where it comes from."""

from __future__ import annotations

import pytest

from ckptplan.spec.presets import presets
from ckptplan.spec.reading import read_spec
from ckptplan.spec.schema import SPEC, Group, Many
from tests.spec.broken import GOOD

ALL = [(group, name) for group, members in presets().items() for name in members]


def test_every_group_of_the_data_file_takes_presets() -> None:
    """The data file holds groups of the spec that may name a preset, and nothing else."""
    for group in presets():
        entry = SPEC.keys[group]
        inner = entry.item if isinstance(entry, Many) else entry
        assert isinstance(inner, Group)
        assert inner.preset


@pytest.mark.parametrize(("group", "name"), ALL)
def test_every_preset_is_read_and_shown(group: str, name: str) -> None:
    """A spec that names the preset is valid, its values come from the preset, and the preset has a source."""
    key = f"save[1].preset={name}" if group == "save" else f"{group}.preset={name}"
    spec = read_spec(GOOD.encode(), "run.yaml", sets=[key])
    assert f"preset {name} (--set)" in {value.origin for value in spec.values}
    assert (key.partition("=")[0], name) in {(value.key, value.si) for value in spec.values}
    assert len(presets()[group][name].source) > 20


def test_published_values() -> None:
    """Some presets against their sources."""
    spec = read_spec(
        GOOD.encode(),
        "run.yaml",
        sets=[
            "storage.preset=lustre-large",
            "failures.preset=rsc-1",
            "save[1].preset=c2c",
            "cluster.preset=gb200-tray",
        ],
    )
    assert spec.scenario.storage.write_bandwidth_bytes_per_s == 250e9
    assert spec.scenario.saves[1].copy_bandwidth_bytes_per_s == 340e9
    assert spec.scenario.cluster.gpus_per_node == 4
    assert spec.scenario.cluster.host_memory_per_node_bytes == 960e9
    assert spec.scenario.failures.mtbf_per_gpu_s == pytest.approx(86400 * 4 / 6.5e-3)
