"""What pickles are read into: numbers, texts, lists, tuples, dicts, and stand-ins for everything else."""

from __future__ import annotations

from typing import Any, NamedTuple


class Global(NamedTuple):
    """A name of some module that a pickle mentions. It is text: nothing was imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class Reference(NamedTuple):
    """A persistent id: torch.save names a storage by one."""

    id: Any


class Built:
    """An object as its pickle describes it: a callable that was not called, its arguments, and what was set later."""

    __slots__ = ("args", "call", "items", "pairs", "state")

    def __init__(self, call: Any, args: tuple[Any, ...]) -> None:
        self.call = call  # a Global in all honest pickles
        self.args = args
        self.state: Any = None  # of BUILD
        self.items: list[Any] = []  # appended to a subclass of list
        self.pairs: dict[Any, Any] = {}  # set in a subclass of dict


class Loaded(NamedTuple):
    """One pickle, read."""

    value: Any
    foreign: tuple[Global, ...]  # names outside of the list that was given, each once
    end: int  # position behind its STOP
