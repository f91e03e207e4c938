"""What simulated runs came out as: the answer, the table with the prediction in it, and whether the formula holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ckptplan import __version__
from ckptplan.errors import printable
from ckptplan.plan.simulation import Prediction, Simulation
from ckptplan.render.marking import bullets, heading
from ckptplan.render.numbers import duration, durations, hundredths, percent, seconds, whole
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Column, Sheet, plain, to_markdown

_KEYS = ("quantity", "mean", "standard_error", "sd", "p5", "p50", "p95", "predicted")
_TITLES = ("quantity", "mean", "std. error", "sd", "p5", "p50", "p95", "predicted")


def simulation_sheet(made: Simulation) -> Sheet:
    """One row per quantity, raw values."""
    columns = tuple(Column(key, title, plain) for key, title in zip(_KEYS, _TITLES, strict=True))
    return Sheet(columns, tuple(row for row, _ in _rows(made)))


def reading_sheet(made: Simulation) -> Sheet:
    """The same as people read it."""
    columns = tuple(Column(key, title, str, right=key != "quantity") for key, title in zip(_KEYS, _TITLES, strict=True))
    rows = []
    for (key, *values), show in _rows(made):
        rows.append((_NAMES[str(key)], *(_shown(value, show) for value in values)))
    return Sheet(columns, tuple(rows))


_NAMES = {
    "wall_s": "wall time",
    "goodput": "goodput",
    "failures": "failures",
    "saves": "saves begun",
    "useful_fraction": "useful",
    "save_fraction": "save",
    "rework_fraction": "rework",
    "restart_fraction": "restart",
    "slow_fraction": "slow nodes",
    "waiting_fraction": "waiting for nodes",
    "gross_save_fraction": "save, aborted ones too",
    "gross_rework_fraction": "rework, saves apart",
}


def _rows(made: Simulation) -> list[tuple[tuple[Any, ...], Callable[[Any], str]]]:
    shares = made.predicted_shares
    counts = made.predicted_counts or (None, None)
    found: list[tuple[tuple[Any, ...], Callable[[Any], str]]] = [
        (("wall_s", *_of(made.wall_s), made.predicted_wall_s), duration),
        (("goodput", *_of(made.goodput), made.predicted_goodput), percent),
        (("failures", *_of(made.failures), counts[0]), whole),
    ]
    if made.saves is not None:
        found.append((("saves", *_of(made.saves), counts[1]), whole))
    predicted = {name: float(getattr(shares, name)) for name in made.kept._fields}
    for name, value in made.kept._asdict().items():
        found.append(((f"{name}_fraction", value, *[None] * 5, predicted[name]), percent))
    for part in made.parts:
        values = (part.simulated, part.standard_error, *[None] * 4, part.predicted)
        found.append(((f"{part.name}_fraction", *values), percent))
    for name in ("save", "rework"):
        found.append(((f"gross_{name}_fraction", getattr(made.gross, name), *[None] * 6), percent))
    return found


def _of(summary: Any) -> tuple[float, ...]:
    return (summary.mean, summary.standard_error, summary.sd, summary.p5, summary.p50, summary.p95)


def _shown(value: Any, show: Callable[[Any], str]) -> str:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else show(value)


def simulation_document(made: Simulation, spec: dict[str, Any]) -> dict[str, Any]:
    """The JSON document ``ckptplan.simulation/1``."""
    facts = (
        *("name", "strategy", "gpus", "asked_interval_s", "interval_s", "interval_steps"),
        *("work_s", "has_end", "source", "mtbf_s", "runs", "seed"),
    )
    return {
        "schema": "ckptplan.simulation/1",
        "ckptplan": __version__,
        "spec": spec,
        **{name: getattr(made, name) for name in facts},
        "precision": made.precision,
        "precision_reached": made.precision_reached,
        "prediction": {**made.prediction._asdict(), "holds": made.prediction.holds},
        "quantities": simulation_sheet(made).records(),
        "causes": [one._asdict() for one in made.causes],
        "distribution": None if made.distribution is None else made.distribution._asdict(),
    }


def verdict(one: Prediction) -> str:
    """Whether the formula holds, in one line."""
    what = "the wall time" if one.quantity == "wall_s" else "the goodput in the long run"
    show = duration if one.quantity == "wall_s" else percent
    if math.isnan(one.z) and one.standard_error > 0.0:
        too_little = "fewer than 30 runs" if one.quantity == "wall_s" else "runs that are shorter than a few delays"
        return f"{what} was predicted as {show(one.predicted)}; {too_little} do not tell whether that holds"
    if math.isnan(one.z):
        simulated = "the wall time" if one.quantity == "wall_s" else "the goodput of this run"
        return (
            f"{what} was predicted as {show(one.predicted)}; {simulated} is {show(one.simulated)}, and nothing varies "
            "between runs that could tell an accident from an error"
        )
    holds = "holds" if one.holds else "does not hold"
    if not one.is_exact:
        holds += " (first order in what is found late, thrown back, slowed or drained)"
    return (
        f"the formula {holds}: {what} was predicted as {show(one.predicted)} and simulated as {show(one.simulated)}, "
        f"{one.z:+.1f} standard errors apart"
    )


def answers(made: Simulation) -> list[str]:
    """The answer, then whether the formula holds."""
    runs = f"{made.runs:,} run{'' if made.runs == 1 else 's'}"
    steps = (
        ""
        if made.interval_steps is None
        else f" = {whole(made.interval_steps)} step{'' if made.interval_steps == 1 else 's'}"
    )
    if made.asked_interval_s < made.interval_s:
        steps += f" (raised from {seconds(made.asked_interval_s)}: the flush must end before the next save starts)"
    length = "" if made.has_end else " (100 MTBFs: the spec gives no end)"
    wall = made.wall_s
    mean = f"{duration(wall.mean)} of wall time"
    if not math.isnan(wall.standard_error):
        mean += f" on average (95 %: {' to '.join(durations([wall.low, wall.high]))}); 5 to 95 % of runs: "
        mean += " to ".join(durations([wall.p5, wall.p95]))
    return [
        f"{printable(made.strategy)}, a save every {seconds(made.interval_s)}{steps}: {duration(made.work_s)} of "
        f"work{length} take {mean}; goodput {percent(made.kept.useful)} ({runs}, {made.source}, seed {made.seed})",
        verdict(made.prediction) + _of_long_run(made),
    ]


def _of_long_run(made: Simulation) -> str:
    """What is predicted for the long run is not that of runs which begin with a fresh clock."""
    if made.prediction.quantity == "wall_s" or math.isnan(made.prediction.z) or "of each node" in made.source:
        return ""
    return "; the runs below begin with a fresh clock, the prediction beside them is for the long run"


_CAUSE_COLUMNS = (
    Column("name", "class", printable, right=False),
    Column("lost", "lost %", hundredths),
    Column("predicted", "predicted %", hundredths),
    Column("events", "events per run", whole),
    Column("unkept", "no save left", whole),
)


def cause_sheet(made: Simulation) -> Sheet | None:
    """What each class took, the dearest first; None if all failures are alike."""
    if not made.causes:
        return None
    ordered = sorted(made.causes, key=lambda one: -one.lost)
    return Sheet(_CAUSE_COLUMNS, tuple(tuple(one) for one in ordered))


def report(made: Simulation, screen: Screen) -> str:
    """The whole report for people."""
    title = f"{printable(made.name)} ({whole(made.gpus)} GPU{'' if made.gpus == 1 else 's'})"
    parts = [screen.paragraph(title) + "\n", screen.lines(answers(made)), screen.table(reading_sheet(made))]
    causes = cause_sheet(made)
    return "\n".join(parts if causes is None else [*parts, screen.table(causes)])


def markdown(made: Simulation) -> str:
    """The same as Markdown."""
    causes = cause_sheet(made)
    more = "" if causes is None else f"\n{to_markdown(causes)}"
    return f"{heading(made.name)}\n{bullets(answers(made))}\n{to_markdown(reading_sheet(made))}{more}"
