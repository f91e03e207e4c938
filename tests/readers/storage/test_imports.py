"""Any file: what is recognised, what is refused, what several files give together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckptplan.errors import InputError
from ckptplan.readers.storage.imports import combine, import_file, read_storage
from tests.readers.storage.samples import IOR_TABLE, fio, fio_job

SYNCED = {"end_fsync": "1"}


def _file(folder: Path, text: str, name: str = "result.json") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_files_of_one_setting_are_repetitions(tmp_path: Path) -> None:
    """Two runs of equal writers and bytes are averaged, and their scatter is the cv."""
    files = [
        import_file(_file(tmp_path, fio(fio_job(40_000_000_000, ms=ms, options=SYNCED)), f"{ms}.json"))
        for ms in (40_000, 50_000)
    ]
    found = combine(files)
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(0.9e9)
    assert found.write_cv == pytest.approx(0.157135, rel=1e-5)


def test_of_other_settings_the_largest_counts(tmp_path: Path) -> None:
    """A run on four nodes counts more than one on one node, and what is left out is said."""
    small = import_file(_file(tmp_path, fio(fio_job(40_000_000_000, ms=40_000, options=SYNCED))))
    large = import_file(_file(tmp_path, IOR_TABLE, "ior.txt"))
    found = combine([small, large])
    assert found.write_setting == (32, 4)
    assert "1 write of other settings left out: 32 writers on 4 nodes count" in found.warnings


def test_long_tables_are_read_in_part_and_that_is_said(tmp_path: Path) -> None:
    """Beyond 100,000 lines nothing is read, and the file says so among its warnings."""
    rows = "write     1000   50.0  0\n" * 120_000
    found = read_storage(_file(tmp_path, f"access    bw(MiB/s)  total(s) iter\n{rows}", "ior.txt"))
    assert len(found.files[0].phases[0].rates_bytes_per_s) == 99_999
    assert any("only the first 100,000 were read" in warning for warning in found.warnings)


def test_warnings_name_the_file(tmp_path: Path) -> None:
    """A warning says of which file and job it is."""
    path = _file(tmp_path, fio(fio_job(5_000_000_000, ms=5_000, options=SYNCED)))
    assert all(warning.startswith(f"{path}: fio write ckpt: ") for warning in read_storage(path).warnings)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("", "is empty"),
        ("   \n\n", "is empty"),
        ("hello", "no result of a storage benchmark"),
        ("{}", "no result of a storage benchmark"),
        ('{"a": 1}', "no result of a storage benchmark"),
        ("[1, 2]", "no result of a storage benchmark"),
        ('{"fio version": "fio-3.33", "jobs": []}', "no phase that wrote or read"),
        ('{"fio version": "fio-3.33", "jobs": 7}', "no phase that wrote or read"),
        ('{"fio version": "fio-3.33", "jobs": [1, null, "x"]}', "no phase that wrote or read"),
        ('{"fio version": "fio-3.33", "jobs": [{"jobname"', "ends before its JSON does"),
        ('{"tests": [{"Results": [[[[[[1]]]]]], "Options": 3}]}', "no phase that wrote or read"),
        ('{"metric": {"save_checkpoint_io_mean_GB_per_second": -1}, "num_hosts": 2}', "no phase that wrote or read"),
        ("Run status group 0 (all jobs):\n  WRITE: bw=1164MiB/s", "prints for people"),
        ("OPERATION RESULT TYPE        FIRST DONE  LAST DONE\nWRITE     Elapsed ms : 1 2\n", "--csvfile"),
        ("Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev", "no phase that wrote or read"),
        ('{"a":' * 5000, "nests too deep"),
        ("[" * 1_000_001, "more brackets"),
        ("{\n" * 100_000, "no result of a storage benchmark|ends before"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_refusals(tmp_path: Path, text: str, phrase: str) -> None:
    """What is no result is refused with its file and a hint of what is accepted."""
    path = _file(tmp_path, text)
    with pytest.raises(InputError, match=phrase) as caught:
        import_file(path)
    problem = caught.value.problems[0]
    assert str(problem.place).startswith(str(path))
    assert problem.hint


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A missing file, a folder, a pipe and a device are refused without waiting."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "absent", tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError) as caught:
            import_file(path)
        assert "failures" not in (caught.value.problems[0].hint or "")


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    """More than 16 MB is a log, not a summary."""
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(17_000_000)
        file.write(b"{}")
    with pytest.raises(InputError, match="larger than 16 MB"):
        import_file(path)


def test_huge_numbers_are_not_given(tmp_path: Path) -> None:
    """A number of a million digits costs nothing and counts as missing."""
    text = (
        '{"fio version": "3", "jobs": [{"jobname": "a", "write": {"io_bytes": '
        + "9" * 1_000_000
        + ', "runtime": 1e999}}]}'
    )
    with pytest.raises(InputError):
        read_storage(_file(tmp_path, text))


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """Names of jobs are printed without what steers a terminal."""
    job = fio_job(5_000_000_000, ms=5_000, name="\x1b[2Jevil", options=SYNCED)
    assert "\x1b" not in " ".join(read_storage(_file(tmp_path, fio(job))).warnings)


def test_many_brackets_stay_within_memory(tmp_path: Path) -> None:
    """The largest text that is parsed at all takes less than 600 MB."""
    path = _file(tmp_path, '{"fio version": "3", "x": [' + "[]," * 990_000 + "0]}")
    program = (
        "import sys\nfrom ckptplan.errors import InputError\nfrom ckptplan.readers.storage.imports import import_file\n"
        "try:\n    import_file(sys.argv[1])\nexcept InputError:\n    pass\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    # Not ru_maxrss: that of a new process begins at the size of the test process which forked it.
    assert int(done.stdout) * 1024 < 600_000_000
