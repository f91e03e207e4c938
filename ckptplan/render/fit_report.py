"""A fitted record for people: the rate first, then what was counted, laws, trend, and the keys to paste."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ckptplan.errors import printable
from ckptplan.fit.counting import SIGNIFICANCE, Per
from ckptplan.fit.exposure import Exposure
from ckptplan.fit.findings import UNITS, law_sentence, names_of
from ckptplan.fit.fitting import FEWEST_FOR_A_LAW, FEWEST_FOR_A_TREND, Fitted, Rate, Trend, per_gpu
from ckptplan.fit.planning import RecordedFailures
from ckptplan.fit.record import Outcome
from ckptplan.render.fit_sheet import ends_sheet, law_sheet
from ckptplan.render.marking import bullets, heading, sentences
from ckptplan.render.numbers import duration, durations, quantity, whole
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Sheet, to_markdown
from ckptplan.units import HOUR_S, format_time, format_time_ends

_MOST_CAUSES = 12


class FitPage(NamedTuple):
    """What one page shows; ``planned_gpus`` None: no job is planned."""

    fitted: Fitted
    found: RecordedFailures
    planned_gpus: int | None
    block: str


def report(page: FitPage, screen: Screen) -> str:
    """The whole report for people."""
    parts = [screen.lines(answers(page)), screen.bullets("What was counted", _counted(page.fitted))]
    for title, sheet in _sheets(page.fitted):
        parts += [screen.paragraph(title) + "\n", screen.table(sheet)]
    parts.append(screen.bullets("What it says of the times", _times(page.fitted)))
    parts.append(f"To paste into a spec:\n\n{page.block}")
    return "\n".join(part for part in parts if part)


def markdown(page: FitPage) -> str:
    """The same as Markdown."""
    first, *rest = answers(page)
    parts = [heading(first), *sentences(rest)]
    parts.append(f"What was counted:\n\n{bullets(_counted(page.fitted))}")
    for title, sheet in _sheets(page.fitted):
        parts += [*sentences([title]), to_markdown(sheet)]
    parts.append(f"What it says of the times:\n\n{bullets(_times(page.fitted))}")
    parts.append(f"```yaml\n{page.block}```\n")
    return "\n".join(parts)


def answers(page: FitPage) -> list[str]:
    """The rate of the unit that was counted, and of the planned job."""
    fitted, found = page.fitted, page.fitted.exposure
    unit = UNITS[found.per]
    said = [f"{printable(fitted.record.file)}: {_one_every(fitted.rate, f'one {unit}', found.outcomes)}"]
    if fitted.recent_rate is not None:
        said.append(f"the latest part alone: {_one_every(fitted.recent_rate, f'one {unit}', found.outcomes)}")
    by_gpu = per_gpu(1.0, found)
    if found.per is not Per.GPU and by_gpu is not None and fitted.rate.failures:
        said.append(f"per GPU: one every {duration(fitted.rate.mtbf_s * by_gpu)}")
    if page.planned_gpus is not None:
        said.append(_planned(page, by_gpu))
    return said


def _one_every(rate: Rate, subject: str, outcomes: frozenset[Outcome]) -> str:
    """How often, and how well that is known."""
    if rate.failures == 0:
        return f"no {names_of(outcomes)}; {subject} {_without(rate)}"
    return f"{names_of(outcomes, rate.failures)}; {subject} has one every {_range(rate)}, exact for a constant rate)"


def _without(rate: Rate) -> str:
    return f"goes more than {format_time(rate.low_s)} without ({_level(rate)}, one-sided)"


def _level(rate: Rate) -> str:
    return f"{100 * rate.level:.10g} %"


def _range(rate: Rate) -> str:
    """The MTBF and its interval, all in one unit."""
    mean, low, high = durations([rate.mtbf_s, rate.low_s, rate.high_s])
    return f"{mean} ({_level(rate)}: {low} to {high if rate.high_s < math.inf else 'no bound'}"


def _planned(page: FitPage, by_gpu: float | None) -> str:
    """The planned job, by the whole record and by its latest part."""
    gpus, fitted = page.planned_gpus or 1, page.fitted
    job = f"a job of {quantity(gpus, 'GPU')}"
    if by_gpu is None:
        hint = "add --recorded-gpus N or --gpus-per-node N"
        return f"how often {job} is interrupted is not known: {hint}"
    text = f"{job} {_of_the_job(_scaled(fitted.rate, by_gpu / gpus))}"
    if fitted.recent_rate is None:
        return text
    return f"{text}; by the latest part it {_of_the_job(_scaled(fitted.recent_rate, by_gpu / gpus))}"


def _of_the_job(rate: Rate) -> str:
    return f"has one every {_range(rate)})" if rate.failures else _without(rate)


def _scaled(rate: Rate, scale: float) -> Rate:
    return rate._replace(mtbf_s=rate.mtbf_s * scale, low_s=rate.low_s * scale, high_s=rate.high_s * scale)


def _counted(fitted: Fitted) -> Iterator[str]:
    record, found = fitted.record, fitted.exposure
    used = record.rows - sum(one.rows for one in record.left_out)
    yield f"{whole(record.rows)} rows read ({printable(record.format)}), {whole(used)} used"
    for one in record.left_out:
        yield f"left out: {whole(one.rows)} {printable(one.reason)}"
    yield _merged(found)
    yield f"estimated: {_estimated(found)}; {quantity(found.exposure_s / HOUR_S, f'{UNITS[found.per]}-hour')} at risk"
    sizes = [quantity(size, name) for size, name in ((found.nodes, "node"), (found.gpus, "GPU")) if size is not None]
    if sizes:
        whose = "mean size of a job" if found.lives.of == "run" else "watched"
        yield f"{whose}: {' with '.join(sizes)}"
    if record.zone is not None and not any("zone" in fact for fact in fitted.facts):
        yield f"stamps without a zone are read as {printable(record.zone)}"
    for fact in fitted.facts:
        text = printable(fact).removesuffix(".")
        yield text[:1].lower() + text[1:] if text[1:2].islower() else text


def _merged(found: Exposure) -> str:
    """Before merging and after it, and where the difference went."""
    text = f"{names_of(found.outcomes, found.events)} before merging, {found.failures:,} after it"
    starts = found.events - found.merged - found.failures
    lost = [f"{found.merged:,} came within the window of the one before"] if found.merged else []
    lost += ["the first one only starts the clock"] if starts else []
    return f"{text}: {', '.join(lost)}" if lost else text


def _estimated(found: Exposure) -> str:
    unit = UNITS[found.per]
    if found.per is Per.JOB:
        return "interruptions of one job" if found.lives.of == "run" else "interruptions of this job"
    if found.lives.of == "run":
        return f"failures per {unit}, each run by the {unit}-hours that it had"
    return f"failures per {unit}, over the up time of all nodes" if found.lives.of == "node" else f"failures per {unit}"


def _sheets(fitted: Fitted) -> Iterator[tuple[str, Sheet]]:
    ends = ends_sheet(fitted, most=_MOST_CAUSES)
    if ends is not None:
        yield "Ends by cause, before merging (share: of those that count):", ends
    laws = law_sheet(fitted)
    if laws is not None:
        yield "Laws of the time to an interruption (maximum likelihood, right-censored):", laws


def _times(fitted: Fitted) -> Iterator[str]:
    yield from _of_laws(fitted)
    if fitted.exposure.lives.time_s.size:
        yield _of_trend(fitted)
    scatter, recovery = fitted.dispersion, fitted.recovery
    if scatter is not None and scatter.p_value == scatter.p_value:  # nan: too few to tell
        bursts = "come in bursts" if scatter.p_value < SIGNIFICANCE else "show no bursts"
        yield f"counts {bursts} (index of dispersion {scatter.index:.3g}, p {scatter.p_value:.2g})"
    if recovery is not None:
        yield (
            f"{recovery.phase}: mean {format_time(recovery.mean_s)}, median {format_time(recovery.median_s)}, 90 % "
            f"within {format_time(recovery.quantile_90_s)} (of {recovery.seen:,})"
        )


def _of_laws(fitted: Fitted) -> Iterator[str]:
    laws = fitted.laws
    if fitted.exposure.lives.time_s.size == 0:
        return  # counts alone: said among the facts
    if laws is None:
        yield f"fewer than {FEWEST_FOR_A_LAW} different times to an interruption: no law can be told"
        return
    yield law_sentence(laws, fitted.exposure.lives.of)
    fit, name = laws.goodness, laws.choice.best.name
    verdict = "agrees" if fit.p_value >= SIGNIFICANCE else "does not agree"
    numbers = f"{fit.statistic_name} {fit.statistic:.3g}, p {fit.p_value:.2g}; {fit.method}"
    yield f"goodness of fit: {name} {verdict} ({numbers})"


def _of_trend(fitted: Fitted) -> str:
    trend = fitted.trend
    if trend is None:
        ordered = fitted.exposure.clock is not None
        return f"trend: not tested, {f'fewer than {FEWEST_FOR_A_TREND} of them' if ordered else 'they have no order'}"
    power = trend.power_law
    return (
        f"trend: {'the rate changes' if trend.changes else 'none found'} (Laplace {trend.laplace.u:.3g}, p "
        f"{trend.laplace.p_value:.2g}; Crow-AMSAA exponent {power.shape:.3g}, {power.shape_low:.3g} to "
        f"{power.shape_high:.3g}, growth {power.growth:.3g}, p {power.trend_p_value:.2g}; together p "
        f"{trend.p_value:.2g}){_at_end(trend)}"
    )


def _at_end(trend: Trend) -> str:
    """What the power law says of now, which matters only where the rate changes."""
    power = trend.power_law
    if not trend.changes or not power.mtbf_at_end < float("inf"):
        return ""
    limits = " to ".join(format_time_ends(power.mtbf_exact_low, power.mtbf_exact_high))
    return f"; by the power law the MTBF at the end is {format_time(power.mtbf_at_end)} ({limits})"
