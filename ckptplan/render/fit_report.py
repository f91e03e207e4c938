"""A fitted record for people: the rate first, then what was counted, laws, trend, and the keys to paste."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ckptplan.errors import printable
from ckptplan.fit.counting import Per
from ckptplan.fit.exposure import Exposure
from ckptplan.fit.findings import law_sentence, names_of
from ckptplan.fit.fitting import FEWEST_FOR_A_LAW, FEWEST_FOR_A_TREND, Fitted, Rate, Trend, per_gpu
from ckptplan.fit.planning import RecordedFailures
from ckptplan.render.fit_sheet import ends_sheet, law_sheet
from ckptplan.render.numbers import duration, whole
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Sheet, to_markdown
from ckptplan.units import HOUR_S, format_time

_ALPHA = 0.05
_MOST_CAUSES = 12
_UNITS = {Per.JOB: "job", Per.NODE: "node", Per.GPU: "GPU"}


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
    parts.append("To paste into a spec\n" + "".join(f"  {line}\n" for line in page.block.splitlines()))
    return "\n".join(part for part in parts if part)


def markdown(page: FitPage) -> str:
    """The same as Markdown."""
    first, *rest = answers(page)
    parts = [f"## {first}\n", *(f"{text}\n" for text in rest)]
    parts.append("What was counted:\n\n" + "".join(f"- {text}\n" for text in _counted(page.fitted)))
    for title, sheet in _sheets(page.fitted):
        parts += [title + "\n", to_markdown(sheet)]
    parts.append("What it says of the times:\n\n" + "".join(f"- {text}\n" for text in _times(page.fitted)))
    parts.append(f"```yaml\n{page.block}```\n")
    return "\n".join(parts)


def answers(page: FitPage) -> list[str]:
    """The rate of the unit that was counted, and of the planned job."""
    fitted, found = page.fitted, page.fitted.exposure
    what, unit = names_of(found.outcomes), _UNITS[found.per]
    said = [f"{printable(fitted.record.file)}: {_one_every(fitted.rate, f'one {unit}', what)}"]
    if fitted.recent_rate is not None:
        said.append(f"the latest part alone: {_one_every(fitted.recent_rate, f'one {unit}', what)}")
    by_gpu = per_gpu(1.0, found)
    if found.per is not Per.GPU and by_gpu is not None:
        said.append(f"per GPU: one every {duration(fitted.rate.mtbf_s * by_gpu)}" if fitted.rate.failures else "")
    if page.planned_gpus is not None:
        said.append(_planned(page, by_gpu))
    return [text for text in said if text]


def _one_every(rate: Rate, subject: str, what: str) -> str:
    """How often, and how well that is known."""
    level = f"{100 * rate.level:g} %"
    if rate.failures == 0:
        return f"no {what}; {subject} goes more than {format_time(rate.low_s)} without ({level}, one-sided)"
    number = f"{rate.failures:,} {what if rate.failures > 1 else _singular(what)}"
    return f"{number}; {subject} has one every {_range(rate)}, exact for a constant rate)"


def _range(rate: Rate) -> str:
    high = duration(rate.high_s) if rate.high_s < float("inf") else "no bound"
    return f"{duration(rate.mtbf_s)} ({100 * rate.level:g} %: {duration(rate.low_s)} to {high}"


def _singular(what: str) -> str:
    return " and ".join(word.removesuffix("s") for word in what.split(" and "))


def _planned(page: FitPage, by_gpu: float | None) -> str:
    """The planned job, by the whole record and by its latest part."""
    gpus, fitted = page.planned_gpus or 1, page.fitted
    if by_gpu is None:
        hint = "add --recorded-gpus N or --gpus-per-node N"
        return f"how often a job of {gpus:,} GPUs is interrupted is not known: {hint}"
    whole_record = _scaled(fitted.rate, by_gpu / gpus)
    if fitted.rate.failures == 0:
        return f"a job of {gpus:,} GPUs goes more than {format_time(whole_record.low_s)} without"
    text = f"a job of {gpus:,} GPUs has one every {_range(whole_record)})"
    if fitted.recent_rate is None:
        return text
    return f"{text}; by the latest part one every {_range(_scaled(fitted.recent_rate, by_gpu / gpus))})"


def _scaled(rate: Rate, scale: float) -> Rate:
    return rate._replace(mtbf_s=rate.mtbf_s * scale, low_s=rate.low_s * scale, high_s=rate.high_s * scale)


def _counted(fitted: Fitted) -> Iterator[str]:
    record, found = fitted.record, fitted.exposure
    used = record.rows - sum(one.rows for one in record.left_out)
    yield f"{whole(record.rows)} rows read ({printable(record.format)}), {whole(used)} used"
    for one in record.left_out:
        yield f"left out: {whole(one.rows)} {printable(one.reason)}"
    what = names_of(found.outcomes)
    yield f"{whole(found.events)} {what} before merging, {whole(found.failures)} after it"
    yield f"estimated: {_estimated(found)}; {found.exposure_s / HOUR_S:,.5g} {_UNITS[found.per]}-hours at risk"
    sizes = [f"{size:,.4g} {name}" for size, name in ((found.nodes, "nodes"), (found.gpus, "GPUs")) if size is not None]
    if sizes:
        whose = "mean size of a job" if found.lives.of == "run" else "watched"
        yield f"{whose}: {' with '.join(sizes)}"
    if record.zone is not None and not any("zone" in fact for fact in fitted.facts):
        yield f"stamps without a zone are read as {printable(record.zone)}"
    for fact in fitted.facts:
        yield printable(fact)


def _estimated(found: Exposure) -> str:
    unit = _UNITS[found.per]
    if found.per is Per.JOB:
        return "interruptions of one job" if found.lives.of == "run" else "interruptions of this job"
    if found.lives.of == "run":
        return f"failures per {unit}, each run by the {unit}-hours that it had"
    return f"failures per {unit}, over the up time of all nodes" if found.lives.of == "node" else f"failures per {unit}"


def _sheets(fitted: Fitted) -> Iterator[tuple[str, Sheet]]:
    ends = ends_sheet(fitted, most=_MOST_CAUSES)
    if ends is not None:
        yield "Ends by cause (share: of those counted):", ends
    laws = law_sheet(fitted)
    if laws is not None:
        yield "Laws of the time to an interruption (maximum likelihood, right-censored):", laws


def _times(fitted: Fitted) -> Iterator[str]:
    yield from _of_laws(fitted)
    yield _of_trend(fitted)
    scatter, recovery = fitted.dispersion, fitted.recovery
    if scatter is not None and scatter.p_value == scatter.p_value:  # nan: too few to tell
        bursts = "come in bursts" if scatter.p_value < _ALPHA else "show no bursts"
        yield f"counts {bursts} (index of dispersion {scatter.index:.3g}, p {scatter.p_value:.2g})"
    if recovery is not None:
        yield (
            f"{recovery.phase}: mean {format_time(recovery.mean_s)}, median {format_time(recovery.median_s)}, 90 % "
            f"within {format_time(recovery.most_s)} (of {recovery.seen:,})"
        )


def _of_laws(fitted: Fitted) -> Iterator[str]:
    laws = fitted.laws
    if laws is None:
        yield f"fewer than {FEWEST_FOR_A_LAW} different times to an interruption: no law can be told"
        return
    yield law_sentence(laws, fitted.exposure.lives.of)
    fit, name = laws.goodness, laws.choice.best.name
    verdict = "agrees" if fit.p_value >= _ALPHA else "does not agree"
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
    limits = f"{format_time(power.mtbf_exact_low)} to {format_time(power.mtbf_exact_high)}"
    return f"; by the power law the MTBF at the end is {format_time(power.mtbf_at_end)} ({limits})"
