"""Parameters that the optimizer knows and that are not stored: by their names, or by number and shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ckptplan.checkpoint.audit.owned import ownership
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest, Tensor
from ckptplan.errors import printable

# Formats that store each parameter as a whole, beside an optimizer that was made of the same ones.
_WHOLE = frozenset({
    Format.TORCH, Format.TORCH_LEGACY, Format.TRAINER, Format.ACCELERATE, Format.DCP, Format.DCP_RANK_LOCAL,
})  # fmt: skip
_MOMENTS = (StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT)
# States of the shape of their parameter.
_SHAPED = ("exp_avg", "exp_avg_sq", "momentum_buffer", "momentum", "square_avg", "sum")
# What may be a parameter: the name alone does not always tell a buffer.
_STORED = frozenset({StateKind.PARAMETER, StateKind.BUFFER, StateKind.OTHER})
_SHOWN = 3
_HINT = "a part of the model is not in the checkpoint: is the copy complete?"

Shape = tuple[int, ...]


def lost_parameters(manifest: Manifest) -> Iterator[Fault]:
    """Parameters whose states are there and which are not themselves."""
    stored = [tensor for tensor in manifest.tensors if tensor.kind in _STORED]
    if manifest.format not in _WHOLE or not any(tensor.kind is StateKind.PARAMETER for tensor in stored):
        return
    moments = [tensor for tensor in manifest.tensors if tensor.kind in _MOMENTS and _is_state(tensor)]
    yield from _by_name([one for one in moments if not _number(one)], {tensor.key for tensor in stored})
    shapes = _shapes([one for one in moments if _number(one)])
    yield from _by_number(shapes, stored, _listed(manifest))


def _is_state(tensor: Tensor) -> bool:
    """Whether its path is ``state.<parameter>.<slot>``."""
    return len(tensor.path) >= 3 and tensor.path[-3] == "state"


def _number(tensor: Tensor) -> bool:
    return str(tensor.path[-2]).isdigit()


def _by_name(moments: Sequence[Tensor], stored: set[str]) -> Iterator[Fault]:
    """Names of states of which no parameter has the name; nothing if most differ, which is another spelling."""
    gone = {str(one.path[-2]) for one in moments if one.parameter is None or one.parameter not in stored}
    there = {str(one.path[-2]) for one in moments} - gone
    if gone and len(gone) <= len(there):
        names = sorted(gone)
        first = ", ".join(printable(name)[:80] for name in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        message = f"the optimizer has state of {_parameters(len(gone))} not stored: {first}"
        yield Fault(Flaw.MISSING_ENTRY, message, hint=_HINT)


def _parameters(number: int) -> str:
    return "1 parameter that is" if number == 1 else f"{number:,} parameters that are"


def _shapes(moments: Sequence[Tensor]) -> dict[tuple[str, ...], Shape | None]:
    """Numbered parameters with the shape that their states give them, where one of them has it."""
    found: dict[tuple[str, ...], Shape | None] = {}
    for one in moments:
        owner = (one.key.partition(":")[0] if ":" in one.key else "", *(str(part) for part in one.path[:-1]))
        shape = one.shape if str(one.path[-1]) in _SHAPED else None
        found[owner] = found.get(owner) or shape
    return found


def _listed(manifest: Manifest) -> int:
    """How many parameters the groups of the optimizer list by number."""
    listed = ownership(manifest).listed or frozenset()
    return len(listed) if all(name.isdigit() for name in listed) else 0


def _by_number(shapes: dict[tuple[str, ...], Shape | None], stored: Sequence[Tensor], listed: int) -> Iterator[Fault]:
    """More states than tensors; or of some shape, as long as most shapes are those of tensors."""
    known = max(len(shapes), listed)
    if known > len(stored):
        message = f"the optimizer knows {known:,} parameters, and {len(stored):,} tensors of the model are stored"
        yield Fault(Flaw.MISSING_ENTRY, message, hint=_HINT)
        return
    wanted = Counter(shape for shape in shapes.values() if shape is not None)
    lacking = wanted - Counter(tensor.shape for tensor in stored)
    number = lacking.total()
    # Moments of a low rank have other shapes than their parameters nearly all.
    if number and 2 * number <= wanted.total():
        first = ", ".join(str(list(shape)) for shape in list(lacking)[:_SHOWN])
        message = f"the optimizer has state of {_parameters(number)} not stored, of shape {first}"
        yield Fault(Flaw.MISSING_ENTRY, message, hint=_HINT)
