"""What a trainer is told, and what is known of a trainer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ckptplan.errors import InputError


class Format(StrEnum):
    """The language of a snippet; ``#`` starts a comment in each."""

    SHELL = "shell"  # flags to append to a command line
    PYTHON = "python"
    YAML = "yaml"


@dataclass(frozen=True, slots=True)
class TrainerSetting:
    """The plan, as a trainer needs it.

    Parameters
    ----------
    steps : int
        Optimizer steps between two saves.
    asynchronous : bool
        Whether the strategy writes in the background.
    keep : int
        Newest checkpoints to keep.
    strategy : str
        Name of the strategy in the spec, for the comment.
    interval_s : float
        Work between two saves, for the comment. [s]
    """

    steps: int
    asynchronous: bool
    keep: int
    strategy: str
    interval_s: float

    def __post_init__(self) -> None:
        for name, value in (("steps between saves", self.steps), ("checkpoints to keep", self.keep)):
            if value < 1:
                raise InputError(f"a trainer needs at least 1 for the {name}, not {value}")

    def headline(self) -> str:
        """One comment line that says where the number comes from; safe whatever the strategy is called."""
        printable = "".join(c if c.isprintable() else " " for c in self.strategy)
        name = printable.encode("ascii", "backslashreplace").decode()
        return f"# ckptplan: {name}: save every {self.steps:,} optimizer steps, {self.interval_s:,.0f} s of work"


@dataclass(frozen=True, slots=True)
class Trainer:
    """A framework: the names it has for the settings, where they were read, and what bites.

    Parameters
    ----------
    name, title : str
        The value of ``--for``, and the framework's own name.
    format : Format
        Language of the snippet.
    version : str
        Version whose source was read.
    source : tuple of str
        Files read, as ``owner/repository@commit: path``, or a published package and the file in it.
    writes_in_background : bool
        Whether the framework itself can save asynchronously.
    keys : tuple of str
        The flags or keys that a snippet may set.
    gotchas : tuple of str
        Sentences; the first one is what goes wrong most easily.
    body : callable
        Setting -> lines of the snippet after the headline.
    hides_one_step : bool
        Whether the next optimizer step waits for the write, so that a longer flush is a stall.
    """

    name: str
    title: str
    format: Format
    version: str
    source: tuple[str, ...]
    writes_in_background: bool
    keys: tuple[str, ...]
    gotchas: tuple[str, ...]
    body: Callable[[TrainerSetting], tuple[str, ...]]
    hides_one_step: bool = False

    def can_hide(self, flush_s: float, step_time_s: float | None) -> bool:
        """Whether the framework writes a flush of this length [s] beside training."""
        short = step_time_s is None or flush_s <= step_time_s
        return self.writes_in_background and (short or not self.hides_one_step)

    def snippet(self, setting: TrainerSetting) -> str:
        """The setting to paste, in the format of the framework, with comments."""
        return "\n".join((setting.headline(), *self.body(setting))) + "\n"
