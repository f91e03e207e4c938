"""Columns of text as pyarrow arrays: trimmed, sampled, compared with words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ckptplan.readers.records.stamps import Flags

_SAMPLE = 2_000


def trimmed(texts: Any) -> Any:
    """A pyarrow array of strings without blanks around them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(texts, pa.Array):
        try:
            texts = pa.array(texts, pa.string())
        except UnicodeEncodeError:  # half a character, as JSON can write it
            texts = pa.array([text.encode("utf-8", "replace").decode() for text in texts], pa.string())
    return pc.utf8_trim_whitespace(texts)


def with_word(texts: Any, word: str, rows: int) -> Any:
    """The texts, with a word for empty ones, or for all where there is no column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if texts is None:
        return pa.repeat(pa.scalar(word), rows)
    return pc.if_else(pc.equal(texts, ""), word, texts)


def sample_of(texts: Any, without: Sequence[str] = ("",)) -> list[str]:
    """The first of the texts that say something."""
    saying = ~is_one_of(texts, without)
    return list(texts.take(np.flatnonzero(saying)[:_SAMPLE]).to_pylist())


def is_one_of(texts: Any, words: Sequence[str]) -> Flags:
    """Which texts are one of some words, whatever their case."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(words))
    return np.asarray(found.to_numpy(zero_copy_only=False), bool)
