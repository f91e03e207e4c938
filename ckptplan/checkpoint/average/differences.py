"""What keeps checkpoints from being averaged: other keys, shapes or types, each named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ckptplan.checkpoint.manifest import Tensor
from ckptplan.errors import InputError, Problem, printable

MOST = 20


def refuse_differences(found: Sequence[Mapping[str, Tensor]], labels: Sequence[str]) -> None:
    """Raise if the tensors of the checkpoints are not alike; the first differences of each kind, 20 in all.

    Parameters
    ----------
    found : sequence of mapping
        Of each checkpoint, its tensors by name.
    labels : sequence of str
        What the checkpoints are called in messages.
    """
    kinds: list[list[Problem]] = [[], [], []]
    totals = [0, 0, 0]
    first = found[0]
    for other, label in zip(found[1:], labels[1:], strict=True):
        for kind, problem in _differences(first, other, printable(labels[0]), printable(label)):
            totals[kind] += 1
            if len(kinds[kind]) < MOST:
                kinds[kind].append(problem)
    if not any(totals):
        return
    shown = _shared_out(kinds)
    more = sum(totals) - len(shown)
    if more:
        keys, shapes, types = totals
        said = f"and {more:,} more: in all {keys:,} missing tensors, {shapes:,} other shapes, {types:,} other types"
        shown.append(Problem(said))
    raise InputError(shown)


def _differences(
    first: Mapping[str, Tensor], other: Mapping[str, Tensor], label: str, other_label: str
) -> list[tuple[int, Problem]]:
    lacking = "are both of one run, and saved alike?"
    problems = [
        (0, Problem(f"{printable(n)}: in {label}, not in {other_label}", hint=lacking)) for n in first if n not in other
    ]
    problems += [
        (0, Problem(f"{printable(n)}: in {other_label}, not in {label}", hint=lacking)) for n in other if n not in first
    ]
    for name, one in first.items():
        two = other.get(name)
        if two is None:
            continue
        if one.shape != two.shape:
            said = f"{printable(name)}: {list(one.shape)} in {label}, {list(two.shape)} in {other_label}"
            problems.append((1, Problem(said, hint="only tensors of one shape have a mean")))
        elif one.dtype != two.dtype:
            said = f"{printable(name)}: {one.dtype} in {label}, {two.dtype} in {other_label}"
            problems.append((2, Problem(said, hint="convert one of them first")))
    return problems


def _shared_out(kinds: Sequence[Sequence[Problem]]) -> list[Problem]:
    """At most 20, in turn from each kind, then in the order of the kinds."""
    counts = [0] * len(kinds)
    while sum(counts) < min(MOST, sum(map(len, kinds))):
        for at, problems in enumerate(kinds):
            if counts[at] < len(problems) and sum(counts) < MOST:
                counts[at] += 1
    shown = [problems[:count] for problems, count in zip(kinds, counts, strict=True)]
    # A hint is said once for each kind of difference, behind the last of them.
    return [replace(p, hint=None if p is not some[-1] else p.hint) for some in shown for p in some]
