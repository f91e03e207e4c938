from __future__ import annotations

import pytest

from ckptplan.errors import InputError
from ckptplan.load import load
from ckptplan.readers.records.asked import record_options
from ckptplan.readers.records.slurm.options import SHORTEST_FAILED_S
from tests.cli.harness import ckptplan
from tests.spec.broken import GOOD

SACCT = (
    "JobID|JobName|State|ExitCode|Start|End|ElapsedRaw|NNodes|AllocTRES\n"
    "1|a|FAILED|1:0|2026-01-01T00:00:00|2026-01-01T00:05:00|300|4|gres/gpu=32,node=4\n"
    "1|a|FAILED|1:0|2026-01-01T01:00:00|2026-01-02T01:00:00|86400|4|gres/gpu=32,node=4\n"
)


@pytest.fixture
def sacct(tmp_path):
    """One run that failed after five minutes, one after a day."""
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    return path


def test_the_shortest_run_that_counts():
    """It is ten minutes unless it is said, and zero is a length."""
    assert record_options({}).slurm.minimum_run_s == SHORTEST_FAILED_S
    assert record_options({"minimum_run": 0.0}).slurm.minimum_run_s == 0.0


def test_every_failed_run_counts_if_asked(sacct):
    """``--minimum-run 0s`` counts runs however short."""
    few, every = ckptplan("fit", str(sacct)), ckptplan("fit", str(sacct), "--minimum-run", "0s")
    assert (few.code, every.code) == (0, 0), every.err
    assert "1 failure;" in few.out
    assert "2 failures;" in every.out
    assert "however short the run" in every.out


def test_a_spec_may_count_every_failed_run(sacct, tmp_path):
    """``minimum_run: 0 s`` is read as it is on the command line."""
    spec = tmp_path / "run.yaml"
    found = []
    for value in ("10 min", "0 s"):
        record = f"{{record: {{file: {sacct.name}, minimum_run: {value}}}}}"
        spec.write_text(GOOD.replace("{mtbf_per_gpu: 50_000 h}", record))
        found.append(load(str(spec)).scenario.failures.evidence.failures)
    assert found == [1, 2]


@pytest.mark.parametrize("code", ["256", "-1", "a", "1.5", "", "\N{ARABIC-INDIC DIGIT ONE}"])
def test_what_is_no_exit_code(code):
    """An exit code is a whole number of one byte."""
    with pytest.raises(InputError, match="is no exit code"):
        record_options({"exit_codes": (f"1,{code}",)})


@pytest.mark.parametrize("unit", ["parsec", "GB", "", "H"])
def test_a_unit_that_is_none_is_refused_whatever_the_record_holds(unit):
    """It is looked at before the record, which may need none; with all that would be accepted."""
    with pytest.raises(InputError) as caught:
        record_options({"unit": unit})
    assert "no unit of time" in caught.value.problems[0].message
    assert caught.value.problems[0].hint == "write one of ns, us, ms, s, min, h, d"
    assert record_options({"unit": "h"}).unit == "h"
