"""The report of ``ckptplan compare``: which run loses less and why, then inputs and results side by side."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from typing import Any, NamedTuple

from ckptplan import __version__
from ckptplan.errors import printable
from ckptplan.plan.comparison.inputs import Input, Side
from ckptplan.plan.comparison.record import Comparison, Outcome
from ckptplan.plan.progress import makes_progress
from ckptplan.render.comparison_sheet import causes_sheet, inputs_sheet, price, results_sheet
from ckptplan.render.marking import bullets, sentences
from ckptplan.render.numbers import hundredths, percent, quantity, signed, whole
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Sheet, to_markdown

_SHOWN = 3  # causes that the answer names


class Compared(NamedTuple):
    """A comparison with the specs that it is of: their files, their values, and what differs between these."""

    made: Comparison
    files: tuple[str, str]
    specs: tuple[dict[str, Any], dict[str, Any]]
    inputs: tuple[Input, ...]
    equal: int
    gpu_hour_price: float | None = None


def comparison_document(all_: Compared) -> dict[str, Any]:
    """The JSON document ``ckptplan.comparison/1``."""
    made = all_.made
    sides = zip(all_.files, all_.specs, made.outcomes, strict=True)
    first, second = ({"file": file, "spec": spec, **outcome._asdict()} for file, spec, outcome in sides)
    return {
        "schema": "ckptplan.comparison/1",
        "ckptplan": __version__,
        "gpu_hour_price": all_.gpu_hour_price,
        "first": first,
        "second": second,
        "difference": made.difference,
        "causes": [{"cause": one.name, **one._asdict(), "groups": list(one.groups)} for one in made.causes],
        "losses": [one._asdict() for one in made.losses],
        "inputs": [{"key": one.label, "first": _side(one.first), "second": _side(one.second)} for one in all_.inputs],
        "equal_inputs": all_.equal,
        "mixed": made.mixed,
        "orders": made.orders,
        "notes": list(made.notes),
        "warnings": list(made.warnings),
    }


def _side(side: Side | None) -> dict[str, Any] | None:
    return None if side is None else side._asdict()


def report(all_: Compared, screen: Screen) -> str:
    """The whole report for people."""
    parts = [screen.lines(titles(all_)), screen.lines(answers(all_))]
    for sheet, title in _tables(all_):
        parts += [screen.paragraph(title) + "\n", screen.table(sheet)]
    parts.append(screen.bullets("How to read this", map(printable, all_.made.notes)))
    return "\n".join(part for part in parts if part)


def markdown(all_: Compared) -> str:
    """The same as Markdown."""
    parts = [bullets([*titles(all_), *answers(all_)])]
    for sheet, title in _tables(all_):
        parts += [*sentences([title]), to_markdown(sheet)]
    if all_.made.notes:
        parts.append(f"How to read this:\n\n{bullets(all_.made.notes)}")
    return "\n".join(parts)


def _tables(all_: Compared) -> Iterator[tuple[Sheet, str]]:
    equal = f"{all_.equal:,} value{'' if all_.equal == 1 else 's'} in force {'is' if all_.equal == 1 else 'are'} equal"
    if all_.inputs:
        yield inputs_sheet(all_.inputs, all_.files), f"What differs in the input ({equal} and left out):"
    yield results_sheet(all_.made), "What differs in the result:" if all_.made.causes else "The result:"
    if all_.made.causes:
        yield causes_sheet(all_.made), "Why: points of goodput that each cause makes for B:"


def titles(all_: Compared) -> list[str]:
    """Which run is A, and which is B."""
    pairs = zip("AB", all_.made.outcomes, all_.files, strict=True)
    return [f"{side}: {printable(one.name)} ({printable(file)}, {_gpus(one.gpus)})" for side, one, file in pairs]


def answers(all_: Compared) -> list[str]:
    """Which loses less, why, and what that is worth."""
    made = all_.made
    if not (all_.inputs or made.causes or made.silent):
        return [f"both are the same: none of {all_.equal:,} values in force differs; goodput {_goodput(made, 0)}"]
    if not any(makes_progress(one.goodput) for one in made.outcomes):
        return [f"neither makes any progress: goodput {_goodput(made, 0)} in A, {_goodput(made, 1)} in B"]
    return [_winner(made), *_reasons(made), *_useful(made), *_hours(made)]


def _goodput(made: Comparison, side: int) -> str:
    return percent(made.outcomes[side].goodput)


def _winner(made: Comparison) -> str:
    if made.difference == 0.0:
        return f"neither loses less: goodput {_goodput(made, 0)} in both"
    better = int(made.difference > 0.0)
    return (
        f"{'AB'[better]} loses less: goodput {_goodput(made, better)} against {_goodput(made, 1 - better)}, "
        f"{hundredths(abs(made.difference))} points more"
    )


def _reasons(made: Comparison) -> Iterator[str]:
    telling = [cause for cause in made.causes if cause.goodput != 0.0]
    if not telling:
        yield "nothing that differs changes the goodput"
        return
    first, *others = telling[:_SHOWN]
    if len(made.causes) == 1:
        yield f"the only cause: {first.name}"
        return
    text = f"largest cause: {first.name}, {signed(first.goodput)} points for B"
    if others:
        text += f"; then {', '.join(f'{cause.name} {signed(cause.goodput)}' for cause in others)}"
    yield text


def _useful(made: Comparison) -> Iterator[str]:
    a, b = made.outcomes
    if a.gpus == b.gpus:
        return
    text = (
        f"sizes differ: the {_gpus(a.gpus)} of A do the work of {whole(a.useful_gpus)}, the {_gpus(b.gpus)} of B that "
        f"of {whole(b.useful_gpus)}"
    )
    if made.difference * (b.useful_gpus - a.useful_gpus) < 0.0:
        loser = "A" if made.difference > 0.0 else "B"
        text += f"; {loser} does more, although it loses a larger part"
    yield text


def _hours(made: Comparison) -> Iterator[str]:
    a, b = made.outcomes
    if a.lost_gpu_hours is None and b.lost_gpu_hours is None:
        return
    text = f"over the run A loses {_lost(a)} and B {_lost(b)}"
    if a.lost_gpu_hours is None or b.lost_gpu_hours is None or not all(makes_progress(one.goodput) for one in (a, b)):
        yield text
    elif not _same_work(a, b):
        yield f"{text}; their work differs, so compare the shares, not the hours"
    else:
        saved = b.lost_gpu_hours - a.lost_gpu_hours
        money = (
            "" if a.lost_money is None or b.lost_money is None else f", worth {price(abs(b.lost_money - a.lost_money))}"
        )
        yield f"{text}: {whole(abs(saved))} fewer with {'B' if saved < 0.0 else 'A'}{money}" if saved else text


def _same_work(a: Outcome, b: Outcome) -> bool:
    """Whether both runs are so many useful GPU-hours."""
    return a.work_s is not None and b.work_s is not None and isclose(a.gpus * a.work_s, b.gpus * b.work_s, rel_tol=1e-9)


def _lost(one: Outcome) -> str:
    if not makes_progress(one.goodput):
        return "all that it is given (it makes no progress)"
    if one.work_s is None:
        return "an unknown number (no training.duration)"
    if one.lost_gpu_hours is None:
        return "more than a run of 10,000 years takes"
    money = "" if one.lost_money is None else f" worth {price(one.lost_money)}"
    return f"{whole(one.lost_gpu_hours)} of {whole(one.gpu_hours)} GPU-hours{money}"


def _gpus(count: int) -> str:
    return quantity(count, "GPU") if count < 10_000 else f"{whole(count)} GPUs"
