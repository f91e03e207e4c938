"""What options and files say, put together as a study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ckptplan.cli.choices import finite, methods_named, one_of, with_strategies
from ckptplan.cli.sweep_specs import Found, found_in, read_all
from ckptplan.errors import InputError, Place, Problem, UsageError
from ckptplan.render.sweep_columns import ALWAYS
from ckptplan.spec.axes import WrittenAxis, axes_from_flags, refuse_repeated, refuse_too_many
from ckptplan.spec.reading import Spec
from ckptplan.spec.sweep_group import Asked, Names
from ckptplan.spec.sweep_members import Rebuilt
from ckptplan.sweep.evaluation import check
from ckptplan.sweep.measures import MEASURES, default_columns
from ckptplan.sweep.study import Each, Member, Study

GROUPS = {
    "shares": ("save_fraction", "rework_fraction", "restart_fraction", "slow_fraction", "waiting_fraction"),
    "run": ("expected_s", "sd_s", "p5_s", "p50_s", "p95_s", "failures", "saves"),
    "simulated": ("simulated_goodput", "simulated_goodput_error", "simulated_wall_s", "simulated_p95_s"),
}
_MONEY = ("money", "money_lost", "lost_money")
_LEAST_SHOWN = "goodput_typed"


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
    finite(options.price, "--gpu-hour-price")
    problems: list[Problem] = []
    flags = axes_from_flags(options.over, problems)
    refuse_repeated(((axis.axis.key, axis.place) for axis in flags), problems)
    if problems:
        raise InputError(problems)
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
    columns = _columns(asked, options, each, runs=runs, priced=price is not None)
    problems: list[Problem] = []
    refuse_too_many([axis.axis for axis in axes], len(found.texts), problems)
    if problems:
        raise InputError(problems)
    methods = _methods(asked, options)
    read = read_all(found.texts, axes, options.sets)
    keys = read[0][1]
    refuse_repeated(((key, axis.place) for key, axis in zip(keys, axes, strict=True)), problems)
    if problems:
        raise InputError(problems)
    hidden = tuple(name for name in ALWAYS if name not in columns)
    study = Study(
        members=_members(read, keys, _strategies(asked, options)),
        axes=tuple(axis.axis._replace(key=key) for axis, key in zip(axes, keys, strict=True)),
        columns=(*columns, *hidden),
        each=each,
        methods=methods,
        gpu_hour_price=price,
        runs=runs,
        seed=(asked.seed if options.seed is None else options.seed) or 0,
    )
    check(study)
    specs = tuple(spec for spec, _ in read)
    notes = [*found.notes, *(note for axis in axes for note in axis.notes)]
    inputs = tuple(dict.fromkeys((*found.files, *(name for spec in specs for name in spec.named))))
    warnings = [warning for spec in specs for warning in spec.warnings]
    return Planned(study, specs, hidden, inputs, (*notes, *warnings))


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


def _members(
    read: Sequence[tuple[Spec, tuple[str, ...]]], keys: Sequence[str], strategies: Sequence[str] | None
) -> tuple[Member, ...]:
    names = [spec.scenario.name for spec, _ in read]
    members: list[Member] = []
    for spec, own in read:
        scenario = with_strategies(spec.scenario, strategies)
        rebuilt = Rebuilt(spec, tuple(zip(keys, own, strict=True)), (scenario.strategies or ()) if strategies else ())
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
    if options.methods or asked.methods is None:
        return methods_named(options.methods)
    return methods_named(_checked(asked.methods, _method_names(), "sweep.methods"))


def _method_names() -> tuple[str, ...]:
    from ckptplan.plan import METHOD_NAMES

    return METHOD_NAMES


def _columns(asked: Asked, options: Options, each: Each, *, runs: int, priced: bool) -> tuple[str, ...]:
    """The columns to show."""
    valid = (*MEASURES, *GROUPS)
    if options.show is not None:
        words = [word.strip() for word in options.show.split(",") if word.strip()]
        if not words:
            raise UsageError("--show names no column", hint=f"for example --show interval_s,{_LEAST_SHOWN}")
        names = _spread(one_of(word, valid, "--show") for word in words)
    elif asked.show is not None:
        names = _spread(_checked(asked.show, valid, "sweep.show"))
    else:
        names = default_columns(each, simulated=runs > 0)
        names = (*names[:-1], "money_lost", names[-1]) if priced else names
    if options.price is not None and not set(_MONEY) & set(names):
        raise UsageError("--gpu-hour-price does nothing without a column of money", hint="add money_lost to --show")
    if options.runs is not None and not any(name.startswith("simulated_") for name in names):
        raise UsageError("--runs does nothing without a simulated column", hint="add simulated_goodput to --show")
    return names


def _spread(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for word in words for name in GROUPS.get(word, (word,))))


def _checked(names: Names, valid: Sequence[str], key: str) -> tuple[str, ...]:
    """Names that a file lists, if they are known."""
    problems = []
    for name, place in zip(names.names, names.places, strict=True):
        try:
            one_of(name, valid, key)
        except UsageError as error:
            problems.append(_unknown(error, place, key, name))
    if problems:
        raise InputError(problems)
    return names.names


def _unknown(error: UsageError, place: Place, key: str, name: str) -> Problem:
    from ckptplan.spec.hints import shown

    return Problem(f"{shown(name)} is not known", place, key, error.problems[0].hint)
