"""What is wrong with a checkpoint is found, named, and not raised."""

import numpy as np

from ckptplan.checkpoint.audit.auditing import audit, verdict
from ckptplan.checkpoint.audit.findings import Depth, Standing
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, File, Flaw, Format
from tests.checkpoint.made import ITEM_BYTES, complete

EMBED = "model.embed.weight"


def _changed(maker, key, **columns):
    """One tensor with other columns of shards."""
    at = next(number for number, tensor in enumerate(maker.tensors) if tensor.key == key)
    tensor = maker.tensors[at]
    maker.tensors[at] = tensor._replace(shards=tensor.shards._replace(**columns))
    return maker


def _shards(maker, key):
    return next(tensor.shards for tensor in maker.tensors if tensor.key == key)


def _flaws(manifest):
    return [(fault.flaw, fault.key) for fault in audit(manifest).faults]


def test_a_whole_checkpoint_has_no_fault():
    """Empty shards at the global size are legal."""
    assert _flaws(complete().manifest()) == []


def test_a_missing_shard_is_a_hole():
    """Without the box of rank 1, rows 3 to 6 are in no shard."""
    maker = complete()
    shards = _shards(maker, EMBED)
    kept = [0, 2, 3]
    _changed(maker, EMBED, **{name: getattr(shards, name)[kept] for name in shards._fields if name != "flat"})
    found = audit(maker.manifest())
    assert [(fault.flaw, fault.key) for fault in found.faults] == [(Flaw.HOLE, EMBED)]
    assert "12 elements are in no shard, the first at [3:6, 0:4]" in found.faults[0].message
    assert next(s.standing for s in found.states if s.kind is StateKind.PARAMETER) is Standing.UNREADABLE


def test_a_box_too_long_leaves_its_tensor_and_one_too_early_overlaps():
    """The last box is one row too long; or the second begins one row too early."""
    maker = complete()
    sizes = _shards(maker, EMBED).sizes.copy()
    sizes[-1, 0] += 1
    assert _flaws(_changed(maker, EMBED, sizes=sizes).manifest()) == [(Flaw.OUTSIDE, EMBED)]
    maker = complete()
    offsets = _shards(maker, EMBED).offsets.copy()
    offsets[1, 0] -= 1
    assert _flaws(_changed(maker, EMBED, offsets=offsets).manifest()) == [(Flaw.HOLE, EMBED), (Flaw.OVERLAP, EMBED)]


def test_a_shard_stored_nowhere_is_a_missing_entry():
    """The metadata lists a box and no place for it."""
    maker = complete()
    files = _shards(maker, EMBED).files.copy()
    files[2] = -1
    assert _flaws(_changed(maker, EMBED, files=files).manifest()) == [(Flaw.MISSING_ENTRY, EMBED)]


def test_an_object_stored_nowhere_is_a_missing_entry():
    """The same of an object."""
    maker = complete()
    maker.objects[0] = maker.objects[0]._replace(file=-1)
    assert _flaws(maker.manifest()) == [(Flaw.MISSING_ENTRY, maker.objects[0].key)]


def test_two_shards_on_one_item_contradict_each_other():
    """Where every shard is an item of its own, no byte belongs to two; tied tensors of torch.save share theirs."""
    maker = complete()
    offsets = _shards(maker, EMBED).item_offsets.copy()
    offsets[0] = _shards(maker, "model.norm.weight").item_offsets[0]
    _changed(maker, EMBED, item_offsets=offsets)
    assert [flaw for flaw, _ in _flaws(maker.manifest())] == [Flaw.CORRUPT]
    assert _flaws(maker.manifest(format=Format.TORCH)) == []


def test_a_missing_file_makes_its_states_unreadable():
    """What lies in the file is named, with the reason."""
    maker = complete()
    fault = Fault(Flaw.MISSING_FILE, "is not there", "__1_0.distcp")
    found = audit(maker.manifest(faults=(fault,)))
    states = {state.kind: state for state in found.states}
    assert states[StateKind.FIRST_MOMENT].standing is Standing.UNREADABLE
    assert states[StateKind.FIRST_MOMENT].detail.endswith("__1_0.distcp is missing")
    assert states[StateKind.SCHEDULER].standing is Standing.PRESENT
    assert verdict(found) == "not usable: __1_0.distcp: is not there"


def test_a_short_file_makes_only_what_lies_beyond_its_end_unreadable():
    """Rank 3's file ends in its last item, which is the random-number state."""
    maker = complete()
    manifest = maker.manifest()
    last = manifest.files[3]
    files = (*manifest.files[:3], File(last.name, last.size_bytes - ITEM_BYTES // 2, 3))
    fault = Fault(Flaw.TRUNCATED, "ends too early", last.name)
    states = {state.kind: state for state in audit(manifest._replace(files=files, faults=(fault,))).states}
    unreadable = [kind for kind, state in states.items() if state.standing is Standing.UNREADABLE]
    assert unreadable == [StateKind.RANDOM]


def test_a_flaw_that_whole_checkpoints_have_too_is_not_one():
    """Flat FSDP1 vectors are not reshardable, and are whole."""
    fault = Fault(Flaw.NOT_RESHARDABLE, "flat vectors")
    assert audit(complete().manifest(faults=(fault,))).whole


def test_the_gravest_fault_is_named_first_and_the_others_are_counted():
    """A save that never ended matters more than a hole."""
    faults = (Fault(Flaw.HOLE, "a hole", key="x"), Fault(Flaw.UNCOMMITTED, "the save did not end"))
    found = audit(complete().manifest(faults=faults))
    assert verdict(found) == "not usable: the save did not end (and 1 more fault)"


def test_files_that_nothing_refers_to_are_listed_and_no_fault():
    """Left over from an older save over the same folder."""
    manifest = complete().manifest()
    found = audit(manifest._replace(files=(*manifest.files, File("__7_0.distcp", 123, 7, False))))
    assert (found.leftovers, found.leftover_bytes, found.usable) == (("__7_0.distcp",), 123, True)


def test_a_thousand_faults_are_kept_and_the_rest_counted():
    """2,500 tensors without a place."""
    maker = complete()
    for number in range(2_500):
        maker.tensor(f"model.x{number}", StateKind.BUFFER, shape=())
        shards = maker.tensors[-1].shards
        maker.tensors[-1] = maker.tensors[-1]._replace(shards=shards._replace(files=np.array([-1])))
    found = audit(maker.manifest())
    assert (len(found.faults), found.more_faults) == (1_000, 1_500)


def test_items_are_opened_unless_only_the_metadata_is_asked_for():
    """A shard that is stored with another shape than its box: seen in its item alone, and named for what it is."""
    manifest = complete().manifest()
    raw = manifest.source.raw

    def other(tensor, row):
        found = raw(tensor, row)
        return found._replace(shape=(0, 4)) if (tensor.key, row) == (EMBED, 2) else found

    manifest.source.raw = other
    found = audit(manifest)
    assert [(fault.flaw, fault.key) for fault in found.faults] == [(Flaw.MISMATCH, EMBED)]
    assert "uneven strided sharding" in (found.faults[0].hint or "")
    assert audit(manifest, Depth.METADATA).whole


def test_copies_of_several_ranks_are_no_overlap_where_ranks_save_by_themselves():
    """Without collectives every rank stores a replicated tensor; with them the same box twice is an overlap."""
    maker = complete()
    scalar = "optim.state.norm.weight.step"
    for key in (EMBED, scalar):
        shards = _shards(maker, key)
        rows = [*range(shards.number), 0]
        columns = {name: getattr(shards, name)[rows] for name in shards._fields if name != "flat"}
        columns["files"][-1] = 2
        columns["item_offsets"][-1] = maker.item(2)
        _changed(maker, key, **columns)
    assert _flaws(maker.manifest(format=Format.DCP_RANK_LOCAL)) == []
    assert _flaws(maker.manifest()) == [(Flaw.OVERLAP, EMBED), (Flaw.OVERLAP, scalar)]
