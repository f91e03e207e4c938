"""``ckptplan measure``: how fast storage is, what a save costs, and what benchmarks say of both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from ckptplan.cli.endings import ResultCommand
from ckptplan.cli.measure_options import (
    BlockOption,
    DeviceName,
    DeviceOption,
    DirectOption,
    DropOption,
    FilesArgument,
    FolderArgument,
    NoReadOption,
    PlannedOption,
    RepeatOption,
    ShardOption,
    SizeOption,
    WholeOption,
    WithOption,
    Writer,
    WritersOption,
)
from ckptplan.cli.options import Format, FormatOption, OutputOption, SetOption
from ckptplan.errors import InputError, UsageError

if TYPE_CHECKING:
    from ckptplan.cli.planned import Planned
    from ckptplan.measure.setting import Announce, Progress, Setting
    from ckptplan.measure.storage import StorageMeasured

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Measure storage and saves here, or import benchmarks."
)

_DEFAULT_SHARD = "256 MiB"  # twice in memory for each writer


@app.command(cls=ResultCommand, short_help="Write what a save writes, and read it back.")
def storage(
    folder: FolderArgument,
    spec: PlannedOption = None,
    size: SizeOption = None,
    writers: WritersOption = None,
    block: BlockOption = "16 MiB",
    repeat: RepeatOption = 3,
    direct: DirectOption = False,
    no_read: NoReadOption = False,
    drop_caches: DropOption = False,
    whole: WholeOption = False,
    with_: WithOption = None,
    set_: SetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan measure storage /mnt/checkpoints --spec llama3-405b
    ckptplan measure storage /mnt/checkpoints --size 8GiB --writers 8

    Several writers write files of the size of a shard at one time, flush
    them, and read them back; several times over. Prints what the node and one
    writer sustain, the burst before the flush, and the storage: block to
    paste. Files are made in a new folder inside FOLDER and removed whatever
    happens; nothing else is touched, and 5 % of the file system (100 GiB at
    most) stay free.
    """
    from ckptplan.cli.measure_files import noting
    from ckptplan.cli.output import emit, refuse_overwriting, text_as, warn
    from ckptplan.cli.planned import planned
    from ckptplan.render import measure_report, measure_sheet
    from ckptplan.render.measure_block import measured_block

    refuse_overwriting(output, [] if spec is None else [spec])
    plan = planned(spec, set_, size, writers)
    setting = _setting(plan, block, repeat, direct=direct)._replace(read=not no_read, drop_all=drop_caches)
    said: list[str] = []
    with _progress() as progress:
        found = _measured(folder, setting, with_, progress, noting(said))
    made = measured_block(found, whole=whole or plan.is_whole)
    text = text_as(
        format_,
        output,
        document=lambda: measure_sheet.storage_document(found, made),
        sheets=lambda: [measure_sheet.storage_sheet(found)],
        markdown=lambda: measure_report.storage_markdown(found, made),
        report=lambda screen: measure_report.storage_report(found, made, screen),
    )
    emit(text, output)
    warn([*plan.notes, *(one for one in found.notes if format_ is Format.CSV and one not in said)])


@app.command(cls=ResultCommand, short_help="Save in two phases, and time stall, flush and slow-down.")
def save(
    folder: FolderArgument,
    spec: PlannedOption = None,
    size: ShardOption = None,
    writers: WritersOption = None,
    block: BlockOption = "16 MiB",
    repeat: RepeatOption = 3,
    direct: DirectOption = False,
    device: DeviceOption = DeviceName.HOST,
    set_: SetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan measure save /mnt/checkpoints --spec llama3-405b
    ckptplan measure save /mnt/checkpoints --size 4GiB --device cuda

    Copies the shard of every writer to a buffer in host memory, which is the
    stall, and flushes the buffers by threads while steps of work go on.
    Prints stall, flush and the speed of the steps against what the formulas
    of a plan say, and the save: block to paste. Needs memory for shards and
    buffers.
    """
    from ckptplan.cli.measure_files import noting
    from ckptplan.cli.output import emit, refuse_overwriting, text_as, warn
    from ckptplan.cli.planned import planned
    from ckptplan.measure.devices import device_maker
    from ckptplan.measure.saving import measure_saving
    from ckptplan.render import measure_report, measure_sheet
    from ckptplan.render.measure_block import saving_block

    refuse_overwriting(output, [] if spec is None else [spec])
    plan = planned(spec, set_, _DEFAULT_SHARD if spec is None and size is None else size, writers)
    setting = _setting(plan, block, repeat, direct=direct)
    make = device_maker(device.value)
    said: list[str] = []
    with _progress() as progress:
        found = measure_saving(folder, setting, make, progress=progress, announce=noting(said))
    says = plan.says(found.setting.size_bytes)
    planned_bytes = found.setting.size_bytes if spec is None else plan.size_bytes
    made = saving_block(found, None if spec is None else planned_bytes, whole=plan.is_whole)
    text = text_as(
        format_,
        output,
        document=lambda: measure_sheet.saving_document(found, says, made, planned_bytes),
        sheets=lambda: [measure_sheet.saving_sheet(found, says)],
        markdown=lambda: measure_report.saving_markdown(found, says, made),
        report=lambda screen: measure_report.saving_report(found, says, made, screen),
    )
    emit(text, output)
    warn([*plan.notes, *(one for one in found.notes if format_ is Format.CSV and one not in said)])


@app.command("import", cls=ResultCommand, short_help="Results of fio, IOR, elbencho, DLIO, MLPerf Storage.")
def import_(files: FilesArgument, format_: FormatOption = Format.TABLE, output: OutputOption = None) -> None:
    """\b
    ckptplan measure import fio.json
    ckptplan measure import ior-*.txt summary.json
    fio --output-format=json job.fio | ckptplan measure import -

    Reads results of storage benchmarks and prints every phase with what to
    doubt of it, and one storage: block to paste. Several files of one setting
    are repetitions. Rates of reading are never taken for rates of writing.
    Exits 1 if nothing of use is in them.
    """
    from ckptplan.cli.measure_files import imported
    from ckptplan.cli.output import emit, refuse_overwriting, text_as, warn
    from ckptplan.measure.figures import combine
    from ckptplan.render import measure_report, measure_sheet
    from ckptplan.render.measure_block import imported_block

    try:
        refuse_overwriting(output, files)
    except UsageError:
        raise UsageError(f"-o {output} would overwrite a file to import", hint="give another file with -o") from None
    found = combine(imported(files))
    text = text_as(
        format_,
        output,
        document=lambda: measure_sheet.benchmark_document(found),
        sheets=lambda: [measure_sheet.phase_sheet(found)],
        markdown=lambda: measure_report.benchmark_markdown(found),
        report=lambda screen: measure_report.benchmark_report(found, screen),
    )
    emit(text, output)
    warn(found.warnings if format_ is Format.CSV else ())
    if not imported_block(found).keys:
        raise InputError(
            "no write rate, and no read rate of storage as a whole, is in these files",
            hint="give the result of a write test, flushed at its end (fio: --end_fsync=1, IOR: -e)",
        )


def _setting(plan: Planned, block: str, repeat: int, *, direct: bool) -> Setting:
    from ckptplan.cli.planned import block_bytes
    from ckptplan.measure.setting import Setting

    size_bytes = round(min(plan.size_bytes, plan.most_bytes))
    return Setting(plan.writers, max(1, size_bytes), block_bytes(block), repeat, direct=direct)


def _measured(
    folder: str, setting: Setting, with_: Writer | None, progress: Progress | None, announce: Announce
) -> StorageMeasured:
    from ckptplan.measure.storage import measure_storage

    if with_ is None:
        return measure_storage(folder, setting, progress=progress, announce=announce)
    if setting.drop_all:
        raise UsageError("--drop-caches and --with fio exclude each other", hint="fio drops its own files by itself")
    from ckptplan.measure.with_fio import measure_with_fio
    from ckptplan.readers.storage.fio import fio_rates

    return measure_with_fio(folder, setting, fio_rates, progress=progress, announce=announce)


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar on standard error, if that is a terminal."""
    import sys

    if not sys.stderr.isatty():
        yield None
        return
    from ckptplan.render.measure_progress import RateBar

    with RateBar(sys.stderr) as update:
        yield update
