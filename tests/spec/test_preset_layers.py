"""Presets named by flags and variables: what they replace, and what they leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ckptplan.errors import InputError
from ckptplan.spec.reading import Spec, read_spec
from tests.spec.broken import GOOD

_STORAGE = "{write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s}"


def _read(text: str = GOOD, sets: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Spec:
    return read_spec(text.encode(), "run.yaml", sets=sets, environment=environment or {})


def _origins(spec: Spec) -> dict[str, str]:
    return {value.key: value.origin for value in spec.values}


@pytest.mark.parametrize(
    ("sets", "environment"),
    [
        (["storage.preset=nfs"], {}),
        (["storage={preset: nfs}"], {}),
        ([], {"CKPTPLAN_SPEC__STORAGE__PRESET": "nfs"}),
        ([], {"CKPTPLAN_SPEC__STORAGE": "{preset: nfs}"}),
        (["storage.preset=nfs"], {"CKPTPLAN_SPEC__STORAGE": "{preset: lustre-large, latency: 5 s}"}),
    ],
)
@pytest.mark.parametrize("storage", [_STORAGE, "{preset: lustre-large}", "{preset: tectonic, latency: 9 s}"])
def test_a_storage_preset_replaces_the_group(sets: list[str], environment: dict[str, str], storage: str) -> None:
    """However it is written and whatever the file says, nothing of another storage is left."""
    spec = _read(GOOD.replace(_STORAGE, storage), sets, environment)
    found = spec.scenario.storage
    assert found.write_bandwidth_bytes_per_s == 100e6
    assert found.read_bandwidth_bytes_per_s is None
    assert found.peak_write_bandwidth_bytes_per_s is None
    assert found.latency_s == 0.0
    giver = "--set" if sets else "environment"
    assert _origins(spec)["storage.write_bandwidth"] in {f"preset nfs ({giver})", "preset nfs"}


def test_keys_of_the_same_layer_beside_a_preset_win() -> None:
    """In either order and either way of writing, as in the file."""
    key, preset = "storage.write_bandwidth=3 GB/s", "storage.preset=lustre-large"
    for sets in ([key, preset], [preset, key], ["storage={preset: lustre-large, write_bandwidth: 3 GB/s}"]):
        storage = _read(sets=sets).scenario.storage
        assert (storage.write_bandwidth_bytes_per_s, storage.read_bandwidth_bytes_per_s) == (3e9, 500e9)


def test_a_flag_beats_a_key_that_the_environment_puts_beside_a_preset() -> None:
    """A preset of the environment, then a key of a flag on top of it."""
    environment = {"CKPTPLAN_SPEC__STORAGE__PRESET": "lustre-large"}
    storage = _read(sets=["storage.read_bandwidth=7 GB/s"], environment=environment).scenario.storage
    assert (storage.write_bandwidth_bytes_per_s, storage.read_bandwidth_bytes_per_s) == (250e9, 7e9)


@pytest.mark.parametrize("flag", ["failures={preset: rsc-1}", "failures.preset=rsc-1"])
def test_a_failure_preset_replaces_the_source(flag: str) -> None:
    """The rate of the preset holds, in place of the one of the file or of the preset of the file."""
    for written in ("mtbf_per_gpu: 50_000 h", "preset: llama3-2024", "preset: rsc-2"):
        failures = _read(GOOD.replace("mtbf_per_gpu: 50_000 h", written), [flag]).scenario.failures
        assert failures.source == "rate_per_node_day"
        assert failures.mtbf_per_gpu_s == pytest.approx(86400 * 8 / 6.5e-3)


def test_a_key_of_a_nested_group_is_set_beside_its_preset() -> None:
    """The count of the preset with another number of GPUs."""
    sets = ["failures.preset=llama3-2024", "failures.interruptions.gpus=1024"]
    assert _read(sets=sets).scenario.failures.mtbf_per_gpu_s == pytest.approx(54 * 86400 * 1024 / 419)


def test_a_restart_preset_replaces_a_total() -> None:
    """The phases of the preset hold."""
    restart = _read(sets=["restart.preset=nccl-hang"]).scenario.restart
    assert (restart.total_s, restart.detect_s, restart.replace_s) == (None, 600.0, 120.0)


@pytest.mark.parametrize("flag", ["model={preset: llama3-70b}", "model.preset=llama3-70b"])
def test_a_model_preset_gives_the_parameters(flag: str) -> None:
    """The dotted form keeps the ledger of the file; a group assigned as a whole starts from the defaults."""
    spec = _read(GOOD.replace("state: adam-14", "state: adam-12"), [flag])
    assert spec.scenario.model.parameters == 70_553_706_496
    assert spec.scenario.model.ledger.name == ("adam-12" if "." in flag else "adam-14")


def test_a_cluster_preset_leaves_gpus_and_layout() -> None:
    """It replaces what an older preset gave and what it speaks of itself."""
    text = GOOD.replace("gpus_per_node: 8", "preset: dgx-h100")
    cluster = _read(text, ["cluster.preset=gb200-tray", "cluster.layout.shard=zero2"]).scenario.cluster
    assert (cluster.gpus, cluster.gpus_per_node, cluster.host_memory_per_node_bytes) == (512, 4, 960e9)
    assert (cluster.layout.tensor, cluster.layout.pipeline, cluster.layout.shard) == (8, 4, "zero2")


def test_a_save_preset_leaves_the_rest_of_the_strategy() -> None:
    """Only the rate of the copy changes, and only in this strategy."""
    text = GOOD.replace("stall: 1 s", "preset: pcie4, flush: 9 s")
    for sets in (["save[1].preset=c2c"], ["save[async].preset=c2c"]):
        save = _read(text, sets).scenario.saves[1]
        assert (save.copy_bandwidth_bytes_per_s, save.flush_s, save.name) == (340e9, 9.0, "async")
    whole = _read(text, ["save=[{mode: asynchronous, preset: pcie5}]"]).scenario.saves
    assert [save.copy_bandwidth_bytes_per_s for save in whole] == [50e9]


def test_load_auto_names_the_preset_that_gives_no_read_bandwidth() -> None:
    """The read bandwidth went with the storage of the file; the fault says why it is missing."""
    text = GOOD.replace("{total: 10 min}", "{load: auto}")
    with pytest.raises(InputError) as caught:
        _read(text, ["storage.preset=nfs"])
    (problem,) = caught.value.problems
    assert problem.message == "auto needs storage.read_bandwidth, which the preset nfs does not give"
