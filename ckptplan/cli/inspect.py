"""``ckptplan inspect``: what a checkpoint on disk holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ckptplan.cli.checkpoint_options import CheckpointArgument, KeysOption, KindOption
from ckptplan.cli.options import Format, FormatOption, OutputOption

if TYPE_CHECKING:
    from ckptplan.checkpoint.kinds import StateKind
    from ckptplan.checkpoint.manifest import Manifest
    from ckptplan.render.inspect_sheet import Shown
    from ckptplan.render.sheet import Sheet

TensorsOption = Annotated[bool, typer.Option("--tensors", help="List every tensor and every object.")]
ShardsOption = Annotated[bool, typer.Option("--shards", help="List every stored shard: its box, file and place.")]
FilesOption = Annotated[bool, typer.Option("--files", help="List every file, and what is in it.")]


def inspect(
    path: CheckpointArgument,
    tensors: TensorsOption = False,
    shards: ShardsOption = False,
    files: FilesOption = False,
    keys: KeysOption = None,
    kind: KindOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan inspect checkpoints/step-5000
    ckptplan inspect step-5000 --tensors --keys 'model.layers.0.*'
    ckptplan inspect step-5000 --shards --format json

    Reads a checkpoint of torch DCP, Megatron, DeepSpeed, FSDP1, torch.save,
    Hugging Face, safetensors or Orbax, without its library and without
    running anything that is in it: the tensors, their bytes by kind of
    state, how they are cut, and where they lie.
    """
    from ckptplan.cli.checkpoint_files import readable, refuse_inside, told
    from ckptplan.cli.output import emit, text_as, warn
    from ckptplan.render import inspect_report, inspect_sheet

    manifest = readable(path)
    refuse_inside(output, manifest)
    shown = _chosen(manifest, keys, kind)._replace(list_tensors=tensors, list_shards=shards, list_files=files)
    text = text_as(
        format_,
        output,
        document=lambda: inspect_sheet.inspect_document(shown),
        sheets=lambda: [_most_detailed(shown)],
        markdown=lambda: inspect_report.markdown(shown),
        report=lambda screen: inspect_report.report(shown, screen),
    )
    emit(text, output)
    warn(told(manifest, path))


def _chosen(manifest: Manifest, keys: list[str] | None, kind: list[str] | None) -> Shown:
    """The tensors and objects that were asked for; it is an error if there are none."""
    from fnmatch import fnmatchcase

    from ckptplan.cli.checkpoint_options import kinds_named
    from ckptplan.errors import UsageError
    from ckptplan.render.inspect_sheet import Shown

    kinds = kinds_named(kind, "--kind")

    def wanted(key: str, of: StateKind) -> bool:
        return (not kinds or of in kinds) and (not keys or any(fnmatchcase(key, pattern) for pattern in keys))

    tensors = tuple(tensor for tensor in manifest.tensors if wanted(tensor.key, tensor.kind))
    objects = tuple(entry for entry in manifest.objects if wanted(entry.key, entry.kind))
    if (keys or kinds) and not tensors and not objects:
        asked = " ".join([*(f"--keys {text}" for text in keys or ()), *(f"--kind {text}" for text in kind or ())])
        raise UsageError(f"{asked}: nothing in the checkpoint is like this", hint="--tensors lists all keys")
    return Shown(manifest, tensors, objects)


def _most_detailed(shown: Shown) -> Sheet:
    """The one sheet of a CSV: shards before tensors before files before the kinds."""
    from ckptplan.render.inspect_sheet import file_sheet, kind_sheet, shard_sheet, tensor_sheet

    if shown.list_shards:
        return shard_sheet(shown.tensors, shown.manifest.files)
    if shown.list_tensors:
        return tensor_sheet(shown.tensors)
    return file_sheet(shown.manifest.files) if shown.list_files else kind_sheet(shown.manifest)
