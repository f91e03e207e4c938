"""Studies in chunks: what is refused, how points are parted and numbered, and what chunks look like."""

from __future__ import annotations

import math
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.load import load, shipped_configs
from ckptplan.sweep.columns import Labels, length
from ckptplan.sweep.evaluation import (
    Chunk,
    check,
    chunks,
    column_names,
    evaluate,
    refuse_without_rows,
    rows_per_point,
)
from ckptplan.sweep.study import GPUS, INTERVAL, Each, Member, Study
from tests.sweep.studies import differing, member, numbers, study, swept, texts


def copied(asked: Study) -> Study:
    """As another process gets it."""
    found: Study = pickle.loads(pickle.dumps(asked))  # noqa: S301 - made here
    return found


def messages(asked: Study) -> list[str]:
    """What is refused."""
    with pytest.raises(InputError) as error:
        check(asked)
    return [": ".join(part for part in (one.key, one.message) if part) for one in error.value.problems]


def test_every_fault_of_a_study_is_said_at_once() -> None:
    """An empty axis, a key twice, values that are none, columns that do not exist, simulated ones without runs."""
    asked = study(
        "lab-64", {"restart.detect": (), INTERVAL: (0.0, 60.0), GPUS: (0, 8)}, ("goodputt", "simulated_wall_s")
    )
    asked = asked._replace(
        axes=(*asked.axes, asked.axes[1], asked.axes[0]._replace(key="storage.latency", values=(1.0,)))
    )
    assert messages(asked) == [
        "restart.detect: an axis without values",
        "interval: the key has two axes",
        "interval: an interval that is not positive",
        "cluster.gpus: a number of GPUs that is not whole and positive",
        "interval: an interval that is not positive",
        "storage.latency: 7B on a 64-GPU lab cluster with NFS does not give the key that is swept",
        "there is no column 'goodputt'",
        "simulated_wall_s: no run is simulated",
    ]
    assert messages(study("lab-64", {"restart.detect": (math.nan,)})) == [
        "restart.detect: a value that is no finite number"
    ]
    assert messages(Study((), (), ())) == ["no spec is given"]
    check(study("lab-64", {"restart.detect": (60.0,)}))


def test_chunks_cover_every_point_once_in_order_and_depend_on_the_study_alone() -> None:
    """Chunks of all specs follow each other without a gap, sized by what a point costs."""
    axes = {GPUS: (8, 16, 24), "restart.detect": tuple(float(s) for s in range(1, 70_001))}
    asked = study("lab-64", axes, ("goodput_typed",))._replace(members=(member("lab-64"), member("spot-24")))
    parts = chunks(asked)
    assert parts == chunks(copied(asked))
    for number in range(2):
        mine = [part for part in parts if part.member == number]
        assert [part.start for part in mine] == [0, *(part.stop for part in mine[:-1])]
        assert mine[-1].stop == asked.points_each
        assert max(part.stop - part.start for part in mine) <= 100_000
    by_method = chunks(asked._replace(each=Each.METHOD))
    assert max(part.stop - part.start for part in by_method) * 6 <= 100_000
    assert chunks(asked._replace(columns=("simulated_wall_s",), runs=10))[0] == Chunk(0, 0, 4)


def test_any_part_of_a_study_can_be_evaluated_alone() -> None:
    """A part that is no block of the grid has the rows that the whole has there."""
    asked = study("lab-64", {GPUS: (8, 16, 24), "restart.detect": (60.0, 120.0), INTERVAL: (600.0, 1200.0, 7200.0)})
    whole = swept(asked)
    for start, stop in ((0, 1), (1, 17), (4, 8), (5, 6), (17, 18)):
        part = evaluate(asked, Chunk(0, start, stop))
        wanted = {
            name: column._replace(codes=column.codes[start:stop]) if isinstance(column, Labels) else column[start:stop]
            for name, column in whole.items()
        }
        assert differing(part, wanted) == []


def test_columns_stand_in_order_with_specs_and_axes_first() -> None:
    """Several specs have a column of names; axes of whole numbers stay whole; rows of a point follow each other."""
    asked = study("lab-64", {GPUS: (8, 16), "restart.detect": (60.0,)}, ("goodput_typed", "method"), Each.STRATEGY)
    asked = asked._replace(members=(member("lab-64"), member("spot-24")))
    names = ("spec", GPUS, "restart.detect", "strategy", "goodput_typed", "method")
    assert column_names(asked) == names
    found = swept(asked)
    assert tuple(found) == names
    assert length(found) == 2 * 2 * 2 == 4 * rows_per_point(asked, asked.members[0])
    assert found[GPUS].dtype == np.int64  # type: ignore[union-attr]
    assert numbers(found, GPUS) == [8, 8, 16, 16] * 2
    assert texts(found, "spec") == [one.name for one in asked.members for _ in range(4)]
    assert texts(found, "strategy") == ["synchronous", "asynchronous"] * 4


def test_points_planned_one_by_one_have_the_same_columns() -> None:
    """A run to its end is no closed form, and changes neither names nor order nor axes."""
    asked = study("lab-64", {GPUS: (8, 16), "restart.detect": (60.0, 90.0)}, ("goodput_typed", "status"))
    found = swept(asked._replace(columns=("goodput_typed", "status", "expected_s")))
    assert differing({name: found[name] for name in swept(asked)}, swept(asked)) == []


def test_a_sweep_in_which_nothing_can_be_planned_is_refused() -> None:
    """The first reason is the error; one point with numbers is enough not to raise it."""
    asked = study("llama3-405b", {"cluster.layout.tensor": (7, 9)}, ("goodput_typed", "status"))
    with pytest.raises(
        InputError, match=r"no point of the sweep can be planned; the first one: cluster\.layout: tensor 7"
    ):
        refuse_without_rows(asked, swept(asked))
    one = study("llama3-405b", {"cluster.layout.tensor": (7, 8)}, ("goodput_typed", "status"))
    refuse_without_rows(one, swept(one))
    unknown = study("llama3-405b", {"cluster.layout.tensor": (8,)}, ("lost_money",))
    refuse_without_rows(unknown, swept(unknown))


@pytest.mark.parametrize("name", [config.name for config in shipped_configs()])
def test_a_study_of_every_shipped_config_pickles(name: str) -> None:
    """A copy in another process builds the same scenarios."""
    asked = study(name, {GPUS: (8, 16)})
    copy = copied(asked)
    assert copy.members[0].rebuild({}) == asked.members[0].scenario == copy.members[0].scenario


def test_files_that_a_spec_names_go_with_the_study(tmp_path: Path) -> None:
    """What was read travels as well: a worker elsewhere does not have the files."""
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("\n".join(f"{3600 + 37 * n} s" for n in range(120)) + "\n")
    spec_file = tmp_path / "run.yaml"
    spec_file.write_text(
        "model: {parameters: 1e9}\ncluster: {gpus: 64}\nfailures: {law: {name: recorded, file: gaps.csv}}\n"
        "storage: {write_bandwidth: 10 GB/s}\nsave: [{mode: sharded}]\nrestart: {total: 5 min}\n"
    )
    spec = load(str(spec_file), environment={})
    one = Member("run", spec.scenario, spec.with_values)
    asked = study(one, {"storage.write_bandwidth": (1e9, 1e10)}, ("goodput_typed", "status"))
    sent = pickle.dumps(asked)
    wanted = swept(asked)
    gaps.unlink()
    copy = pickle.loads(sent)  # noqa: S301 - made above
    assert differing(swept(copy), wanted) == []
    assert not np.isnan(numbers(wanted, "goodput_typed")).any()


def test_a_checkpoint_that_a_spec_names_goes_with_the_study(tmp_path: Path) -> None:
    """The model read from a checkpoint of training travels to workers that do not have it."""
    fixture = Path(__file__).parent.parent / "checkpoint" / "fixtures" / "dcp-3rank"
    shutil.copytree(fixture, tmp_path / "saved")
    spec_file = tmp_path / "run.yaml"
    spec_file.write_text(
        "model: {checkpoint: saved}\ncluster: {gpus: 24}\nfailures: {mtbf: 10 h}\n"
        "storage: {write_bandwidth: 10 GB/s}\nsave: [{mode: sharded}]\nrestart: {total: 5 min}\n"
    )
    spec = load(str(spec_file), environment={})
    asked = study(Member("run", spec.scenario, spec.with_values), {"restart.total": (60.0, 600.0)})
    wanted, sent = swept(asked), pickle.dumps(asked)
    shutil.rmtree(tmp_path / "saved")
    copy = pickle.loads(sent)  # noqa: S301 - made above
    assert differing(swept(copy), wanted) == []
