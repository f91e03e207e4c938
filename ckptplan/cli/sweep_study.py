"""What options and files say, put together as a study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ckptplan.cli.choices import methods_named, one_of, with_strategies
from ckptplan.cli.sweep_notes import MONEY, not_known_well, warnings_of, without_numbers
from ckptplan.cli.sweep_specs import Found, found_in, read_all
from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError, Problem, UsageError, printable
from ckptplan.render.sweep_columns import ALWAYS
from ckptplan.spec.axes import WrittenAxis, axes_from_flags, refuse_repeated, refuse_too_many
from ckptplan.spec.reading import Spec
from ckptplan.spec.sweep_group import Asked, unknown_names
from ckptplan.spec.sweep_members import Rebuilt
from ckptplan.sweep.evaluation import check
from ckptplan.sweep.measures import default_columns
from ckptplan.sweep.study import Each, Member, Study
from ckptplan.sweep.titles import columns_of, meant_by

_LEAST_SHOWN = "goodput_typed"
_MOST_TOLD = 3  # specs in one message


class Options(NamedTuple):
    """Options of the command as they were given; None leaves it to the file."""

    over: Sequence[str] = ()
    show: str | None = None
    each: str | None = None
    strategies: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    sets: Sequence[str] = ()
    price: float | None = None
    runs: int | None = None
    seed: int | None = None


class Planned(NamedTuple):
    """A study, the specs as read, columns that were added for the summary, inputs, and notes."""

    study: Study
    specs: tuple[Spec, ...]
    hidden: tuple[str, ...]
    inputs: tuple[str, ...]
    notes: tuple[str | Problem, ...]


def study_of(names: Sequence[str], options: Options) -> Planned:
    """The study that is asked for.

    Raises
    ------
    UsageError
        For options that cannot be.
    InputError
        With every fault of the axes and of the specs.
    """
    problems: list[Problem] = []
    flags = axes_from_flags(options.over, problems)
    refuse_repeated(((axis.axis.key, axis.place) for axis in flags), problems)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    _refuse_set_axes(flags, options.sets)
    found = found_in(names, has_axes=bool(flags))
    axes = _together(found.asked.axes, flags)
    if not axes:
        raise UsageError(
            "a sweep needs an axis, and none is given",
            hint="add --over cluster.gpus=1024..131072:log:8, or a sweep: group to the spec",
        )
    return _study(found, axes, options)


def _study(found: Found, axes: Sequence[WrittenAxis], options: Options) -> Planned:
    asked = found.asked
    price = asked.gpu_hour_price if options.price is None else options.price
    runs = (asked.runs if options.runs is None else options.runs) or 0
    each = Each(options.each or asked.each or Each.POINT)
    _refuse_unknown_names(asked, options)
    columns = _columns(asked, options, each, runs=runs, priced=price is not None)
    problems: list[Problem] = []
    refuse_too_many([axis.axis for axis in axes], len(found.texts), problems)
    if problems:
        raise InputError(problems)
    methods = _methods(asked, options)
    read = read_all(found.texts, axes, options.sets)
    for _, keys in read:
        refuse_repeated(((key, axis.place) for key, axis in zip(keys, axes, strict=True)), problems)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    kept, left_out = _wanted(read, _strategies(asked, options), "--strategy" if options.strategies else "strategies")
    hidden = tuple(name for name in ALWAYS if name not in columns)
    study = Study(
        members=_members(kept, [axis.axis.key for axis in axes]),
        axes=tuple(axis.axis for axis in axes),
        columns=(*columns, *hidden),
        each=each,
        methods=methods,
        gpu_hour_price=price,
        runs=runs,
        seed=(asked.seed if options.seed is None else options.seed) or 0,
    )
    check(study)
    specs = tuple(spec for spec, _ in read)
    notes = [*found.notes, *(note for axis in axes for note in axis.notes), *left_out]
    notes += [*not_known_well(kept, axes), *without_numbers(kept, study)]
    inputs = tuple(dict.fromkeys((*found.files, *(name for spec in specs for name in spec.named))))
    return Planned(study, specs, hidden, inputs, (*notes, *warnings_of([spec for spec, _, _ in kept])))


def _refuse_unknown_names(asked: Asked, options: Options) -> None:
    """Names in the file, where no option stands for them."""
    show = asked.show if options.show is None else None
    problems = list(unknown_names(asked._replace(show=show, methods=None if options.methods else asked.methods)))
    if problems:
        raise InputError(problems)


def _refuse_set_axes(axes: Sequence[WrittenAxis], sets: Sequence[str]) -> None:
    for text in sets:
        key = text.partition("=")[0].strip()
        if key == "sweep" or key.startswith("sweep."):
            raise UsageError(f"--set {key}: the options of this command say that", hint="--over, --show, --each, ...")
        if any(axis.axis.key == key for axis in axes):
            raise UsageError(f"{key} is set, and is an axis too", hint="leave --set out, or --over")


def _together(of_file: Sequence[WrittenAxis], flags: Sequence[WrittenAxis]) -> tuple[WrittenAxis, ...]:
    """The axes of the file, those of the same key replaced by options, and then the other options."""
    by_key = {axis.axis.key: axis for axis in (*of_file, *flags)}
    return tuple(by_key.values())


def _wanted(
    read: Sequence[tuple[Spec, tuple[str, ...]]], names: Sequence[str] | None, said: str
) -> tuple[list[tuple[Spec, Scenario, tuple[str, ...]]], list[str]]:
    """Each spec with its scenario of those of the strategies asked for that it has; one without any is left out."""
    if not names:
        return [(spec, spec.scenario, keys) for spec, keys in read], []
    ways = [_ways(spec.scenario) for spec, _ in read]
    _refuse_unknown_strategies(said, names, [(spec.file, has) for (spec, _), has in zip(read, ways, strict=True)])
    kept, notes = [], []
    for (spec, keys), has in zip(read, ways, strict=True):
        own = [name for name in names if name in has]
        if own:
            kept.append((spec, with_strategies(spec.scenario, own), keys))
        else:
            notes.append(f"{printable(spec.file)} is left out: it has {printable(_listed(has))} only")
    return kept, notes


def _ways(scenario: Scenario) -> tuple[str, ...]:
    from ckptplan.plan.chosen import ways_of_saving

    # Without tiers the names are known before any cost is.
    return ways_of_saving(scenario) if scenario.storage.tiers else tuple(save.name for save in scenario.saves)


def _refuse_unknown_strategies(said: str, names: Sequence[str], ways: Sequence[tuple[str, Sequence[str]]]) -> None:
    every = tuple(dict.fromkeys(name for _, has in ways for name in has))
    for name in names:
        if name not in every and len(ways) > 1:
            told = "; ".join(f"{file} has {_listed(has)}" for file, has in ways[:_MOST_TOLD])
            raise UsageError(f"{said} {printable(name)}: no spec has it", hint=printable(told))
        one_of(name, every, said)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _members(read: Sequence[tuple[Spec, Scenario, tuple[str, ...]]], keys: Sequence[str]) -> tuple[Member, ...]:
    names = [scenario.name for _, scenario, _ in read]
    members: list[Member] = []
    for spec, scenario, own in read:
        rebuilt = Rebuilt(spec, tuple(zip(keys, own, strict=True)), scenario.strategies or ())
        name = f"{scenario.name} ({spec.file})" if names.count(scenario.name) > 1 else scenario.name
        while any(name == member.name for member in members):  # the same file twice
            name += " again"
        members.append(Member(name, scenario, rebuilt, spec.si, rebuilt.along))
    return tuple(members)


def _strategies(asked: Asked, options: Options) -> Sequence[str] | None:
    if options.strategies or asked.strategies is None:
        return options.strategies
    return asked.strategies.names


def _methods(asked: Asked, options: Options) -> tuple[str, ...] | None:
    return methods_named(options.methods or (None if asked.methods is None else asked.methods.names))


def _columns(asked: Asked, options: Options, each: Each, *, runs: int, priced: bool) -> tuple[str, ...]:
    """The columns to show."""
    if options.show is not None:
        words = [word.strip() for word in options.show.split(",") if word.strip()]
        if not words:
            raise UsageError("--show names no column", hint=f"for example --show interval_s,{_LEAST_SHOWN}")
        names = _spread(words)
    elif asked.show is not None:
        names = _spread(asked.show.names)
    else:
        names = default_columns(each, simulated=runs > 0)
        names = (*names[:-1], "money_lost", names[-1]) if priced else names
    if options.price is not None and not set(MONEY) & set(names):
        raise UsageError("--gpu-hour-price does nothing without a column of money", hint="add money_lost to --show")
    if options.runs is not None and not any(name.startswith("simulated_") for name in names):
        raise UsageError("--runs does nothing without a simulated column", hint="add simulated_goodput to --show")
    return names


def _spread(words: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for word in words:
        columns = columns_of(word)
        if not columns:
            raise UsageError(f"--show {printable(word)}: not known", hint=meant_by(word))
        found += columns
    return tuple(dict.fromkeys(found))
