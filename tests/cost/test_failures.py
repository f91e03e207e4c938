"""MTBF: its sources, its scaling and the superposition of causes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.failures import (
    mtbf_from_interruptions,
    mtbf_of_job,
    mtbf_per_gpu_from_job,
    mtbf_per_gpu_from_node,
    mtbf_per_gpu_from_rate_per_node_day,
    superpose,
)

HOUR, DAY = 3_600.0, 86_400.0
times = st.floats(1e-3, 1e12)
counts = st.integers(1, 10_000_000)


def test_llama_3_interruptions_give_its_mtbf():
    """419 interruptions in 54 days on 16,384 GPUs: 11,135 s per job, 50,677 h or 5.8 years per GPU."""
    assert mtbf_from_interruptions(419, 54 * DAY, 1) == pytest.approx(11135.08353, rel=1e-9)
    per_gpu = mtbf_from_interruptions(419, 54 * DAY, 16_384)
    assert per_gpu / HOUR == pytest.approx(50677.00239, rel=1e-9)
    assert round(float(per_gpu) / HOUR / 8_760, 1) == 5.8


def test_the_llama_3_mtbf_scales_as_one_over_gpus():
    """The same GPUs fail every 49.5 h in a job of 1,024 and about every 30 min in one of 100,000."""
    assert mtbf_of_job(50_677 * HOUR, 1_024) == pytest.approx(178161.3281, rel=1e-9)
    per_gpu = mtbf_from_interruptions(419, 54 * DAY, 16_384)
    assert float(mtbf_of_job(per_gpu, 1_024)) / HOUR == pytest.approx(49.489, abs=5e-4)
    assert float(mtbf_of_job(per_gpu, 100_000)) / 60 == pytest.approx(30.4, abs=0.05)


def test_causes_add_as_rates():
    """Causes of 20,000, 60,000 and 90,000 s together stop a job every 12,857 s."""
    assert superpose([20_000, 60_000, 90_000]) == pytest.approx(12857.14286, rel=1e-9)


def test_superposition_works_along_an_axis():
    """A table of causes gives one MTBF per row; a cause that never strikes changes nothing."""
    table = np.array([[20_000.0, 60_000.0], [5.0, np.inf]])
    np.testing.assert_allclose(superpose(table), [15_000.0, 5.0])
    np.testing.assert_allclose(superpose(table, axis=0), [1 / (1 / 20_000 + 1 / 5), 60_000.0])


def test_a_node_that_fails_is_a_failure_of_all_its_gpus():
    """8 GPUs of 50,000 h, 2 NICs of 150,000 h and 2 power supplies of 100,000 h make a node of 5,172 h."""
    parts = [50_000.0] * 8 + [150_000.0] * 2 + [100_000.0] * 2
    node = superpose(parts)
    assert node == pytest.approx(5172.413793, rel=1e-9)
    assert mtbf_of_job(mtbf_per_gpu_from_node(node, 8), 10_000) * HOUR == pytest.approx(14896.6, rel=1e-5)


def test_a_rate_per_node_day_gives_the_mtbf_of_a_large_job():
    """6.50 failures per 1,000 node-days of 8 GPUs: 8,861.5 s for 12,000 GPUs."""
    per_gpu = mtbf_per_gpu_from_rate_per_node_day(6.50e-3, 8)
    assert mtbf_of_job(per_gpu, 12_000) == pytest.approx(8861.5, rel=1e-5)


def test_no_failure_seen_is_an_infinite_mtbf():
    """A count or a rate of zero yields infinity without a warning."""
    assert mtbf_from_interruptions(0, DAY, 8) == np.inf
    assert mtbf_per_gpu_from_rate_per_node_day(0.0, 8) == np.inf


@given(times, counts)
def test_per_gpu_and_per_job_are_inverse(mtbf, gpus):
    """Reducing a job's MTBF to one GPU and scaling it back gives it again."""
    assert mtbf_of_job(mtbf_per_gpu_from_job(mtbf, gpus), gpus) == pytest.approx(mtbf, rel=1e-12)


@given(times, counts)
def test_a_job_is_the_superposition_of_its_gpus(mtbf, gpus):
    """Equal independent GPUs, superposed, fail as one job of that many."""
    few = min(gpus, 1_000)
    assert superpose(np.full(few, mtbf)) == pytest.approx(float(mtbf_of_job(mtbf, few)), rel=1e-9)


@given(times, counts, st.integers(1, 1_000_000))
def test_counting_longer_or_on_more_gpus_scales_the_mtbf(over, gpus, count):
    """Twice the time or twice the GPUs at the same count is twice the MTBF per GPU."""
    once = float(mtbf_from_interruptions(count, over, gpus))
    assert mtbf_from_interruptions(count, 2 * over, gpus) == pytest.approx(2 * once, rel=1e-12)
    assert mtbf_from_interruptions(count, over, 2 * gpus) == pytest.approx(2 * once, rel=1e-12)
    assert mtbf_from_interruptions(2 * count, over, gpus) == pytest.approx(once / 2, rel=1e-12)


def test_arrays_broadcast():
    """A column of MTBFs against a row of scales gives a table."""
    assert mtbf_of_job(np.ones((3, 1)), np.arange(1, 5)).shape == (3, 4)
