"""The model group: parameters, and the ledger of what a checkpoint keeps of them."""

from __future__ import annotations

from typing import Any

from ckptplan.cost.scenario import Kind, Ledger, Model, Scope, State
from ckptplan.cost.state import DEFAULT_LEDGER, addition_names, compose, ledger, ledger_names
from ckptplan.errors import InputError
from ckptplan.spec.fields import read_state
from ckptplan.spec.hints import nearest, shown
from ckptplan.spec.model_source import matrix_fraction, parameter_counts
from ckptplan.spec.record import Record
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode

_MOST_STATES = 100
_FOLLOWS = "follows from model.checkpoint"
_LEAST_BYTES, _MOST_BYTES = 2.0, 24.0
# Words in the name of a listed state, the most telling first.
_KINDS = (
    ("master", Kind.MASTER),
    ("moment", Kind.MOMENT),
    ("variance", Kind.MOMENT),
    ("exp_avg", Kind.MOMENT),
    ("ema", Kind.EMA),
    ("average", Kind.EMA),
    ("gradient", Kind.GRADIENT),
    ("random", Kind.RANDOM),
    ("rng", Kind.RANDOM),
    ("scal", Kind.SCALER),
    ("weight", Kind.WEIGHTS),
    ("param", Kind.WEIGHTS),
)


def build_model(record: Record) -> Model | None:
    """The model, or None if a fault was noted."""
    fields = record.fields
    counts = parameter_counts(record)
    kept = _ledger(record, None if counts is None else matrix_fraction(counts))
    trained = record.take("model.trainable_fraction", 1.0)
    frozen = record.take("model.frozen_weights", "omitted")
    if kept is None or counts is None or not fields.sound("model"):
        return None
    if fields.has("model.matrix_fraction") and "muon" not in kept.name:
        record.warn("model.matrix_fraction", "has no effect: only the ledger muon uses it", "delete it, or write muon")
    _lint_bytes(record, kept)
    total, experts, architecture = counts
    return Model(total, kept, experts, trained, frozen == "saved", architecture)


def _ledger(record: Record, matrices: float | None) -> Ledger | None:
    """The ledger; ``matrices`` is the part of the parameters in hidden matrices, where the layers are known."""
    given = record.fields.given.get("model.state")
    node = None if given is None else given.node
    if not record.fields.sound("model.state"):
        return None
    if isinstance(node, MapNode):
        record.fields.fault(
            "model.state", "a group of keys where a ledger or a list belongs", "begin each state with '- '"
        )
        return None
    if isinstance(node, ListNode):
        return _listed(record, node, matrices)
    if given is None and record.saved is not None and record.saved.ledger is not None:
        kept = record.saved.ledger
        record.note("model.state", kept.name, f"{kept.name}: {_bytes_each(kept):.4g} bytes per parameter", _FOLLOWS)
        return kept
    name = node.raw.strip() if isinstance(node, ScalarNode) else DEFAULT_LEDGER
    built = _named(record, "model.state", name, matrices)
    if built is None:
        return None
    text = f"{name}: {_bytes_each(built):.4g} bytes per parameter"
    record.note("model.state", name, text, record.origin("model.state"))
    return built


def _named(record: Record, path: str, name: str, matrices: float | None) -> Ledger | None:
    """A ledger by name; only Muon asks for the fraction of matrices."""
    if name not in ledger_names():
        _no_ledger(record, path, name, ledger_names())
        return None
    fraction = 0.95
    if name == "muon":
        known = {} if matrices is None else {"origin": "follows from the layers"}
        fraction = record.take("model.matrix_fraction", 0.95 if matrices is None else matrices, **known)
        if matrices is None and not record.fields.has("model.matrix_fraction"):
            record.warn(
                path, "assumed: 95 % of the parameters are in matrices that Muon updates", "write matrix_fraction"
            )
    return ledger(name, matrix_fraction=fraction)


def _no_ledger(record: Record, path: str, name: str, known: tuple[str, ...]) -> None:
    plain = name.lower().replace("_", "-").replace(" ", "-")
    same = next((other for other in known if other.replace("-", "") == plain.replace("-", "")), None)
    listed = f"ledgers: {', '.join(known)}"
    if same is None and plain.startswith("adam"):
        # The nearest by letters may hold gradients, which a checkpoint seldom does.
        hint = f"did you mean {DEFAULT_LEDGER}, the default? {listed}"
    else:
        near = same or nearest(name, known)
        hint = f"did you mean {near}?" if near else listed
    record.fields.fault(path, f"there is no ledger {shown(name)}", hint)


def _listed(record: Record, node: ListNode, matrices: float | None) -> Ledger | None:
    """A list of names and of states with their bytes."""
    if not node.items or len(node.items) > _MOST_STATES:
        message = "the list is empty" if not node.items else f"more than {_MOST_STATES} states"
        record.fields.fault("model.state", message, "write for example state: [adam-14, ema]")
        return None
    states: list[State] = []
    additions: list[str] = []
    names: list[str] = []
    for index, item in enumerate(node.items):
        path = f"model.state[{index}]"
        record.fields.places[path] = item.place
        if isinstance(item, MapNode):
            state = _state(record, path, item)
            states += [] if state is None else [state]
        else:
            names += _by_name(record, path, item, (states, additions), matrices)
    if not record.fields.whole("model.state"):
        return None
    if any(name in names[:place] and name in ledger_names() for place, name in enumerate(names)):
        return None
    try:
        return compose(" + ".join(names) or "states as listed", states, additions)
    except InputError as error:
        for problem in error.problems:
            record.fields.fault("model.state", problem.message, problem.hint)
        return None


def _by_name(
    record: Record, path: str, item: Node, found: tuple[list[State], list[str]], matrices: float | None
) -> list[str]:
    states, additions = found
    name = item.raw.strip() if isinstance(item, ScalarNode) else ""
    if not name:
        record.fields.fault(path, "a name or a group of keys belongs here", "write for example adam-14 or ema")
        return []
    if name in addition_names():
        additions.append(name)
    elif name in ledger_names():
        built = _named(record, path, name, matrices)
        states += [] if built is None else list(built.states)
    else:
        _no_ledger(record, path, name, (*ledger_names(), *addition_names()))
        return []
    record.note(path, name, name, item.origin)
    return [name]


def _state(record: Record, path: str, node: MapNode) -> State | None:
    fields = record.fields
    read_state(fields, path, node)
    keys = [key for key in ("bytes_per_parameter", "bytes") if fields.has(f"{path}.{key}")]
    if len(keys) != 1:
        message = "both bytes_per_parameter and bytes" if keys else "bytes_per_parameter or bytes is missing"
        fields.fault(path, message, "write one of them, for example bytes_per_parameter: 4")
    if not fields.whole(path):
        return None
    name = record.take(f"{path}.name")
    each = record.take(f"{path}.{keys[0]}")
    scope = record.take(f"{path}.per", str(Scope.PARAMETER if keys[0] == "bytes_per_parameter" else Scope.JOB))
    if keys[0] == "bytes_per_parameter" and scope != Scope.PARAMETER:
        fields.fault(f"{path}.per", f"bytes_per_parameter, yet per {scope}", f"write bytes, with per: {scope}")
        return None
    kind = record.take(f"{path}.kind", str(_kind(name, scope)), origin="default, read from the name")
    loss: Any = fields.given.get(f"{path}.loss")
    return State(name, Kind(kind), each, Scope(scope), loss="" if loss is None else loss.si, source="the spec")


def _kind(name: str, scope: str) -> Kind:
    found = next((kind for word, kind in _KINDS if word in name.lower()), None)
    return found or (Kind.MOMENT if scope == Scope.PARAMETER else Kind.PROGRESS)


def _bytes_each(kept: Ledger) -> float:
    return sum(state.bytes_each * state.share for state in kept.states if state.scope is Scope.PARAMETER)


def _lint_bytes(record: Record, kept: Ledger) -> None:
    each = _bytes_each(kept)
    if each > _MOST_BYTES:
        record.warn(
            "model.state",
            f"{each:.4g} bytes per parameter; Adam in mixed precision saves 12 to 18",
            "are these bits? 8 bits are one byte; gradients are not saved",
        )
    if each < _LEAST_BYTES * (1 - 1e-9):
        record.warn(
            "model.state",
            f"{each:.4g} bytes per parameter; 16-bit weights alone have 2",
            "is a state missing, or is a number given in gigabytes?",
        )
