"""What the planner knows of a run: frozen dataclasses in SI units, with no file, unit string or terminal."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from ckptplan.cost.architecture import Architecture
    from ckptplan.cost.classes import FailureClass
    from ckptplan.cost.protection import Prediction, Retention, Spares, Verification, Watchdog
    from ckptplan.cost.tiers import Tier

# GPU to host over PCIe 4.0, rounded down from measured 26 GB/s: the careful choice where the link is not known.
COPY_BANDWIDTH_BYTES_PER_S = 25e9


class Shard(StrEnum):
    """Who shares the work of holding weights and optimizer states among data-parallel ranks."""

    NONE = "none"
    ZERO1 = "zero1"
    ZERO2 = "zero2"
    ZERO3 = "zero3"
    FSDP = "fsdp"
    HSDP = "hsdp"


class Mode(StrEnum):
    """How a save reaches storage."""

    GATHERED = "gathered"
    SHARDED = "sharded"
    ASYNCHRONOUS = "asynchronous"


class Strike(StrEnum):
    """Which part of a recovery a further failure may strike (``assume.failures_strike``)."""

    SAFE = "safe"
    R = "R"
    DR = "DR"


class LawName(StrEnum):
    """How the time to the next failure is distributed (``failures.law``)."""

    EXPONENTIAL = "exponential"
    WEIBULL = "weibull"
    LOGNORMAL = "lognormal"
    GAMMA = "gamma"
    RECORDED = "recorded"


# Shapes, of the log-normal sigma, that a plan takes: beyond these a law is no failure law that anybody has fitted, and
# its sums would take for ever.
PLANNED_SHAPES = {LawName.WEIBULL: (0.1, 50.0), LawName.GAMMA: (0.1, 50.0), LawName.LOGNORMAL: (0.05, 4.0)}


class Kind(StrEnum):
    """What a state of the checkpoint is; decides who holds it under a layout."""

    WEIGHTS = "weights"  # the 16-bit (or other) copy that the forward pass reads
    MASTER = "master weights"
    GRADIENT = "gradient"
    MOMENT = "optimizer moment"
    EMA = "averaged weights"
    PROGRESS = "progress"
    RANDOM = "random-number state"
    SCALER = "loss scaling"


class Scope(StrEnum):
    """What one unit of a state's bytes is counted for."""

    PARAMETER = "parameter"  # every saved parameter
    RANK = "rank"  # every rank holds its own
    DATA_RANK = "data rank"  # every data-parallel position holds its own
    JOB = "job"  # one copy in the whole job


@dataclass(frozen=True, slots=True)
class State:
    """One state that a checkpoint holds.

    ``bytes_each`` is per ``scope``: bytes per parameter for ``Scope.PARAMETER``. ``share`` is the part of the
    parameters that has this state (Muon: matrices only). [bytes, 1]
    """

    name: str
    kind: Kind
    bytes_each: float
    scope: Scope = Scope.PARAMETER
    share: float = 1.0
    loss: str = ""  # what resuming without it costs
    source: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every state of a checkpoint, under a name."""

    name: str
    states: tuple[State, ...]
    source: str = ""
    omits: tuple[str, ...] = ()  # what is deliberately not saved, as sentences


@dataclass(frozen=True, slots=True)
class Model:
    """Parameters and what a checkpoint keeps of them.

    With an architecture, ``parameters`` and ``expert_parameters`` are its counts, and sizes per rank follow its layers.
    """

    parameters: float
    ledger: Ledger
    expert_parameters: float = 0.0  # of ``parameters``, those in routed experts
    trainable_fraction: float = 1.0
    frozen_weights_saved: bool = False
    architecture: "Architecture | None" = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Axes of parallelism; all but ``expert`` multiply to the GPUs, and ``expert`` divides data * context."""

    data: int
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    replicas: int = 1
    shard: Shard = Shard.FSDP
    layers_per_stage: tuple[int, ...] = ()  # of the pipeline; empty: as many on each as divides

    @property
    def gpus(self) -> int:
        """GPUs that the layout fills."""
        return self.tensor * self.pipeline * self.context * self.data * self.replicas


class Power(NamedTuple):
    """Power that one GPU and its share of the node draw in work, in a save and in a recovery. [W]."""

    compute_w: float
    save_w: float
    restart_w: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """GPUs, nodes, and how the model is laid out on them."""

    gpus: int
    gpus_per_node: int
    layout: Layout
    host_memory_per_node_bytes: float | None = None
    power: "Power | None" = None

    @property
    def nodes(self) -> int:
        """Nodes, the last one possibly part empty."""
        return -(-self.gpus // self.gpus_per_node)


class Law(NamedTuple):
    """Distribution of the gaps between failures; its mean is the MTBF, given elsewhere.

    ``shape`` is that of Weibull and gamma, sigma for the log-normal, unused by the others. ``gaps_s`` are the recorded
    ones, in the order of the record. [1, s]
    """

    name: LawName = LawName.EXPONENTIAL
    shape: float = 1.0
    gaps_s: tuple[float, ...] = ()
    of_nodes: bool = False  # the law of each node, which keeps its age when another one fails; else of the whole job


EXPONENTIAL = Law()


class Evidence(NamedTuple):
    """The count behind a failure rate, and what was believed before it.

    ``exposure_gpu_s`` is time times GPUs. The prior is a gamma distribution of the rate per GPU; the default is that
    of Jeffreys. [1, GPU s]
    """

    failures: float
    exposure_gpu_s: float
    until_failure: bool = False  # counting stopped at the last failure, not at a time fixed beforehand
    prior_shape: float = 0.5
    prior_gpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Failures:
    """Rate of failures, reduced to one number per GPU, and the evidence behind it."""

    mtbf_per_gpu_s: float
    source: str  # the key that gave it, e.g. "interruptions"
    evidence: Evidence | None = None  # if the source is a count
    law: Law = EXPONENTIAL
    host_copy_survives: float = 0.0  # fraction of the failures after which the copy in host memory is still there
    classes: "tuple[FailureClass, ...]" = ()  # empty: all failures are alike
    watchdog: "Watchdog | None" = None

    @property
    def count(self) -> float | None:
        """Interruptions counted, if the source is a count."""
        return None if self.evidence is None else self.evidence.failures


@dataclass(frozen=True, slots=True)
class Storage:
    """Sustained bandwidths. [bytes/s]; ``None`` where not given. ``latency_s`` is per save [s]."""

    write_bandwidth_bytes_per_s: float | None = None
    read_bandwidth_bytes_per_s: float | None = None
    write_bandwidth_per_node_bytes_per_s: float | None = None
    write_bandwidth_per_writer_bytes_per_s: float | None = None
    peak_write_bandwidth_bytes_per_s: float | None = None
    latency_s: float = 0.0
    tiers: "tuple[Tier, ...]" = ()  # the cheapest first


class SharedLink(NamedTuple):
    """A link of each node that the flush shares with the traffic of training.

    ``exposed_communication`` is the share of a step that waits for this link. [bytes/s, 1]
    """

    bandwidth_bytes_per_s: float
    exposed_communication: float


@dataclass(frozen=True, slots=True)
class Save:
    """One strategy of saving; ``None`` means "compute it"."""

    name: str
    mode: Mode
    stall_s: float | None = None
    flush_s: float | None = None
    copy_bandwidth_bytes_per_s: float = COPY_BANDWIDTH_BYTES_PER_S
    training_speed_while_flushing: float | None = None  # None: from the step times or the link, else not slowed
    spread_replicas: bool = True  # replicas of a shard split its bytes; False: the first one writes all
    in_flight: int = 1  # saves whose flush may be under way at one time; each holds a buffer
    overlapped_copy: bool = False  # the copy-out runs beside forward and backward, up to the optimizer step
    step_time_while_flushing_s: float | None = None
    step_time_outside_s: float | None = None  # None: training.step_time
    shared_link: SharedLink | None = None


@dataclass(frozen=True, slots=True)
class Restart:
    """A total, or phases. ``load_s`` None with no total means "bytes read over read bandwidth" [s]."""

    total_s: float | None = None
    detect_s: float = 0.0
    replace_s: float = 0.0
    initialise_s: float = 0.0
    load_s: float | None = None
    warm_up_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Training:
    """The work of the run, if known [s, 1]; ``duration_s`` is at full speed, without saves and failures."""

    step_time_s: float | None = None
    duration_s: float | None = None
    steps: int | None = None
    forward_backward_s: float | None = None  # of one step, the part before the optimizer step
    start: "datetime | None" = None
    step_noise: float = 0.0  # standard deviation of the time of one rank's step over its mean
    noise_is_exponential: bool = False
    scaling_exponent: float = 1.0  # failure-free throughput grows as the number of GPUs to this power
    global_batch: int | None = None  # sequences per optimizer step
    micro_batch: int | None = None  # sequences per replica and pass

    @property
    def work_s(self) -> float | None:
        """Time of all steps at full speed, if the work is known."""
        if self.steps is not None and self.step_time_s is not None:
            return self.steps * self.step_time_s
        return self.duration_s


@dataclass(frozen=True, slots=True)
class Scenario:
    """A run, complete: everything that ``ckptplan.plan`` needs."""

    name: str
    model: Model
    cluster: Cluster
    failures: Failures
    saves: tuple[Save, ...]
    storage: Storage
    restart: Restart
    training: Training = Training()
    failures_strike: Strike = Strike.DR
    verification: "Verification | None" = None
    retention: "Retention | None" = None
    spares: "Spares | None" = None
    prediction: "Prediction | None" = None
    strategies: tuple[str, ...] | None = None  # only these ways of saving; None: all

    @property
    def has_spectrum(self) -> bool:
        """Whether more is known of failures and saves than one rate, one recovery and one tier."""
        guards = (self.verification, self.spares)
        return bool(self.failures.classes or self.storage.tiers) or any(guard is not None for guard in guards)
