from __future__ import annotations

import json

import pytest

from ckptplan.errors import InputError
from ckptplan.interval.steps import whole_steps_first_order
from ckptplan.online.snippet import training_loop_snippet


class CrashError(Exception):
    """The failure of a training process."""


class FakeJob:
    """A training job whose process dies at given steps; its checkpoint is a string of JSON."""

    def __init__(self, total_steps: int, dies_before: list[int]) -> None:
        self.total_steps, self.dies_before = total_steps, dies_before
        self.stored: str | None = None
        self.note: str | None = None
        self.saved_at: list[int] = []
        self.broadcasts = self.steps_run = 0

    def train_step(self, step: int) -> None:
        """Step, or die."""
        if self.dies_before and step == self.dies_before[0]:
            self.dies_before.pop(0)
            raise CrashError
        self.steps_run += 1

    def save_checkpoint(self, content: dict) -> None:
        """Keep it."""
        self.stored = json.dumps(content)
        self.saved_at.append(content["step"])

    def write_note(self, state: dict) -> None:
        """Keep it beside the checkpoints."""
        self.note = json.dumps(state)

    def broadcast(self, seconds: float) -> float:
        """The number of rank 0: here a stall of 60 s, whatever this process measured."""
        assert seconds >= 0
        self.broadcasts += 1
        return 60.0

    def run(self, text: str) -> dict:
        """The text in a new process; its variables when training ends."""
        names = {
            "load_checkpoint": lambda: json.loads(self.stored) if self.stored else None,
            "read_note": lambda: json.loads(self.note) if self.note else None,
            "total_steps": self.total_steps,
            **{name: getattr(self, name) for name in ("train_step", "save_checkpoint", "write_note", "broadcast")},
        }
        exec(text, names)  # noqa: S102 - it is what a user does with it
        return names


def test_the_text_trains_through_failures():
    """The text runs as it is: it saves, resumes, counts the failures and shortens the interval."""
    job = FakeJob(2000, dies_before=[400, 700])
    text = training_loop_snippet(6, 60, 11135, prior_shape=1)
    for _ in range(2):
        with pytest.raises(CrashError):
            job.run(text)
    names = job.run(text)
    c = names["controller"]
    assert names["step"] == 2000
    assert c.failures == 2
    second = 193 + whole_steps_first_order(6, 60, 193 * 6 + 60 + 11135)  # no failure so far: it is longer
    assert job.saved_at[:2] == [193, second]
    assert job.broadcasts == len(job.saved_at)
    assert c.mean_stall == 60
    # What the lost attempts ran is guessed, each right to half a period.
    run = 6 * job.steps_run + 60 * len(job.saved_at)
    assert c.exposure == pytest.approx(run, abs=2 * (6 * c.interval_steps + 60) / 2)


def test_failures_before_the_first_save_are_not_forgotten():
    """Three failures before any checkpoint, and two more right after one, are five."""
    job = FakeJob(300, dies_before=[20, 20, 50, 250, 250])
    text = training_loop_snippet(6, 60, 11135)
    for _ in range(5):
        with pytest.raises(CrashError):
            job.run(text)
    assert job.run(text)["controller"].failures == 5


def test_the_flush_is_written_only_if_there_is_one():
    """A synchronous save needs no word about a flush."""
    assert "flush" not in training_loop_snippet(6, 60, 11135)
    text = training_loop_snippet(6, 2, 11135, flush=900, speed=0.95, prior_shape=3)
    for line in ("step_time=6.0,", "stall=2.0,", "prior=11135.0,", "prior_shape=3.0,", "flush=900.0,", "speed=0.95,"):
        assert line in text
    assert FakeJob(10, []).run(text)["controller"].interval_steps >= 143


def test_plain_text():
    """It is ASCII, in lines that fit a page, and ends with a line break."""
    text = training_loop_snippet(1 / 3, 60, 11135.083532220001, flush=1 / 3, speed=2 / 3)
    assert text.isascii()
    assert text.endswith(")\n")
    assert max(map(len, text.splitlines())) <= 120


def test_bad_numbers_are_refused():
    """A number that the controller would refuse is not written into a text."""
    with pytest.raises(InputError, match="stall: -1"):
        training_loop_snippet(6, -1, 11135)
