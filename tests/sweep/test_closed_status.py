"""Sentences of many closed rows: those of each row, made once where rows share them."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.plan import Record, status
from ckptplan.sweep import closed_status
from ckptplan.sweep.study import GPUS, INTERVAL, Each
from tests.sweep.studies import differing, member, point_by_point, study, swept, texts


@pytest.mark.parametrize("name", ["spot-24", "lab-64", "llama3-405b"])
def test_sentences_along_a_dense_axis_are_those_of_each_point(name: str) -> None:
    """From where first order holds to where it says nothing, every sentence is that of the plan of its point."""
    gpus = tuple(dict.fromkeys(int(count) for count in np.geomspace(8, 3_000_000, 250)))
    asked = study(name, {GPUS: gpus}, ("status",), Each.METHOD)
    assert differing(swept(asked), point_by_point(asked)) == []
    given_s = study(name, {GPUS: gpus[::5], INTERVAL: (20.0, 1500.0, 86_400.0)}, ("status",), Each.METHOD)
    assert differing(swept(given_s), point_by_point(given_s)) == []
    assert len(set(texts(swept(asked), "status"))) > 20


def test_a_sentence_that_rows_share_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand rows without a remark ask for their sentence once for each strategy and method."""
    made: list[Record] = []

    original = status.of_record

    def counted(row: Record, *, is_short: bool, within_a_step: bool) -> str:
        made.append(row)
        return original(row, is_short=is_short, within_a_step=within_a_step)

    monkeypatch.setattr(closed_status.status, "of_record", counted)
    axes = {"restart.total": tuple(np.linspace(60.0, 600.0, 10_000).tolist())}
    found = swept(study(member("llama3-405b"), axes, ("status",)))
    assert set(texts(found, "status")) == {"ok"}
    assert len(made) == 2


@pytest.mark.parametrize("sets", [(), ("save[1].flush=18 s",)], ids=["stall", "stall and flush"])
def test_a_given_time_that_no_bandwidth_allows_is_said_of_each_row(sets: tuple[str, ...]) -> None:
    """Where a sweep lowers the bandwidth below what a given stall or flush needs, the row says so, as its plan does."""
    axes = {"storage.write_bandwidth": tuple(np.geomspace(1e8, 1e14, 40).tolist()), GPUS: (432, 1024)}
    asked = study(member("llama3-405b", sets), axes, ("status",), Each.STRATEGY)
    found = swept(asked)
    assert differing(found, point_by_point(asked)) == []
    short = ["shorter than the given bandwidths" in text for text in texts(found, "status")]
    assert 0 < sum(short) < len(short)


@pytest.mark.parametrize("name", ["lab-64", "spot-24", "llama3-405b"])
def test_rows_that_get_nowhere_say_whether_saves_or_failures_take_the_time(name: str) -> None:
    """From intervals of a part of a step to those of a day, at MTBFs of a minute and of a year."""
    axes = {INTERVAL: tuple(np.geomspace(1e-9, 86_400.0, 60).tolist()), "failures.mtbf": (60.0, 600.0, 3e7)}
    found = swept(asked := study(member(name, ("failures={mtbf: 10 h}",)), axes, ("status",), Each.METHOD))
    assert differing(found, point_by_point(asked)) == []
    told = texts(found, "status")
    for part in ("each save takes", "failures come faster", "shorter than one step", "given interval is"):
        assert any(part in text for text in told), part


def test_saves_stall_most_where_they_leave_less_than_failures_do() -> None:
    """The goodput is the product of what either leaves: saves 1 / (1 + stall/interval), failures the rest of it."""
    of_saves, of_failures = 1.0 / (1.0 + 30.0), np.array([0.02, 0.0322, 0.0323, 0.5, 1.0])
    told = status.stalls_most(of_saves * of_failures, np.full(5, 30.0))
    assert told.tolist() == (of_saves < of_failures).tolist() == [False, False, True, True, True]
    assert not status.stalls_most(0.0, 1e300)
