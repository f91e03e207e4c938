"""What ``measure storage`` printed, read again."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from ckptplan.readers.storage.imports import combine, import_file, read_storage

RATES = ((1.0e9, 1.2e9, 1.1e9), (2.0e9, 2.2e9))


def _document(rates: tuple[float, ...], *, whole: bool = False) -> dict[str, Any]:
    """A measurement of 4 writers of 100 GB, with the figures that a reader takes."""
    mean = statistics.mean(rates)
    row = {"of": "node", "mean_bytes_per_s": mean, "cv": statistics.stdev(rates) / mean, "count": len(rates)}
    keys = ["write_bandwidth_per_node", *(("write_bandwidth", "read_bandwidth") if whole else ())]
    return {
        "schema": "ckptplan.storage/1",
        "setting": {"writers": 4, "size_bytes": 10**11, "direct": False},
        "seconds": [4e11 / rate for rate in rates],
        "figures": [{"figure": "sustained write", **row}, {"figure": "read", **row}],
        "page_cache": "dropped",
        "storage": {key: {"bytes_per_s": mean, "cv": row["cv"]} for key in keys},
    }


def _file(folder: Path, document: dict[str, Any], name: str = "measured.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.parametrize("whole", [False, True])
def test_a_node_that_was_all_is_all_again(tmp_path: Path, whole: bool) -> None:
    """The aggregate rates are there if the block of the measurement had them."""
    found = read_storage(_file(tmp_path, _document(RATES[0], whole=whole)))
    rate = pytest.approx(1.1e9)
    assert found.write_bandwidth_per_node_bytes_per_s == rate
    assert found.write_bandwidth_bytes_per_s == (rate if whole else None)
    assert found.read_bandwidth_bytes_per_s == (rate if whole else None)


def test_two_measurements_are_pooled(tmp_path: Path) -> None:
    """Three repetitions and two are five: mean and scatter are those of the five, not of two means."""
    files = [_file(tmp_path, _document(rates), f"{n}.json") for n, rates in enumerate(RATES)]
    found = combine([import_file(file) for file in files])
    values = [rate for rates in RATES for rate in rates]
    mean = statistics.mean(values)
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(mean)
    assert found.read_bandwidth_per_node_bytes_per_s == pytest.approx(mean)
    assert (found.write_cv, found.read_cv) == pytest.approx((statistics.stdev(values) / mean,) * 2)


@pytest.mark.parametrize("odd", ["many", -1, None, [], 1e300, True])
def test_an_odd_count_is_not_taken(tmp_path: Path, odd: object) -> None:
    """Where the count is none, mean and scatter stand as they are."""
    document = _document(RATES[0])
    for row in document["figures"]:
        row["count"] = odd
    found = read_storage(_file(tmp_path, document))
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(1.1e9)
    assert found.write_cv == pytest.approx(statistics.stdev(RATES[0]) / 1.1e9)
