"""Measurements for people: what was done, the figures, what to know of them, and the block to paste."""

from __future__ import annotations

from collections.abc import Sequence

from ckptplan.errors import printable
from ckptplan.measure.figures import StorageFigures
from ckptplan.measure.saving import SavingMeasured
from ckptplan.measure.setting import Setting
from ckptplan.measure.storage import StorageMeasured
from ckptplan.render.marking import bullets, heading, sentences
from ckptplan.render.measure_block import Block, imported_block
from ckptplan.render.measure_sheet import phase_sheet, shown_saving_sheet, storage_sheet
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Sheet, to_markdown
from ckptplan.units import format_size, format_time

_KNOW = "What to know"


def storage_report(found: StorageMeasured, block: Block, screen: Screen) -> str:
    """What ``measure storage`` prints."""
    return _report(screen, _storage_heading(found), storage_sheet(found), found.notes, block.text)


def storage_markdown(found: StorageMeasured, block: Block) -> str:
    """The same as Markdown."""
    return _markdown(_storage_heading(found), storage_sheet(found), found.notes, block.text)


def saving_report(found: SavingMeasured, spec: dict[str, float | None], block: str, screen: Screen) -> str:
    """What ``measure save`` prints."""
    return _report(screen, _saving_heading(found), shown_saving_sheet(found, spec), found.notes, block)


def saving_markdown(found: SavingMeasured, spec: dict[str, float | None], block: str) -> str:
    """The same as Markdown."""
    return _markdown(_saving_heading(found), shown_saving_sheet(found, spec), found.notes, block)


def benchmark_report(found: StorageFigures, screen: Screen) -> str:
    """What ``measure import`` prints."""
    return _report(screen, _benchmark_heading(found), phase_sheet(found), found.warnings, imported_block(found).text)


def benchmark_markdown(found: StorageFigures) -> str:
    """The same as Markdown."""
    return _markdown(_benchmark_heading(found), phase_sheet(found), found.warnings, imported_block(found).text)


def _report(screen: Screen, heading: Sequence[str], sheet: Sheet, notes: Sequence[str], block: str) -> str:
    parts = [screen.lines(heading), screen.table(sheet), screen.bullets(_KNOW, map(printable, notes))]
    if block:
        parts.append(f"To paste into the spec:\n\n{block}")
    return "\n".join(part for part in parts if part)


def _markdown(lines: Sequence[str], sheet: Sheet, notes: Sequence[str], block: str) -> str:
    first, *rest = lines
    parts = [heading(first), *sentences(rest), to_markdown(sheet)]
    if notes:
        parts.append(f"{_KNOW}:\n\n{bullets(notes)}")
    if block:
        parts.append(f"To paste into the spec:\n\n```yaml\n{block}```\n")
    return "\n".join(parts)


def _storage_heading(found: StorageMeasured) -> list[str]:
    setting = found.setting
    how = "direct I/O" if setting.direct else "through the page cache"
    lines = [
        f"{_place(found)}: {_writers(setting.writers)}, {_each(setting)} in blocks of "
        f"{format_size(setting.block_bytes)}, {how}, flushed, {_times(setting.repeats)}, by {printable(found.by)}",
        f"a repetition took {format_time(found.seconds.mean)} (sustained: until the slowest writer has flushed and "
        f"closed its file{'' if found.burst is None else '; burst: until the last write returned'}; writer: the rate "
        "of the node over its writers)",
    ]
    if found.past is not None:
        lines.append(f"read back: {found.past.value}")
    return lines


def _saving_heading(found: SavingMeasured) -> list[str]:
    setting = found.setting
    return [
        f"{_place(found)}: {_writers(setting.writers)}, {_shards(setting)} in {found.device}, "
        f"{_times(setting.repeats)}",
        "stall: all shards are copied to host buffers while nothing else runs; flush: by threads, beside steps of "
        "work; forecast: the formulas of a plan with the copy and write rates that were measured alone",
    ]


def _benchmark_heading(found: StorageFigures) -> list[str]:
    count = len(found.files)
    phases = sum(len(one.phases) for one in found.files)
    return [
        f"{count:,} file{'' if count == 1 else 's'}, {phases:,} phase{'' if phases == 1 else 's'} (rate: all bytes "
        "over the time of the slowest writer; stands: it is known to be a rate of storage, not of memory)"
    ]


def _place(found: StorageMeasured | SavingMeasured) -> str:
    place = found.file_system
    source = f" of {printable(place.source)}" if place.source and place.source != place.kind else ""
    return f"{printable(found.folder)} ({printable(place.kind)}{source})"


def _writers(count: int) -> str:
    return f"{count:,} writer{'' if count == 1 else 's'}"


def _each(setting: Setting) -> str:
    return format_size(setting.size_bytes) + ("" if setting.writers == 1 else " each")


def _shards(setting: Setting) -> str:
    return f"{'a shard' if setting.writers == 1 else 'shards'} of {format_size(setting.size_bytes)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
