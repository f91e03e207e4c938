"""Every fault of a spec ends in one message with its place and a remedy."""

from __future__ import annotations

import pytest

from ckptplan.errors import InputError
from ckptplan.spec.reading import read_spec
from tests.spec.broken import BROKEN, GOOD, Broken
from tests.spec.broken_fault_rules import BROKEN_FAULTS
from tests.spec.broken_faults import spectrum
from tests.spec.broken_record import BROKEN_RECORD
from tests.spec.broken_run import BROKEN_RUN

ROWS = [*BROKEN, *BROKEN_RUN, *BROKEN_FAULTS, *BROKEN_RECORD]


@pytest.mark.parametrize("text", [GOOD, spectrum()])
def test_the_good_spec_is_read_without_a_word(text: str) -> None:
    """The specs that the broken ones are made from have neither faults nor warnings."""
    assert read_spec(text.encode(), "run.yaml").warnings == ()


def test_the_table_is_long_enough() -> None:
    """At least 400 different broken specs are tried, each under its own name."""
    assert len({row.id for row in ROWS}) == len({row.data for row in ROWS}) == len(ROWS) >= 400


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_fault_is_reported_with_place_and_hint(row: Broken) -> None:
    """A broken spec ends in one problem with its line, key, message and hint, in plain ASCII."""
    with pytest.raises(InputError) as caught:
        read_spec(row.data, "run.yaml")
    problems = caught.value.problems
    assert len(problems) == 1, caught.value.render()
    (problem,) = problems
    assert problem.place is not None
    assert problem.place.file == "run.yaml"
    assert (problem.place.line, problem.key) == (row.line, row.key)
    assert row.message in problem.message
    assert problem.hint
    assert row.hint in problem.hint
    assert (problem.message + problem.hint).isascii()


def test_names_that_are_at_fault_are_not_compared() -> None:
    """Two strategies whose names cannot be taken are two faults: their modes are not their names."""
    text = GOOD.replace("name: sharded", r'name: "a\ab"').replace(
        "name: async, mode: asynchronous", r'name: "a\ac", mode: sharded'
    )
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), "run.yaml")
    assert [problem.key for problem in caught.value.problems] == ["save[0].name", "save[1].name"]


def test_all_faults_of_a_file_come_out_together() -> None:
    """One run names every fault, in the order of the lines."""
    text = (
        GOOD.replace("70e9", "70B")
        .replace("data: 16", "data: 15")
        .replace("10 GB/s", "10 Gb/s")
        .replace("mode: sharded", "mode: sharded, flush: 9 s")
        .replace("training:", "trainning:")
    )
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), "run.yaml")
    found = [(p.place.line if p.place else None, p.key) for p in caught.value.problems]
    assert found == [
        (2, "model.parameters"),
        (3, "cluster.layout"),
        (5, "storage.write_bandwidth"),
        (7, "save[0].flush"),
        (10, "trainning"),
    ]


def test_all_faults_of_the_spectrum_come_out_together() -> None:
    """One run names every fault of classes, tiers and guards, and none that only follows from another."""
    text = spectrum(
        power="{compute: 700, save: 500 W, restart: 300 W}",
        watchdog="{timeout: 0 s, seen_at: 5 min}",
        tier="{kind: local ssd, write: backgroud, drain: 9 s, survives: [hangs]}",
        verification="{per_save: 1.5}",
        retention="{keep: 9, keep_all: 6 h, probability: 100 %}",
        spares="{nodes: 7.5, repair: 12}",
        prediction="{recall: 60, precision: 80 %}",
        training="{duration: 9 d, micro_batch: 2, noise: normal}",
        **{"class": "{kind: loss spike, share: 95, detect: 9 min, notice: 30 s}"},
    )
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), "run.yaml")
    found = [(p.place.line if p.place else None, p.key) for p in caught.value.problems]
    assert found == [
        (3, "cluster.power.compute"),
        (8, "failures.classes[1]"),
        (8, "failures.classes[1].share"),
        (8, "failures.classes[1].detect"),
        (8, "failures.classes[1].notice"),
        (9, "failures.watchdog.timeout"),
        (9, "failures.watchdog.seen_at"),
        (13, "storage.tiers[1].write"),
        (13, "storage.tiers[1].survives"),
        (15, "verification.time"),
        (15, "verification.per_save"),
        (16, "retention.keep"),
        (16, "retention.probability"),
        (18, "spares.nodes"),
        (18, "spares.repair"),
        (19, "prediction.recall"),
        (20, "training.micro_batch"),
        (20, "training.noise"),
    ]


def test_faults_of_the_file_and_of_flags_come_out_together() -> None:
    """A flag's fault names the flag and does not hide those of the file."""
    text = GOOD.replace("70e9", "70B")
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), "run.yaml", sets=["training.step_time=5", "cluster.gpu=1024"])
    places = [str(problem.place) for problem in caught.value.problems]
    assert places == ["run.yaml:2:21", "--set cluster.gpu=1024", "--set training.step_time=5"]


def test_a_caret_points_at_the_value() -> None:
    """The rendered fault shows file, line, column, key, the line itself and a caret below the value."""
    with pytest.raises(InputError) as caught:
        read_spec(GOOD.replace("5 s", "5 m").encode(), "run.yaml")
    lines = caught.value.render().splitlines()
    assert lines[0] == "run.yaml:10:23: training.step_time: m can mean minutes, months or milli"
    assert lines[1].index("5 m") == lines[2].index("^")


def test_a_thousand_faults_do_not_flood_the_screen() -> None:
    """Beyond fifty faults only their number is told."""
    text = GOOD + "".join(f"key{n}: 1\n" for n in range(1000))
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), "run.yaml")
    assert len(caught.value.problems) == 51
    assert "950 more" in caught.value.problems[-1].message


def test_equal_names_are_found_beside_other_faults():
    """A strategy that is wrong otherwise still has its name compared."""
    text = GOOD.replace("name: async, mode: asynchronous, stall: 1 s", "name: sharded, mode: asynchronous, stall: 1")
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), "run.yaml")
    assert {problem.key for problem in caught.value.problems} == {"save[1].name", "save[1].stall"}


@pytest.mark.parametrize(
    "other", ["latency: 2", "write_bandwidth: 10 Gb/s", "latency: 1 s, write_bandwidth_per_node: x"]
)
def test_load_auto_without_a_read_bandwidth_is_found_beside_other_faults(other: str) -> None:
    """A fault elsewhere in storage does not hide that the read bandwidth is missing."""
    text = GOOD.replace("write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s", other)
    text = text.replace("{total: 10 min}", "{load: auto}").replace("mode: sharded", "stall: 3 s")
    text = text.replace("stall: 1 s", "flush: 1 s")
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), "run.yaml")
    assert len(caught.value.problems) == 2
    assert caught.value.problems[1].key == "restart.load"


def test_a_missing_write_bandwidth_is_found_beside_other_faults() -> None:
    """A latency at fault does not hide that a stall cannot be computed."""
    text = GOOD.replace("write_bandwidth: 10 GB/s", "latency: 2")
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), "run.yaml")
    assert [problem.key for problem in caught.value.problems] == ["storage.latency", "save[0]", "save[1]"]


@pytest.mark.parametrize("storage", ["preset: nss", "read_bandwith: 20 GB/s", "read_bandwidth: 20"])
def test_a_read_bandwidth_that_may_have_been_meant_is_not_said_to_be_missing(storage: str) -> None:
    """A misspelt key or preset, or a faulty value, is one fault and not two."""
    text = GOOD.replace("read_bandwidth: 20 GB/s", storage).replace("{total: 10 min}", "{load: auto}")
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), "run.yaml")
    (problem,) = caught.value.problems
    assert (problem.key or "").startswith("storage.")


def test_a_name_does_not_steer_the_terminal() -> None:
    """Escape and line break in the name of the file, or in a quoted key, are shown as question marks."""
    text = GOOD.replace("total: 10 min", '"to\\etal\\n": 10 min')
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), "run\x1b[2J\n.yaml")
    shown = caught.value.render()
    assert shown.startswith("run?[2J?.yaml:9:11: restart.to?tal?: unknown key")
    assert "\x1b" not in shown
