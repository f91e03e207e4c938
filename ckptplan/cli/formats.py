"""Plans in the format that was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ckptplan.cli.options import Format
from ckptplan.cli.output import screen_for
from ckptplan.plan import Plan
from ckptplan.render.plan_document import plan_document, plans_document
from ckptplan.render.sheet import Sheet, to_csv, to_json, to_markdown
from ckptplan.spec.reading import Spec


def plans_as(format_: Format, plans: Sequence[tuple[Spec, Plan]], output: Path | None) -> str:
    """One text for all plans; ``output`` is where it goes, None for standard output."""
    if format_ is Format.JSON:
        documents = [
            plan_document(plan, spec.si, [problem.render() for problem in spec.warnings]) for spec, plan in plans
        ]
        return to_json(plans_document(documents))
    if format_ is Format.CSV:
        from ckptplan.render.plan_sheet import plan_sheet

        return to_csv([plan_sheet(plan) for _, plan in plans])
    from ckptplan.render.plan_report import markdown, report

    if format_ is Format.MARKDOWN:
        return "\n".join(markdown(plan, assumed=defaults(spec)) for spec, plan in plans)
    screen = screen_for(output)
    return "\n".join(report(plan, screen, assumed=defaults(spec)) for spec, plan in plans)


def defaults(spec: Spec) -> list[str]:
    """What the spec left to defaults and the plan depends on."""
    matters = {"model.state", "cluster.layout.shard", "cluster.gpus_per_node", "restart.total"}
    saves = enumerate(spec.scenario.saves)
    matters |= {f"save[{i}].copy_bandwidth" for i, save in saves if save.stall_s is None}
    return [f"{v.key}: {v.text} (default)" for v in spec.values if v.origin == "default" and v.key in matters]


def sheet_as(format_: Format, sheet: Sheet, document: Mapping[str, object], output: Path | None) -> str:
    """A plain sheet in any format; ``document`` is its JSON form."""
    if format_ is Format.JSON:
        return to_json(document)
    if format_ is Format.CSV:
        return to_csv([sheet])
    return to_markdown(sheet) if format_ is Format.MARKDOWN else screen_for(output).table(sheet)
