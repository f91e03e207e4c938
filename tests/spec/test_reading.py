"""From text to a scenario: defaults, cross-checks, warnings, and where every value came from."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.scenario import Kind, Layout, Mode, Scope, Shard, Strike
from ckptplan.errors import InputError
from ckptplan.spec.reading import Spec, read_spec
from tests.spec.broken import GOOD

RUNS = Path(__file__).parents[2].parent / "shared" / "runs.md"

MINIMAL = """\
model: {parameters: 1e9}
cluster: {gpus: 64}
failures: {mtbf_per_gpu: 50_000 h}
save: [{stall: 60 s}]
"""


def _read(text: str) -> Spec:
    return read_spec(text.encode(), "folder/run.yaml")


def _good(**changes: str) -> Spec:
    text = GOOD
    for group, value in changes.items():
        text = re.sub(rf"^{group}:.*$", f"{group}: {value}", text, flags=re.MULTILINE)
    return _read(text)


def _layout(written: str, gpus: int = 512) -> Layout:
    return _good(cluster=f"{{gpus: {gpus}, layout: {written}}}").scenario.cluster.layout


def test_what_may_be_left_out_has_the_stated_defaults() -> None:
    """A minimal spec gets its name from the file, adam-14, eight GPUs per node, FSDP, DR, and no storage."""
    spec = _read(MINIMAL)
    scenario = spec.scenario
    assert scenario.name == "run"
    assert scenario.model.ledger.name == "adam-14"
    assert scenario.cluster.gpus_per_node == 8
    assert scenario.cluster.layout == Layout(data=64, shard=Shard.FSDP)
    assert scenario.failures_strike is Strike.DR
    assert scenario.storage.write_bandwidth_bytes_per_s is None
    assert (scenario.saves[0].name, scenario.saves[0].mode) == ("sharded", Mode.SHARDED)
    assert scenario.training.step_time_s is None
    origins = {value.key: value.origin for value in spec.values}
    assert origins["model.state"] == origins["cluster.gpus_per_node"] == "default"


def test_a_restart_left_out_is_assumed_and_said() -> None:
    """Ten minutes, with a warning."""
    spec = _read(MINIMAL)
    assert spec.scenario.restart.total_s == 600.0
    assert [warning.key for warning in spec.warnings] == ["restart"]
    assert {value.key: value.text for value in spec.values}["restart.total"] == "10 min, assumed"


def test_phases_left_out_are_zero_and_load_follows_the_storage() -> None:
    """Load is computed where a read bandwidth is known, else it counts as zero with a warning."""
    automatic = _good(restart="{detect: 60 s}")
    assert automatic.scenario.restart.load_s is None
    assert automatic.scenario.restart.replace_s == 0.0
    assert automatic.warnings == ()
    without = _good(restart="{detect: 60 s}", storage="{write_bandwidth: 1 GB/s}")
    assert without.scenario.restart.load_s == 0.0
    assert "loading counts as 0 s" in without.warnings[0].message
    assert _good(restart="{load: 50 s}").scenario.restart.load_s == 50.0
    assert _good(restart="{load: auto}").scenario.restart.total_s is None


@pytest.mark.parametrize(
    ("failures", "hours_per_gpu"),
    [
        ("{mtbf: 100 h}", 100 * 512),
        ("{mtbf_per_gpu: 50_000 h}", 50_000),
        ("{mtbf_per_node: 6000 h}", 48_000),
        ("{rate_per_node_day: 6.5e-3}", 24 * 8 / 6.5e-3),
        ("{interruptions: {count: 419, over: 54 d, gpus: 16384}}", 54 * 24 * 16384 / 419),
        ("{interruptions: {count: 12, over: 30 d}}", 30 * 24 * 512 / 12),
    ],
)
def test_every_source_gives_the_mtbf_per_gpu(failures: str, hours_per_gpu: float) -> None:
    """Per job times GPUs, per node times GPUs per node, a count over GPU time."""
    spec = _good(failures=failures)
    assert spec.scenario.failures.mtbf_per_gpu_s == pytest.approx(3600 * hours_per_gpu, rel=1e-12)
    assert spec.warnings == ()


def test_a_count_is_kept_for_its_confidence() -> None:
    """Interruptions keep the number counted."""
    failures = _good(failures="{interruptions: {count: 12, over: 30 d}}").scenario.failures
    assert (failures.source, failures.count) == ("interruptions", 12.0)


@pytest.mark.parametrize(
    ("written", "layout"),
    [
        ("{tensor: 8, pipeline: 4}", Layout(16, tensor=8, pipeline=4, shard=Shard.ZERO1)),
        ("{tensor: 8, pipeline: 4, data: 16}", Layout(16, tensor=8, pipeline=4, shard=Shard.ZERO1)),
        ("{context: 4}", Layout(128, context=4, shard=Shard.FSDP)),
        ("{expert: 8}", Layout(512, expert=8, shard=Shard.ZERO1)),
        ("{context: 4, data: 128, expert: 256}", Layout(128, context=4, expert=256, shard=Shard.ZERO1)),
        ("{replicas: 2}", Layout(256, replicas=2, shard=Shard.FSDP)),
        ("{shard: hsdp, data: 8}", Layout(8, replicas=64, shard=Shard.HSDP)),
        ("{shard: hsdp, replicas: 4}", Layout(128, replicas=4, shard=Shard.HSDP)),
        ("{shard: hsdp, replicas: 4, data: 128}", Layout(128, replicas=4, shard=Shard.HSDP)),
        ("{shard: none, tensor: 8}", Layout(64, tensor=8, shard=Shard.NONE)),
    ],
)
def test_a_layout_is_completed_to_the_number_of_gpus(written: str, layout: Layout) -> None:
    """What is left out follows; expert ranks are not in the product; sharding follows model parallelism."""
    found = _layout(written)
    assert found == layout
    assert found.gpus == 512


def test_a_listed_state_is_read_with_kind_and_scope() -> None:
    """Kinds are read from names where not given; bytes of the job need no per."""
    ledger = _good(
        model="{parameters: 1e9, state: [{name: fp16 weights, bytes_per_parameter: 2}, "
        "{name: first moment, bytes_per_parameter: 4}, {name: buffer, bytes: 1 MB, per: rank, kind: progress}]}"
    ).scenario.model.ledger
    found = {state.name: (state.kind, state.bytes_each, state.scope) for state in ledger.states}
    assert found["fp16 weights"] == (Kind.WEIGHTS, 2.0, Scope.PARAMETER)
    assert found["first moment"] == (Kind.MOMENT, 4.0, Scope.PARAMETER)
    assert found["buffer"] == (Kind.PROGRESS, 1e6, Scope.RANK)


def test_a_ledger_may_be_extended_in_a_list() -> None:
    """A ledger and an addition together hold the states of both, the small ones once."""
    plain = _good(model="{parameters: 1e9, state: adam-14}").scenario.model.ledger
    longer = _good(model="{parameters: 1e9, state: [adam-14, ema]}").scenario.model.ledger
    assert {state.name for state in plain.states} < {state.name for state in longer.states}
    assert len({state.name for state in longer.states}) == len(longer.states)


def test_bytes_per_parameter_out_of_range_are_named() -> None:
    """Above 24 and below 2 bytes per parameter warn with the likely cause; 2 to 24 do not."""
    state = "{{parameters: 1e9, state: [{{name: weights, bytes_per_parameter: {}}}]}}"
    for each, cause in ((25, "bits"), (1, "missing")):
        (warning,) = _good(model=state.format(each)).warnings
        assert warning.key == "model.state"
        assert warning.place is not None
        assert warning.place.line == 2
        assert cause in (warning.hint or "")
    for each in (2, 24):
        assert _good(model=state.format(each)).warnings == ()


@pytest.mark.parametrize(
    ("failures", "cause"),
    [
        ("{rate_per_node_day: 6.5}", "divide it by 1000"),
        ("{rate_per_node_day: 6.5e-6}", "once too often"),
        ("{mtbf: 50_000 h}", "write mtbf_per_gpu"),
        ("{mtbf_per_gpu: 3 h}", "write mtbf"),
        ("{mtbf_per_node: 30 h}", "write mtbf"),
        ("{interruptions: {count: 1e6, over: 1 d}}", "belong together"),
    ],
)
def test_an_mtbf_out_of_range_is_named(failures: str, cause: str) -> None:
    """An MTBF per GPU outside 500 h to 5,000,000 h warns with the likely cause, and is used as it stands."""
    (warning,) = _good(failures=failures).warnings
    assert "500 h and 5,000,000 h" in warning.message
    assert cause in (warning.hint or "")
    assert warning.place is not None
    assert warning.place.line == 4


@pytest.mark.parametrize(("mtbf", "every"), [("1.5 min", "12.8 h"), ("20_000 h", "1,169 years (10.24e6 h)")])
def test_an_mtbf_in_hours_is_not_told_twice(mtbf: str, every: str) -> None:
    """Hours in brackets are for times that are printed in another unit."""
    (warning,) = _good(failures=f"{{mtbf: {mtbf}}}").warnings
    assert warning.message.startswith(f"one GPU would fail every {every};")


def test_a_node_larger_than_the_job_is_named() -> None:
    """More GPUs in a node than in the job warns where it was written; the default of eight does not."""
    (warning,) = _good(cluster="{gpus: 16, gpus_per_node: 1000}").warnings
    assert warning.key == "cluster.gpus_per_node"
    assert "1,000 GPUs, more than the 16" in warning.message
    assert _good(cluster="{gpus: 4}").warnings == ()


def test_a_mode_left_out_is_sharded_and_an_asynchronous_name_warns() -> None:
    """The name alone does not make a save asynchronous."""
    spec = _read(GOOD.replace("mode: asynchronous, ", ""))
    assert spec.scenario.saves[1].mode is Mode.SHARDED
    assert "mode: asynchronous" in (spec.warnings[0].hint or "")


def test_replicas_may_be_written_by_the_first_only() -> None:
    """``replicated: first`` stops spreading the bytes of replicas."""
    spec = _read(GOOD.replace("mode: sharded", "mode: sharded, replicated: first"))
    assert [save.spread_replicas for save in spec.scenario.saves] == [False, True]


def test_muon_says_that_its_fraction_is_assumed() -> None:
    """The fraction of matrices is stated as assumed unless given, and useless elsewhere."""
    assert "assumed" in _good(model="{parameters: 1e9, state: muon}").warnings[0].message
    assert _good(model="{parameters: 1e9, state: muon, matrix_fraction: 0.9}").warnings == ()
    assert "no effect" in _good(model="{parameters: 1e9, matrix_fraction: 0.9}").warnings[0].message


def test_parameter_efficient_tuning_is_read() -> None:
    """A trainable fraction and whether frozen weights are saved."""
    model = _good(model="{parameters: 1e9, trainable_fraction: 1 %, frozen_weights: saved}").scenario.model
    assert (model.trainable_fraction, model.frozen_weights_saved) == (0.01, True)


def test_values_say_where_they_came_from() -> None:
    """Every value in force has a text for people and an origin; SI groups carry the unit in the key."""
    spec = _read(GOOD)
    values = {value.key: value for value in spec.values}
    step = values["training.step_time"]
    assert (step.si, step.unit, step.text, step.origin) == (5.0, "s", "5 s", "folder/run.yaml:10")
    assert values["save[1].copy_bandwidth"].origin == "default"
    assert values["cluster.layout.data"].si == 16
    known = {key: value for key, value in spec.si["training"].items() if value is not None}
    assert known == {"step_time_s": 5.0, "duration_s": 2_592_000.0}
    assert spec.si["storage"]["write_bandwidth_bytes_per_s"] == 10e9
    assert spec.si["save"][1]["stall_s"] == 1.0
    assert spec.si["failures"] == {"mtbf_per_gpu_s": 1.8e8, "host_copy_survives": 0.0}
    assert json.loads(json.dumps(spec.si, allow_nan=False)) == spec.si


def test_unicode_names_are_kept() -> None:
    """A name may hold any printable character."""
    assert _read(GOOD.replace("a run", "l\xe4uft \u6771")).scenario.name == "l\xe4uft \u6771"


def test_all_published_runs_are_read() -> None:
    """Sixteen published runs: valid, with the layout filling the GPUs; only the spot job fails unusually often."""
    if not RUNS.is_file():
        pytest.skip("the published runs lie beside the repository")
    blocks = re.findall(r"```yaml\n(.*?)```", RUNS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 16
    warned = []
    for block in blocks:
        spec = _read(block)
        assert spec.scenario.cluster.layout.gpus == spec.scenario.cluster.gpus
        warned += [(spec.scenario.cluster.gpus, warning.key) for warning in spec.warnings]
    assert warned == [(24, "failures.interruptions")]


@given(st.binary(max_size=400))
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    """No bytes end in anything but a spec or an InputError with at least one problem."""
    _survives(data)


_TOKENS = st.sampled_from(
    ["", "0", "-1", ".nan", "1e999", "null", "[]", "{}", "[x]", "{a: b}", "'", '"', ": ", "- ", "*a", "&a ", "!!str ",
     "<<: ", "\t", "\n", "#", "5 m", "10 Gb/s", "\xe9", "\0", "|\n", "? ", "---\n", "preset: nas", "auto", "true"]
)  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(0, len(GOOD)), st.integers(0, 12), _TOKENS), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from(["save[0]", "failures", "cluster.layout.data", "a.b"]), _TOKENS), max_size=2),
)
def test_a_mutated_spec_is_read_or_refused(edits: list[tuple[int, int, str]], flags: list[tuple[str, str]]) -> None:
    """Cuts and insertions anywhere in a valid spec, and odd flags, end in a spec or an InputError."""
    text = GOOD
    for start, length, token in edits:
        text = text[:start] + token + text[start + length :]
    _survives(text.encode(), tuple(f"{key}={value}" for key, value in flags))


def _survives(data: bytes, sets: tuple[str, ...] = ()) -> None:
    try:
        spec = read_spec(data, "run.yaml", sets=sets)
    except InputError as error:
        assert error.problems  # noqa: PT017 - either outcome is right
        assert error.render()  # noqa: PT017 - the same
    else:
        assert math.isfinite(spec.scenario.failures.mtbf_per_gpu_s)
