"""What ``ckptplan reshard`` works on: a checkpoint or a model, the new layout, bandwidths, the global batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.errors import InputError, Problem, UsageError, printable

if TYPE_CHECKING:
    from ckptplan.checkpoint.kinds import StateKind
    from ckptplan.checkpoint.manifest import Manifest
    from ckptplan.checkpoint.reshard.batch import BatchSplits, GlobalBatch
    from ckptplan.checkpoint.reshard.layout import Layout
    from ckptplan.checkpoint.reshard.plan import Plan
    from ckptplan.cost.read import ReadRates
    from ckptplan.render.reshard_page import ReshardPage
    from ckptplan.spec.reading import Spec

_DEFAULT_GPUS_PER_NODE = 8
_MOST_FAULTS = 20
_SLOWEST, _FASTEST = 1.0, 1e18  # bytes/s


class Asked(NamedTuple):
    """Options that say what is planned."""

    path: str | None
    to: str | None
    layout_file: str | None
    from_: str | None
    model: str | None
    spec: str | None
    sets: list[str] | None
    output: Path | None
    without: list[str] | None = None


class Opened(NamedTuple):
    """The page to show, and what is to be said on standard error."""

    page: ReshardPage
    warnings: tuple[str | Problem, ...]


class _Saved(NamedTuple):
    manifest: Manifest
    source: str
    saved_by: str | None
    warnings: tuple[str | Problem, ...]
    spec: Spec | None = None  # of the model, if it is one


def opened(
    asked: Asked, rates: tuple[str | None, str | None, str | None], gpus_per_node: int | None, global_batch: int | None
) -> Opened:
    """Read everything, and plan."""
    from ckptplan.checkpoint.kinds import StateKind
    from ckptplan.checkpoint.reshard.carry_over import is_sound, not_carried_over
    from ckptplan.checkpoint.reshard.file_reads import MOST_LOOKED_INTO, count_runs
    from ckptplan.checkpoint.reshard.loading import loading
    from ckptplan.cli.checkpoint_options import kinds_named
    from ckptplan.render.reshard_page import ReshardPage

    _refuse_contradictions(asked)
    without = kinds_named(asked.without, "--without")
    layout = _layout(asked)
    saved = _from_model(asked) if asked.path is None else _from_disk(asked.path, asked.output)
    loaded = _spec(asked) or saved.spec
    read_rates, per_node = _rates(rates, gpus_per_node, loaded)
    planned = _planned(_leaving_out(saved.manifest, without), layout)
    totals = planned.totals
    batch = _batch(saved.manifest, layout, global_batch)
    losses = () if saved.saved_by else not_carried_over(saved.manifest, layout, batch and batch.batch, without)
    page = ReshardPage(
        source=saved.source,
        plan=planned,
        loading=loading(totals.wanted_bytes, totals.whole_item_bytes, read_rates, per_node),
        runs=count_runs(planned, MOST_LOOKED_INTO if is_sound(saved.manifest) else 0),
        not_carried=losses,
        batch=batch,
        saved_by=saved.saved_by,
        without=tuple(kind.word for kind in StateKind if kind in without),
    )
    warnings = () if loaded is None or loaded is saved.spec else loaded.warnings
    return Opened(page, (*saved.warnings, *warnings, *_idle(saved.manifest, without)))


def _leaving_out(manifest: Manifest, without: frozenset[StateKind]) -> Manifest:
    """The tensors that are asked for. Objects stay: what was trained with is read off them."""
    return manifest._replace(tensors=tuple(tensor for tensor in manifest.tensors if tensor.kind not in without))


def _idle(manifest: Manifest, without: frozenset[StateKind]) -> tuple[str, ...]:
    there = {tensor.kind for tensor in manifest.tensors} | {entry.kind for entry in manifest.objects}
    idle = sorted(kind.word for kind in without - there)
    return (f"--without {','.join(idle)}: there is no such state in it",) if idle else ()


def _planned(manifest: Manifest, layout: Layout) -> Plan:
    """The plan; where there is none because the checkpoint is damaged, that is said first."""
    from ckptplan.checkpoint.manifest import problem_of
    from ckptplan.checkpoint.reshard.plan import plan

    try:
        return plan(manifest, layout)
    except InputError as error:
        faults = [problem_of(fault, manifest) for fault in manifest.faults[:_MOST_FAULTS]]
        raise InputError([*faults, *error.problems][: _MOST_FAULTS + 1]) from None


def _refuse_contradictions(asked: Asked) -> None:
    if (asked.to is None) == (asked.layout_file is None):
        wrong = "both --to and --layout-file" if asked.to is not None else "no new layout"
        raise UsageError(wrong, hint="--to fsdp=8,tp=4, or --layout-file FILE, or --extract OUT.safetensors")
    if asked.path is not None and (asked.from_ is not None or asked.model is not None):
        option = "--from" if asked.from_ is not None else "--model"
        raise UsageError(f"PATH and {option} exclude each other", hint="a checkpoint says itself how it was saved")
    if asked.path is None and asked.model is None:
        raise UsageError("no checkpoint", hint="give PATH, or --model SPEC --from LAYOUT for one that is not saved yet")
    if asked.sets and asked.spec is None and asked.model is None:
        raise UsageError("--set needs --spec or --model", hint="name the spec whose keys it sets")


def _layout(asked: Asked) -> Layout:
    from ckptplan.checkpoint.reshard.layout import parse_layout

    if asked.layout_file is None:
        return _option("--to", asked.to or "", parse_layout)
    from ckptplan.cli.output import refuse_overwriting
    from ckptplan.readers.files import open_record
    from ckptplan.spec.layout_file import MOST_BYTES, read_layout

    refuse_overwriting(asked.output, [asked.layout_file])
    with open_record(asked.layout_file) as stream:
        return read_layout(stream.read(MOST_BYTES + 1), asked.layout_file)


def _option(option: str, text: str, parse: Callable[[str], Layout]) -> Layout:
    """A layout from an option, its faults as those of the command line."""
    try:
        return parse(text)
    except InputError as error:
        problems = [Problem(f"{option} {printable(text)[:80]}: {one.message}", hint=one.hint) for one in error.problems]
        raise UsageError(problems) from None


def _from_disk(path: str, output: Path | None) -> _Saved:
    from ckptplan.checkpoint.reshard.carry_over import is_sound
    from ckptplan.checkpoint.reshard.metadata_only import with_absent_files
    from ckptplan.cli.checkpoint_files import readable, refuse_inside, told

    manifest = with_absent_files(readable(path))
    refuse_inside(output, manifest)
    return _Saved(manifest, path, None, tuple(told(manifest, path)) if is_sound(manifest) else ())


def _from_model(asked: Asked) -> _Saved:
    from ckptplan.checkpoint.reshard.from_model import saved_as
    from ckptplan.checkpoint.reshard.layout import parse_layout
    from ckptplan.cli.output import refuse_overwriting
    from ckptplan.cli.reshard_model import architecture_of, layout_of_spec

    name = asked.model or ""
    given = None if asked.from_ is None else _option("--from", asked.from_, parse_layout)
    refuse_overwriting(asked.output, [name])
    architecture, ledger, loaded = architecture_of(name, asked.sets or [], has_spec=asked.spec is not None)
    layout = given or layout_of_spec(loaded)
    manifest = saved_as(architecture, ledger, layout)
    axes = zip(layout.mesh.names, layout.mesh.shape, strict=True)
    saved_by = ",".join(f"{axis}={size}" for axis, size in axes)
    source = f"{printable(name)} ({ledger.name})"
    return _Saved(manifest, source, saved_by, () if loaded is None else tuple(loaded.warnings), loaded)


def _spec(asked: Asked) -> Spec | None:
    if asked.spec is None:
        return None
    from ckptplan.cli.output import refuse_overwriting
    from ckptplan.load import load

    refuse_overwriting(asked.output, [asked.spec])
    loaded = load(asked.spec, sets=asked.sets or [])
    refuse_overwriting(asked.output, loaded.named)
    return loaded


def _rates(
    texts: tuple[str | None, str | None, str | None], gpus_per_node: int | None, loaded: Spec | None
) -> tuple[ReadRates, int]:
    """Bandwidths of the options, where they say nothing those of the spec."""
    from ckptplan.cli.choices import quantity
    from ckptplan.cost.read import ReadRates

    options = ("--read-bandwidth", "--read-bandwidth-per-node", "--read-bandwidth-per-rank")
    found: list[float | None] = []
    for option, text in zip(options, texts, strict=True):
        value = None if text is None else quantity(text, "rate", option)
        if value is not None and not _SLOWEST <= value <= _FASTEST:
            raise UsageError(f"{option} {text}: not between 1 B/s and 1e18 B/s", hint="write for example '40 GB/s'")
        found.append(value)
    if loaded is None:
        return ReadRates(found[0], found[1], found[2]), gpus_per_node or _DEFAULT_GPUS_PER_NODE
    storage, cluster = loaded.scenario.storage, loaded.scenario.cluster
    aggregate = found[0] if found[0] is not None else storage.read_bandwidth_bytes_per_s
    return ReadRates(aggregate, found[1], found[2], storage.latency_s), gpus_per_node or cluster.gpus_per_node


def _batch(manifest: Manifest, layout: Layout, given: int | None) -> BatchSplits | None:
    from ckptplan.checkpoint.reshard.batch import GlobalBatch, batch_splits, recorded_batch
    from ckptplan.checkpoint.reshard.carry_over import data_parallel

    batch: GlobalBatch | None = recorded_batch(manifest)
    if given is not None:
        read = None if batch is None else batch.samples_read
        batch = GlobalBatch(given, "--global-batch", samples_read=read)
    return None if batch is None else batch_splits(batch, data_parallel(layout))
