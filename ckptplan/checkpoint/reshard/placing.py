"""Where every tensor of a checkpoint lies in a layout: by its rules, else by its name."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Manifest, Tensor
from ckptplan.checkpoint.reshard.by_name import by_name, model_of
from ckptplan.checkpoint.reshard.following import follow
from ckptplan.checkpoint.reshard.layout import Layout, Rule
from ckptplan.checkpoint.reshard.placement import Placements, Replicate
from ckptplan.checkpoint.reshard.stages import rank_of_stage
from ckptplan.checkpoint.reshard.wanted import Only

# What lies on the mesh as its parameter does. All else is whole on every rank that needs it.
SHARDED = frozenset({
    StateKind.PARAMETER, StateKind.MASTER, StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT, StateKind.EMA,
    StateKind.OTHER,
})  # fmt: skip

_UNLIKE = frozenset({StateKind.OTHER, StateKind.EMA})  # without a parameter to follow

_ByName = Callable[[str, tuple[int, ...]], tuple[Placements, Only, bool]]


class Placed(NamedTuple):
    """One tensor on the mesh."""

    tensor: Tensor
    placements: Placements
    only: Only = ()


class Placing(NamedTuple):
    """All tensors that are planned, what is left to each rank's own doing, and what is doubtful."""

    placed: tuple[Placed, ...]
    left_out: tuple[str, ...]  # keys of tensors that belong to one rank of the run that saved
    remarks: tuple[str, ...]


def place(manifest: Manifest, layout: Layout) -> Placing:
    """Where the tensors lie.

    A rule that fits the key comes first, then one that fits the parameter the state belongs to; what no rule fits is
    placed by name (`by_name`). State of another shape than its parameter follows it as far as it can (`follow`).
    Steps, buffers and all else that does not lie on a mesh is whole, whatever a pattern says: a rule must name its key.
    """
    planned = [tensor for tensor in manifest.tensors if not _of_one_rank(tensor)]
    model = model_of(planned, layout)
    shapes = {tensor.key: tensor.shape for tensor in planned}
    rules, names = _Rules(layout.rules), cache(partial(by_name, layout=layout, model=model))
    placed, unknown = [], []
    for tensor in planned:
        found, sure = _placed(tensor, layout, rules, names, shapes)
        placed.append(found)
        if not sure:
            unknown.append(tensor.key)
    left_out = tuple(tensor.key for tensor in manifest.tensors if _of_one_rank(tensor))
    return Placing(tuple(placed), left_out, (*_unknown(unknown), *model.remarks, *rules.idle()))


def _of_one_rank(tensor: Tensor) -> bool:
    return tensor.rank is not None or tensor.kind is StateKind.RANDOM


class _Rules:
    """Rules, found by key: exact ones by a dictionary, since a layout file may name every key."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._exact: dict[str, tuple[int, Rule]] = {}
        self._patterns: list[tuple[int, re.Pattern[str], Rule]] = []
        self._used: set[str] = set()
        for number, rule in enumerate(rules):
            if is_pattern(rule.pattern):
                translated = fnmatch.translate(rule.pattern.replace("[", "[[]"))
                self._patterns.append((number, re.compile(translated), rule))
            else:
                self._exact.setdefault(rule.pattern, (number, rule))

    def of(self, key: str) -> Rule | None:
        """The first rule that fits."""
        found = self._exact.get(key)
        for number, pattern, rule in self._patterns:
            if found is not None and found[0] < number:
                break
            if pattern.match(key):
                found = (number, rule)
                break
        if found is None:
            return None
        self._used.add(found[1].pattern)
        return found[1]

    def idle(self) -> tuple[str, ...]:
        """Said of patterns that place nothing."""
        idle = [rule.pattern for _, _, rule in self._patterns if rule.pattern not in self._used]
        return (f"places no tensor: {', '.join(idle[:5])}{', ...' * (len(idle) > 5)}",) if idle else ()


def is_pattern(text: str) -> bool:
    """Whether a rule names more than one key. Brackets are part of names."""
    return "*" in text or "?" in text


def _placed(
    tensor: Tensor, layout: Layout, rules: _Rules, names: _ByName, shapes: dict[str, tuple[int, ...]]
) -> tuple[Placed, bool]:
    parameter = tensor.parameter or tensor.key
    shape = shapes.get(parameter, tensor.shape)
    own, of_parameter = rules.of(tensor.key), rules.of(parameter)
    default, only, sure = names(parameter, shape)
    whole: Placements = (Replicate(),) * len(layout.mesh.shape)
    on_mesh = tensor.kind in SHARDED and bool(tensor.shape)
    named = own is not None and not is_pattern(own.pattern)
    if own is not None and own.placements is not None and (on_mesh or named):
        placements, sure = own.placements, True
        if not named:
            placements = follow(tensor.key, tensor.shape, shape, placements)
    elif not on_mesh or (tensor.kind in _UNLIKE and not tensor.parameter):
        placements, sure = whole, True
    else:
        given = of_parameter.placements if of_parameter is not None else None
        placements = follow(tensor.key, tensor.shape, shape, given if given is not None else default)
        sure = sure or given is not None
    stages = next((rule.stages for rule in (own, of_parameter) if rule is not None and rule.stages is not None), None)
    if stages is not None:
        only = _on_stages(only, layout, stages)
    return Placed(tensor, placements, only), sure


def _on_stages(only: Only, layout: Layout, stages: tuple[int, ...]) -> Only:
    axis = layout.axis("pp")
    if axis is None:
        return only
    places = tuple(sorted({rank_of_stage(stage, layout.mesh.shape[axis]) for stage in stages}))
    return (*((other, where) for other, where in only if other != axis), (axis, places))


def _unknown(keys: list[str]) -> tuple[str, ...]:
    if not keys:
        return ()
    more = "" if len(keys) == 1 else f" and {len(keys) - 1:,} others"
    return (
        f"no rule says how tensor parallelism cuts {keys[0]}{more}: planned whole on every tp rank; a layout file can "
        "say otherwise",
    )
