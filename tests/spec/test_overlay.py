"""Precedence: flag over environment over spec over preset over default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ckptplan.errors import InputError
from ckptplan.spec.reading import Spec, read_spec
from tests.spec.broken import GOOD


def _read(text: str = GOOD, sets: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Spec:
    return read_spec(text.encode(), "run.yaml", sets=sets, environment=environment or {})


def _origins(spec: Spec) -> dict[str, str]:
    return {value.key: value.origin for value in spec.values}


def test_each_layer_beats_the_one_below() -> None:
    """The same key in all five layers: the flag holds, and without it the next one down."""
    key, name = "storage.write_bandwidth", "CKPTPLAN_SPEC__STORAGE__WRITE_BANDWIDTH"
    bare = GOOD.replace("storage: {write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s}", "storage: {preset: nas}")
    both = bare.replace("{preset: nas}", "{preset: nas, write_bandwidth: 3 GB/s}")
    chain = [
        (_read(both, [f"{key}=5 GB/s"], {name: "4 GB/s"}), 5e9, f"--set {key}=5 GB/s"),
        (_read(both, [], {name: "4 GB/s"}), 4e9, f"environment {name}"),
        (_read(both), 3e9, "run.yaml:5"),
        (_read(bare), 1e9, "preset nas"),
    ]
    for spec, rate, origin in chain:
        assert spec.scenario.storage.write_bandwidth_bytes_per_s == rate
        assert _origins(spec)[key] == origin
    assert _origins(chain[0][0])["storage.latency"] == "default"


def test_list_items_are_named_by_index_or_by_name() -> None:
    """``save[1]`` and ``save[async]`` are the same strategy."""
    by_index = _read(sets=["save[1].stall=30 s"])
    by_name = _read(sets=["save[async].stall=30 s"])
    assert by_index.scenario.saves[1].stall_s == by_name.scenario.saves[1].stall_s == 30.0
    assert _read(environment={"CKPTPLAN_SPEC__SAVE__0__STALL": "7 s"}).scenario.saves[0].stall_s == 7.0


def test_an_unknown_strategy_is_named_with_those_that_exist() -> None:
    """A wrong name is answered with the right ones."""
    with pytest.raises(InputError) as caught:
        _read(sets=["save[asink].stall=30 s"])
    (problem,) = caught.value.problems
    assert "no save[asink]" in problem.message
    assert "save[async]" in (problem.hint or "")


def test_a_failure_source_from_a_flag_replaces_that_of_the_file() -> None:
    """Two sources do not meet if one of them comes from a stronger layer."""
    spec = _read(sets=["failures.mtbf=3 h"])
    assert spec.scenario.failures.source == "mtbf"
    assert spec.scenario.failures.mtbf_per_gpu_s == pytest.approx(3 * 3600 * 512)
    assert "failures.mtbf_per_gpu" not in _origins(spec)


def test_two_failure_sources_from_flags_are_still_two() -> None:
    """The same layer cannot replace its own source."""
    with pytest.raises(InputError, match="exactly one source"):
        _read(sets=["failures.mtbf=3 h", "failures.mtbf_per_node=40 d"])


def test_a_restart_total_from_a_flag_replaces_phases() -> None:
    """A total says all that the phases said."""
    with_phases = GOOD.replace("{total: 10 min}", "{detect: 60 s, load: 1 s}")
    total = _read(with_phases, ["restart.total=5 min"]).scenario.restart
    assert (total.total_s, total.detect_s) == (300.0, 0.0)


@pytest.mark.parametrize(
    ("sets", "environment", "giver", "key"),
    [
        (["restart.detect=30 s"], {}, "the spec gives restart.total; with detect alone", "restart.detect"),
        (["restart.load=auto", "restart.detect=30 s"], {}, "with load and detect alone", "restart.load"),
        (
            ["restart.detect=30 s"],
            {"CKPTPLAN_SPEC__RESTART__TOTAL": "9 min"},
            "the environment gives restart.total",
            "restart.detect",
        ),
        ([], {"CKPTPLAN_SPEC__RESTART__DETECT": "30 s"}, "the spec gives restart.total", "restart.detect"),
    ],
)
def test_single_phases_do_not_replace_a_restart_total(
    sets: list[str], environment: dict[str, str], giver: str, key: str
) -> None:
    """The other phases would silently be zero: refused, with the phases written out."""
    with pytest.raises(InputError) as caught:
        _read(sets=sets, environment=environment)
    (problem,) = caught.value.problems
    assert problem.key == key
    assert giver in problem.message
    assert "set restart.total, or give all phases: " in (problem.hint or "")
    assert "{detect: 30 s, replace: 2 min, initialise: 3 min, load: auto, warm_up: 1 min}" in (problem.hint or "")


@pytest.mark.parametrize(
    ("storage", "sets", "load"),
    [
        ("{write_bandwidth: 10 GB/s}", [], "2 min"),
        ("{write_bandwidth: 10 GB/s}", ["restart.load=auto"], "2 min"),
        ("{write_bandwidth: 10 GB/s}", ["storage.read_bandwidth=5 GB/s"], "auto"),
        ("{write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s}", ["storage.latency=1 s"], "auto"),
        ("{write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s}", ["storage={write_bandwidth: 1 GB/s}"], "2 min"),
        ("{preset: nas}", [], "2 min"),
    ],
)
def test_the_phases_written_out_are_ones_that_work(storage: str, sets: list[str], load: str) -> None:
    """A load is computed only where the read bandwidth is known; what the hint says is accepted as it stands."""
    text = GOOD.replace("{write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s}", storage)
    with pytest.raises(InputError) as caught:
        _read(text, [*sets, "restart.detect=30 s"])
    (problem,) = caught.value.problems
    assert problem.hint is not None
    assert f"load: {load}," in problem.hint
    others = [one for one in sets if not one.startswith("restart.")]
    suggested = problem.hint.partition("--set '")[2].removesuffix("'")
    assert _read(text, [*others, suggested]).scenario.restart.total_s is None


def test_all_phases_replace_a_restart_total() -> None:
    """Five phases, a group of phases, or a preset say all that the total said."""
    five = [f"restart.{phase}=10 s" for phase in ("detect", "replace", "initialise", "load", "warm_up")]
    for sets in (five, ["restart={detect: 10 s}"], ["restart.preset=crash", "restart.detect=10 s"]):
        restart = _read(sets=sets).scenario.restart
        assert (restart.total_s, restart.detect_s) == (None, 10.0)


def test_another_number_of_gpus_lets_data_parallelism_follow() -> None:
    """The data axis of the file belongs to its number of GPUs and is not held against another one."""
    spec = _read(sets=["cluster.gpus=1024"])
    assert spec.scenario.cluster.layout.data == 32
    assert _origins(spec)["cluster.layout.data"] == "follows from cluster.gpus"


def test_with_hsdp_whole_replicas_follow() -> None:
    """HSDP keeps the ranks that share one copy and changes the number of copies."""
    text = GOOD.replace("data: 16, shard: zero1", "data: 8, replicas: 2, shard: hsdp")
    layout = _read(text, ["cluster.gpus=1024"]).scenario.cluster.layout
    assert (layout.data, layout.replicas) == (8, 4)


def test_a_rate_of_the_whole_job_is_not_rescaled_silently() -> None:
    """Overriding the number of GPUs alone warns if the MTBF was that of the job."""
    text = GOOD.replace("mtbf_per_gpu: 50_000 h", "mtbf: 90 h")
    assert _read(text).warnings == ()
    (warning,) = _read(text, ["cluster.gpus=1024"]).warnings
    assert warning.key == "failures.mtbf"
    assert "overridden" in warning.message


def test_values_of_flags_are_read_as_yaml() -> None:
    """A flag may set a whole group or list."""
    spec = _read(sets=["save=[{stall: 2 s}]", "model.state=[adam-12, ema]"])
    assert [save.stall_s for save in spec.scenario.saves] == [2.0]
    assert any(state.name for state in spec.scenario.model.ledger.states)
    assert _origins(spec)["save[0].stall"] == "--set save=[{stall: 2 s}]"


def test_a_group_that_the_file_leaves_out_is_made() -> None:
    """A flag may name a group that is not in the file."""
    assert _read(sets=["assume.failures_strike=safe"]).scenario.failures_strike == "safe"


def test_an_alias_is_not_changed_through_its_twin() -> None:
    """Overriding one of two strategies that share an anchor leaves the other as it was."""
    text = GOOD.replace("- {name: sharded, mode: sharded}", "- &x {stall: 5 s}").replace(
        "- {name: async, mode: asynchronous, stall: 1 s}", "- *x"
    )
    saves = _read(text, ["save[1].name=other", "save[1].stall=9 s"]).scenario.saves
    assert [save.stall_s for save in saves] == [5.0, 9.0]


@pytest.mark.parametrize(
    ("flag", "message", "hint"),
    [
        ("cluster.gpus", "KEY=VALUE is wanted", "cluster.gpus=1024"),
        ("=5", "KEY=VALUE is wanted", "cluster.gpus=1024"),
        ("cluster..gpus=5", "KEY=VALUE is wanted", "cluster.gpus=1024"),
        ("cluster.gpu=5", "unknown key", "did you mean gpus?"),
        ("cluster.gpus=", "no value", "gpus: 16384"),
        ("training.step_time=5", "no unit", "5 s"),
        ("training.step_time=[", "not YAML", ""),
        ("name.first=x", "no keys below", ""),
        ("storage.preset=nass", "no preset", "did you mean nas?"),
        ("name=a\x1bb", "control character", "delete"),
        ("name=[bold]x", "not YAML", """--set 'name="[bold]x"'"""),
        ("save[3].stall=3 s", "there is no save[3]", "write save[sharded], save[async]"),
    ],
)
def test_a_wrong_flag_is_named(flag: str, message: str, hint: str) -> None:
    """Faults of a flag carry the flag as their place."""
    with pytest.raises(InputError) as caught:
        _read(sets=[flag])
    (problem,) = caught.value.problems
    assert str(problem.place).startswith("--set ")
    assert message in problem.message
    assert hint in (problem.hint or "")


def test_a_wrong_variable_is_named() -> None:
    """Faults of the environment carry the variable as their place, and other variables are left alone."""
    environment = {"CKPTPLAN_SPEC__CLUSTER__GPU": "5", "CKPTPLAN_SPEC__": "1", "CKPTPLAN_METHOD": "exact"}
    with pytest.raises(InputError) as caught:
        _read(environment=environment)
    places = {str(problem.place) for problem in caught.value.problems}
    assert places == {"environment CKPTPLAN_SPEC__CLUSTER__GPU", "environment CKPTPLAN_SPEC__"}


def test_a_path_is_echoed_as_it_was_written() -> None:
    """A fault about a strategy names it as the flag or the variable did."""
    with pytest.raises(InputError) as caught:
        _read(sets=["save[3].stall=3 s"], environment={"CKPTPLAN_SPEC__SAVE__4__STALL": "3 s"})
    assert [problem.key for problem in caught.value.problems] == ["save[4].stall", "save[3].stall"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CKPTPLAN_SPEC_CLUSTER_GPUS", "CKPTPLAN_SPEC__CLUSTER__GPUS"),
        ("CKPTPLAN_SPEC_CLUSTER__GPUS", "CKPTPLAN_SPEC__CLUSTER__GPUS"),
        ("CKPTPLAN_SPEC__CLUSTER_GPUS", "CKPTPLAN_SPEC__CLUSTER__GPUS"),
        ("CKPTPLAN_SPEC_STORAGE_WRITE_BANDWIDTH", "CKPTPLAN_SPEC__STORAGE__WRITE_BANDWIDTH"),
        ("CKPTPLAN_SPEC_SAVE_1_STALL", "CKPTPLAN_SPEC__SAVE__1__STALL"),
        ("CKPTPLAN_SPEC_", "CKPTPLAN_SPEC__CLUSTER__GPUS"),
        ("CKPTPLAN_SPEC_COLOUR", "CKPTPLAN_SPEC__CLUSTER__GPUS"),
    ],
)
def test_a_missing_underscore_in_a_variable_is_a_fault(name: str, hint: str) -> None:
    """A variable that was meant for the spec is not ignored; the right name is told."""
    with pytest.raises(InputError) as caught:
        _read(environment={name: "1024"})
    (problem,) = caught.value.problems
    assert str(problem.place) == f"environment {name}"
    assert hint in (problem.hint or "")
    assert "two underscores" in problem.message
