"""Keys of the fault spectrum are read into the scenario: classes, tiers, guards, batches, power."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.classes import BUILT_IN, FailureClass, FailureKind, Loss
from ckptplan.cost.protection import Prediction, Retention, Spares, Verification, Watchdog
from ckptplan.cost.scenario import Power
from ckptplan.cost.tiers import Tier, TierKind
from ckptplan.errors import InputError
from ckptplan.spec.document import parse, read_text
from ckptplan.spec.reading import Spec, read_spec, spec_json_schema
from ckptplan.spec.schema import Group, Key, Many, find
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode
from tests.spec.broken import GOOD
from tests.spec.broken_faults import spectrum
from tests.spec.full_spectrum import ELSE, FULL

_VALID = jsonschema.Draft202012Validator(spec_json_schema())
_HOUR, _DAY = 3600.0, 86_400.0
_NEW = ("failures.classes", "failures.watchdog", "storage.tiers", "verification", "retention", "spares", "prediction",
        "cluster.power", "training.step_noise", "training.noise", "training.scaling_exponent", "training.global_batch",
        "training.micro_batch")  # fmt: skip


def _read(text: str) -> Spec:
    return read_spec(text.encode(), "run.yaml")


def _origins(spec: Spec) -> dict[str, tuple[str, str]]:
    return {value.key: (value.text, value.origin) for value in spec.values}


def _keys(entry: Group | Many | Key, path: str) -> Iterator[str]:
    group = entry.item if isinstance(entry, Many) else entry
    if isinstance(group, Key):
        yield path
        return
    for name, inner in group.keys.items():
        yield from _keys(inner, f"{path}.{name}")


def test_the_full_specs_write_every_new_key() -> None:
    """No key of the fault spectrum is left out of the specs that the tests below read."""
    given_in = {
        re.sub(r"\[[0-9]+\]", "", value.key)
        for spec in (_read(FULL), _read(ELSE))
        for value in spec.values
        if value.origin.startswith("run.yaml:")
    }
    wanted = {key for path in _NEW if (entry := find(path)) for key in _keys(entry, path)}
    assert wanted - given_in == set()
    assert len(wanted) > 60


def test_every_class_is_read() -> None:
    """Each class has its own rate, recovery and kind of loss; what its kind does not have stays at nothing."""
    failures = _read(FULL).scenario.failures
    K = FailureKind
    assert failures.classes == (
        FailureClass("faulty GPU", K.CRASH, share=0.4, loses=Loss.MEMORY,
                     phases_s={"replace": 150.0, "initialise": 240.0, "load": 90.0, "warm_up": 30.0}),
        FailureClass("hang", K.HANG, share=0.1, detect_s=720.0, loses=Loss.PROCESS),
        FailureClass("slow node", K.SLOW, every_s=10 * _DAY, detect_s=2 * _HOUR, detect_is_fixed=True, slowdown=0.1),
        FailureClass("silent corruption", K.SILENT, mtbf_per_gpu_s=500_000 * _HOUR, detect_s=8 * _HOUR),
        FailureClass("loss spike", K.SPIKE, every_s=20 * _DAY, loses=Loss.PROCESS, back_steps=50, lag_steps=5,
                     skipped_batches=200.0),
        FailureClass("preemption", K.PREEMPTION, every_s=9 * _DAY, detect_s=0.0, total_s=480.0, loses=Loss.NODES,
                     notice_s=30.0),
        FailureClass("maintenance", K.MAINTENANCE, every_s=30 * _DAY, detect_s=0.0, loses=Loss.PROCESS,
                     notice_s=_HOUR),
    )  # fmt: skip
    assert failures.watchdog == Watchdog(660.0, 0.2 / _DAY, 300.0, 90.0)


def test_every_tier_is_read() -> None:
    """Each tier has its times, rates, room and the classes that it survives, in their order."""
    host, peer, scratch, shared, store = _read(FULL).scenario.storage.tiers
    one = {"replicas": 1, "lost_at_once": 1}
    T = TierKind
    assert host == Tier("host memory", T.HOST, bandwidth_per_gpu_bytes_per_s=25e9, capacity_per_node_bytes=1e12, **one)
    assert peer == Tier(
        "peer memory", T.PEER, 2.0, bandwidth_per_node_bytes_per_s=25e9, replicas=3, lost_at_once=4, simultaneous=0.05
    )
    assert scratch == Tier(
        "scratch", T.LOCAL, drain_s=40.0, background=True, endurance_per_node_bytes=56e15,
        read_bandwidth_per_node_bytes_per_s=10e9, **one,
        survives=("faulty GPU", "slow node", "hang", "other", "maintenance"),
    )  # fmt: skip
    assert shared == Tier(
        "file system", T.SHARED, background=True, speed=0.98, bandwidth_bytes_per_s=100e9, latency_s=2.0,
        read_bandwidth_bytes_per_s=200e9, capacity_bytes=2e15, survives=("all",), **one,
    )  # fmt: skip
    assert store == Tier("object store", T.OBJECT, stall_s=540.0, load_s=1200.0, **one)


def test_every_guard_is_read() -> None:
    """Verification, retention, spares, prediction, power, noise and batches reach the scenario."""
    scenario, other = _read(FULL).scenario, _read(ELSE).scenario
    assert scenario.verification == Verification(30.0, 2)
    assert scenario.retention == Retention(0.99, None, 6 * _HOUR, 2 * _HOUR, 7 * _DAY, _DAY, 500e12)
    assert other.retention == Retention(0.999, keep=10)
    assert scenario.spares == Spares(8, 12 * _HOUR, 0.02, always_failing=True)
    assert other.spares == Spares(0, _DAY, 0.01, always_failing=False, reshard_s=120.0)
    assert scenario.prediction == Prediction(0.6, 0.8, 40.0)
    assert scenario.cluster.power == Power(1100.0, 600.0, 300.0)
    training = scenario.training
    assert (training.step_noise, training.noise_is_exponential, training.scaling_exponent) == (0.02, True, 0.95)
    assert (training.global_batch, training.micro_batch) == (2048, 4)


@pytest.mark.parametrize(("kind", "built_in"), list(BUILT_IN.items()))
def test_a_class_has_the_defaults_of_its_kind(kind: FailureKind, built_in: Any) -> None:
    """A kind and a rate are enough: the rest is built in, and shown as such."""
    spec = _read(spectrum(watchdog="null", **{"class": f"{{kind: {kind}, name: it, every: 9 d}}"}))
    found, shown = spec.scenario.failures.classes[1], _origins(spec)
    assert (found.detect_s, found.loses) == (built_in.detect_s, built_in.loses)
    assert found.notice_s == (built_in.notice_s or 0.0)
    assert (found.back_steps, found.lag_steps, found.skipped_batches) == built_in[5:]
    assert found.slowdown == (0.06 if kind is FailureKind.SLOW else 0.0)
    assert shown["failures.classes[1].loses"] == (str(built_in.loses), "default")
    detect = shown.get("failures.classes[1].detect")
    assert (detect is None) == (built_in.detect_s is None)
    assert detect is None or detect[1] == "default"


def test_a_class_of_no_kind_is_a_crash_of_that_name() -> None:
    """A rate alone is a crash."""
    spec = _read(spectrum(**{"class": "{share: 5 %}"}))
    assert spec.scenario.failures.classes[1] == FailureClass("crash", FailureKind.CRASH, share=0.05)
    assert _origins(spec)["failures.classes[1].name"] == ("crash", "default")


def test_a_hang_is_noticed_by_the_watchdog() -> None:
    """The timeout of the watchdog is the time to find a hang, unless the class gives it."""
    spec = _read(spectrum(watchdog="{timeout: 25 min}"))
    assert spec.scenario.failures.classes[0].detect_s == 1500.0
    assert _origins(spec)["failures.classes[0].detect"] == ("1,500 s", "failures.watchdog.timeout")
    assert _read(spectrum(watchdog="{}")).scenario.failures.classes[0].detect_s == 600.0


@pytest.mark.parametrize(
    ("written", "watchdog"),
    [
        ("{}", Watchdog()),
        ("{timeout: 20 min}", Watchdog(1200.0)),
        ("{false_alarms_per_day: 2}", Watchdog(None, 2 / _DAY, 600.0, 120.0)),
        ("{timeout: 20 min, false_alarms_per_day: 2}", Watchdog(1200.0, 2 / _DAY, 1200.0, 240.0)),
        ("{false_alarms_per_day: 0, seen_at: 5 min}", Watchdog(None, 0.0, 300.0, 60.0)),
    ],
)
def test_false_alarms_have_defaults(written: str, watchdog: Watchdog) -> None:
    """Alarms are seen at the timeout in force, and fall by e over a fifth of it."""
    assert _read(spectrum(watchdog=written)).scenario.failures.watchdog == watchdog


def test_what_is_left_out_has_the_stated_defaults() -> None:
    """Defaults of tiers, retention and spares are values in force, said to be defaults."""
    spec = _read(spectrum(retention="{}"))
    shown = _origins(spec)
    assert shown["storage.tiers[0].name"] == ("host memory", "default")
    assert shown["storage.tiers[0].write"] == ("blocking", "default")
    assert shown["storage.tiers[1].training_speed_while_draining"] == ("100 %", "default")
    assert shown["retention.probability"] == ("99.9 %", "default")
    assert shown["spares.most_waiting"] == ("1 %", "default")
    assert shown["prediction.save"] == ("that of any other save", "default")
    assert spec.scenario.retention == Retention()


def test_a_count_is_a_share_of_the_interruptions() -> None:
    """148 of 419 are 35.3 %; a preset may count them."""
    of_preset = spectrum(source="preset: llama3-2024", **{"class": "{kind: crash, count: 148}"})
    assert _read(of_preset).scenario.failures.classes[1].share == 148 / 419


def test_shares_that_sum_to_the_whole_leave_no_rest() -> None:
    """Counts of all interruptions are accepted, and so are percents rounded in their last digit."""
    counted = spectrum(source="interruptions: {count: 419, over: 54 d}", **{"class": "{count: 377.1}"})
    assert sum(one.share or 0.0 for one in _read(counted).scenario.failures.classes) == pytest.approx(1.0)
    rounded = spectrum(**{"class": "{share: 90.00001 %}"})
    assert len(_read(rounded).scenario.failures.classes) == 2


def test_tiers_stand_for_strategies() -> None:
    """Beside tiers, save may be left out."""
    assert _read(FULL).scenario.saves == ()
    text = re.sub(r"save:\n(  - .*\n)+", "", GOOD)
    with pytest.raises(InputError, match="missing"):
        _read(text)
    assert _read(text.replace("20 GB/s}", "20 GB/s, tiers: [{kind: file system, stall: 9 s}]}")).scenario.saves == ()


def test_all_is_less_for_memory_and_said() -> None:
    """Memory holds the newest save only: that it survives all is not believed after silent corruption."""
    (warning,) = _read(spectrum(tier="{kind: peer memory, stall: 1 s, survives: all}")).warnings
    assert warning.key == "storage.tiers[1].survives"
    assert "all but silent corruption" in warning.message
    assert _read(spectrum(tier="{kind: local ssd, stall: 1 s, survives: all}")).warnings == ()


@pytest.mark.parametrize(
    ("changes", "key", "line", "message", "hint"),
    [
        ({"class": "{share: 5 %}"}, "verification", 15, "finds nothing: no class is silent corruption", "1.4 %"),
        ({"spares": "{nodes: 1, repair: 1 h, failing: always, reshard: 9 s}"}, "spares.failing", 18,
         "no effect beside reshard", "one of the two"),
        ({"training": "{step_time: 5 s, global_batch: 2040}"}, "training.global_batch", 20,
         "2,040 sequences do not divide by 16 data-parallel replicas x micro_batch 1",
         "15 or 17 replicas would do, or global_batch: 2048"),
        ({"training": "{step_time: 5 s, global_batch: 24, micro_batch: 4}"}, "training.global_batch", 20,
         "24 sequences do not divide by 16 data-parallel replicas x micro_batch 4",
         "6 replicas would do, or global_batch: 64"),
    ],
)  # fmt: skip
def test_what_is_likely_a_mistake_is_said(
    changes: dict[str, str], key: str, line: int, message: str, hint: str
) -> None:
    """A guard without anything to guard, and a batch that replicas cannot share evenly, warn with a remedy."""
    (warning,) = _read(spectrum(**changes)).warnings
    assert warning.key == key
    assert warning.place is not None
    assert warning.place.line == line
    assert message in warning.message
    assert hint in (warning.hint or "")


def test_a_watchdog_without_a_hang_is_said() -> None:
    """A watchdog finds hangs, so that without them it has nothing to find."""
    text = spectrum().replace("{kind: hang, share: 10 %}", "{share: 10 %}")
    (warning,) = _read(text).warnings
    assert warning.key == "failures.watchdog"
    assert "no class is a hang" in warning.message


@pytest.mark.parametrize("batch", [2048, 16, 1600])
def test_a_batch_that_replicas_share_evenly_is_fine(batch: int) -> None:
    """Sixteen data-parallel replicas share any multiple of sixteen."""
    assert _read(spectrum(training=f"{{step_time: 5 s, global_batch: {batch}}}")).warnings == ()


def _plain(node: Node) -> Any:
    if isinstance(node, MapNode):
        return {key: _plain(child) for key, (_, child) in node.entries.items()}
    if isinstance(node, ListNode):
        return [_plain(child) for child in node.items]
    return node.value if isinstance(node, ScalarNode) else None


@pytest.mark.parametrize(
    "text",
    [
        FULL,
        ELSE,
        spectrum(watchdog="null", retention="null"),
        spectrum(**{"class": "{share: 5 % .. 9 %, detect: '40 .. 90 s', name: 7}"}),
        spectrum(**{"class": "{kind: loss spike, mtbf_per_gpu: {mean: 1e6 h, cv: 0.5}}"}),
        spectrum(source="preset: llama3-2024", **{"class": "{count: 148}"}),
        spectrum(source="mtbf: 18 h\n  law: {name: exponential}"),
        spectrum(tier="{kind: peer memory, bandwidth_per_gpu: 25 GB / s, survives: hang}"),
        spectrum(retention="{probability: 0.5 %, keep_all: 6 h, archive_every: 1 d}"),
        spectrum(retention="{probability: '0.999', keep: '9', archive_every: 1 d}"),
        spectrum(spares="{nodes: '8', repair: 12 h}"),
        spectrum(power="{compute: 1.1kW, save: 0 W, restart: '1e-3 MW'}"),
        GOOD.replace("mtbf_per_gpu", "host_copy_survives: 0.4, mtbf_per_gpu"),
    ],
)
def test_the_schema_takes_what_the_reader_takes(text: str) -> None:
    """An editor does not mark what runs."""
    _read(text)
    source_text, source = read_text(text.encode(), "run.yaml")
    assert [error.message for error in _VALID.iter_errors(_plain(parse(source_text, source)[0]))] == []


_TOKENS = st.sampled_from(
    ["", "0", "-1", ".nan", "null", "[]", "{}", "[x]", "{a: b}", "'", ": ", "- ", "5 m", "100 %", "hang", "all",
     "other", "1 .. 2", "{mean: 1 s, cv: 1}", "background", "peer memory", "loss spike", "kind: ", "name: ",
     "1e9", "auto"]
)  # fmt: skip


@given(st.lists(st.tuples(st.integers(40, len(FULL)), st.integers(0, 14), _TOKENS), min_size=1, max_size=4))
def test_a_mutated_spec_of_the_spectrum_is_read_or_refused(edits: list[tuple[int, int, str]]) -> None:
    """Cuts and insertions anywhere end in a spec or an InputError with problems that render."""
    text = FULL
    for start, length, token in edits:
        text = text[:start] + token + text[start + length :]
    try:
        spec = _read(text)
    except InputError as error:
        assert error.render()  # noqa: PT017 - either outcome is right
        assert all(problem.hint or problem.place for problem in error.problems)  # noqa: PT017 - the same
    else:
        assert spec.scenario.failures.mtbf_per_gpu_s > 0.0
