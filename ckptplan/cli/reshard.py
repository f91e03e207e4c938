"""``ckptplan reshard``: which rank of a new layout reads what of a checkpoint, and how long that takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckptplan.cli.checkpoint_options import KeysOption, KindOption, OverwriteOption
from ckptplan.cli.options import Format, FormatOption, OutputOption, SetOption
from ckptplan.cli.reshard_options import (
    AggregateOption,
    ExtractOption,
    FromOption,
    GlobalBatchOption,
    GpusPerNodeOption,
    LayoutFileOption,
    ModelOption,
    PathArgument,
    PerNodeOption,
    PerRankOption,
    RankOption,
    ReadsOption,
    SpecOption,
    ToOption,
    WithoutOption,
)
from ckptplan.errors import CheckFailed, UsageError

if TYPE_CHECKING:
    from ckptplan.checkpoint.reshard.plan import Plan
    from ckptplan.cli.reshard_inputs import Asked
    from ckptplan.render.reshard_page import RankReads, ReshardPage


def reshard(
    path: PathArgument = None,
    to: ToOption = None,
    layout_file: LayoutFileOption = None,
    from_: FromOption = None,
    model: ModelOption = None,
    spec: SpecOption = None,
    set_: SetOption = None,
    read_bandwidth: AggregateOption = None,
    read_bandwidth_per_node: PerNodeOption = None,
    read_bandwidth_per_rank: PerRankOption = None,
    gpus_per_node: GpusPerNodeOption = None,
    global_batch: GlobalBatchOption = None,
    without: WithoutOption = None,
    rank: RankOption = None,
    reads: ReadsOption = False,
    extract: ExtractOption = None,
    overwrite: OverwriteOption = False,
    keys: KeysOption = None,
    kind: KindOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan reshard step-5000 --to fsdp=120,tp=8 --read-bandwidth '40 GB/s'
    ckptplan reshard step-5000 --to 960 --rank 17
    ckptplan reshard --model config.json --from pp=16,fsdp=128 --to pp=15,fsdp=128
    ckptplan reshard step-5000 --extract model.safetensors

    Says whether a checkpoint loads on another number or arrangement of GPUs,
    which files and bytes every rank reads, how long that takes, and what is
    not carried over. --extract writes tensors whole. Exits 3 if the
    framework would not load it, or if a load of everything as saved ends
    (--without KIND plans one that leaves states out).
    """
    from ckptplan.cli.output import emit, warn
    from ckptplan.cli.reshard_inputs import Asked, opened

    asked = Asked(path, to, layout_file, from_, model, spec, set_, output, without)
    if extract is not None:
        _refuse_beside_extract(asked, rank, reads=reads)
        _extract(asked, extract, keys, kind, format_, overwrite=overwrite)
        return
    if keys or kind:
        raise UsageError("--keys and --kind choose what --extract writes", hint="give --extract OUT.safetensors too")
    if overwrite:
        raise UsageError("--overwrite is of --extract", hint="-o replaces a report of its name")
    if reads and rank is not None:
        raise UsageError("--reads lists all ranks, and --rank one", hint="leave one of them out")
    if reads and format_ is not Format.JSON:
        raise UsageError("--reads lists all ranks, as JSON only", hint="--format json, or --rank N for one rank")
    rates = (read_bandwidth, read_bandwidth_per_node, read_bandwidth_per_rank)
    found = opened(asked, rates, gpus_per_node, global_batch)
    page = found.page
    if rank is not None:
        page = page._replace(one_rank=_rank_reads(page.plan, rank))
    emit(_as(format_, page, output, reads=reads), output)
    warn(found.warnings)
    if not page.loads:
        refusal = next(one for one in page.not_carried if one.refuses)
        raise CheckFailed(f"this will not load: {refusal.message}", hint=refusal.remedy)
    if page.ends:
        from ckptplan.render.reshard_report import where_it_ends

        words = ",".join(dict.fromkeys([*page.without, *(one.kind.word for one in page.ends if one.kind)]))
        said = f"a load of everything as saved ends at {where_it_ends(page)}"
        raise CheckFailed(said, hint=f"--without {words} plans a load that leaves them out")


def _rank_reads(plan: Plan, rank: int) -> RankReads:
    from ckptplan.checkpoint.reshard.carry_over import is_sound
    from ckptplan.checkpoint.reshard.file_reads import Places, reads_of
    from ckptplan.render.reshard_page import RankReads

    if rank >= plan.layout.ranks:
        last = plan.layout.ranks - 1
        raise UsageError(f"--rank {rank}: the new layout has ranks 0 to {last:,}", hint=f"for example --rank {last}")
    places = Places(plan.manifest, assume=not is_sound(plan.manifest))
    found = tuple(reads_of(plan, rank, places))
    return RankReads(rank, found, places.unknown)


def _as(format_: Format, page: ReshardPage, output: Path | None, *, reads: bool) -> str:
    from ckptplan.checkpoint.reshard.file_reads import MOST_LOOKED_INTO, Places
    from ckptplan.cli.output import text_as
    from ckptplan.render import reshard_document, reshard_report, reshard_sheet

    if format_ is Format.JSON:
        manifest = page.plan.manifest
        large = sum(tensor.shards.number for tensor in manifest.tensors) > MOST_LOOKED_INTO
        places = Places(manifest, assume=large) if reads else None
        listed = reshard_document.reads_as_json(page, places)
        return reshard_document.as_lines(reshard_document.reshard_document(page), {"reads": listed})
    one = page.one_rank
    return text_as(
        format_,
        output,
        document=dict,
        sheets=lambda: [reshard_sheet.rank_sheet(page) if one is None else reshard_sheet.read_sheet(page, one)],
        markdown=lambda: reshard_report.markdown(page),
        report=lambda screen: reshard_report.report(page, screen),
    )


def _refuse_beside_extract(asked: Asked, rank: int | None, *, reads: bool) -> None:
    given = {
        "--to": asked.to,
        "--layout-file": asked.layout_file,
        "--from": asked.from_,
        "--model": asked.model,
        "--spec": asked.spec,
        "--rank": rank,
        "--reads": reads or None,
        "--without": asked.without,
    }
    beside = [option for option, value in given.items() if value is not None]
    if beside:
        raise UsageError(f"--extract and {beside[0]} exclude each other", hint="--extract merges tensors for no layout")


def _extract(
    asked: Asked, out: Path, keys: list[str] | None, kind: list[str] | None, format_: Format, *, overwrite: bool
) -> None:
    from ckptplan.checkpoint.reshard.extract import chosen
    from ckptplan.checkpoint.reshard.extract import extract as write
    from ckptplan.cli.checkpoint_files import readable, refuse_ending, refuse_inside, told
    from ckptplan.cli.checkpoint_options import kinds_named
    from ckptplan.cli.output import emit, text_as, warn
    from ckptplan.cli.places import refuse_name
    from ckptplan.cli.stopping import tidy
    from ckptplan.render import extract_report

    path, output = asked.path, asked.output
    if path is None:
        raise UsageError("--extract needs a checkpoint", hint="ckptplan reshard PATH --extract OUT.safetensors")
    refuse_ending(out, "--extract", "-o is the report")
    refuse_name(out, "--extract")
    manifest = readable(path)
    refuse_inside(output, manifest)
    if output is not None and output.resolve() == out.resolve():
        raise UsageError(f"-o {output} is the file that --extract writes", hint="give another file with -o")
    tensors = chosen(manifest, keys or (), tuple(kinds_named(kind, "--kind")))
    with tidy():
        done = write(manifest, out, tensors, overwrite=overwrite)
    text = text_as(
        format_,
        output,
        document=lambda: extract_report.extract_document(done, manifest, path, tensors),
        sheets=lambda: [extract_report.extract_sheet(tensors)],
        markdown=lambda: extract_report.markdown(done, manifest, path),
        report=lambda screen: extract_report.report(done, manifest, path, screen),
    )
    emit(text, output)
    warn(told(manifest, path))
