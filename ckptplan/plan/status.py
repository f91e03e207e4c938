"""What to believe: statuses of records, assumptions and warnings, each one plain sentence with its remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckptplan.cost.saving import SaveCost
from ckptplan.cost.scenario import Mode, Scenario, Strike
from ckptplan.interval.methods import METHODS
from ckptplan.plan.record import Record
from ckptplan.units import format_count, format_percent, format_time

OK = "ok"

# A first-order figure that is off by half a point or more is worth a word; below that it prints the same.
_POINTS_OFF = 0.005
# Where these shares of the MTBF are passed, the terms that first order drops reach whole points of goodput.
_STALL_IS_LARGE = 0.05
_RESTART_IS_LARGE = 0.10
_STEPS_COST = 0.0005
_NO_PROGRESS = 0.05
_FEW_FAILURES = 10


def of_record(row: Record, asked_s: float | None) -> str:
    """The status of one record: ``ok``, or what limits it."""
    return "; ".join(_remarks(row, asked_s)) or OK


def _remarks(row: Record, asked_s: float | None) -> Iterator[str]:
    if asked_s is not None and row.interval_s > asked_s * (1 + 1e-12):
        yield f"raised from {format_time(asked_s)}: the flush must end before the next save starts"
    elif asked_s is None and row.interval_floor_s > 0 and row.interval_s <= row.interval_floor_s:
        yield "the flush sets the interval"
    if METHODS[row.method].accounting == "first order":
        yield from _first_order_remark(row)
    elif row.goodput_exact < _NO_PROGRESS:
        yield "hardly any progress: failures come faster than restarts and saves end"
    if row.goodput_steps is not None and row.goodput_exact - row.goodput_steps > _STEPS_COST:
        cost = _points(row.goodput_exact - row.goodput_steps)
        yield f"coarse steps: the whole number costs {cost}"


def _first_order_remark(row: Record) -> Iterator[str]:
    if row.goodput is None:
        yield f"not valid here: the first-order sum is {row.overhead:.3g}; {_why(row)}"
        return
    off = row.goodput - row.goodput_exact
    if abs(off) >= _POINTS_OFF:
        side = "below" if off < 0 else "above"
        yield f"first order is {_points(abs(off))} {side} exact: {_why(row)}"


def _why(row: Record) -> str:
    shares = {
        "the stall": row.effective_stall_s / row.mtbf_s,
        "the interval": row.interval_s / row.mtbf_s,
        "the restart": row.restart_s / row.mtbf_s,
    }
    name = max(shares, key=lambda key: shares[key])
    return f"{name} is {shares[name]:.0%} of the MTBF".replace("%", " %")


def _points(share: float) -> str:
    return f"{100 * share:.1f} points" if share >= 0.0005 else f"{100 * share:.2g} points"


def binds(scenario: Scenario, saves: Sequence[SaveCost]) -> tuple[str, ...]:
    """What limits each strategy, one sentence each."""
    found = []
    for save in saves:
        if save.write is not None:
            slow = f"{format_time(save.write.seconds)} to write, bound by {save.write.binds}"
            found.append(f"{save.name}: {slow}")
    peak = scenario.storage.peak_write_bandwidth_bytes_per_s
    sustained = scenario.storage.write_bandwidth_bytes_per_s
    if found and peak is not None and sustained is not None:
        found.append(
            f"peak bandwidth is {peak / sustained:.3g} times the sustained one: a burst only, not used in the plan"
        )
    return tuple(found)


def assumptions(scenario: Scenario, saves: Sequence[SaveCost]) -> tuple[str, ...]:
    """What the figures take for granted."""
    strikes = {
        Strike.DR: "failures may strike work, saves and the whole recovery (DR)",
        Strike.R: "failures may strike work, saves and the restart, not the downtime before it (R)",
        Strike.SAFE: "failures may strike work and saves, never a recovery (safe)",
    }
    found = [
        "failures are independent, exponential, and scale with the number of GPUs",
        strikes[scenario.failures_strike],
        "the interval is work between two saves, the save itself excluded; exact shares are of wall time",
    ]
    free = [s.name for s in saves if s.flush_s > 0 and s.training_speed_while_flushing == 1.0]
    if free:
        found.append(
            f"the flush of {_names(free)} does not slow training (training_speed_while_flushing is 1); "
            "measured runs lose 2 to 55 %: compare step times inside and outside a save"
        )
    if any(save.mode is Mode.ASYNCHRONOUS for save in saves):
        found.append("no host copy survives a failure: each one goes back to the newest flushed save")
    return tuple(found)


def warnings(
    scenario: Scenario, records: Sequence[Record], saves: Sequence[SaveCost], notes: Sequence[str]
) -> tuple[str, ...]:
    """Broken assumptions, each with its remedy."""
    found = list(notes)
    for save in saves:
        found += [f"{save.name}: {note}" for note in save.notes]
    found += _few_failures(scenario)
    found += _large_terms(records)
    found += _floors(records)
    found += _safe_clock(scenario)
    return tuple(dict.fromkeys(found))


def _few_failures(scenario: Scenario) -> Iterator[str]:
    count = scenario.failures.count
    if count is not None and count < _FEW_FAILURES:
        yield (
            f"only {format_count(count)} failures were counted: the MTBF is known to about "
            f"+-{format_percent(count**-0.5)}; count a longer time before you trust the goodput "
            "(the interval moves with the square root only)"
        )


def _optima(records: Sequence[Record]) -> Iterator[Record]:
    """One record per strategy and scale, the exact one if there is one: each warning is said once."""
    found: dict[tuple[str, int], Record] = {}
    for row in records:
        if not row.given and (row.method == "exact" or (row.strategy, row.gpus) not in found):
            found[row.strategy, row.gpus] = row
    yield from found.values()


def _large_terms(records: Sequence[Record]) -> Iterator[str]:
    several = len({row.gpus for row in records}) > 1
    for row in _optima(records):
        at = f" at {format_count(row.gpus)} GPUs" if several else ""
        if row.effective_stall_s > _STALL_IS_LARGE * row.mtbf_s:
            yield (
                f"{row.strategy}{at}: one save costs {format_time(row.effective_stall_s)} of an MTBF of "
                f"{format_time(row.mtbf_s)}; use the exact rows, and shorten the save first"
            )
        if row.restart_s > _RESTART_IS_LARGE * row.mtbf_s:
            yield (
                f"a restart of {format_time(row.restart_s)} is {format_percent(row.restart_s / row.mtbf_s)} of the "
                f"MTBF{at}; use the exact rows, and shorten the restart first: no interval wins it back"
            )


def _floors(records: Sequence[Record]) -> Iterator[str]:
    for row in _optima(records):
        if row.interval_floor_s > 0 and row.interval_s <= row.interval_floor_s:
            yield (
                f"{row.strategy}: the flush of {format_time(row.flush_s)} is longer than the best interval; "
                "more write bandwidth would allow saving more often"
            )


def _safe_clock(scenario: Scenario) -> Iterator[str]:
    if scenario.failures_strike is Strike.SAFE and scenario.failures.source == "interruptions":
        yield (
            "failures_strike is safe, so the failure clock stands still in recovery: subtract the recovery time from "
            "interruptions.over, or the MTBF is too long"
        )


def _names(names: Sequence[str]) -> str:
    return ", ".join(names)
