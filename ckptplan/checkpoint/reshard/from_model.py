"""A checkpoint that nobody has written yet: the tensors of a model and its optimizer, stored as a layout has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.dtypes import size_bytes
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import UNKNOWN, File, Format, Ints, Manifest, Shards, Tensor
from ckptplan.checkpoint.reshard.layout import Layout
from ckptplan.checkpoint.reshard.no_bytes import NoBytes
from ckptplan.checkpoint.reshard.placing import place
from ckptplan.checkpoint.reshard.wanted import Wanted, wanted
from ckptplan.cost.architecture import Architecture, TensorKind, Tensors
from ckptplan.cost.scenario import Kind, Ledger, Scope, State
from ckptplan.errors import InputError

_DTYPES = {2.0: "bfloat16", 4.0: "float32", 8.0: "float64", 1.0: "uint8"}
_VOCABULARY = (TensorKind.EMBEDDING, TensorKind.HEAD)
_ADAM_OF_MUON = "of the rest"


class _Kept(NamedTuple):
    """One state per parameter, as a tensor has it."""

    kind: StateKind
    prefix: str
    dtype: str
    only_matrices: bool | None = None  # Muon: hidden matrices alone, or all but these; None: every parameter


def saved_as(architecture: Architecture, ledger: Ledger, layout: Layout) -> Manifest:
    """What a run in a layout would save, shard by shard; one file for each rank that writes.

    Parameters
    ----------
    architecture : Architecture
        Every tensor of the model.
    ledger : Ledger
        The states that a checkpoint holds for each parameter. Small states of the job or of ranks are left out.
    layout : Layout
        That of the run that saves.

    Returns
    -------
    Manifest
        Without a source: no byte of it is anywhere. A shard that several ranks hold is written by the one of them that
        has the least to write so far, as torch DCP does it. Items are as large as their elements.

    Raises
    ------
    InputError
        If the ledger holds nothing for each parameter, or the layout does not fit the model.
    """
    kept, remarks = _states(ledger)
    if not kept:
        raise InputError(f"the ledger {ledger.name} holds no state of a whole parameter", hint="such as adam-14")
    tensors = [tensor for group in architecture.tensors for tensor in _tensors(group, kept)]
    unwritten = Manifest(
        Format.DCP, Path(architecture.source), tuple(tensors), (), (), NoBytes("planned and not written")
    )
    load = np.zeros(layout.ranks, dtype=np.int64)
    stored: list[Tensor] = []
    known: dict[tuple[object, ...], Wanted] = {}
    for placed in place(unwritten, layout).placed:
        tensor = placed.tensor
        key = (tensor.shape, placed.placements, placed.only)
        if key not in known:
            known[key] = wanted(tensor.shape, placed.placements, layout.mesh, placed.only)
        stored.append(tensor._replace(shards=_shards(tensor, known[key], load)))
    files = tuple(File(f"__{rank}_0.distcp", int(size), rank) for rank, size in enumerate(load))
    return unwritten._replace(
        tensors=tuple(stored),
        files=files,
        world_size=layout.ranks,
        mesh=layout.mesh,
        writer_ranks=tuple(np.flatnonzero(load).tolist()),
        remarks=tuple(remarks),
    )


def _states(ledger: Ledger) -> tuple[list[_Kept], list[str]]:
    kept, remarks = [], []
    weights = any(state.kind is Kind.WEIGHTS for state in ledger.states)
    for state in ledger.states:
        if state.scope is not Scope.PARAMETER:
            continue
        whole = float(int(state.bytes_each))
        if whole not in _DTYPES:
            remarks.append(
                f"{state.name}: {state.bytes_each:.3g} bytes per parameter are no tensor of its shape: left out"
            )
            continue
        if whole != state.bytes_each:
            remarks.append(f"{state.name}: the scales of its blocks are left out")
        kept.append(_kept(state, _DTYPES[whole], weights))
    return kept, remarks


def _kept(state: State, dtype: str, weights: bool) -> _Kept:
    name = state.name.replace(" ", "_").replace("-", "_")
    if state.kind is Kind.WEIGHTS or (state.kind is Kind.MASTER and not weights):
        return _Kept(StateKind.PARAMETER, "", dtype)
    if state.kind is Kind.MASTER:
        return _Kept(StateKind.MASTER, "optimizer.master.", dtype)
    if state.kind is Kind.EMA:
        return _Kept(StateKind.EMA, f"{name}.", dtype)
    if state.kind is not Kind.MOMENT:
        return _Kept(StateKind.OTHER, f"{name}.", dtype)
    matrices = True if state.name.endswith("of matrices") else False if state.name.endswith(_ADAM_OF_MUON) else None
    kind = StateKind.SECOND_MOMENT if "second" in state.name else StateKind.FIRST_MOMENT
    return _Kept(kind, f"optimizer.{name}.", dtype, matrices)


def _tensors(group: Tensors, kept: Sequence[_Kept]) -> Iterator[Tensor]:
    is_matrix = len(group.shape) > 1 and group.kind not in _VOCABULARY
    for name in _names(group):
        for one in kept:
            if group.buffer and one.kind is not StateKind.PARAMETER:
                continue
            if one.only_matrices is not None and one.only_matrices != is_matrix:
                continue
            kind = StateKind.BUFFER if group.buffer else one.kind
            yield Tensor(one.prefix + name, kind, one.dtype, group.shape, _NO_SHARDS, (), name)


def _names(group: Tensors) -> Iterator[str]:
    """The name of each tensor: numbers of layer and expert in their places, behind the name where it has none."""
    places = group.name.count("{}")
    for layer in group.layers or (None,):
        for number in range(group.each):
            numbers = ([] if layer is None else [layer]) + ([number] if group.each > 1 or places > 1 else [])
            name = group.name
            for value in numbers:
                name = name.replace("{}", str(value), 1) if "{}" in name else f"{name}.{value}"
            yield name


def _shards(tensor: Tensor, want: Wanted, load: Ints) -> Shards:
    """The boxes of a tensor, each in the file of the rank that writes it; adds their bytes to the load of the ranks."""
    order = np.lexsort((load[want.ranks], want.classes))
    first = np.searchsorted(want.classes[order], np.arange(len(want.shapes)))
    writers = want.ranks[order][first][want.box_classes]
    elements = want.sizes.prod(axis=1, dtype=np.int64)
    item_bytes = elements * size_bytes(tensor.dtype, 8) // 8
    some = elements > 0
    starts = load[writers] + _before(writers, item_bytes)
    np.add.at(load, writers, item_bytes)
    nowhere = np.full(int(some.sum()), UNKNOWN, dtype=np.int64)
    return Shards(want.offsets[some], want.sizes[some], writers[some], starts[some], item_bytes[some], nowhere)


def _before(writers: Ints, item_bytes: Ints) -> Ints:
    """Bytes of the items of the same writer that come earlier in the list."""
    order = np.argsort(writers, kind="stable")
    sums = item_bytes[order].cumsum() - item_bytes[order]
    firsts = np.searchsorted(writers[order], writers[order])
    before = np.empty_like(sums)
    before[order] = sums - sums[firsts]
    return before


_NO_ROWS = np.empty((0, 0), dtype=np.int64)
_NO_ROW = np.empty(0, dtype=np.int64)
_NO_SHARDS = Shards(_NO_ROWS, _NO_ROWS, _NO_ROW, _NO_ROW, _NO_ROW, _NO_ROW)
