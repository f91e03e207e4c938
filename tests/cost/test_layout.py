"""The same layout at another number of GPUs."""

from __future__ import annotations

from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.layout import with_gpus
from ckptplan.cost.placement import placements
from ckptplan.cost.scenario import Cluster, Layout, Model, Shard
from ckptplan.cost.state import ledger
from ckptplan.errors import InputError


def rescaled(layout: Layout, gpus: int) -> tuple[Layout, str | None]:
    """The layout at another scale, and the note; the rest of the cluster stays."""
    cluster, note = with_gpus(Cluster(layout.gpus, 8, layout, host_memory_per_node_bytes=2e12), gpus)
    assert cluster.gpus == gpus
    assert cluster.gpus_per_node == 8
    assert cluster.host_memory_per_node_bytes == 2e12
    return cluster.layout, note


LLAMA = Layout(128, tensor=8, pipeline=16, shard=Shard.ZERO2)


def test_data_parallelism_alone_changes():
    """Half the GPUs have half the data-parallel ranks and nothing else changes, silently."""
    assert rescaled(LLAMA, 8_192) == (Layout(64, tensor=8, pipeline=16, shard=Shard.ZERO2), None)


def test_gpus_that_fill_no_replica_are_named():
    """100,000 GPUs hold 781 replicas of 128 and leave 32 over."""
    layout, note = rescaled(LLAMA, 100_000)
    assert layout.data == 781
    assert note == "32 of 100,000 GPUs fill no further replica and stay idle"


def test_hsdp_adds_whole_replicas():
    """HSDP over 8 GPUs in 4 replicas becomes 16 replicas on 128 GPUs."""
    layout = Layout(8, replicas=4, shard=Shard.HSDP)
    assert rescaled(layout, 128) == (Layout(8, replicas=16, shard=Shard.HSDP), None)


def test_hsdp_below_one_replica_shards_over_what_is_left():
    """HSDP over 64 GPUs on 48 has one replica of 48, and a note says that its groups are gone."""
    layout = Layout(64, replicas=4, shard=Shard.HSDP)
    fitted, note = rescaled(layout, 48)
    assert fitted == Layout(48, shard=Shard.HSDP)
    assert note is not None
    assert "one sharding group of 48 instead of 4 groups of 64" in note


def test_other_modes_keep_their_replicas():
    """Two pods that each shard fully keep being two."""
    layout = Layout(256, tensor=12, replicas=2, shard=Shard.FSDP)
    assert rescaled(layout, 3_072) == (Layout(128, tensor=12, replicas=2, shard=Shard.FSDP), None)


def test_too_few_gpus_for_the_replicas_give_one_replica():
    """Eight replicas of one data-parallel rank become one on four GPUs."""
    layout = Layout(2, replicas=8, shard=Shard.ZERO1)
    assert rescaled(layout, 4) == (Layout(4, shard=Shard.ZERO1), None)


def test_expert_groups_stay_whole():
    """Data parallelism moves in steps that 8 expert groups divide."""
    layout, note = rescaled(Layout(32, tensor=2, expert=8), 60)
    assert (layout.data, layout.expert) == (24, 8)
    assert note is not None
    assert note.startswith("12 of 60")


def test_expert_groups_shrink_only_when_they_must():
    """Six data-parallel ranks cannot hold 8 expert groups; 2 divide them."""
    layout, note = rescaled(Layout(32, tensor=2, expert=8), 12)
    assert (layout.data, layout.expert) == (6, 2)
    assert note == "expert parallelism is 2 instead of 8 at this size"


def test_fewer_gpus_than_one_replica_shrink_the_model_parallel_axes():
    """16 GPUs hold no replica of 128: tensor 8, pipeline 2, everything sharded, and the note says so."""
    layout, note = rescaled(LLAMA, 16)
    assert layout == Layout(1, tensor=8, pipeline=2, shard=Shard.FSDP)
    assert note is not None
    assert "fewer GPUs (16) than one replica of 128" in note


def test_no_gpu_is_refused():
    """A job of zero GPUs is an input error."""
    with pytest.raises(InputError, match="at least one GPU"):
        rescaled(LLAMA, 0)


layouts = st.builds(
    lambda t, p, c, d, e, r, s: Layout(d, t, p, c, gcd(e, d * c), r, s),
    st.integers(1, 16),
    st.integers(1, 16),
    st.integers(1, 8),
    st.integers(1, 500),
    st.integers(1, 64),
    st.integers(1, 8),
    st.sampled_from(Shard),
)


@given(layouts, st.integers(1, 10_000_000))
def test_any_layout_fits_any_number_of_gpus(layout, gpus):
    """The result fills at most the GPUs asked for and can be placed; leftovers are mentioned."""
    fitted, note = rescaled(layout, gpus)
    assert 1 <= fitted.gpus <= gpus
    assert placements(Model(1e9, ledger("adam-14"), expert_parameters=5e8), fitted)
    assert fitted.gpus == gpus or (note is not None and "stay idle" in note)


@given(layouts)
def test_the_same_number_of_gpus_is_the_same_layout(layout):
    """Asking for the GPUs that a layout has changes nothing."""
    assert rescaled(layout, layout.gpus) == (layout, None)
