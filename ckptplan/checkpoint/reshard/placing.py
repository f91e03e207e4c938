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
from ckptplan.checkpoint.reshard.layout import Layout, Rule, is_pattern
from ckptplan.checkpoint.reshard.placement import Placements, Replicate
from ckptplan.checkpoint.reshard.stages import rank_of_stage
from ckptplan.checkpoint.reshard.wanted import Only

# What lies on the mesh as its parameter does. All else is whole on every rank that needs it.
SHARDED = frozenset({
    StateKind.PARAMETER, StateKind.MASTER, StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT, StateKind.EMA,
    StateKind.OTHER,
})  # fmt: skip

_CUT = "parameters and state of their shape"
_UNLIKE = frozenset({StateKind.OTHER, StateKind.EMA})  # without a parameter to follow

_COPIES = ("replicate", "cp")  # axes of copies, as asked for

_ByName = Callable[[str, tuple[int, ...]], tuple[Placements, Only, bool]]


class Placed(NamedTuple):
    """One tensor on the mesh."""

    tensor: Tensor
    placements: Placements
    only: Only = ()
    rule: str | None = None  # pattern of the rule that gave the placements


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
    return Placing(tuple(placed), left_out, (*_unknown(unknown), *model.remarks, *rules.idle(), *_idle(placed, layout)))


def _of_one_rank(tensor: Tensor) -> bool:
    return tensor.rank is not None or tensor.kind is StateKind.RANDOM


class _Rules:
    """Rules, found by key: exact ones by a dictionary, since a layout file may name every key."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._exact: dict[str, tuple[int, Rule]] = {}
        self._patterns: list[tuple[int, re.Pattern[str], Rule]] = []
        self._fitting: set[str] = set()
        self.used: set[str] = set()  # that placed a tensor
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
        self._fitting.add(found[1].pattern)
        return found[1]

    def idle(self) -> tuple[str, ...]:
        """Said of patterns that place nothing."""
        rules = [rule for _, _, rule in self._patterns if rule.pattern not in self.used]
        idle = [rule.pattern for rule in rules if rule.pattern not in self._fitting]
        cuts = [rule for rule in rules if any(not isinstance(one, Replicate) for one in rule.placements or ())]
        vain = [rule.pattern for rule in cuts if rule.pattern in self._fitting]
        said = ((idle, "places no tensor"), (vain, f"cuts no tensor, since a pattern cuts {_CUT} only: name the key"))
        return tuple(f"{what}: {', '.join(names[:5])}{', ...' * (len(names) > 5)}" for names, what in said if names)


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
    rule: Rule | None = None
    if own is not None and own.placements is not None and (on_mesh or named):
        placements, sure, rule = own.placements, True, own
        if not named:
            placements = follow(tensor.key, tensor.shape, shape, placements)
    elif not on_mesh or (tensor.kind in _UNLIKE and not tensor.parameter):
        placements, sure = whole, True
    else:
        rule = of_parameter if of_parameter is not None and of_parameter.placements is not None else None
        given = None if rule is None else rule.placements
        placements = follow(tensor.key, tensor.shape, shape, given if given is not None else default)
        sure = sure or given is not None
    staged = next((one for one in (own, of_parameter) if one is not None and one.stages is not None), None)
    if staged is not None and staged.stages is not None:
        only = _on_stages(only, layout, staged.stages)
    rules.used |= {one.pattern for one in (rule, staged) if one is not None}
    return Placed(tensor, placements, only, None if rule is None else rule.pattern), sure


def _on_stages(only: Only, layout: Layout, stages: tuple[int, ...]) -> Only:
    axis = layout.axis("pp")
    if axis is None:
        return only
    places = tuple(sorted({rank_of_stage(stage, layout.mesh.shape[axis]) for stage in stages}))
    return (*((other, where) for other, where in only if other != axis), (axis, places))


def _idle(placed: list[Placed], layout: Layout) -> tuple[str, ...]:
    """Axes of the mesh along which nothing is cut or placed: said, since one would not ask for copies so."""
    seen = {(one.placements, one.only) for one in placed}
    cut = {axis for placements, _ in seen for axis, one in enumerate(placements) if not isinstance(one, Replicate)}
    cut |= {axis for _, only in seen for axis, _ in only}
    names = zip(layout.mesh.names, layout.mesh.shape, strict=True)
    idle = [
        f"{name} {size:,}"
        for axis, (name, size) in enumerate(names)
        if size > 1 and axis not in cut and name not in _COPIES
    ]
    return tuple(f"{one} cuts no tensor: ranks along it are copies of each other" for one in idle)


def _unknown(keys: list[str]) -> tuple[str, ...]:
    if not keys:
        return ()
    more = "" if len(keys) == 1 else f" and {len(keys) - 1:,} others"
    return (
        f"no rule says how tensor parallelism cuts {keys[0]}{more}: planned whole on every tp rank; a layout file can "
        "say otherwise",
    )
