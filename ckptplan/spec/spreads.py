"""Values that are not known exactly: ``40 s .. 90 s``, or ``{mean: 60 s, cv: 0.3}``."""

from __future__ import annotations

from collections.abc import Callable

from ckptplan.cost.spread import Spread, largest_cv
from ckptplan.spec.hints import shown, what
from ckptplan.spec.schema import Key
from ckptplan.spec.tree import MapNode, Node, ScalarNode
from ckptplan.units import UnitError

SPREADABLE = ("time", "time or auto", "size", "rate", "power", "number", "fraction")
LARGEST_CV = 10.0
_SIGN = ".."
_MEANT = "write {mean: 60 s, cv: 0.3}, or a range such as 40 s .. 90 s"

Reader = Callable[[ScalarNode], float]


def is_spread(node: Node, key: Key) -> bool:
    """Whether a range or a distribution was written where a number belongs."""
    if key.form not in SPREADABLE and key.form != "integer":
        return False
    if isinstance(node, MapNode):
        return bool(set(node.entries) & {"mean", "cv"})
    return isinstance(node, ScalarNode) and isinstance(node.value, str) and _SIGN in node.value


def read_spread(node: Node, key: Key, read: Reader) -> Spread:
    """The spread that a node writes; ``read`` takes one value of the key from a scalar.

    Raises
    ------
    UnitError
        If it is no spread, or the key must be known exactly.
    """
    if key.exact or key.form == "integer":
        raise UnitError("a range makes no sense here: this is counted", "write the number; its uncertainty follows")
    if isinstance(node, MapNode):
        return _mean_and_cv(node, key, read)
    return _range(node, key, read) if isinstance(node, ScalarNode) else _refuse(node)


def _range(node: ScalarNode, key: Key, read: Reader) -> Spread:
    parts = [part.strip() for part in str(node.value).split(_SIGN)]
    if len(parts) != 2 or not all(parts):
        raise UnitError(f"{shown(node.raw.strip())} is not a range", "write one low and one high value: 40 s .. 90 s")
    unit = parts[1].lstrip("0123456789.eE+-_ ")
    if parts[0].lstrip("+").replace("_", "").replace(".", "", 1).isdigit():
        parts[0] = f"{parts[0]} {unit}".strip()  # "40 .. 90 s": the unit stands behind both
    low, high = (read(ScalarNode(node.source, node.line, node.column, value=part, raw=part)) for part in parts)
    if not low < high:
        raise UnitError(
            f"{shown(node.raw.strip())}: the first value is not below the second", "write the lower one first"
        )
    return Spread(mean=(low + high) / 2.0, low=low, high=high, share=key.form == "fraction")


def _mean_and_cv(node: MapNode, key: Key, read: Reader) -> Spread:
    unknown = [name for name in node.entries if name not in {"mean", "cv"}]
    if unknown or len(node.entries) != 2:
        raise UnitError("mean and cv are wanted, both and nothing else", _MEANT)
    mean_node, cv_node = node.child("mean"), node.child("cv")
    if not isinstance(mean_node, ScalarNode) or not isinstance(cv_node, ScalarNode):
        raise UnitError(f"mean and cv are values, but one is {what(mean_node or node)}", _MEANT)
    mean, cv = read(mean_node), _cv(cv_node)
    share = key.form == "fraction"
    if share and not cv < largest_cv(mean):
        raise UnitError(
            f"no share of mean {mean:g} has a cv of {cv:g}", f"write a cv below {largest_cv(mean):.2g}, or a range"
        )
    return Spread(mean=mean, cv=cv, share=share)


def _cv(node: ScalarNode) -> float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= LARGEST_CV:
        raise UnitError(
            f"cv {shown(node.raw.strip())} is not a number above 0 and up to {LARGEST_CV:g}",
            "cv is the standard deviation over the mean: write for example cv: 0.3",
        )
    return float(value)


def _refuse(node: Node) -> Spread:
    raise UnitError(f"{what(node)} where a value belongs", _MEANT)
