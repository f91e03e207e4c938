"""``ckptplan sweep`` over several specs, and the names that it takes: of specs, strategies, columns and engines."""

from __future__ import annotations

import pytest

from ckptplan.spec.starter import STARTER
from ckptplan.sweep.measures import MEASURES
from ckptplan.sweep.titles import GROUPS, columns_of, title_of
from tests.cli.test_sweep import GPUS, RUN, _json, _records, _rows

BLOCKING = "{name: blocking, mode: sharded, stall: 20 s}"
BACKGROUND = "{name: bg, mode: asynchronous, stall: 1 s, flush: 60 s}"
SAVES = {"a": (BLOCKING, BACKGROUND), "b": (BACKGROUND, BLOCKING), "c": (BLOCKING,)}


@pytest.fixture(name="three")
def _three(tmp_path, monkeypatch):
    """Specs in a folder, which have two strategies in either order, and one alone."""
    begin = STARTER.index("\nsave:") + 1
    end = STARTER.index("\n\n", begin)
    for name, saves in SAVES.items():
        listed = "".join(f"\n  - {save}" for save in saves)
        text = f"{STARTER[:begin]}save:{listed}{STARTER[end:]}"
        (tmp_path / f"{name}.yaml").write_text(text.replace("name: my run", f"name: {name}"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("three")
def test_an_axis_by_name_is_called_as_typed(tell):
    """Where its entry has another number in each spec; each row is that of the spec alone."""
    document = _json(tell, "a.yaml", "b.yaml", "--over", "save[blocking].stall=1 s,20 s", "--each", "strategy")
    assert [axis["key"] for axis in document["axes"]] == ["save[blocking].stall"]
    assert [column["name"] for column in document["columns"]][:2] == ["spec", "save[blocking].stall_s"]
    rows = _records(document)
    alone = _records(_json(tell, "b.yaml", "--over", "save[1].stall=1 s,20 s", "--each", "strategy"))
    assert [row["goodput_typed"] for row in rows[4:]] == [row["goodput_typed"] for row in alone]
    told = tell("sweep", "a.yaml", "b.yaml", "--over", "save[blocking].stall=1 s,20 s")
    assert "save[blocking].stall" in told.out
    assert "save[0]" not in told.out
    twice = ("--over", "save[1].stall=2 s", "--over", "save[blocking].stall=1 s")
    assert "the key has two axes" in tell("sweep", "a.yaml", "b.yaml", *twice).err


@pytest.mark.usefixtures("three")
def test_a_strategy_is_kept_where_a_spec_has_it(tell):
    """A spec without it is left out, and that is said; only what no spec has is an error, which names them."""
    every = ("a.yaml", "b.yaml", "c.yaml", "--over", "restart.total=3 min")
    told = tell("sweep", *every, "--strategy", "bg", "--format", "csv")
    assert [row["spec"] for row in _rows(told.out)] == ["a", "b"]
    assert "c.yaml is left out: it has blocking only" in told.err
    told = tell("sweep", *every, "--strategy", "bgg")
    assert (told.code, told.out) == (2, "")
    assert "--strategy bgg: no spec has it" in told.err
    assert "c.yaml has blocking" in told.err
    told = tell("sweep", *every, "--over", "save[bg].stall=1 s")
    assert "there is no save[bg]; it has 1 entries, counted from 0 (in c.yaml)" in told.err
    told = tell("sweep", *every, "--set", "save[x].stall=1 s")
    assert all(f"(in {name}.yaml)" in told.err for name in SAVES)


def test_warnings_of_an_option_are_said_once_with_their_specs(tell):
    """And name the option that was typed."""
    told = tell("sweep", "opt-175b", "opt-175b", "llama3-405b", "--over", "failures.mtbf=600 s")
    assert told.err.count("--over failures.mtbf=600 s: failures.mtbf: one GPU") == 1
    assert "--set" not in told.err
    assert "(in opt-175b.yaml)" in told.err


@pytest.mark.usefixtures("three")
def test_a_study_names_no_studies(tell, tmp_path):
    """Neither itself nor another, each said in one error with its line."""
    (tmp_path / "other.yaml").write_text("sweep: {specs: [a.yaml], over: {restart.total: 1 min}}\n")
    for name, said in (("study.yaml", "names itself"), ("other.yaml", "asks for a sweep of other specs")):
        (tmp_path / "study.yaml").write_text(f"sweep:\n  specs: [a.yaml, {name}]\n  over: {{restart.total: 1 min}}\n")
        told = tell("sweep", "study.yaml")
        assert told.code == 1
        assert said in told.err
        assert told.err.startswith("study.yaml:2:")
        assert told.err.count("hint: ") == 1
        assert "missing" not in told.err


def test_spec_check_knows_the_names_of_a_sweep(tell, tmp_path):
    """Other commands go on without them."""
    path = tmp_path / "run.yaml"
    path.write_text(STARTER + "\nsweep: {over: {restart.total: 1 min}, show: goodput_typd}\n")
    told = tell("spec", "check", str(path))
    assert (told.code, told.out) == (1, "")
    assert "sweep.show: goodput_typd is no column" in told.err
    assert tell("sweep", str(path)).code == 1
    assert tell("optimize", str(path), "--quiet").code == 0


def test_columns_are_named_as_in_tables_and_listed(tell):
    """By every title that a table shows; --show list prints them without a spec."""
    listed = tell("sweep", "--show", "list")
    assert (listed.code, listed.err) == (0, "")
    assert all(name in listed.out for name in (*MEASURES, *GROUPS))
    for name in MEASURES:
        assert columns_of(name) == (name,)
        assert columns_of(title_of(name)) == (name,)
    told = tell("sweep", RUN, *GPUS, "--show", "steps,Goodput %,lost", "--format", "csv")
    assert told.out.splitlines()[0] == "cluster.gpus,interval_steps,goodput_typed,lost_fraction"
    told = tell("sweep", RUN, *GPUS, "--show", "goodput_typd")
    assert told.code == 2
    assert "goodput_typed" in told.err
    assert "--show list" in told.err
    assert len(told.err) < 200


@pytest.mark.parametrize("spec", [RUN, "spectrum-16384", "spot-24"])
def test_shares_add_up_to_one(tell, spec):
    """All that a group shows, by every method."""
    document = _json(tell, spec, "--over", "restart.total=3 min", "--each", "method", "--show", "shares")
    names = [column["name"] for column in document["columns"] if column["unit"] == "1"]
    for row in _records(document):
        assert sum(row[name] for name in names) == pytest.approx(1.0, abs=1e-9)


def test_an_engine_without_work_is_said(tell):
    """Closed forms stay in this process, whatever is asked for; without the option nothing is said."""
    told = tell("sweep", RUN, *GPUS, "--executor", "dask://localhost:1")
    assert told.code == 0
    assert told.err.count("warning: --executor dask://localhost:1 is not used") == 1
    assert tell("sweep", RUN, *GPUS).err == ""
