from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from ckptplan.fit.record import Marks
from ckptplan.readers.records import nccl_log
from ckptplan.readers.records.failures import read_record
from ckptplan.readers.records.options import RecordOptions
from tests.readers.records.recorded import left

WATCHDOG = (
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1201, OpType=ALLREDUCE, NumelIn=1048576, "
    "NumelOut=1048576, Timeout(ms)=600000) ran for 600123 milliseconds before timing out."
)
GLOG = f"[rank3]:[E1104 10:15:32.123456789 ProcessGroupNCCL.cpp:616] [Rank 3] {WATCHDOG}\n"


def _read(tmp_path, text, **options):
    path = tmp_path / "out.txt"
    path.write_text(text)
    assert nccl_log.looks_like(path.read_bytes())
    return read_record(path, RecordOptions(**options))


def test_lines_of_the_watchdog_are_marks(tmp_path):
    """Each rank's line is one mark with the operation that hung; how long it waited is the delay of detection."""
    text = f"2025-11-04 10:00:00 step 100\n{GLOG}[rank4]:[E1104 10:15:33.5 x.cpp:1] [Rank 4] {WATCHDOG}\nbye\n"
    record = _read(tmp_path, text, zone="UTC")
    content = record.content
    assert isinstance(content, Marks)
    first = datetime(2025, 11, 4, 10, 15, 32, tzinfo=UTC).timestamp()
    assert content.at_s.tolist() == [first, first + 1]
    assert content.causes == ("NCCL watchdog: ALLREDUCE timed out",)
    assert (record.rows, record.on_calendar) == (4, True)
    assert left(record) == {"lines that neither the watchdog nor a warning of NCCL wrote": 2}
    assert any("noticed after 600 s (median of 2 lines), with a timeout of 600 s" in said for said in record.facts)


def test_a_log_without_a_year_takes_it_from_since(tmp_path):
    """The log of PyTorch has month and day alone; without a year a mark has no time, and the report says what to do."""
    record = _read(tmp_path, GLOG)
    assert np.isnan(record.content.at_s).all()
    assert any("--since" in said for said in record.warnings)
    dated = _read(tmp_path, GLOG, watched_from="2024-01-01", zone="UTC")
    assert dated.content.at_s.tolist() == [datetime(2024, 11, 4, 10, 15, 32, tzinfo=UTC).timestamp()]


@pytest.mark.parametrize(
    ("line", "node", "cause"),
    [
        (
            "gpu7:123:456 [0] NCCL WARN Call to ibv_modify_qp failed with error 110",
            "gpu7",
            "Call to ibv_modify_qp failed with error N",
        ),
        (
            "[2025-11-04 10:15:32] gpu7:123:456 [5] misc/socket.cc:50 NCCL WARN socket 0x7f closed",
            "gpu7",
            "socket N closed",
        ),
        ("gpu-a.b:1:2 [-1] NCCL WARN x", "gpu-a.b", "x"),
    ],
)
def test_warnings_of_nccl_name_their_node(tmp_path, line, node, cause):
    """Numbers in a warning are blotted out, so that one cause is one cause; a stamp counts where there is one."""
    record = _read(tmp_path, line + "\n", zone="UTC")
    assert record.content.node == (node,)
    assert record.content.causes == (f"NCCL warning: {cause}",)
    assert np.isfinite(record.content.at_s[0]) == line.startswith("[2025")


def test_lines_that_only_speak_of_it_are_no_marks(tmp_path):
    """A watchdog line that was cut off before its numbers is left out."""
    record = _read(tmp_path, "Watchdog caught collective operation timeout: WorkNC\nNCCL WARN\n")
    assert record.content.at_s.size == 0
    assert record.rows == 2
    assert any("nothing says why" in said for said in record.warnings)
