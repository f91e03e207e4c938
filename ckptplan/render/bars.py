"""Where the lost time goes, as bars on a terminal: one per strategy, all to one scale, the numbers beside them.

Goodput is 60 to 99 %: in a bar of all wall time the losses would be a few cells. So the bar is the lost part alone, as
long as the largest loss is wide, and goodput is a number at its end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.errors import printable
from ckptplan.plan.record import TIERS, Plan, Record, recommended
from ckptplan.render.numbers import hundredths, percent, quantity, seconds
from ckptplan.render.screen import Screen, widest

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_BESIDE = 20  # cells that a bar needs to be worth its place beside all numbers
_ALONE = 10  # and with its sum alone
_LONGEST = 60  # on the widest terminals the numbers stay near the bars
_NAME = 40  # letters of a name in a sentence
_EIGHTHS = " ▏▎▍▌▋▊▉█"


class Part(NamedTuple):
    """One share of lost time: its name, and how its cells look. Each glyph is its own, so that colour says nothing new.

    Neighbours differ in darkness. The colours are those of the terminal itself: in the common palettes these five stay
    apart for each kind of colour blindness, by hue or by lightness; with cyan, magenta or green among them they do not.
    """

    key: str
    name: str
    block: str
    letter: str  # where the terminal has ASCII only
    style: str


PARTS = (
    Part("save_fraction", "save", "█", "#", "bright_blue"),
    Part("rework_fraction", "rework", "░", "-", "yellow"),
    Part("restart_fraction", "restart", "▓", "+", "red"),
    Part("slow_fraction", "slow", "▚", "/", "default"),
    Part("waiting_fraction", "waiting", "═", "=", "bright_black"),
)


class _Row(NamedTuple):
    label: str
    shares: tuple[float, ...]  # in the order of PARTS
    goodput: float
    best: bool

    @property
    def lost(self) -> float:
        return math.fsum(self.shares)


def loss_bars(plan: Plan, screen: Screen) -> str:
    """The bars of a plan with their title; empty where the width is not known or has no room for them."""
    rows = _rows(plan)
    most = max((row.lost for row in rows), default=0.0)
    if screen.width is None or not 0.0 < most < math.inf:
        return ""
    parts = [part for i, part in enumerate(PARTS) if any(row.shares[i] > 0.0 for row in rows)]
    for full, least in ((True, _BESIDE), (False, _ALONE)):
        taken = widest(screen.drawn(_table(rows, parts, 0, most, screen, full=full)))
        width = min(screen.width - taken, _LONGEST)
        if width >= least:
            return (
                _title(parts, most, screen, full=full)
                + screen.drawn(_table(rows, parts, width, most, screen, full=full))
                + _below(plan, screen)
            )
    return ""


def basis(plan: Plan, names: Mapping[str, str] | None = None) -> str:
    """Of which interval and account the shares are, where the goodput of what is typed is another number.

    A record accounts for its best interval by its method; the number to type is whole steps, and yields what the
    failures leave of it. ``names`` are those of strategies as a picture draws them.
    """
    records = [r for r in recommended_rows(plan) if r.goodput is not None]
    other = [r for r in records if percent(r.goodput) != percent(r.goodput_typed)]
    reasons = []
    if any(percent(r.goodput_exact) != percent(r.goodput_typed) for r in other):
        reasons.append("before it is rounded to whole steps")
    if any(percent(r.goodput) != percent(r.goodput_exact) for r in other):
        reasons.append("as the method accounts for it")
    if not other:
        return ""
    known = {} if names is None else names
    told = [(percent(r.goodput_typed), known.get(r.strategy, printable(r.strategy))) for r in other]
    typed = ", ".join(f"{goodput} with {_short(name)}" for goodput, name in told)
    return f"These shares are those of the best interval {', '.join(reasons)}; what is typed yields {typed}."


def recommended_rows(plan: Plan) -> list[Record]:
    """The recommended record of each strategy at the planned scale, that of all tiers last."""
    tiers = [r for r in plan.records if r.strategy == TIERS and not r.given and r.gpus == plan.gpus]
    return [*plan.optima(), *tiers]


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def _below(plan: Plan, screen: Screen) -> str:
    text = basis(plan)
    return f"\n{screen.paragraph(text)}\n" if text else ""


def apportion(shares: Sequence[float], cells: int) -> list[int]:
    """Whole cells for shares: they sum to ``cells``, and each share above zero has one at least.

    Largest remainder (Hamilton's method) among the shares whose quota is one cell or more; the others have one each.
    ``cells`` must be at least the number of shares above zero, of which there is one at least.
    """
    left, counted = cells, [share > 0.0 for share in shares]
    if not any(counted) or cells < sum(counted):
        raise ValueError(f"{cells} cells for the shares {shares}")
    made = [0] * len(shares)
    while small := [i for i, share in enumerate(shares) if counted[i] and _quota(shares, counted, left, share) < 1.0]:
        for i in small:
            made[i], counted[i] = 1, False
        left -= len(small)
    quotas = {i: _quota(shares, counted, left, share) for i, share in enumerate(shares) if counted[i]}
    for i, quota in quotas.items():
        made[i] = math.floor(quota)
    order = sorted(quotas, key=lambda i: (made[i] - quotas[i], -shares[i]))
    for i in order[: cells - sum(made)]:
        made[i] += 1
    return made


def _quota(shares: Sequence[float], counted: Sequence[bool], cells: int, share: float) -> float:
    return cells * (share / math.fsum(s for s, is_counted in zip(shares, counted, strict=True) if is_counted))


def gain_bar(points: float, most: float, width: int, *, unicode: bool = True) -> str:
    """A bar of ``points`` where ``most`` fills ``width`` cells, in eighths of a cell; a loss is a bar of another glyph.

    What is not zero is never drawn as nothing, and nothing is longer than ``width``.
    """
    if not points or not 0.0 < most < math.inf or width < 1 or math.isnan(points):
        return ""
    cells = width * min(abs(points) / most, 1.0)
    if points < 0.0 or not unicode:
        glyph = ("░" if unicode else "-") if points < 0.0 else "#"
        return glyph * max(1, round(cells))
    full, eighths = divmod(max(1, round(8 * cells)), 8)
    return "█" * full + _EIGHTHS[eighths].strip()


def _rows(plan: Plan) -> list[_Row]:
    """One row per strategy, below it those of its given intervals and of the other numbers of GPUs."""
    chosen: dict[tuple[str, float, int], Record] = {}
    for record in plan.records:
        if record.goodput is None or (record.given and record.gpus != plan.gpus):
            continue
        key = (record.strategy, record.interval_s if record.given else 0.0, record.gpus)
        chosen[key] = max(chosen.get(key, record), record, key=recommended)
    strategies = dict.fromkeys(record.strategy for record in plan.records)
    return [_row(plan, record) for name in strategies for record in chosen.values() if record.strategy == name]


def _row(plan: Plan, record: Record) -> _Row:
    label = printable(record.strategy)
    if record.given:
        label = f"  given {seconds(record.interval_s)}"
    elif record.gpus != plan.gpus:
        label = f"  at {quantity(record.gpus, 'GPU')}"
    shares = tuple(float(getattr(record, part.key)) for part in PARTS)
    goodput = 0.0 if record.goodput is None else record.goodput
    return _Row(label, shares, goodput, plan.is_best(record))


def _title(parts: Sequence[Part], most: float, screen: Screen, *, full: bool) -> str:
    """What is drawn, to which scale; without the columns of numbers, also what each glyph means."""
    text = f"Where the lost time goes, in % of wall time (the longest bar is {percent(most)}):"
    if full:
        return screen.paragraph(text) + "\n\n"
    legend = [f"{_glyph(part, screen)}\0{part.name}" for part in parts]
    return screen.paragraph(text) + "\n" + screen.paragraph("  ".join(legend), indent=" ").replace("\0", " ") + "\n\n"


def _table(
    rows: Sequence[_Row], parts: Sequence[Part], width: int, most: float, screen: Screen, *, full: bool
) -> Table:
    """Label, bar and numbers; the titles of the numbers show the glyphs, so that they are the legend too."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1), show_header=full)
    table.add_column(Text(""), no_wrap=True)
    table.add_column(Text(""), no_wrap=True, width=width or None)
    shown = [Text.assemble((_glyph(part, screen), part.style), f" {part.name}") for part in parts] if full else []
    for title in (*shown, Text("goodput")) if full else (Text(""),):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        numbers = [row.shares[PARTS.index(part)] for part in parts] + [row.goodput] if full else [row.lost]
        cells = [Text(hundredths(number) if full else percent(number)) for number in numbers]
        table.add_row(Text(f" {row.label}"), _bar(row, width, most, screen), *cells, style="bold" if row.best else None)
    return table


def _bar(row: _Row, width: int, most: float, screen: Screen) -> Text:
    from rich.text import Text

    bar = Text()
    if row.lost > 0.0 and width:
        length = max(round(width * row.lost / most), sum(share > 0.0 for share in row.shares))
        for part, cells in zip(PARTS, apportion(row.shares, length), strict=True):
            bar.append(_glyph(part, screen) * cells, part.style)
    return bar


def _glyph(part: Part, screen: Screen) -> str:
    return part.block if screen.unicode else part.letter
