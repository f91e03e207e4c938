"""What the planner knows of a run: frozen dataclasses in SI units, with no file, unit string or terminal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
    """Parameters and what a checkpoint keeps of them."""

    parameters: float
    ledger: Ledger
    expert_parameters: float = 0.0  # of ``parameters``, those in routed experts
    trainable_fraction: float = 1.0
    frozen_weights_saved: bool = False


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

    @property
    def gpus(self) -> int:
        """GPUs that the layout fills."""
        return self.tensor * self.pipeline * self.context * self.data * self.replicas


@dataclass(frozen=True, slots=True)
class Cluster:
    """GPUs, nodes, and how the model is laid out on them."""

    gpus: int
    gpus_per_node: int
    layout: Layout
    host_memory_per_node_bytes: float | None = None

    @property
    def nodes(self) -> int:
        """Nodes, the last one possibly part empty."""
        return -(-self.gpus // self.gpus_per_node)


@dataclass(frozen=True, slots=True)
class Failures:
    """Rate of failures, reduced to one number per GPU, and the evidence behind it."""

    mtbf_per_gpu_s: float
    source: str  # the key that gave it, e.g. "interruptions"
    count: float | None = None  # interruptions counted, if the source is a count


@dataclass(frozen=True, slots=True)
class Storage:
    """Sustained bandwidths. [bytes/s]; ``None`` where not given. ``latency_s`` is per save [s]."""

    write_bandwidth_bytes_per_s: float | None = None
    read_bandwidth_bytes_per_s: float | None = None
    write_bandwidth_per_node_bytes_per_s: float | None = None
    write_bandwidth_per_writer_bytes_per_s: float | None = None
    peak_write_bandwidth_bytes_per_s: float | None = None
    latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Save:
    """One strategy of saving; ``None`` means "compute it"."""

    name: str
    mode: Mode
    stall_s: float | None = None
    flush_s: float | None = None
    copy_bandwidth_bytes_per_s: float = COPY_BANDWIDTH_BYTES_PER_S
    training_speed_while_flushing: float = 1.0
    spread_replicas: bool = True  # replicas of a shard split its bytes; False: the first one writes all


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
    """Step time and wall time of the run, if known [s]."""

    step_time_s: float | None = None
    duration_s: float | None = None


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
