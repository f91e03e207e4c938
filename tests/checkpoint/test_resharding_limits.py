from __future__ import annotations

from pathlib import Path

import pytest

from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest
from ckptplan.checkpoint.resharding_limits import reshardable


def manifest(format_: Format, *faults: Fault) -> Manifest:
    """A checkpoint of a format, with nothing in it."""
    return Manifest(format_, Path(), (), (), (), source=None, faults=faults)  # type: ignore[arg-type]


@pytest.mark.parametrize("format_", Format)
def test_only_formats_that_lost_the_cut_are_bound_to_their_ranks(format_):
    """Megatron's older layout and FSDP1's flat vectors do not say how tensors were cut; all others do."""
    reason = reshardable(manifest(format_))
    assert (reason is not None) == (format_ in {Format.MEGATRON_LEGACY, Format.FSDP1_FLAT})


def test_what_a_reader_found_is_a_reason():
    """A fault that says so stands against resharding; any other does not."""
    why = Fault(Flaw.NOT_RESHARDABLE, "the map of partitions is missing")
    assert reshardable(manifest(Format.DEEPSPEED, Fault(Flaw.HOLE, "a hole"), why)) == why.message
    assert reshardable(manifest(Format.DEEPSPEED, Fault(Flaw.HOLE, "a hole"))) is None
