"""Optimizers, told apart by what they leave in a checkpoint: names of hyperparameters, names of states."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.cost.ledgers import MOMENTUM

_FIRST, _SECOND, _STEP = StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT, StateKind.OPTIMIZER_STEP
KINDS = (_FIRST, _SECOND, _STEP)

_ALL, _SQUARES, _ONE = frozenset(KINDS), frozenset({_SECOND, _STEP}), frozenset({_FIRST})
_NOTHING: frozenset[StateKind] = frozenset()
_RATES = "learning rate, weight decay and all else that its groups hold are those of the new start, not of the run"
_OTHER_LOSS = {
    _FIRST: MOMENTUM.loss,
    _SECOND: "its mean of squared gradients starts from zero: step sizes are wrong until it fills again",
    _STEP: "its count of steps starts again, and with it the rates that are worked out from it",
    StateKind.HYPERPARAMETERS: _RATES,
}
_SUM_LOSS = {
    **_OTHER_LOSS,
    _SECOND: "its sum of squared gradients starts from zero: steps are as large as at the start",
}


class Family(NamedTuple):
    """One optimizer: what tells it, what it keeps for a parameter, and what the loss of that costs."""

    name: str
    keeps: frozenset[StateKind]
    marks: tuple[frozenset[str], ...] = ()  # hyperparameters: all names of one of these sets tell it
    without: frozenset[str] = frozenset()  # hyperparameters that it has not
    signs: frozenset[str] = frozenset()  # states of these names tell it, whatever its hyperparameters are
    first_if: str | None = None  # hyperparameter that is None or zero where it keeps no first moment
    losses: Mapping[StateKind, str] = MappingProxyType(_OTHER_LOSS)

    def fits(self, names: frozenset[str]) -> bool:
        """Whether it has a group with hyperparameters of these names."""
        return not names & self.without and any(mark <= names for mark in self.marks)


def _mark(*names: str) -> frozenset[str]:
    return frozenset(names)


_BETAS = _mark("betas", "beta1", "beta2")

# The first that fits is taken. Hyperparameters are those of torch 2.13, transformers 5.24, bitsandbytes 0.48,
# schedulefree 1.4 and of the authors' own files; betas stand in the groups of all that are like Adam.
FAMILIES = (
    Family("schedule-free", _ALL, (_mark("weight_sum", "k"), _mark("weight_lr_power")), signs=_mark("z")),
    Family("Muon", _ONE, (_mark("ns_steps"), _mark("ns_coefficients"), _mark("momentum", "use_muon")), _BETAS),
    Family("Sophia", _ALL, (_mark("betas", "rho"),), signs=_mark("hessian")),
    Family("Adafactor", _SQUARES, (_mark("beta2_decay"),), signs=_mark("row_var", "col_var", "variance")),
    Family(
        "Adafactor", _ALL, (_mark("relative_step"), _mark("scale_parameter"), _mark("clip_threshold", "decay_rate")),
        signs=_mark("exp_avg_sq_row", "exp_avg_sq_col"), first_if="beta1",
    ),
    Family("Shampoo", _ALL, (_mark("update_freq", "epsilon"), _mark("preconditioning_compute_steps")),
           signs=_mark("precond", "inv_precond", "pre_cond", "inv_pre_cond")),
    Family("Adagrad", _SQUARES, (_mark("lr_decay"), _mark("initial_accumulator_value")), signs=_mark("sum"),
           losses=MappingProxyType(_SUM_LOSS)),
    Family("Adadelta", _SQUARES, (_mark("rho", "eps"),), _BETAS, signs=_mark("acc_delta")),
    Family("RMSprop", _ALL, (_mark("centered"), _mark("alpha", "eps")), _BETAS, first_if="momentum"),
    Family("Rprop", frozenset({_STEP}), (_mark("etas"),)),
    Family("averaged SGD", frozenset({_STEP}), (_mark("lambd"),)),
    Family("SGD", _ONE, (_mark("dampening"), _mark("momentum", "nesterov")), _BETAS, first_if="momentum"),
    Family("Lion", _ONE, (_mark("betas"),), _mark("eps", "epsilon")),
)  # fmt: skip
ONE_MOMENTUM = Family("SGD or Muon, with one momentum", _ONE)
ONE_STATE_8BIT = Family("an 8-bit optimizer with one state", frozenset({_FIRST, _STEP}))


def by_hyperparameters(names: frozenset[str]) -> Family | None:
    """The optimizer that has a group with hyperparameters of these names; None for Adam and for what is not known."""
    return next((family for family in FAMILIES if family.fits(names)), None)


def by_states(slots: frozenset[str]) -> Family | None:
    """The optimizer that alone keeps states of such names."""
    stems = frozenset(slot.rstrip("0123456789").rstrip("_") for slot in slots) | slots
    return next((family for family in FAMILIES if stems & family.signs), None)
