"""The failure classes: each with one rate, shares that do not exceed the whole, and what excludes classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckptplan.cost.classes import BUILT_IN, FailureClass, FailureKind, Loss
from ckptplan.spec.hints import shown
from ckptplan.spec.schema import RESTART_PHASES
from ckptplan.spec.schema_faults import CLASS_PHASES, CLASS_RATES, KINDS_OF_KEY, RESERVED_NAMES

if TYPE_CHECKING:
    from ckptplan.spec.record import Record

_GROUP = "failures.classes"
_SLOWDOWN = 0.06  # steps of 111 s instead of 105 s (BigScience chronicles, 2022)
_HOST_MEMORY = "write storage.tiers with kind: host memory, or delete this key"
_ROUNDING = 1e-6  # counts over a total, or percents that were rounded to all digits printed


def build_classes(record: Record) -> tuple[FailureClass, ...]:
    """The classes; what is at fault is noted and left out."""
    count = record.fields.lengths.get(_GROUP, 0)
    if count == 0:
        return ()
    _refuse_equal_names(record)
    found = [_class(record, f"{_GROUP}[{index}]") for index in range(count)]
    classes = tuple(one for one in found if one is not None)
    if len(classes) == count:
        _check_the_sum(record, classes)
    return classes


def _kind(record: Record, path: str) -> FailureKind | None:
    given = record.fields.given.get(f"{path}.kind")
    if given is not None:
        return FailureKind(str(given.si))
    return None if record.fields.may_have(path, "kind") else FailureKind.CRASH


def _name(record: Record, path: str) -> str | None:
    given = record.fields.given.get(f"{path}.name")
    if given is not None:
        return str(given.si)
    kind = _kind(record, path)
    return None if kind is None or f"{path}.name" in record.fields.faulty else str(kind)


def names_of_classes(record: Record) -> list[str | None]:
    """Names as written, with None for one that cannot be told; also of classes that are at fault otherwise."""
    return [_name(record, f"{_GROUP}[{index}]") for index in range(record.fields.lengths.get(_GROUP, 0))]


def _refuse_equal_names(record: Record) -> None:
    first: dict[str, int] = {}
    for index, name in enumerate(names_of_classes(record)):
        path = f"{_GROUP}[{index}]"
        at = f"{path}.name" if record.fields.has(f"{path}.name") else path
        if name in RESERVED_NAMES:
            record.fields.fault(at, f"the name {name} is kept for {RESERVED_NAMES[name]}", "give it another name")
        elif name is not None and first.setdefault(name, index) != index:
            message = f"the name {shown(name)} is taken by classes[{first[name]}]"
            record.fields.fault(at, message, "give every class its own name")


def _class(record: Record, path: str) -> FailureClass | None:
    """One class, or None if a fault of it was noted."""
    fields = record.fields
    kind = _kind(record, path)
    if kind is None or not fields.sound(path):
        return None
    _refuse_foreign_keys(record, path, kind)
    _check_the_recovery(record, path)
    rate = _rate(record, path)
    if kind is FailureKind.SPIKE and not fields.may_have("training", "step_time"):
        message = "a loss spike goes back by steps, whose time is not known"
        fields.fault(path, message, "write training: {step_time: 5 s}")
    if not fields.whole(path):
        return None
    name = record.take(f"{path}.name", str(kind))
    record.take(f"{path}.kind", str(kind))
    return _of_kind(record, path, FailureClass(name, kind, *rate))


def _of_kind(record: Record, path: str, one: FailureClass) -> FailureClass:
    """The class with all that its kind has."""
    kind, built_in = one.kind, BUILT_IN[one.kind]
    found = one._replace(
        detect_s=_detect(record, path, kind),
        phases_s={
            phase: record.take(f"{path}.{phase}") for phase in CLASS_PHASES if record.fields.has(f"{path}.{phase}")
        },
        total_s=_optional(record, f"{path}.total"),
        loses=Loss(record.take(f"{path}.loses", str(built_in.loses))),
        notice_s=0.0 if built_in.notice_s is None else _notice(record, path, built_in.notice_s),
        slowdown=record.take(f"{path}.slowdown", _SLOWDOWN) if kind is FailureKind.SLOW else 0.0,
        detect_is_fixed=_optional(record, f"{path}.detect_delay") == "fixed",
    )
    if kind is not FailureKind.SPIKE:
        return found
    return found._replace(
        back_steps=record.take(f"{path}.back_steps", built_in.back_steps),
        lag_steps=record.take(f"{path}.lag_steps", built_in.lag_steps),
        skipped_batches=record.take(f"{path}.skipped_batches", built_in.skipped_batches),
    )


def _notice(record: Record, path: str, built_in_s: float) -> float:
    """The notice; planned work is announced early enough whatever the save takes."""
    if record.fields.has(f"{path}.notice") or built_in_s < float("inf"):
        return float(record.take(f"{path}.notice", built_in_s))
    record.take(f"{path}.notice", text="always enough")
    return built_in_s


def _detect(record: Record, path: str, kind: FailureKind) -> float | None:
    """Until it is noticed: as given, by the watchdog for a hang, else by kind."""
    if record.fields.has(f"{path}.detect"):
        given_s: float | None = _optional(record, f"{path}.detect")
        return given_s
    default_s = BUILT_IN[kind].detect_s
    if kind is FailureKind.HANG and record.fields.has("failures.watchdog.timeout"):
        given = record.fields.given.get("failures.watchdog.timeout")
        default_s = default_s if given is None else float(given.si)  # type: ignore[arg-type]
        record.take(f"{path}.detect", default_s, origin="failures.watchdog.timeout")
    elif default_s is not None:
        record.take(f"{path}.detect", default_s)
    return default_s


def _optional(record: Record, path: str) -> Any:
    return record.take(path) if record.fields.has(path) else None


def _rate(record: Record, path: str) -> tuple[float | None, float | None, float | None]:
    """Share, own mean time between, own MTBF per GPU: exactly one of them."""
    fields = record.fields
    found = [name for name in CLASS_RATES if fields.has(f"{path}.{name}")]
    if len(found) != 1:
        if found:
            message = f"{' and '.join(found)} are given, but one rate is wanted"
            fields.fault(f"{path}.{found[-1]}", message, f"keep one of {', '.join(CLASS_RATES)}")
        elif not fields.may_have(path, *CLASS_RATES):
            fields.fault(path, "its rate is missing", "write share: 10 %, or every: 21 h")
        return None, None, None
    value = record.take(f"{path}.{found[0]}")
    if found[0] == "count":
        return _share_of_count(record, path, value), None, None
    if found[0] == "share":
        return value, None, None
    return (None, value, None) if found[0] == "every" else (None, None, value)


def _share_of_count(record: Record, path: str, count: float | None) -> float | None:
    """A count over the interruptions that the source counts."""
    given = record.fields.given.get("failures.interruptions.count")
    if given is None or not isinstance(given.si, int | float):
        if record.fields.sound("failures", "failures.preset", "failures.interruptions", "failures.interruptions.count"):
            message = "a count is of the interruptions, which are not counted here"
            record.fields.fault(f"{path}.count", message, "write share: 10 %")
        return None
    if count is None:
        return None
    if count > given.si:
        message = f"more than failures.interruptions.count, which is {given.si:,.12g}"
        record.fields.fault(f"{path}.count", message, "write a part of that count")
        return None
    return count / given.si if count else 0.0


def _refuse_foreign_keys(record: Record, path: str, kind: FailureKind) -> None:
    if kind is FailureKind.SPIKE and record.fields.has(f"{path}.detect"):
        message = "a loss spike is noticed after a number of steps, not after a time"
        record.fields.fault(f"{path}.detect", message, "write lag_steps: 10")
    for key, kinds in KINDS_OF_KEY.items():
        if str(kind) not in kinds and record.fields.has(f"{path}.{key}"):
            message = f"belongs to {' and '.join(kinds)}; the kind here is {kind}"
            record.fields.fault(f"{path}.{key}", message, f"write kind: {kinds[0]}, or delete this key")


def _check_the_recovery(record: Record, path: str) -> None:
    """A total or phases; some phases over a total of the spec would silently make the others 0 s."""
    fields = record.fields
    phases = [phase for phase in CLASS_PHASES if fields.has(f"{path}.{phase}")]
    missing = [phase for phase in CLASS_PHASES if phase not in phases]
    if fields.has(f"{path}.total") and phases:
        message = f"total and {', '.join(phases)} are given, but one or the other is wanted"
        fields.fault(f"{path}.total", message, "keep the total, or the phases")
        return
    of_restart = any(fields.has(f"restart.{phase}") for phase in RESTART_PHASES)
    if phases and missing and not of_restart and fields.whole("restart"):
        giver = "restart gives a total" if fields.has("restart.total") else "restart is left out"
        message = f"{giver}; with {' and '.join(phases)} alone, {', '.join(missing)} would be 0 s"
        fields.fault(f"{path}.{phases[0]}", message, f"write total: 10 min, or {', '.join(missing)} as well")


def refuse_what_a_spectrum_excludes(record: Record, written: list[str]) -> None:
    """What ``written`` names is counted for exponential failures, of which classes and tiers say what survives."""
    fields = record.fields
    here = " and ".join([", ".join(written[:-1]), written[-1]] if written[1:] else written)
    law, survives = (fields.given.get(f"failures.{name}") for name in ("law.name", "host_copy_survives"))
    if law is not None and law.si != "exponential":
        message = (
            f"{here} {'is' if written == ['verification'] else 'are'} counted for exponential failures, not {law.si}"
        )
        fields.fault("failures.law", message, f"delete failures.law, or {here}")
    if survives is not None:
        message = f"not counted beside {here}: classes say what a failure loses, and tiers what survives it"
        fields.fault("failures.host_copy_survives", message, _HOST_MEMORY)


def _check_the_sum(record: Record, classes: tuple[FailureClass, ...]) -> None:
    total = sum(one.share or 0.0 for one in classes)
    if total > 1.0 + _ROUNDING:
        message = f"the shares sum to {100 * total:.4g} %, more than the whole"
        record.fields.fault(_GROUP, message, "write shares that sum to 100 % or less; the rest is a crash named other")
