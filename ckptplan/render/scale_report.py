"""The report of ``ckptplan scale``: where more GPUs stop helping and paying, then the sizes one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ckptplan import __version__
from ckptplan.errors import printable
from ckptplan.plan.progress import gets_nowhere
from ckptplan.plan.scale.batch import BatchFacts, BatchRecord
from ckptplan.plan.scale.peaks import MOST_GPUS, ScalePeak, Turn
from ckptplan.plan.scale.records import ScaleRecord
from ckptplan.plan.scale.scaling import Scaling
from ckptplan.render.marking import bullets, heading, notes, sentences
from ckptplan.render.numbers import percent, points, seconds, whole
from ckptplan.render.scale_sheets import adds, batch_sheet, curve_sheet, energy_sheet, money_sheet, price, values, work
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Sheet, to_markdown
from ckptplan.units import format_gpus, format_time


def scale_document(made: Scaling, spec: dict[str, Any]) -> dict[str, Any]:
    """The JSON document ``ckptplan.scaling/1``."""
    return {
        "schema": "ckptplan.scaling/1",
        "ckptplan": __version__,
        "spec": spec,
        "name": made.name,
        "gpus": made.gpus,
        "step_gpus": made.step_gpus,
        "work_s": made.work_s,
        "gpu_hour_price": made.gpu_hour_price,
        "useful_hour_worth": made.useful_hour_worth,
        "best": made.best,
        "peaks": [_peak(one) for one in made.peaks],
        "sizes": [values(row) for row in made.rows],
        "batch": _batch(made.batch),
        "assumptions": list(made.assumptions),
        "warnings": list(made.warnings),
    }


def _peak(one: ScalePeak) -> dict[str, Any]:
    paying = None if one.paying is None else one.paying._asdict()
    return {**one._asdict(), "peak": one.peak._asdict(), "paying": paying}


def _batch(facts: BatchFacts | None) -> dict[str, Any] | None:
    if facts is None:
        return None
    records = [one._asdict() for one in facts.records]
    return {**facts._asdict(), "impossible_near": list(facts.impossible_near), "records": records}


def report(made: Scaling, screen: Screen) -> str:
    """The whole report for people."""
    sheet, notes = curve_sheet(made)
    parts = [
        screen.paragraph(f"{_title(made)}") + "\n",
        screen.lines(planned(made)),
        screen.lines(stops(made)),
        screen.lines(energy(made)),
        screen.lines(batch(made)),
        screen.paragraph(_meaning(made)) + "\n",
        screen.table(sheet),
        "".join(screen.paragraph(t, indent="    ", first=f"[{i}] ") + "\n" for i, t in enumerate(notes, start=1)),
    ]
    for more, title in tables(made):
        parts += [screen.paragraph(title) + "\n", screen.table(more)]
    parts.append(screen.bullets("What is assumed", map(printable, made.assumptions)))
    return "\n".join(part for part in parts if part)


def markdown(made: Scaling) -> str:
    """The same as Markdown."""
    sheet, noted = curve_sheet(made)
    answers = [*planned(made), *stops(made), *energy(made), *batch(made)]
    parts = [heading(_title(made)), bullets(answers), *sentences([_meaning(made)])]
    parts.append(to_markdown(sheet))
    if noted:
        parts.append(notes(noted))
    for more, title in tables(made):
        parts += [*sentences([title]), to_markdown(more)]
    parts.append(f"What is assumed:\n\n{bullets(made.assumptions)}")
    return "\n".join(parts)


def tables(made: Scaling) -> Iterator[tuple[Sheet, str]]:
    """What else is known of each size, with the sentence that says what it is."""
    money = money_sheet(made)
    if money is not None:
        run = "" if made.work_s is None else "the run, "
        yield (
            money,
            f"What {run}a useful GPU-hour and one more of them cost at {price(made.gpu_hour_price)} per GPU-hour:",
        )
    power = energy_sheet(made)
    if power is not None:
        yield (
            power,
            (
                "Least energy, against the intervals above (lost: points of goodput; saves: of the energy now; power "
                f"per useful GPU{_accounting(made)}):"
            ),
        )
    batch_ = batch_sheet(made)
    if batch_ is not None:
        yield batch_, "The global batch (micro-batches of a replica; busy: share of time that replicas do not wait):"


def _accounting(made: Scaling) -> str:
    kinds = {r.energy_accounting for r in made.records if r.energy_accounting is not None}
    if kinds == {"exact"}:
        return ""
    return "; to first order in the saves that a failure aborts"


def _title(made: Scaling) -> str:
    return f"{printable(made.name)} ({format_gpus(made.gpus)} planned)"


def _meaning(made: Scaling) -> str:
    text = "Useful GPUs: as many GPUs of the planned size that lose nothing would do as much."
    if made.batch is not None:
        return (
            f"{text} One more adds, per GPU: up to the next size at which the busiest replica does fewer micro-batches."
        )
    if any(one.next_gpus > (one.gpus // made.step_gpus + 1) * made.step_gpus for one in made.records):
        return f"{text} One more adds, per GPU: with a tenth more GPUs, as the best interval for recorded gaps jumps."
    if made.step_gpus == 1:
        return text
    return f"{text} One more adds, per GPU: up to the next multiple of {whole(made.step_gpus)} GPUs."


def planned(made: Scaling) -> list[str]:
    """What the planned GPUs do, and what one more would add, by each way of saving."""
    gets_on = made.makes_progress
    several = len(made.strategies) > 1 and gets_on
    lines = [] if gets_on else [_no_progress(made)]
    lines += [_planned(made, made.planned(name), best=several and name == made.best) for name in made.strategies]
    return lines


def _no_progress(made: Scaling) -> str:
    record = made.planned(made.best)
    why = gets_nowhere("the restart", record.restart_total_s, record.mtbf_s)
    return f"no progress is possible with the planned {format_gpus(made.gpus)}: {why}"


def _planned(made: Scaling, record: ScaleRecord, *, best: bool) -> str:
    do = "does" if record.gpus == 1 else "do"
    text = (
        f"{printable(record.strategy)}: {format_gpus(record.gpus)} {do} the work of {work(record.useful_gpus)} "
        f"(goodput {percent(record.goodput)})"
    )
    if record.marginal_gpus is not None:
        text += f", one more adds {adds(record.marginal_gpus)}"
    if record.useful_hour_price is not None:
        text += f"; a useful GPU-hour costs {price(record.useful_hour_price)}"
        text += f", one more {_next_price(record)}"
    return text + (" (best)" if best else "")


def _next_price(record: ScaleRecord) -> str:
    if record.marginal_gpus is None:
        return "is not known"
    return "cannot be had" if record.next_hour_price is None else price(record.next_hour_price)


def stops(made: Scaling) -> list[str]:
    """Where adding GPUs stops helping, and where it stops paying."""
    found = [_stops_helping(one) for one in made.peaks]
    if made.useful_hour_worth is not None:
        prices = f"{price(made.gpu_hour_price)} per GPU-hour and {price(made.useful_hour_worth)} per useful one"
        return [*found, f"at {prices}:", *map(_stops_paying, made.peaks)]
    missing = "--useful-hour-worth" if made.gpu_hour_price is not None else "--gpu-hour-price and --useful-hour-worth"
    return [*found, f"where adding GPUs stops paying: add {missing}"]


def _stops_helping(one: ScalePeak) -> str:
    name, peak = printable(one.strategy), one.peak
    if one.is_endless:
        return f"{name}: every GPU helps, without end: its saves cost nothing and its restarts are never struck"
    if peak.gpus is None:
        return f"{name}: adding GPUs still helps at {MOST_GPUS:,}"
    if peak.gpus == 0:
        return f"{name}: no number of GPUs does anything useful"
    text = (
        f"{name}: adding GPUs stops helping at {_where(peak)}: MTBF {format_time(peak.mtbf_s)}, goodput "
        f"{percent(peak.goodput)}, the work of {work(peak.useful_gpus)}"
    )
    return text if one.formula_gpus is None else f"{text} (closed form: {whole(one.formula_gpus)} GPUs)"


def _stops_paying(one: ScalePeak) -> str:
    name, paying = printable(one.strategy), one.paying
    if paying is None or paying.gpus is None:
        return f"{name}: adding GPUs still pays at {MOST_GPUS:,}"
    if paying.gpus == 0:
        return f"{name}: no number of GPUs pays"
    return f"{name}: adding GPUs stops paying at {_where(paying)}"


def _where(turn: Turn) -> str:
    """GPUs and replicas; where the global batch decides, also what it would be without it."""
    text = format_gpus(turn.gpus or 0)
    if turn.replicas is not None and turn.replicas != turn.gpus:
        text += f" ({whole(turn.replicas)} replica{'' if turn.replicas == 1 else 's'})"
    if turn.free_gpus == turn.gpus:
        return text
    free = f"beyond {MOST_GPUS:,}" if turn.free_gpus is None else whole(turn.free_gpus)
    return f"{text}, of the sizes that divide the global batch evenly ({free} if all did)"


def energy(made: Scaling) -> list[str]:
    """The interval of least energy of the planned GPUs, and what it saves and costs."""
    found = [record for record in map(made.planned, made.strategies) if record.energy_interval_s is not None]
    return [_energy(record) for record in found]


def _energy(record: ScaleRecord) -> str:
    interval_s, steps = record.energy_interval_s, record.energy_interval_steps
    text = f"{printable(record.strategy)}: least energy with a save every {seconds(interval_s)}"
    if steps is not None:
        text += f" = {whole(steps)} step{'' if steps == 1 else 's'}"
    if interval_s == record.interval_s:
        return f"{text}, as for least time"
    return (
        f"{text} instead of {seconds(record.interval_s)}: {percent(record.energy_saved_fraction)} less energy for "
        f"{points(record.energy_lost_goodput)} of goodput"
    )


def batch(made: Scaling) -> list[str]:
    """Which numbers of replicas near the planned one keep the global batch."""
    facts = made.batch
    if facts is None:
        return []
    low, high = max(facts.planned_replicas - facts.near, 1), facts.planned_replicas + facts.near
    even = [whole(n) for n in range(low, high + 1) if n not in facts.impossible_near]
    which = "none" if not even else f"only {' and '.join(even)}" if len(even) <= 2 else ", ".join(even)
    here = next(one for one in facts.records if one.gpus == made.gpus)
    return [
        f"global batch {whole(facts.global_batch)} in micro-batches of {whole(facts.micro_batch)}: {_split(here)}; of "
        f"{whole(low)} to {whole(high)} replicas {which} {'divide' if len(even) > 1 else 'divides'} it evenly"
    ]


def _split(one: BatchRecord) -> str:
    if one.fewest is None or one.with_one_more is None:
        return f"{whole(one.replicas)} replicas cannot split it"
    if one.with_one_more == 0:
        return f"{whole(one.replicas)} replicas do {whole(one.fewest)} each"
    return (
        f"{whole(one.with_one_more)} of {whole(one.replicas)} replicas do {whole(one.fewest + 1)}, the others "
        f"{whole(one.fewest)}, and wait {percent(1.0 - one.efficiency)} of the time on average"
    )
