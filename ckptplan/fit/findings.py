"""What a reader must know before trusting a fitted rate, in sentences, each with its remedy."""

from datetime import UTC, datetime

from ckptplan.cost.scenario import LawName
from ckptplan.fit.counting import COUNTED, SIGNIFICANCE, Per
from ckptplan.fit.fitting import Fitted, Laws
from ckptplan.fit.record import Outcome
from ckptplan.units import format_time, format_time_ends

FEW = 5  # failures below which half or double the MTBF lies well within the interval
_TOGETHER = 0.8  # moments per failure, below which failures did not come by themselves
_ROUNDING_SHOWS = 100_000  # failures
UNITS = {Per.JOB: "job", Per.NODE: "node", Per.GPU: "GPU"}
_SINGULAR = {Outcome.FAILURE: "failure", Outcome.PREEMPTED: "preemption", Outcome.MAINTENANCE: "maintenance"}
_NAMES = {outcome: word for word, outcome in COUNTED.items()}


def findings(fitted: Fitted) -> tuple[str, ...]:
    """Warnings of a fitted record, the weightiest first.

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    tuple of str
        Those of the record itself, then what the count, the trend, the scatter and the laws say.
    """
    return (*fitted.record.warnings, *_count(fitted), *_trend(fitted), *_scatter(fitted), *_agreement(fitted))


def date_text(at_s: float) -> str:
    """A time on the calendar, to the minute, in UTC."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def names_of(outcomes: frozenset[Outcome], count: int | None = None) -> str:
    """``failures and preemptions``: what is counted; ``1 failure`` with its number."""
    words = [_NAMES[one] for one in _NAMES if one in outcomes]
    if count is None:
        return " and ".join(words)
    if count == 1:
        return f"1 {' or '.join(_SINGULAR[one] for one in _SINGULAR if one in outcomes)}"
    return f"{count:,} {' and '.join(words)}"


def _count(fitted: Fitted) -> tuple[str, ...]:
    rate, found = fitted.rate, fitted.exposure
    what, unit, level = names_of(found.outcomes), UNITS[found.per], f"{100 * rate.level:.10g} %"
    said: list[str] = []
    if Outcome.FAILURE not in found.outcomes:
        said.append(f"counted: {what}, no failures: add those of another record, or say --count failures")
    if rate.failures == 0:
        said.append(
            f"no {what} counted in {format_time(rate.exposure_s)} of one {unit}: the MTBF is above "
            f"{format_time(rate.low_s)} ({level}), and not known; give a longer record, or --since and --until"
        )
    elif rate.failures < FEW:
        low, high = format_time_ends(rate.low_s, rate.high_s)
        said.append(
            f"only {names_of(found.outcomes, rate.failures)}: the MTBF of one {unit} lies between {low} and {high} "
            f"({level}); plan for the lower end too, or give a longer record"
        )
    return tuple(said)


def _trend(fitted: Fitted) -> tuple[str, ...]:
    trend = fitted.trend
    if trend is None or not trend.changes:
        return ()
    text = (
        f"the rate changes over the record (p {trend.p_value:.2g} for a constant one; Laplace {trend.laplace.u:.3g}, "
        f"power law with exponent {trend.power_law.shape:.3g}): the interval of a constant rate is not valid"
    )
    if _is_bursty(fitted):
        text += "; failures also come in bursts, which makes such tests too ready to see a change"
    if trend.recent is None or fitted.recent_rate is None:
        return (f"{text}; give a shorter, later record",)
    recent, per = fitted.recent_rate, UNITS[fitted.exposure.per]
    since = date_text(trend.recent_from_s) if fitted.record.on_calendar and trend.recent_from_s is not None else None
    part = f"since {since}" if since else f"in the last {format_time(recent.exposure_s)} of one {per}"
    if recent.failures == 0:
        return (f"{text}; {part} none came, which gives no rate: give a longer record",)
    counted = f"{names_of(fitted.exposure.outcomes, recent.failures)}, one in {format_time(recent.mtbf_s)} per {per}"
    return (f"{text}; {part} it is steady: {counted} (--recent counts these alone)",)


def _scatter(fitted: Fitted) -> tuple[str, ...]:
    scatter, clock = fitted.dispersion, fitted.exposure.clock
    if clock is not None and 0 < clock.distinct_s.size < _TOGETHER * clock.instants_s.size:
        moments, failures = clock.distinct_s.size, clock.instants_s.size
        at = "1 moment" if moments == 1 else f"{moments:,} moments"
        what = names_of(fitted.exposure.outcomes, failures)
        return (
            f"{what} came at {at}, so that they had common causes: the interval of the MTBF takes them to be "
            f"independent and is about {(failures / moments) ** 0.5:.2g} times too narrow",
        )
    changes = fitted.trend is not None and fitted.trend.changes
    if scatter is None or changes or not _is_bursty(fitted):
        return ()
    return (
        f"failures come in bursts (their count varies {scatter.index:.2g} times as much as that of independent ones, p "
        f"{scatter.p_value:.2g}): the interval of the MTBF is about {scatter.widening:.2g} times too narrow; a longer "
        "--merge counts a burst once",
    )


def _is_bursty(fitted: Fitted) -> bool:
    return fitted.dispersion is not None and fitted.dispersion.p_value < SIGNIFICANCE


def _agreement(fitted: Fitted) -> tuple[str, ...]:
    laws = fitted.laws
    if laws is None:
        return ()
    said = []
    if laws.goodness.p_value < SIGNIFICANCE:
        rounding = ""
        if fitted.rate.failures >= _ROUNDING_SHOWS:
            rounding = "; among so many times even their rounding to whole seconds shows"
        said.append(
            f"the best of the four laws, {laws.choice.best.name}, does not agree with the times either "
            f"({laws.goodness.statistic_name}, p {laws.goodness.p_value:.2g}){rounding}: trust the mean, not the shape"
        )
    if fitted.exposure.lives.sizes_differ and laws.choice.best.name is not LawName.EXPONENTIAL:
        said.append(
            "jobs had different sizes, so that the shape is that of times scaled to the mean size; "
            "it is exact for exponential failures alone"
        )
    return tuple(said)


def law_sentence(laws: Laws, of: str) -> str:
    """Which law, and whether others do as well."""
    best, shaped = laws.choice.best, laws.shaped
    tied = [str(one.name) for one in laws.choice.tied if one.name is not best.name]
    symbol = "sigma" if shaped.name is LawName.LOGNORMAL else "shape"
    shape = f"{symbol} {shaped.shape:.4g}, by profile likelihood {laws.shape_low:.3g} to {laws.shape_high:.3g}"
    text = f"times of one {of} to an interruption: {best.name}"
    text += f" (a Weibull law would have {shape})" if best is not shaped else f" with {shape}"
    return f"{text}; tied with {_listed(tied)}: their AIC differ by less than 2" if tied else text


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
