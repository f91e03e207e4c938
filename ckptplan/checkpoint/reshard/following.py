"""How state of the optimizer that is shaped unlike its parameter follows it."""

from __future__ import annotations

from ckptplan.checkpoint.reshard.placement import Placement, Placements, Replicate


def follow(key: str, shape: tuple[int, ...], parameter: tuple[int, ...], placements: Placements) -> Placements:
    """Placements of a state, given those of its parameter.

    Notes
    -----
    The same where the shapes are equal. Factored moments (Adafactor) keep some axes of the parameter, and have the
    others not at all or with one element: a cut of an axis that is kept stays, any other becomes a copy on every rank.
    Where two axes are equally long, a key that ends in ``row`` or ``_r`` keeps the first of them, else the last.
    A state whose axes are no part of the parameter's is whole on every rank.
    """
    if shape == parameter:
        return placements
    kept = _kept(key, shape, parameter)
    return tuple(_followed(placement, kept) for placement in placements)


def _followed(placement: Placement, kept: dict[int, int]) -> Placement:
    if isinstance(placement, Replicate):
        return placement
    return placement._replace(axis=kept[placement.axis]) if placement.axis in kept else Replicate()


def _kept(key: str, shape: tuple[int, ...], parameter: tuple[int, ...]) -> dict[int, int]:
    """Axes of the parameter that the state has, with their places in it."""
    if len(shape) == len(parameter):
        fits = all(own in (1, whole) for own, whole in zip(shape, parameter, strict=True))
        return {axis: axis for axis, own in enumerate(shape) if fits and own == parameter[axis]}
    first = key.endswith(("row", "_r"))
    axes = range(len(parameter)) if first else reversed(range(len(parameter)))
    left = list(enumerate(shape)) if first else list(enumerate(shape))[::-1]
    kept: dict[int, int] = {}
    for axis in axes:
        if left and parameter[axis] == left[0][1]:
            kept[axis] = left.pop(0)[0]
    return {} if left else kept
