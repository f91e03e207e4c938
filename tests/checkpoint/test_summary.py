"""A manifest in numbers: tied weights are counted once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.summary import by_kind, parameter_elements, sharing
from ckptplan.readers.models.saved_state import saved_state
from ckptplan.render.inspect_report import answer
from ckptplan.render.inspect_sheet import Shown, inspect_document
from tests.checkpoint.archives.torch_zip import Storage, saved, tensor
from tests.checkpoint.shared_fixtures import folder_of, needs_collection

EMBEDDING = Storage("float32", "0", 24)
MOMENT = Storage("float32", "1", 24)
DATA = {key: np.arange(24, dtype=np.float32).tobytes() for key in ("0", "1")}


def tied(folder: Path):
    """A model whose head is its embedding, once as it is and once transposed, with one moment."""
    model = {
        "embed.weight": tensor(EMBEDDING, (6, 4), (4, 1)),
        "head.weight": tensor(EMBEDDING, (6, 4), (4, 1)),
        "proj.weight": tensor(EMBEDDING, (4, 6), (1, 4)),
    }
    state = {0: {"exp_avg": tensor(MOMENT, (6, 4), (4, 1))}}
    value = {"model": model, "ema": {"decay": 0.9}, "optimizer": {"state": state, "param_groups": [{"lr": 0.1}]}}
    (folder / "tied.pt").write_bytes(saved(value, DATA))
    return read_manifest(folder / "tied.pt")


def test_tied_weights_are_counted_once(tmp_path: Path) -> None:
    """The number of parameters is that of the model; each tensor keeps its own bytes."""
    manifest = tied(tmp_path)
    assert parameter_elements(manifest) == 24
    assert [one.key for one in sharing(manifest.tensors)] == ["model.head.weight", "model.proj.weight"]
    totals = {total.kind: total for total in by_kind(manifest)}
    weights = totals[StateKind.PARAMETER]
    assert (weights.logical_bytes, weights.distinct_bytes, weights.elements) == (3 * 96, 96, 24)
    assert totals[StateKind.FIRST_MOMENT].shared_bytes == 0


def test_an_inspection_says_how_many_share_their_storage(tmp_path: Path) -> None:
    """The answer counts them once, and so do the bytes that are stored and those for each parameter."""
    manifest = tied(tmp_path)
    said = answer(manifest)
    assert "of 24 parameters with 192 B in 4 tensors, of which 2 share that of others, counted once" in said
    told = inspect_document(Shown(manifest, manifest.tensors, manifest.objects))
    assert (told["parameters"], told["shared_tensors"], told["shared_bytes"]) == (24, 2, 192)
    weights = next(row for row in told["kinds"] if row["kind"] == "parameters")
    assert (weights["stored_bytes"], weights["bytes_per_parameter"]) == (96, 4.0)


def test_a_plan_sizes_tied_weights_once(tmp_path: Path) -> None:
    """24 parameters of four bytes and a moment of four bytes each; averages without a tensor take no bytes."""
    found = saved_state(tied(tmp_path))
    assert found.architecture.total == 24
    assert found.ledger is not None
    each = {state.source: (state.bytes_each, state.share) for state in found.ledger.states}
    assert each["parameters"] == each["first moments"] == (4.0, 1.0)


@needs_collection
def test_copies_in_dcp_are_no_shared_storage() -> None:
    """Both names of a tied weight , each with data of its own: nothing tells that they are one."""
    manifest = read_manifest(folder_of("dcp-tied-weights"))
    assert sharing(manifest.tensors) == []
