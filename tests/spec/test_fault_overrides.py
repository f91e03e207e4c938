"""Flags, variables and ranges reach the items of classes and tiers."""

from __future__ import annotations

import pytest

from ckptplan.cost.spread import Spread
from ckptplan.errors import InputError
from ckptplan.spec.reading import Spec, read_spec
from tests.spec.broken_faults import spectrum
from tests.spec.full_spectrum import ELSE, FULL


def _read(text: str, *sets: str, **environment: str) -> Spec:
    return read_spec(text.encode(), "run.yaml", sets=sets, environment=environment)


_HANG, _SSD = "failures.classes[0].detect", "storage.tiers[1].capacity"


@pytest.mark.parametrize(
    ("flag", "key", "si"),
    [
        ("failures.classes[0].detect=20 min", _HANG, 1200.0),
        ("failures.classes[hang].detect=20 min", _HANG, 1200.0),
        ("failures.classes[silent corruption].detect=20 min", "failures.classes[1].detect", 1200.0),
        ("failures.classes[silent_corruption].detect=20 min", "failures.classes[1].detect", 1200.0),
        ("storage.tiers[1].capacity=1 PB", _SSD, 1e15),
        ("storage.tiers[local ssd].capacity=1 PB", _SSD, 1e15),
        ("storage.tiers[ local ssd ].capacity=1 PB", _SSD, 1e15),
        ("storage.tiers[local-ssd].capacity=1 PB", _SSD, 1e15),
        ("storage.tiers[file system].survives=[hang, silent corruption, other]", "storage.tiers[2].survives",
         "hang, silent corruption, other"),
        ("failures.watchdog.timeout=9 min", "failures.watchdog.timeout", 540.0),
        ("verification.time=9 s", "verification.time", 9.0),
        ("spares={nodes: 3, repair: 1 d}", "spares.nodes", 3.0),
        ("cluster.power.save=0.4 kW", "cluster.power.save", 400.0),
        ("prediction.recall=70 %", "prediction.recall", 0.7),
        ("training.micro_batch=4", "training.micro_batch", 4),
    ],
)  # fmt: skip
def test_flags_name_items_by_index_or_by_name(flag: str, key: str, si: float | str) -> None:
    """``[1]``, ``[local ssd]`` and ``[local_ssd]`` are the same tier; the flag is where the value came from."""
    values = {value.key: value for value in _read(spectrum(), flag).values}
    assert (values[key].si, values[key].origin) == (si, f"--set {flag}")


@pytest.mark.parametrize(
    ("variable", "value", "key", "si"),
    [
        ("FAILURES__CLASSES__0__DETECT", "20 min", _HANG, 1200.0),
        ("FAILURES__CLASSES__HANG__DETECT", "20 min", _HANG, 1200.0),
        ("STORAGE__TIERS__LOCAL_SSD__CAPACITY", "1 PB", _SSD, 1e15),
        ("RETENTION__KEEP_ALL", "3 h", "retention.keep_all", 10_800.0),
        ("CLUSTER__POWER__COMPUTE", "900 W", "cluster.power.compute", 900.0),
    ],
)
def test_variables_name_items_by_index_or_by_name(variable: str, value: str, key: str, si: float) -> None:
    """A blank in a name is one underscore in a variable."""
    name = f"CKPTPLAN_SPEC__{variable}"
    values = {one.key: one for one in _read(spectrum(), **{name: value}).values}
    assert (values[key].si, values[key].origin) == (si, f"environment {name}")


def test_a_class_is_named_by_its_name_and_a_nameless_one_by_its_kind() -> None:
    """``[faulty GPU]`` is the class of that name; without name and kind a class is ``[crash]``."""
    classes = _read(FULL, "failures.classes[faulty_gpu].share=30 %").scenario.failures.classes
    assert classes[0].share == 0.3
    nameless = spectrum(**{"class": "{share: 5 %}"})
    assert _read(nameless, "failures.classes[crash].share=6 %").scenario.failures.classes[1].share == 0.06


def test_names_that_fold_alike_are_not_guessed_at() -> None:
    """Two tiers whose names differ in a blank only are told apart by their exact names."""
    text = spectrum(tier="{kind: file system, name: file-system, stall: 1 s}")
    tiers = _read(text, "storage.tiers[file-system].stall=7 s").scenario.storage.tiers
    assert tiers[1].stall_s == 7.0
    with pytest.raises(InputError) as caught:
        _read(text, "storage.tiers[file_system].stall=7 s")
    (problem,) = caught.value.problems
    assert "there is no storage.tiers[file_system]" in problem.message
    assert "storage.tiers[file-system], storage.tiers[file system]" in (problem.hint or "")


def test_an_unknown_class_in_a_flag_is_answered_with_those_that_exist() -> None:
    """A wrong name is answered with the right ones."""
    with pytest.raises(InputError) as caught:
        _read(spectrum(), "failures.classes[hangs].share=3 %")
    assert "failures.classes[hang], failures.classes[silent corruption]" in (caught.value.problems[0].hint or "")


@pytest.mark.parametrize(
    ("text", "flag", "gone", "kept"),
    [
        (spectrum(), "failures.classes[0].every=9 d", "failures.classes[0].share", "failures.classes[0].every"),
        (FULL, "failures.classes[hang].share=9 %", "failures.classes[1].count", "failures.classes[1].detect"),
        (FULL, "failures.classes[0].total=9 min", "failures.classes[0].replace", "failures.classes[0].share"),
        (FULL, "failures.classes[preemption].replace=9 s", "failures.classes[5].total", "failures.classes[5].every"),
        (FULL, "storage.tiers[0].capacity=9 PB", "storage.tiers[0].capacity_per_node", "storage.tiers[0].capacity"),
        (ELSE, "retention.keep_all=9 h", "", "retention.keep_all"),
        (FULL, "retention.keep=9", "", "retention.capacity"),
    ],
)
def test_a_stronger_layer_replaces_what_says_the_same(text: str, flag: str, gone: str, kept: str) -> None:
    """A rate by a flag drops the other rate of the file, a total the phases, a capacity the other one."""
    spec = _read(text, flag)
    keys = {value.key for value in spec.values}
    assert gone not in keys
    assert kept in keys
    if flag.startswith("retention"):
        kept_by = spec.scenario.retention
        assert kept_by is not None
        assert (kept_by.keep is None) != (kept_by.keep_all_s is None)


def test_two_rates_by_flags_are_still_two() -> None:
    """The same layer cannot replace its own rate."""
    with pytest.raises(InputError, match="every and mtbf_per_gpu are given"):
        _read(spectrum(), "failures.classes[0].every=9 d", "failures.classes[0].mtbf_per_gpu=1e6 h")


@pytest.mark.parametrize(
    ("key", "written", "spread"),
    [
        ("failures.classes[0].detect", "40 s .. 90 s", Spread(65.0, low=40.0, high=90.0)),
        ("failures.classes[0].share", "5 % .. 15 %", Spread(0.1, low=0.05, high=0.15, share=True)),
        ("failures.classes[1].mtbf_per_gpu", "{mean: 1e6 h, cv: 0.5}", Spread(3.6e9, cv=0.5)),
        ("failures.classes[0].total", "5 .. 15 min", Spread(600.0, low=300.0, high=900.0)),
        ("failures.watchdog.timeout", "10 min .. 30 min", Spread(1200.0, low=600.0, high=1800.0)),
        ("failures.watchdog.false_alarms_per_day", "0.1 .. 0.3", Spread(0.2, low=0.1, high=0.3)),
        ("storage.tiers[0].stall", "40 s .. 90 s", Spread(65.0, low=40.0, high=90.0)),
        ("storage.tiers[2].bandwidth", "50 .. 150 GB/s", Spread(100e9, low=50e9, high=150e9)),
        ("storage.tiers[1].capacity", "1 TB .. 3 TB", Spread(2e12, low=1e12, high=3e12)),
        ("verification.time", "{mean: 30 s, cv: 0.2}", Spread(30.0, cv=0.2)),
        ("spares.repair", "6 h .. 18 h", Spread(43_200.0, low=21_600.0, high=64_800.0)),
        ("prediction.recall", "50 % .. 70 %", Spread(0.6, low=0.5, high=0.7, share=True)),
        ("cluster.power.compute", "600 .. 800 W", Spread(700.0, low=600.0, high=800.0)),
        ("training.step_noise", "1 % .. 3 %", Spread(0.02, low=0.01, high=0.03, share=True)),
    ],
)
def test_values_may_be_ranges_or_distributions(key: str, written: str, spread: Spread) -> None:
    """The scenario takes the mean, what is known of the value is kept, and another value builds another scenario."""
    spec = _read(spectrum(), f"{key}={written}")
    found = spec.spreads[key]
    assert (found.cv, found.share) == (spread.cv, spread.share)
    assert (found.mean, found.low, found.high) == pytest.approx((spread.mean, spread.low, spread.high))
    assert spec.with_values({key: found.mean * 1.01}) != spec.scenario
    assert spec.with_values({key: found.mean}) == spec.scenario


def test_a_flag_for_a_hang_goes_before_the_watchdog() -> None:
    """The timeout of the watchdog is a default, which the class may override."""
    spec = _read(spectrum(watchdog="{timeout: 25 min}"), "failures.classes[hang].detect=9 min")
    assert spec.scenario.failures.classes[0].detect_s == 540.0


def test_a_range_in_the_file_is_shown_as_it_was_written() -> None:
    """``40 s .. 90 s`` in an item of a list is a range as anywhere else."""
    spec = _read(spectrum(tier="{kind: local ssd, stall: 40 s .. 90 s}"))
    assert spec.scenario.storage.tiers[1].stall_s == 65.0
    shown = {value.key: (value.text, value.origin) for value in spec.values}
    assert shown["storage.tiers[1].stall"] == ("40 s .. 90 s", "run.yaml:13")


def test_draws_that_do_not_fit_each_other_make_no_scenario() -> None:
    """Shares that sum to more than the whole are refused in a draw too."""
    spec = _read(spectrum(**{"class": "{share: 80 % .. 95 %}"}))
    assert spec.with_values({"failures.classes[1].share": 0.9}).failures.classes[1].share == 0.9
    with pytest.raises(InputError, match="more than the whole"):
        spec.with_values({"failures.classes[1].share": 0.95})
