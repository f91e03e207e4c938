from __future__ import annotations

import math

import numpy as np
import pytest

from ckptplan.readers.records.slurm.nodes import count_nodes, gpus_of_gres, gpus_of_tres, nodes_of_tres


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("gpu01", 1), ("gpu[01-04]", 4), ("gpu[01-05,07]", 6), ("gpu[01-04,07],login1", 6), ("a,b,c", 3),
        ("rack[1-2]n[1-4]", 8), ("n[000-999]", 1000), ("None assigned", None), ("", None), ("(null)", None),
        ("gpu[01-", None), ("gpu[4-1]", None), ("gpu[]", None), ("gpu[a-b]", None), ("n[0-99999999999]", None),
        ("a,,b", None),
    ],
)  # fmt: skip
def test_node_lists(text, count):
    """A compressed list is counted without being written out; a broken or absurd one has no count."""
    found = count_nodes(text)
    assert found == count if count is not None else math.isnan(found)


def test_node_lists_of_random_sets():
    """Lists made from sets of nodes have as many names as the sets."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        nodes = sorted(rng.choice(2000, rng.integers(1, 60), replace=False).tolist())
        ranges, start = [], nodes[0]
        for here, after in zip(nodes, [*nodes[1:], None], strict=True):
            if after != here + 1:
                ranges.append(f"{start:04d}" if start == here else f"{start:04d}-{here:04d}")
                start = after
        assert count_nodes(f"n[{','.join(ranges)}]") == len(nodes)


@pytest.mark.parametrize(
    ("text", "gpus", "nodes"),
    [
        ("billing=8,cpu=8,gres/gpu=8,mem=1T,node=1", 8, 1),
        ("cpu=8,gres/gpu:a100=8,gres/gpu=8,node=2", 8, 2),
        ("cpu=8,gres/gpu:a100=6,gres/gpu:h100=2,node=3", 8, 3),
        ("cpu=8,mem=1T,node=4", 0, 4),
        ("gres/gpumem=80G,cpu=8", 0, None),
        ("", None, None),
    ],
)
def test_trackable_resources(text, gpus, nodes):
    """GPUs by type are not added to their total; a job without any has none, a row without resources is not known."""
    for found, expected in ((gpus_of_tres(text), gpus), (nodes_of_tres(text), nodes)):
        assert found == expected if expected is not None else math.isnan(found)


@pytest.mark.parametrize(
    ("text", "gpus"),
    [("gpu:8", 8), ("gpu:a100:4", 4), ("gpu:a100:4,gpu:v100:2", 6), ("gres:gpu:8", 8), ("craynetwork:1", None)],
)  # fmt: skip
def test_generic_resources(text, gpus):
    """AllocGRES of old records says GPUs per node."""
    found = gpus_of_gres(text)
    assert found == gpus if gpus is not None else math.isnan(found)
