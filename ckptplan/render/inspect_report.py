"""What a checkpoint holds, for people: one sentence, bytes by kind of state, how it is cut; lists where asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckptplan.checkpoint.manifest import Manifest
from ckptplan.checkpoint.summary import Cutting, cuttings, parameter_elements, sharing
from ckptplan.errors import printable
from ckptplan.render.inspect_sheet import Shown, file_sheet, kind_sheet, object_sheet, shard_sheet, tensor_sheet
from ckptplan.render.marking import bullets, heading
from ckptplan.render.numbers import quantity, whole
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Sheet, to_markdown
from ckptplan.units import format_size

_MOST_CUTTINGS = 4


def report(shown: Shown, screen: Screen) -> str:
    """The whole report for people."""
    parts = [screen.paragraph(answer(shown.manifest), indent="  ", first="") + "\n"]
    for title, sheet in _sheets(shown):
        parts += [screen.paragraph(title) + "\n" if title else "", screen.table(sheet)]
    parts.append(screen.bullets("What is known of the save", list(_facts(shown.manifest))))
    return "\n".join(part for part in parts if part)


def markdown(shown: Shown) -> str:
    """The same as Markdown."""
    parts = [heading(answer(shown.manifest))]
    for title, sheet in _sheets(shown):
        parts += [heading(title, 3) if title else "", to_markdown(sheet)]
    parts.append(f"{heading('What is known of the save', 3)}\n{bullets(_facts(shown.manifest))}")
    return "\n".join(part for part in parts if part)


def answer(manifest: Manifest) -> str:
    """What it is and how large, in one sentence."""
    name = printable(str(manifest.path))
    step = "" if manifest.step is None else f", step {manifest.step:,}"
    again = sharing(manifest.tensors)
    logical = sum(t.logical_bytes for t in manifest.tensors) - sum(t.logical_bytes for t in again)
    on_disk = sum(file.size_bytes for file in manifest.files)
    files = quantity(len(manifest.files), "file")
    if not manifest.tensors and not manifest.objects:
        return f"{name}: {manifest.format}{step}: nothing can be listed; {files} of {format_size(on_disk)}"
    parameters = parameter_elements(manifest)
    of = f" of {whole(parameters)} parameters" if parameters else ""
    return (
        f"{name}: {manifest.format}{step}: a checkpoint{of} with {format_size(logical)} in "
        f"{quantity(len(manifest.tensors), 'tensor')}{_shared(len(again))}; {format_size(on_disk)} in {files}"
    )


def _shared(number: int) -> str:
    """``, of which 1 shares the storage of another``."""
    if not number:
        return ""
    said = "shares the storage of another, counted once" if number == 1 else "share that of others, counted once"
    return f", of which {number:,} {said}"


def _sheets(shown: Shown) -> Iterator[tuple[str, Sheet]]:
    manifest = shown.manifest
    if manifest.tensors or manifest.objects:
        yield "", kind_sheet(manifest)
    if shown.list_tensors:
        if shown.tensors:
            yield "Tensors", tensor_sheet(shown.tensors)
        if shown.objects:
            yield "Objects", object_sheet(shown.objects, manifest.files)
    if shown.list_shards and shown.tensors:
        yield "Shards", shard_sheet(shown.tensors, manifest.files)
    if shown.list_files:
        yield "Files", file_sheet(manifest.files)


def _facts(manifest: Manifest) -> Iterator[str]:
    if manifest.mesh is not None:
        axes = " x ".join(f"{name} {size}" for name, size in zip(manifest.mesh.names, manifest.mesh.shape, strict=True))
        yield f"mesh: {printable(axes)}"
    writers = manifest.writer_ranks
    if manifest.world_size is not None:
        some = f", of which {ranks(writers)} wrote files" if writers and len(writers) < manifest.world_size else ""
        yield f"saved by {quantity(manifest.world_size, 'rank')}{some}"
    elif writers:
        yield f"written by {ranks(writers)}"
    if manifest.producer:
        yield f"written with {printable(manifest.producer)}"
    yield from _cut(cuttings(manifest))
    for kind, where in manifest.elsewhere:
        yield f"{kind}: {printable(where)}"
    yield from (printable(remark) for remark in manifest.remarks)


def _cut(found: Sequence[Cutting]) -> Iterator[str]:
    for cutting in found[:_MOST_CUTTINGS]:
        yield f"{quantity(cutting.tensors, 'tensor')}: {_pieces(cutting)}"
    if len(found) > _MOST_CUTTINGS:
        rest = sum(cutting.tensors for cutting in found[_MOST_CUTTINGS:])
        ways = quantity(len(found) - _MOST_CUTTINGS, "other way")
        yield f"{quantity(rest, 'tensor')}: cut in {ways} (--shards lists the boxes)"


def _pieces(cutting: Cutting) -> str:
    if not cutting.axes:
        return "stored whole"
    if cutting.flat:
        return f"in {whole(cutting.pieces[0])} ranges of their elements"
    cut = [f"axis {axis} in {count:,}" for axis, count in zip(cutting.axes, cutting.pieces, strict=True)]
    return f"cut along {' and '.join(cut)} pieces"


def ranks(numbers: Sequence[int]) -> str:
    """``rank 0``, ``ranks 0 to 3``, ``4 ranks: 0, 2, 5, 9``."""
    if len(numbers) == 1:
        return f"rank {numbers[0]:,}"
    if list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"ranks {numbers[0]:,} to {numbers[-1]:,}"
    some = ", ".join(f"{number:,}" for number in numbers[:8])
    return f"{len(numbers):,} ranks: {some}{', ...' if len(numbers) > 8 else ''}"
