"""What ``ckptplan reshard --extract`` wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ckptplan import __version__
from ckptplan.checkpoint.manifest import Manifest, Tensor
from ckptplan.checkpoint.reshard.extract import Extracted
from ckptplan.errors import printable
from ckptplan.render.marking import heading, sentences
from ckptplan.render.numbers import quantity
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_size

_MOST_SHARED = 5
_TENSORS = (
    Column("key"),
    Column("kind"),
    Column("dtype"),
    Column("shape"),
    Column("size_bytes"),
)


def extract_sheet(tensors: Sequence[Tensor]) -> Sheet:
    """One row for each tensor that was written."""
    return Sheet(_TENSORS, tuple((t.key, str(t.kind), t.dtype, list(t.shape), t.logical_bytes) for t in tensors))


def extract_document(done: Extracted, manifest: Manifest, source: str, tensors: Sequence[Tensor]) -> dict[str, Any]:
    """The JSON document ``ckptplan.extraction/1``."""
    return {
        "schema": "ckptplan.extraction/1",
        "ckptplan": __version__,
        "path": source,
        "format": str(manifest.format),
        "step": manifest.step,
        "output": str(done.path),
        "size_bytes": done.size_bytes,
        "tensors": extract_sheet(tensors).records(),
        "checksums": {"files_compared": done.compared, "files_without": list(done.without_checksums)},
        "shared": [list(pair) for pair in done.shared],
    }


def report(done: Extracted, manifest: Manifest, source: str, screen: Screen) -> str:
    """What was written, for people."""
    return screen.lines([_answer(done, manifest, source), *_facts(done)])


def markdown(done: Extracted, manifest: Manifest, source: str) -> str:
    """The same as Markdown."""
    return "\n".join([heading(_answer(done, manifest, source)), *sentences(_facts(done))])


def _answer(done: Extracted, manifest: Manifest, source: str) -> str:
    step = "" if manifest.step is None else f", step {manifest.step:,}"
    what = f"{quantity(done.tensors, 'tensor')}, {format_size(done.size_bytes)}"
    return f"{printable(str(done.path))}: {what}, from {printable(source)} ({manifest.format}{step})"


def _checksums(done: Extracted) -> str:
    none = f"{', '.join(printable(ending) for ending in done.without_checksums)} files have no checksums"
    if not done.compared and not done.without_checksums:
        return "no elements were read, and no checksums compared"
    if not done.compared:
        return f"no checksums were compared: {none}; a flipped bit in them may go unseen"
    compared = f"the checksums of the records in {quantity(done.compared, 'file')} are right"
    return f"{compared}; {none}" if done.without_checksums else compared


def _facts(done: Extracted) -> Iterator[str]:
    yield _checksums(done)
    for first, second in done.shared[:_MOST_SHARED]:
        yield f"{printable(second)} has the same bytes as {printable(first)}: tied there, written twice here"
    if len(done.shared) > _MOST_SHARED:
        yield f"and {len(done.shared) - _MOST_SHARED:,} more tensors that are tied"
