"""Plans in the format that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ckptplan.cli.options import Format
from ckptplan.cli.output import text_as
from ckptplan.plan import Plan
from ckptplan.render.plan_document import plan_document, plans_document
from ckptplan.render.sheet import Sheet, to_markdown
from ckptplan.spec.reading import Spec

if TYPE_CHECKING:
    from ckptplan.render.screen import Screen


Plans = Sequence[tuple[Spec, Plan]]


def plans_as(format_: Format, plans: Plans, output: Path | None) -> str:
    """One text for all plans; ``output`` is where it goes, None for standard output."""
    return text_as(
        format_,
        output,
        document=lambda: _document(plans),
        sheets=lambda: _sheets(plans),
        markdown=lambda: _markdown(plans),
        report=lambda screen: _report(plans, screen),
    )


def _document(plans: Plans) -> Mapping[str, object]:
    return plans_document(
        [plan_document(plan, spec.si, [problem.render() for problem in spec.warnings]) for spec, plan in plans]
    )


def _sheets(plans: Plans) -> list[Sheet]:
    from ckptplan.render.plan_sheet import plan_sheet

    return [plan_sheet(plan) for _, plan in plans]


def _markdown(plans: Plans) -> str:
    from ckptplan.render.plan_report import markdown

    return "\n".join(markdown(plan, assumed=defaults(spec)) for spec, plan in plans)


def _report(plans: Plans, screen: Screen) -> str:
    from ckptplan.render.plan_report import report

    return "\n".join(report(plan, screen, assumed=defaults(spec)) for spec, plan in plans)


def defaults(spec: Spec) -> list[str]:
    """What the spec left to defaults and the plan depends on."""
    matters = {"model.state", "cluster.layout.shard", "cluster.gpus_per_node", "restart.total"}
    saves = enumerate(spec.scenario.saves)
    matters |= {f"save[{i}].copy_bandwidth" for i, save in saves if save.stall_s is None}
    found = [f"{v.key}: {v.text} (default)" for v in spec.values if v.origin == "default" and v.key in matters]
    return [*found, *_of_classes(spec)] if spec.scenario.failures.classes else found


_OF_A_KIND = ("detect", "slowdown", "notice", "back_steps", "lag_steps", "skipped_batches")


def _of_classes(spec: Spec) -> Iterator[str]:
    """What each class left to the defaults of its kind, and where these come from."""
    from ckptplan.cost.classes import BUILT_IN

    texts = {v.key: v.text for v in spec.values if v.origin == "default"}
    for index, one in enumerate(spec.scenario.failures.classes):
        path = f"failures.classes[{index}]"
        left = [f"{key} {texts[f'{path}.{key}']}" for key in _OF_A_KIND if f"{path}.{key}" in texts]
        if left:
            yield f"{one.name}: {', '.join(left)} (default; {BUILT_IN[one.kind].source})"


def sheet_as(format_: Format, sheet: Sheet, document: Mapping[str, object], output: Path | None) -> str:
    """A plain sheet in any format; ``document`` is its JSON form."""
    return text_as(
        format_,
        output,
        document=lambda: document,
        sheets=lambda: [sheet],
        markdown=lambda: to_markdown(sheet),
        report=lambda screen: screen.table(sheet),
    )
