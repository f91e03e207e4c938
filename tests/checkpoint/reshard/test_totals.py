"""What a plan costs, against counting read by read."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Mesh, Tensor
from ckptplan.checkpoint.reshard import totals as module
from ckptplan.checkpoint.reshard.layout import Layout, Rule, parse_layout
from ckptplan.checkpoint.reshard.placement import Replicate, Shard
from ckptplan.checkpoint.reshard.plan import plan
from tests.checkpoint.reshard.from_truth import Shard as Stored
from tests.checkpoint.reshard.from_truth import manifest, shards


@pytest.mark.parametrize("block", [1 << 26, 40])
def test_bytes_reads_and_files_of_each_rank(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors that share reads and tensors that do not, files of their own, copies; all ranks at once or a few."""
    monkeypatch.setattr(module, "_BLOCK", block)
    rng = random.Random(3)  # noqa: S311
    mesh, tensors, rules = Mesh((2, 3, 2), ("a", "b", "c")), [], []
    for number in range(40):
        cuts, key = rng.choice([1, 2, 4]), f"t{number}"
        stored = [
            Stored((8 * n // cuts, 0), (8 // cuts, 3), rng.randrange(11), rng.randrange(9, 99)) for n in range(cuts)
        ]
        tensors.append(Tensor(key, StateKind.PARAMETER, "bfloat16", (8, 3), shards(2, stored), (key,), key))
        rules.append(Rule(key, tuple(rng.choice([Replicate(), Shard(0), Shard(1)]) for _ in range(3))))
    found = plan(manifest(tensors, 11), Layout(mesh, tuple(rules)))
    everyone = set()
    for rank in range(12):
        wanted = whole = reads = 0
        files = set()
        for part in found.parts:
            own = part.reads_of(rank)
            wanted += 2 * int(np.prod(part.shape_of(rank)))
            whole += sum(int(part.tensor.shards.item_bytes[row]) for row in own.rows)
            reads += len(own.rows)
            files |= {int(part.tensor.shards.files[row]) for row in own.rows}
        totals = found.totals
        assert (totals.wanted_bytes[rank], totals.whole_item_bytes[rank]) == (wanted, whole)
        assert (totals.reads[rank], totals.files[rank]) == (reads, len(files))
        everyone |= files
    assert found.totals.distinct_files == len(everyone)
    assert found.totals.wanted_bytes[found.totals.busiest] == found.totals.wanted_bytes.max()


def test_elements_of_less_than_a_byte_are_counted_in_bits() -> None:
    """Six rows of four 4-bit elements are 12 bytes, three for each of four ranks but those that hold less."""
    tensor = Tensor("w", StateKind.PARAMETER, "float4_e2m1fn", (6, 4), shards(2, [Stored((0, 0), (6, 4), 0, 12)]))
    assert plan(manifest([tensor]), parse_layout("4")).totals.wanted_bytes.tolist() == [4, 4, 4, 0]
