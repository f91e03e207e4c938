"""The sweep group of a file: taken by ckptplan sweep, checked and ignored by all else."""

from __future__ import annotations

import pickle

import jsonschema
import pytest

from ckptplan.errors import InputError
from ckptplan.spec.axes import axes_from_flags
from ckptplan.spec.reading import read_spec, spec_json_schema
from ckptplan.spec.sweep_group import asked_in, unknown_names_in
from ckptplan.spec.sweep_members import Rebuilt, read_member
from tests.spec.broken import GOOD

GRID = """
sweep:
  over:
    cluster.gpus: 1024..131072:log:8
    failures.mtbf: [1 h, 2 h..4 h:3, 8 h]
    restart.total: 10 min, 20 min
    storage.latency: 2 s
  show: [interval_s, goodput_typed]
  each: method
  strategies: sharded
  methods: young, exact
  gpu_hour_price: 2.5
  runs: 20
  seed: 7
"""


class NoFiles:
    """Reads nothing."""


def _asked(text: str):
    asked, _ = asked_in(text.encode(), "run.yaml")
    assert asked is not None
    return asked


def _faults(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read_spec((GOOD + text).encode(), "run.yaml")
    return [problem.render() for problem in caught.value.problems]


def test_everything_an_option_says_can_stand_in_the_file():
    """Axes by the rules of --over, and each option under its own key."""
    asked = _asked(GOOD + GRID)
    assert [axis.axis.key for axis in asked.axes] == [
        "cluster.gpus",
        "failures.mtbf",
        "restart.total",
        "storage.latency",
    ]
    assert asked.axes[0].axis.values == tuple(2**n for n in range(10, 18))
    assert asked.axes[1].axis.values == (3600.0, 7200.0, 10800.0, 14400.0, 28800.0)
    assert asked.axes[2].axis.values == (600.0, 1200.0)
    assert asked.axes[3].axis.values == (2.0,)
    assert asked.show.names == ("interval_s", "goodput_typed")
    assert asked.methods.names == ("young", "exact")
    assert (asked.each, asked.gpu_hour_price, asked.runs, asked.seed) == ("method", 2.5, 20, 7)


def test_a_spec_with_the_group_is_the_spec_without_it():
    """Other commands see no difference, in the scenario and in the values that are shown."""
    plain, with_grid = (read_spec(text.encode(), "run.yaml") for text in (GOOD, GOOD + GRID))
    assert with_grid.scenario == plain.scenario
    assert with_grid.values == plain.values


def test_the_json_schema_takes_the_group():
    """As an editor hands it over, and refuses a key that the reader refuses."""
    validator = jsonschema.Draft202012Validator({**spec_json_schema()["$defs"]["Sweep"]})
    good = {"over": {"cluster.gpus": "1024..131072:log:8", "failures.mtbf": ["1 h", "2 h"]}, "show": ["goodput"]}
    assert validator.is_valid(good)
    for wrong in ({"ovr": {}}, {"over": {}}, {"over": {"a": []}}, {"each": "points"}, {"specs": ["a"]}, {"runs": 0}):
        assert not validator.is_valid(wrong), wrong


BAD = {
    "unknown key": ("  eachh: point", 2, "unknown key", "did you mean each?"),
    "each": ("  each: points", 2, "not one of point, strategy, method", "did you mean point?"),
    "seed": ("  seed: -1", 2, "negative", "seed"),
    "runs": ("  runs: 0", 2, "zero makes no sense", "runs: 200"),
    "no group": ("  over: 3", 2, "the value 3 where a group", "over: {cluster.gpus"),
    "empty": ("  over: {}", 2, "the group is empty", "over: {cluster.gpus"),
    "nothing": ("  over:", 2, "the key has no value", "over: {cluster.gpus"),
    "key": ("  over: {cluster.gpu: 3}", 2, "unknown key", "did you mean gpus?"),
    "no list": ("  over:\n    cluster.gpus: {a: 1}", 3, "a group of keys where values belong", "LOW..HIGH:COUNT"),
    "list in a list": ("  over:\n    cluster.gpus: [[1]]", 3, "a list where a value belongs", "16384"),
    "null": ("  over:\n    cluster.gpus: [1, ~]", 3, "where a value belongs", "16384"),
    "value": ("  over:\n    cluster.gpus: [1, 2, x]", 3, "x is not a number", "gpus: 16384"),
    "count": ("  over:\n    failures.mtbf: 1..2 h:1000000000", 3, "not between 2 and 1,000,000", "LOW..HIGH"),
    "points": ("  over: {failures.mtbf: 1..2 h:1e6}", 2, "is not a number of values", "LOW..HIGH"),
    "specs": ("  specs: [a]", 2, "a spec sweeps itself", "a file of its own"),
    "twice": ("  seed: 1\n  seed: 2", 3, "given twice", "keep one"),
}


@pytest.mark.parametrize(("text", "line", "message", "hint"), BAD.values(), ids=list(BAD))
def test_bad_groups_are_refused_with_their_line(text, line, message, hint):
    """By every command that reads the spec: file, line, a caret, what is wrong and what would do."""
    (fault,) = _faults(f"\nsweep:\n{text}\n")
    first = GOOD.count("\n") + 1
    assert fault.startswith(f"run.yaml:{first + line}:")
    assert message in fault
    assert "^" in fault
    assert hint in fault


def test_too_many_points_are_refused():
    """A billion points are said, not begun."""
    (fault,) = _faults("\nsweep: {over: {failures.mtbf: '1..2 h:100000', restart.total: '1..2 h:10000'}}\n")
    assert "1,000,000,000 points" in fault


def test_faults_of_the_group_come_with_those_of_the_spec():
    """All at once, by line."""
    with pytest.raises(InputError) as caught:
        read_spec(b"model: {parameters: x}\nsweep: {each: all, over: {foo: 3}}\n", "run.yaml")
    messages = [problem.render() for problem in caught.value.problems]
    assert any("x is not a number" in message for message in messages)
    assert any("all is not one of" in message for message in messages)
    assert any("sweep.over.foo: unknown key" in message for message in messages)


def test_a_file_with_nothing_but_the_group_is_a_study():
    """It names its specs; every other command says what to do with it."""
    study = b"sweep:\n  specs: [llama3-405b, b.yaml]\n  over: {cluster.gpus: [8, 16]}\n"
    asked, is_study = asked_in(study, "study.yaml")
    assert is_study
    assert asked.specs.names == ("llama3-405b", "b.yaml")
    assert [place.line for place in asked.specs.places] == [2, 2]
    with pytest.raises(InputError, match="asks for a sweep of other specs") as caught:
        read_spec(study, "study.yaml")
    assert "ckptplan sweep study.yaml" in caught.value.render()


def test_names_that_only_a_sweep_knows_are_checked_on_demand():
    """Columns by name, title or group, methods and strategies: each fault with its line; the spec itself reads."""
    text = (
        "\nsweep:\n  show: [goodput_typd, steps, lost goodput, shares]\n  methods: yong\n  strategies: [sharded, bg]\n"
    )
    faults = unknown_names_in(read_spec((GOOD + text).encode(), "run.yaml"))
    first = GOOD.count("\n") + 3
    assert [(fault.key, fault.place.line) for fault in faults] == [
        ("sweep.show", first),
        ("sweep.methods", first + 1),
        ("sweep.strategies", first + 2),
    ]
    assert "goodput_typed" in faults[0].hint
    assert "--show list" in faults[0].hint
    assert not unknown_names_in(read_spec(GOOD.encode(), "run.yaml"))
    assert not unknown_names_in(read_spec((GOOD + GRID).encode(), "run.yaml"))


def test_a_study_must_name_specs():
    """One clear error."""
    with pytest.raises(InputError) as caught:
        asked_in(b"sweep: {over: {cluster.gpus: [8]}}\n", "study.yaml")
    assert "missing in a file without a spec" in caught.value.render()
    with pytest.raises(InputError, match="a group of keys belongs here") as caught:
        asked_in(b"sweep: 3\n", "study.yaml")
    assert len(caught.value.problems) == 1


HOSTILE = {
    "aliases": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "sweep: {over: {cluster.gpus: *i}}\n",
    "self": "sweep: &a {over: *a}\n",
    "deep": "sweep: {over: " + "[" * 10_000 + "]" * 10_000 + "}\n",
    "deep keys": "sweep: {over: " + "{a: " * 100 + "1" + "}" * 100 + "}\n",
    "nul": "sweep: {over: {cluster.gpus: \0}}\n",
    "tag": "sweep: {over: !!python/object:os.system {a: b}}\n",
    "long key": "sweep: {over: {? " + "k" * 100_000 + " : 3}}\n",
    "control characters": 'sweep: {over: {"\\e[31mred": "\\e[31m3"}}\n',
    "list as key": "sweep: {over: {[a]: 3}}\n",
    "many": "sweep: {over: {cluster.gpus: [" + "1, " * 30_000 + "1]}}\n",
    "huge number": "sweep: {over: {cluster.gpus: " + "9" * 100_000 + "}}\n",
    "huge range": "sweep: {over: {cluster.gpus: 1.." + "9" * 100_000 + ":3}}\n",
    "dots": "sweep: {over: {cluster.gpus: " + ".." * 100_000 + "}}\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_groups_end_in_clear_errors(text):
    """No traceback, no hang, nothing that would steer a terminal, and messages of a few lines."""
    with pytest.raises(InputError) as caught:
        asked_in(text.encode(), "study.yaml")
    said = caught.value.render()
    assert "\x1b" not in said
    assert "\0" not in said
    assert len(said) < 4000


def _member(text: str, *flags: str, sets: tuple[str, ...] = ()):
    problems: list = []
    axes = axes_from_flags(flags, problems)
    assert not problems
    return read_member(text.encode(), "run.yaml", axes, sets=sets, environment={}, files=NoFiles())


OTHER_PHASES = {
    "restart.detect=60 s,90 s": "{replace: 2 min, initialise: 3 min, load: auto, warm_up: 1 min}",
    "restart.warm_up=1 s": "{detect: 60 s, replace: 2 min, initialise: 3 min, load: auto}",
}


@pytest.mark.parametrize(("axis", "others"), OTHER_PHASES.items())
def test_a_phase_as_the_only_axis_is_answered_in_terms_of_axes(axis, others):
    """The hint makes the total the axis, or sets the phases that are no axis."""
    with pytest.raises(InputError) as caught:
        _member(GOOD, axis)
    (problem,) = caught.value.problems
    assert problem.place is not None
    assert problem.place.file == f"--over {axis}"
    means = f"--set 'restart={others}'"
    assert problem.hint == f"make restart.total the axis, or give the other phases too: {means}"


def test_a_long_axis_is_named_in_its_faults():
    """However long the key is, the fault is that of the axis."""
    name = "a" * 90
    text = GOOD.replace("save:", f"save:\n  - {{name: {name}, mode: sharded, stall: 70 s}}", 1)
    with pytest.raises(InputError) as caught:
        _member(text, f"save[{name}].flush=5 s")
    assert {problem.place.file[:7] for problem in caught.value.problems if problem.place} == {"--over "}


def test_items_of_lists_are_named_by_index_or_name():
    """The key of the axis has the index."""
    two = GOOD.replace("save:", "save:\n  - {name: other, mode: gathered, stall: 70 s}", 1)
    spec, keys = _member(two, "save[other].stall=1 s,2 s", "save[1].stall=3 s")
    assert keys == ("save[0].stall", "save[1].stall")
    rebuild = Rebuilt(spec, (("save[other].stall", keys[0]),))
    assert rebuild({"save[other].stall": 2.0}).saves[0].stall_s == 2.0


def test_rivals_of_an_axis_give_way():
    """An MTBF as an axis replaces the source of the rate that the file gives."""
    spec, keys = _member(GOOD, "failures.mtbf=3 h,4 h")
    rebuilt = Rebuilt(spec, ((keys[0], keys[0]),))({keys[0]: 4 * 3600.0})
    wanted = read_spec(GOOD.encode(), "run.yaml", sets=["failures.mtbf=4 h"]).scenario
    assert rebuilt.failures.mtbf_per_gpu_s == wanted.failures.mtbf_per_gpu_s


def test_faults_of_a_first_value_are_said_of_the_axis():
    """And not of --set, which nobody wrote."""
    with pytest.raises(InputError) as caught:
        _member(GOOD, "save[9].stall=3 s,4 s")
    assert "--over save[9].stall=3 s,4 s" in caught.value.render()
    assert "there is no save[9]" in caught.value.render()


def test_a_member_can_be_sent_to_a_worker():
    """It pickles, and gives the same scenario there."""
    spec, keys = _member(GOOD, "failures.mtbf=3 h,4 h")
    rebuild = Rebuilt(spec, ((keys[0], keys[0]),), (spec.scenario.saves[0].name,))
    copy = pickle.loads(pickle.dumps(rebuild))  # noqa: S301
    assert copy({keys[0]: 7200.0}) == rebuild({keys[0]: 7200.0})
