"""An audit as people read it: the answer first, names of files harmless."""

from ckptplan.checkpoint.audit.auditing import audit
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, File, Flaw
from ckptplan.render import audit_report
from ckptplan.render.screen import Screen
from tests.checkpoint.made import complete

EVIL = "a\x1b[2Jb\nc"


def _reports(manifest, width=60):
    found = audit(manifest)
    return audit_report.report(found, Screen(width)), audit_report.markdown(found)


def test_names_and_messages_from_files_do_not_steer_the_terminal():
    """Keys, file names, messages, hints and places, in both forms of the report."""
    maker = complete()
    maker.object(EVIL, StateKind.SCHEDULER)
    maker.objects[-1] = maker.objects[-1]._replace(file=-1)
    faults = (Fault(Flaw.CORRUPT, EVIL, EVIL, EVIL, EVIL),)
    manifest = maker.manifest(faults=faults, remarks=(EVIL,), elsewhere=((StateKind.FP8, EVIL),))
    manifest = manifest._replace(files=(*manifest.files, File(EVIL, 5, None, False)))
    for text in _reports(manifest):
        assert "\x1b" not in text
        assert "b\nc" not in text
        assert "a?[2Jb?c" in text.replace("\\[", "[")


def test_twenty_faults_are_listed_and_the_rest_counted():
    """Of fifty."""
    faults = tuple(Fault(Flaw.CORRUPT, f"number {number}") for number in range(50))
    table, markdown = _reports(complete().manifest(faults=faults))
    for text in (table, markdown):
        assert "number 19" in text
        assert "number 20" not in text
        assert "and 30 more" in text


def test_what_is_missing_stands_before_the_table_with_what_it_costs():
    """The answer, then the cost, then every state."""
    maker = complete()
    maker.objects = [entry for entry in maker.objects if entry.kind is not StateKind.SCHEDULER]
    text, _ = _reports(maker.manifest(), width=200)
    lines = text.splitlines()
    assert lines[0].endswith("whole, but without scheduler")
    cost = next(number for number, line in enumerate(lines) if "scheduler: absent. Without it: the rate" in line)
    table = next(number for number, line in enumerate(lines) if line.split()[:2] == ["state", "is"])
    assert cost < table


def test_no_line_is_wider_than_the_screen():
    """At 60 columns, but for single words."""
    text, _ = _reports(complete().manifest())
    assert all(len(line) <= 60 or " " not in line.strip() for line in text.splitlines())
