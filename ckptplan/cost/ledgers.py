"""Data of the ledgers: every state, its bytes, what resuming without it costs, and the source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ckptplan.cost.scenario import Kind, Ledger, Scope, State

_ZERO: Final = "Rajbhandari et al., ZeRO, SC 2020, section 3.1: 2 + 2 + 12 bytes per parameter"
_MEGATRON: Final = "Megatron Core documentation, Distributed Optimizer, table of bytes per parameter"
_ADAM: Final = "Kingma and Ba, Adam, ICLR 2015, algorithm 1"
_MICIKEVICIUS: Final = "Micikevicius et al., Mixed precision training, ICLR 2018, section 3.1"

# One fp32 absolute maximum per block of 256 values (newer bitsandbytes; 2,048 in the paper).
_BLOCKWISE_8BIT: Final = 1.0 + 4.0 / 256.0
# Row and column sums of a 4,096 x 16,384 matrix, 4 bytes each, spread over its elements.
_FACTORED: Final = 4.0 * (1.0 / 4_096 + 1.0 / 16_384)
# Mersenne Twister of torch on the CPU 5,056; Philox of CUDA 16 for each of three streams (default,
# tensor-parallel, recomputation); Mersenne Twisters of numpy and of Python, 2,500 each
# (624 words and a position).
_RANDOM_BYTES: Final = 5_056.0 + 3 * 16.0 + 2 * 2_500.0
_SCHEDULER_BYTES: Final = 1_000.0
_DATA_POSITION_BYTES: Final = 1_000.0
_SCALER_BYTES: Final = 64.0

WEIGHTS: Final = State(
    "16-bit weights",
    Kind.WEIGHTS,
    2.0,
    loss="nothing while fp32 master weights are saved: rounding gives it back; without both, the model",
    source=_MICIKEVICIUS,
)
MASTER: Final = State(
    "fp32 master weights",
    Kind.MASTER,
    4.0,
    loss="the small updates that a 16-bit copy alone has swallowed",
    source=_MICIKEVICIUS,
)
FIRST: Final = State(
    "first moment",
    Kind.MOMENT,
    4.0,
    loss="Adam restarts its moments, step count and bias correction: abnormal updates for hundreds of steps",
    source=_ADAM,
)
SECOND: Final = replace(
    FIRST,
    name="second moment",
    loss="as for the first moment; step sizes are wrong by orders of magnitude until it fills again",
)
MOMENTUM: Final = replace(
    FIRST,
    name="momentum",
    loss="the running mean of gradients starts from zero: damped updates for tens of steps",
    source="Sutskever et al., On the importance of initialization and momentum, ICML 2013",
)
_GRADIENT_LOSS: Final = "nothing after an optimizer step: the next backward pass fills it again"
GRADIENTS_16: Final = State("16-bit gradients", Kind.GRADIENT, 2.0, loss=_GRADIENT_LOSS, source=_ZERO)
GRADIENTS_32: Final = State("fp32 gradients", Kind.GRADIENT, 4.0, loss=_GRADIENT_LOSS, source=_MEGATRON)
FROZEN_WEIGHTS: Final = State(
    "frozen weights",
    Kind.WEIGHTS,
    2.0,
    loss="nothing while the base model can be had again elsewhere",
    source="16-bit base weights, saved again with every checkpoint",
)

SMALL_STATES: Final = (
    State(
        "global step and learning-rate scheduler",
        Kind.PROGRESS,
        _SCHEDULER_BYTES,
        Scope.JOB,
        loss="the rate is back in warm-up or in the wrong place of its decay",
        source="estimate: a few tens of numbers and names, pickled",
    ),
    State(
        "data-loader position",
        Kind.PROGRESS,
        _DATA_POSITION_BYTES,
        Scope.DATA_RANK,
        loss="data seen twice or skipped",
        source="estimate: epoch, index, shuffle seed; a loader that saves its packing buffer holds megabytes",
    ),
    State(
        "random-number state",
        Kind.RANDOM,
        _RANDOM_BYTES,
        Scope.RANK,
        loss="dropout and shuffling not reproducible bit for bit; recomputation and tensor parallelism hold "
        "several streams",
        source="torch CPU 5,056 bytes, 3 CUDA streams of 16, numpy and Python 2,500 each",
    ),
    State(
        "loss-scaler value and FP8 amax history",
        Kind.SCALER,
        _SCALER_BYTES,
        Scope.JOB,
        loss="overflow or underflow in the first steps",
        source="scale, growth tracker, hysteresis; delayed FP8 scaling adds about 20 kB per linear layer "
        "(5 tensors x 1,024 steps x 4 bytes)",
    ),
)

ADDITIONS: Final = {
    "ema": State(
        "averaged weights",
        Kind.EMA,
        4.0,
        loss="the average starts again: thousands of steps until it can be evaluated",
        source="Polyak and Juditsky, SIAM J. Control Optim. 1992; fp32 copy",
    ),
    "ema-bf16": State(
        "averaged weights",
        Kind.EMA,
        2.0,
        loss="the average starts again; in 16 bits it also swallows updates below 1/256 of a weight",
        source="Polyak and Juditsky, SIAM J. Control Optim. 1992; 16-bit copy",
    ),
    "amsgrad": State(
        "largest second moment",
        Kind.MOMENT,
        4.0,
        loss="the bound on step sizes that AMSGrad guarantees is forgotten",
        source="Reddi et al., On the convergence of Adam and beyond, ICLR 2018",
    ),
}

NOT_SAVED: Final = {
    "gradients": "gradients: used up by the optimizer step that precedes a save",
    "activations": "activations: the next forward pass computes them again",
    "communication buffers": "communication buffers: scratch space of collectives, filled anew in every step",
    "16-bit weights": "16-bit weights: rounding the fp32 master weights gives them back exactly",
    "optimizer": "master weights, moments, progress, random-number state: training cannot go on from it",
}
_BUFFERS: Final = ("activations", "communication buffers")
_USUAL: Final = ("gradients", *_BUFFERS)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A named ledger before the small states and the share of matrices are put in."""

    states: tuple[State, ...]
    source: str
    omits: tuple[str, ...] = _USUAL
    resumable: bool = True


LEDGERS: Final = {
    "adam-12": _Entry(
        (MASTER, FIRST, SECOND),
        f"{_ZERO}, of which 12 belong to the optimizer",
        omits=("16-bit weights", *_USUAL),
    ),
    "adam-14": _Entry(
        (WEIGHTS, MASTER, FIRST, SECOND),
        "2 + 4 + 4 + 4; BLOOM-176B and a measured Llama 2 7B folder hold 14 bytes per parameter",
    ),
    "adam-16": _Entry(
        (WEIGHTS, GRADIENTS_16, MASTER, FIRST, SECOND),
        f"{_ZERO}: adam-14 plus 16-bit gradients. It is what training holds in memory, seldom what a "
        "checkpoint holds. Megatron Core's 16 is another sum: fp32 weights 4, fp32 gradients 4, moments 8",
        omits=_BUFFERS,
    ),
    "adam-18": _Entry(
        (WEIGHTS, GRADIENTS_32, MASTER, FIRST, SECOND),
        f"{_MEGATRON}: 16-bit weights 2, fp32 gradients 4, master weights 4, moments 8; adam-14 plus fp32 "
        "gradients. It is what training holds in memory, seldom what a checkpoint holds",
        omits=_BUFFERS,
    ),
    "adam-8bit": _Entry(
        (
            WEIGHTS,
            MASTER,
            replace(FIRST, name="8-bit first moment", bytes_each=_BLOCKWISE_8BIT),
            replace(SECOND, name="8-bit second moment", bytes_each=_BLOCKWISE_8BIT),
        ),
        "Dettmers et al., 8-bit optimizers via block-wise quantization, ICLR 2022; blocks of 256 values",
    ),
    "adam-bf16-moments": _Entry(
        (
            WEIGHTS,
            MASTER,
            replace(FIRST, name="bf16 first moment", bytes_each=2.0),
            replace(SECOND, name="bf16 second moment", bytes_each=2.0),
        ),
        "DeepSeek-AI, DeepSeek-V3 technical report, 2024, section 3.3.3: bf16 moments, fp32 master weights",
    ),
    "sgd-momentum": _Entry(
        (WEIGHTS, MASTER, MOMENTUM),
        "2 + 4 + 4; Sutskever et al., ICML 2013",
    ),
    "adafactor": _Entry(
        (
            WEIGHTS,
            MASTER,
            replace(SECOND, name="factored second moment", bytes_each=_FACTORED),
        ),
        "Shazeer and Stern, Adafactor, ICML 2018, algorithm 4: row and column sums, no first moment. Without "
        "factorisation and with momentum it holds what adam-12 holds",
    ),
    "lion": _Entry(
        (WEIGHTS, MASTER, MOMENTUM),
        "Chen et al., Symbolic discovery of optimization algorithms, NeurIPS 2023: one momentum, here fp32",
    ),
    "muon": _Entry(
        (
            WEIGHTS,
            MASTER,
            replace(MOMENTUM, name="momentum of matrices"),
            replace(FIRST, name="first moment of the rest"),
            replace(SECOND, name="second moment of the rest"),
        ),
        "Jordan et al., Muon, 2024; Liu et al., Muon is scalable for LLM training, 2025: one momentum for "
        "hidden matrices, Adam for embeddings, the output head and vectors",
    ),
    "weights-only": _Entry(
        (replace(WEIGHTS, loss="the model"),),
        "16-bit weights, as published for inference",
        omits=("optimizer", *_USUAL),
        resumable=False,
    ),
}


def named_ledger(name: str, matrix_fraction: float) -> Ledger:
    """The ledger of an entry; for Muon the matrices and the rest get their shares."""
    entry = LEDGERS[name]
    states = entry.states
    if name == "muon":
        states = tuple(_muon_share(state, matrix_fraction) for state in states)
    small = SMALL_STATES if entry.resumable else ()
    return Ledger(name, (*states, *small), entry.source, tuple(NOT_SAVED[key] for key in entry.omits))


def _muon_share(state: State, matrix_fraction: float) -> State:
    if state.kind is not Kind.MOMENT:
        return state
    matrices = state.name == "momentum of matrices"
    return replace(state, share=matrix_fraction if matrices else 1.0 - matrix_fraction)
