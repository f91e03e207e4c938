"""What is said beside a sweep: inputs that are not known well, and columns that stay empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckptplan.cli.sweep_specs import in_files
from ckptplan.cost.scenario import Scenario
from ckptplan.errors import Problem, printable
from ckptplan.spec.axes import WrittenAxis
from ckptplan.spec.reading import Spec
from ckptplan.sweep.measures import MEASURES, Source
from ckptplan.sweep.study import INTERVAL, Study

MONEY = ("money", "money_lost", "lost_money")
_OF_GIVEN = ("lost_goodput", "lost_gpu_hours", "lost_money")
_OF_WORK = (*MONEY, "gpu_hours", "gpu_hours_lost", "lost_gpu_hours")


def not_known_well(
    kept: Sequence[tuple[Spec, Scenario, tuple[str, ...]]], axes: Sequence[WrittenAxis]
) -> Iterator[str]:
    """Few failures, unless they are what is swept, and ranges; a sentence about one of several specs names it."""
    from ckptplan.cli import uncertainty

    of_failures = any(axis.path[0] == "failures" for axis in axes)
    for spec, scenario, _ in kept:
        for text in uncertainty.of_ranges(spec) if of_failures else uncertainty.not_known_well(spec, scenario):
            yield f"{printable(spec.file)}: {text}" if len(kept) > 1 else text


def without_numbers(kept: Sequence[tuple[Spec, Scenario, tuple[str, ...]]], study: Study) -> Iterator[str]:
    """Columns that were asked for and stay empty for want of a price, or of the work of the run."""
    lost = [name for name in study.columns if name in _OF_GIVEN]
    if lost and all(axis.key != INTERVAL for axis in study.axes):
        yield f"no interval is given, so there is no {', '.join(lost)}: add for example --over interval=30min,1h"
        study = study._replace(columns=tuple(name for name in study.columns if name not in lost))
    money = [name for name in study.columns if name in MONEY]
    if money and study.gpu_hour_price is None:
        yield f"no price is given, so there is no {', '.join(money)}: add --gpu-hour-price"
    known = [name for name in study.columns if name in MEASURES]
    of_work = [name for name in known if name in _OF_WORK or MEASURES[name].source is Source.RUN]
    if any(axis.key.startswith("training") for axis in study.axes):
        return
    for spec, scenario, _ in kept:
        if of_work and scenario.training.work_s is None:
            named = f"{printable(spec.file)}: " if len(kept) > 1 else ""
            yield f"{named}no training.duration is given, so there is no {', '.join(of_work)}"


def warnings_of(specs: Sequence[Spec]) -> list[Problem]:
    """Those of all specs; one of an option is said once, with the specs that it is about."""
    files: dict[Problem, list[str]] = {}
    for spec in specs:
        for warning in dict.fromkeys(spec.warnings):
            files.setdefault(warning, []).append(spec.file)
    return [in_files(warning, of, len(specs)) for warning, of in files.items()]
