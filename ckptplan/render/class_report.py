"""Lost time by class of failures, and what guards against them: a table, and a sentence for each guard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ckptplan.errors import printable
from ckptplan.plan.record import Plan
from ckptplan.render.numbers import hundredths, percent, points, seconds, whole
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_time

if TYPE_CHECKING:
    from ckptplan.plan.spectrum.guards import EvictionFacts, GuardFacts, PredictionFacts, SparesFacts, WatchdogFacts

_COLUMNS = (
    Column("name", "class", printable, right=False),
    Column("kind", show=None),
    Column("behaviour", show=None),
    Column("every_s", "every", format_time),
    Column("found_s", "found after", format_time),
    Column("recovery_s", "recovery", format_time),
    Column("rework_fraction", "rework %", hundredths),
    Column("restart_fraction", "restart %", hundredths),
    Column("slow_fraction", "slow %", hundredths),
    Column("lost_fraction", "lost %", hundredths),
)


def class_sheet(plan: Plan) -> Sheet | None:
    """One row per class, the dearest first; None if all failures are alike."""
    if not plan.classes:
        return None
    ordered = sorted(plan.classes, key=lambda one: -one.lost_fraction)
    idle = {key for key in ("slow_fraction", "found_s") if all(getattr(one, key) == 0.0 for one in ordered)}
    columns = tuple(c._replace(show=None) if c.key in idle else c for c in _COLUMNS)
    return Sheet(columns, tuple(tuple(one) for one in ordered))


def class_title(plan: Plan) -> str:
    """What the table of classes shows."""
    way = "tiers" if plan.tiers_are_best else printable(plan.best.strategy)
    return f"What each class of failures takes, with {way} (shares of wall time):"


def guards_title(plan: Plan) -> str:
    """Of which way of saving the guards are: the table above is of all tiers where these are best."""
    alone = f", with {printable(plan.best.strategy)}" if plan.tiers_are_best else ""
    return f"What guards the run{alone}"


def guards(plan: Plan) -> list[str]:
    """A sentence for each guard that the spec speaks of."""
    return [] if plan.guards is None else list(_guards(plan.guards))


def _guards(found: GuardFacts) -> Iterator[str]:
    if found.watchdog is not None:
        yield _watchdog(found.watchdog)
    yield from map(_eviction, found.evictions)
    check = found.verification
    if check is not None:
        count = "a check" if check.per_save == 1 else f"{check.per_save} checks"
        gain = check.goodput - check.goodput_without
        yield (
            f"{count} of {seconds(check.time_s)} per save: goodput {percent(check.goodput)}, {points(abs(gain))} "
            f"{'more' if gain >= 0 else 'less'} than without"
        )
    if found.spares is not None:
        yield from _spares(found.spares)
    if found.prediction is not None:
        yield _prediction(found.prediction)
    if found.slowest_rank is not None:
        yield (
            f"each step waits for the slowest rank, which takes {percent(found.slowest_rank)} longer than the mean of "
            "one: that is in the step time already, and grows with the GPUs (ckptplan scale)"
        )
    if found.skipped_share:
        yield f"loss spikes skip {percent(found.skipped_share)} of the data: that costs data, not time"


def _watchdog(dog: WatchdogFacts) -> str:
    gain = dog.lost_fraction - dog.best_lost_fraction
    best = (
        f"the best timeout is {format_time(dog.best_timeout_s)}: hangs and false alarms "
        f"({dog.best_false_alarms_per_day:.2g} a day) then take {percent(dog.best_lost_fraction)}"
    )
    if dog.best_timeout_s <= dog.seen_at_s:
        best += " (false alarms were counted there: a shorter timeout may be better still)"
    if gain < 5e-5:
        return f"watchdog: {best}; the one in force, {format_time(dog.timeout_s)}, is as good"
    return (
        f"watchdog: {best}; the one in force, {format_time(dog.timeout_s)} ({dog.false_alarms_per_day:.2g} false "
        f"alarms a day), takes {points(gain)} more"
    )


def _eviction(one: EvictionFacts) -> str:
    text = (
        f"{printable(one.name)}: finding and evicting takes {percent(one.lost_fraction)}; left in, such nodes would "
        f"take {percent(one.kept_lost_fraction)}"
    )
    if one.break_even_slowdown is None:
        return text
    return f"{text}; at the start of the run an eviction pays above a slow-down of {percent(one.break_even_slowdown)}"


def _spares(spares: SparesFacts) -> Iterator[str]:
    count = f"{whole(spares.nodes)} spare node{'' if spares.nodes == 1 else 's'}"
    lost = f"({spares.losses_per_day:.3g} nodes lost a day)"
    needed = "no number is enough" if spares.nodes_needed is None else f"{whole(spares.nodes_needed)} are needed"
    if spares.elastic_fraction is None:
        wait = "" if spares.mean_wait_s is None else f", {format_time(spares.mean_wait_s)} each time"
        yield (
            f"{count} {lost}: the job waits {percent(spares.waiting_fraction)} of the time{wait}; {needed} to wait "
            f"{percent(spares.most_waiting)} at most"
        )
        return
    better = "shrinking is better than waiting" if spares.shrinking_is_better else "waiting would be better"
    yield (
        f"{count} {lost}: going on with fewer replicas takes {percent(spares.elastic_fraction)}, and {better}; "
        f"{needed} to wait {percent(spares.most_waiting)} at most"
    )


def _prediction(one: PredictionFacts) -> str:
    gain = one.waste_without - one.waste
    if one.interval_s == float("inf"):
        return "prediction, to first order: a predictor that misses no failure needs no other save (not in the table)"
    return (
        f"prediction, to first order: save every {seconds(one.interval_s)}, and trust a warning "
        f"{seconds(one.trust_after_s)} after the last save or later; that is worth {points(gain)} (not in the table)"
    )
