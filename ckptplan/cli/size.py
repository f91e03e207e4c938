"""``ckptplan size``: what a checkpoint must hold, and its bytes."""

from __future__ import annotations

from ckptplan.cli.options import Format, FormatOption, OutputOption, SetOption, SpecArgument


def size(
    spec: SpecArgument,
    set_: SetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan size llama3-70b

    Prints every state that a checkpoint must hold for training to go on as if
    never interrupted: its bytes, and what its loss costs.
    """
    from ckptplan.cli.output import emit, refuse_overwriting, text_as, warn
    from ckptplan.load import load
    from ckptplan.render import size_report

    refuse_overwriting(output, [spec])
    loaded = load(spec, sets=set_ or [])
    refuse_overwriting(output, loaded.named)
    scenario = loaded.scenario
    notes = [f"{cost.name}: {note}" for cost in size_report.costs(scenario) for note in cost.notes]
    notes += [note for tier in size_report.costs_of_tiers(scenario) for note in tier.notes]
    text = text_as(
        format_,
        output,
        document=lambda: size_report.size_document(scenario, loaded.si),
        sheets=lambda: [size_report.state_sheet(scenario)],
        markdown=lambda: size_report.markdown(scenario),
        report=lambda screen: size_report.report(scenario, screen),
    )
    emit(text, output)
    warn([*loaded.warnings, *notes])
