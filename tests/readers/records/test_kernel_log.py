from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np
import pytest

from ckptplan.fit.record import Marks
from ckptplan.readers.records import kernel_log
from ckptplan.readers.records.failures import read_record
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.xid import XIDS, xid_text
from tests.readers.records.recorded import COLLECTION, left, needs_collection

XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
STAMP = datetime(2025, 2, 23, 16, 24, 18, tzinfo=UTC).timestamp()


def _read(tmp_path, text, **options):
    path = tmp_path / "dmesg"
    path.write_text(text)
    return kernel_log.read(str(path), RecordOptions(**options))


@needs_collection
def test_the_xid_storm_of_one_gpu():
    """Five lines of Xid 119 among 43, each with its stamp; a plain search of the text agrees."""
    path = COLLECTION / "kernel" / "gpud_dmesg-with-xid-119.log"
    record = read_record(path, RecordOptions(zone="UTC"))
    content = record.content
    assert isinstance(content, Marks)
    stamps = re.findall(r"^\[(.*?)\] NVRM: Xid", path.read_text(), re.MULTILINE)
    expected = [datetime.strptime(text, "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC).timestamp() for text in stamps]
    assert content.at_s.tolist() == expected
    assert (record.rows, len(expected)) == (43, 5)
    assert left(record) == {"lines without an Xid": 38}
    assert [content.causes[code] for code in content.cause] == ["Xid 119: GSP RPC timeout"] * 5
    assert record.facts == ("Xid 119: GSP RPC timeout: 5 lines.",)


@needs_collection
def test_a_raw_ring_buffer_without_an_xid_gives_no_mark():
    """All 47 lines are read and left out, and the report says that nothing was found."""
    record = read_record(COLLECTION / "kernel" / "gpud_kmsg.1.log")
    assert (record.format, record.rows, record.on_calendar) == (kernel_log.NAME, 47, False)
    assert left(record) == {"lines without an Xid": 47}
    assert record.content.at_s.size == 0
    assert any("No line has an Xid" in said for said in record.warnings)


@pytest.mark.parametrize(
    ("line", "at_s", "node"),
    [
        (f"[Sun Feb 23 16:24:18 2025] {XID}", STAMP, ""),
        (f"2025-02-23T16:24:18+00:00 gpu7 kernel: {XID}", STAMP, "gpu7"),
        (f"2025-02-23T17:24:18.250000+0100 gpu7 kernel: [123.4] {XID}", STAMP + 0.25, "gpu7"),
        (f"2025-02-23T16:24:18,250000+00:00 {XID}", STAMP + 0.25, ""),
        (f"Feb 23 16:24:18 gpu7 kernel: [  123.456789] {XID}", np.nan, "gpu7"),
        (f"[  123.456789] {XID}", np.nan, ""),
        (f"4,3964,206764307,-;{XID}", np.nan, ""),
    ],
)
def test_every_usual_form_of_a_kernel_log(tmp_path, line, at_s, node):
    """The stamp counts where it has a year; time since boot cannot be joined, and the report says so."""
    record = _read(tmp_path, line + "\n")
    assert record.content.at_s == pytest.approx([at_s], nan_ok=True)
    assert record.content.node == (node,)
    assert record.content.causes == ("Xid 79: GPU has fallen off the bus",)
    assert kernel_log.looks_like(line.encode())
    assert any("cannot be joined" in said for said in record.warnings) == bool(np.isnan(at_s))


def test_stamps_without_a_zone_take_the_one_that_is_said(tmp_path):
    """The stamps of dmesg -T are local time."""
    record = _read(tmp_path, f"[Sun Feb 23 16:24:18 2025] {XID}\n", zone="America/New_York")
    assert record.content.at_s.tolist() == [STAMP + 5 * 3600]
    assert record.zone == "America/New_York"


def test_other_codes_and_switches(tmp_path):
    """A code without a known meaning keeps its number; a switch has its own; older drivers print no PCI."""
    text = (
        "[Sun Feb 23 16:24:18 2025] NVRM: Xid (0000:03:00): 9999, new\n"
        "[Sun Feb 23 16:24:18 2025] nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal\n"
        "[Sun Feb 23 16:24:18 2025] NVRM: Xid (torn\n"
    )
    record = _read(tmp_path, text)
    assert record.content.causes == ("Xid 9999", "NVSwitch SXid 12028")
    assert left(record) == {"lines without an Xid": 1}


def test_meanings_are_short_and_of_the_codes_that_end_training():
    """Every code that a cluster sees often has a meaning of a few words."""
    often = {13, 31, 43, 45, 48, 61, 62, 63, 64, 69, 74, 79, 92, 94, 95, 109, 119, 120, 121, 140}
    assert often <= set(XIDS)
    assert xid_text(48) == "Xid 48: double-bit ECC error"
    assert all(0 < len(text) <= 50 for text in XIDS.values())
