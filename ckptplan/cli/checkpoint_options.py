"""Options of the commands that read checkpoints."""

from __future__ import annotations

from typing import Annotated

import typer

from ckptplan.checkpoint.kinds import StateKind

CheckpointArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="A checkpoint: its folder, or its file where it is one file.")
]
KeysOption = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Only keys like this, e.g. 'model.layers.0.*'. Repeatable."),
]

# What one types for a kind of state.
WORDS = tuple(kind.word for kind in StateKind)
KindOption = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND", help=f"Only states of this kind: {', '.join(WORDS)}. Repeatable."),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace the safetensors file, or folder of shards, that has this name.")
]


def kinds_named(words: list[str] | None, option: str) -> frozenset[StateKind]:
    """The kinds of state asked for; several may stand in one word, with commas between them."""
    from ckptplan.cli.choices import one_of

    of_word = dict(zip(WORDS, StateKind, strict=True))
    found = [word.strip() for text in words or () for word in text.split(",")]
    return frozenset(of_word[one_of(word, WORDS, option)] for word in found)
