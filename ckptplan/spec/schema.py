"""Every key of a spec, described once: form, unit, default, meaning. Validation and JSON Schema follow it."""

from ckptplan.cost.scenario import Kind, LawName, Mode, Scope, Shard, Strike
from ckptplan.spec.schema_entries import Entry, Form, Group, Key, Many
from ckptplan.spec.schema_faults import CLASSES, POWER, PREDICTION, RETENTION, SPARES, TIERS, VERIFICATION, WATCHDOG
from ckptplan.spec.schema_record import RECORD
from ckptplan.spec.schema_sweep import SWEEP

__all__ = ["SPEC", "STATE", "Entry", "Form", "Group", "Key", "Many", "find"]

_PRESET = Key(
    "text",
    "Name of a preset; keys written beside it win. Named by --set or the environment, it replaces the file's values.",
)

MODEL_SOURCES = ("parameters", "config", "checkpoint")

_MODEL = Group(
    "What is trained, and what a checkpoint keeps of it.",
    {
        "preset": _PRESET,
        "parameters": Key("number", "Parameters of the model.", example="405e9"),
        "config": Key(
            "text",
            "Instead: a Hugging Face config.json in the folder of the spec or below; parameters, experts and layers "
            "follow from it.",
            example="./config.json",
        ),
        "checkpoint": Key(
            "text",
            "Instead: a checkpoint of training (its folder, or its one file), or weights as safetensors, in the folder "
            "of the spec or below. One of training also gives the bytes of every state, and the known layout.",
            example="./checkpoint",
        ),
        "state": Key(
            "state",
            "What a checkpoint holds: a ledger by name, or a list of names and of states with their bytes.",
            "adam-14, or what checkpoint says",
            example="adam-14",
        ),
        "expert_parameters": Key(
            "number",
            "Parameters in routed experts, counted in parameters.",
            "0, or what config or checkpoint say",
            example="300e9",
            zero=True,
        ),
        "trainable_fraction": Key("fraction", "Part of the parameters that is trained.", "1", example="0.01"),
        "frozen_weights": Key(
            "choice",
            "Whether the weights that are not trained are saved with every checkpoint.",
            "omitted",
            choices=("saved", "omitted"),
        ),
        "matrix_fraction": Key(
            "fraction",
            "Muon only: part of the parameters that it updates, the hidden matrices.",
            "0.95 (assumed), or what the layers of the model say",
            example="0.95",
            zero=True,
        ),
    },
    preset=True,
    required=True,
)

# One item of the list form of model.state.
STATE = Group(
    "One state of a checkpoint.",
    {
        "name": Key("text", "Its name.", example="first moment", required=True),
        "bytes_per_parameter": Key("bytes", "Bytes per parameter.", example="4"),
        "bytes": Key("bytes", "Bytes in all, for what does not grow with the parameters.", example="1 MB"),
        "per": Key(
            "choice",
            "What the bytes are counted for.",
            "parameter for bytes_per_parameter, job for bytes",
            choices=tuple(Scope),
        ),
        "kind": Key("choice", "What it is; decides which ranks hold it.", "read from the name", choices=tuple(Kind)),
        "loss": Key("text", "What resuming without it costs.", "nothing said"),
    },
)

_LAYOUT = Group(
    "Axes of parallelism; tensor x pipeline x context x data x replicas = gpus. One of them is left to follow.",
    {
        "tensor": Key("integer", "Tensor-parallel ranks.", "1", example="8"),
        "pipeline": Key("integer", "Pipeline stages.", "1", example="16"),
        "layers_per_stage": Key(
            "integers",
            "Layers of every pipeline stage, in order, with model.config or model.checkpoint.",
            "as many on each; where they do not divide, the first stages take one more",
            example="[7, 8, 8, 7]",
        ),
        "context": Key("integer", "Context-parallel ranks.", "1", example="1"),
        "expert": Key("integer", "Expert-parallel ranks; divides data x context.", "1", example="8"),
        "data": Key("integer", "Data-parallel ranks.", "what the other axes leave of gpus", example="128"),
        "replicas": Key("integer", "Groups that each hold all shards (HSDP, several pods).", "1", example="2"),
        "shard": Key(
            "choice",
            "What data-parallel ranks share among them.",
            "fsdp if tensor, pipeline and expert are all 1, else zero1",
            choices=tuple(Shard),
        ),
    },
)

_CLUSTER = Group(
    "GPUs (or TPUs) and how the model is laid out on them.",
    {
        "preset": _PRESET,
        "gpus": Key("integer", "GPUs of the job.", example="16384", required=True),
        "gpus_per_node": Key("integer", "GPUs of one node.", "8", example="8"),
        "host_memory_per_node": Key("size", "Host memory of one node.", "not known", example="2 TB"),
        "layout": _LAYOUT,
        "power": POWER,
    },
    preset=True,
    required=True,
)

FAILURE_SOURCES = ("mtbf", "mtbf_per_gpu", "mtbf_per_node", "rate_per_node_day", "interruptions", "record")

_LAW = Group(
    "How the time to the next failure is distributed, beside the source of its mean.",
    {
        "name": Key("choice", "The law.", "exponential", choices=tuple(LawName)),
        "shape": Key("number", "Weibull, gamma: below 1 the hazard falls with age.", example="0.7"),
        "sigma": Key("number", "Log-normal: standard deviation of the logarithm.", example="1.5"),
        "file": Key("text", "Recorded: a file of gaps or time stamps beside the spec.", example="gaps.csv"),
        "of": Key(
            "choice",
            "Whose failures have the law: the job's as a whole, or those of each node, which keeps its age.",
            "job",
            choices=("job", "node"),
        ),
    },
)

_FAILURES = Group(
    "How often the job is interrupted: exactly one source of the rate.",
    {
        "preset": _PRESET,
        "mtbf": Key("time", "Mean time between failures of the whole job.", example="3.09 h"),
        "mtbf_per_gpu": Key("time", "Mean time between failures of one GPU.", example="50_000 h"),
        "mtbf_per_node": Key("time", "Mean time between failures of one node.", example="47.7 d"),
        "rate_per_node_day": Key("number", "Failures per node and day.", example="6.5e-3"),
        "interruptions": Group(
            "A count of interruptions, rescaled to the GPUs of this job.",
            {
                "count": Key(
                    "number",
                    "Interruptions counted; zero gives a bound only.",
                    example="419",
                    zero=True,
                    required=True,
                    exact=True,
                ),
                "over": Key("time", "Time over which they were counted.", example="54 d", required=True),
                "gpus": Key("integer", "GPUs on which they were counted.", "cluster.gpus", example="16384"),
                "until": Key(
                    "choice",
                    "What ended the counting: a time fixed beforehand, or the last failure.",
                    "time",
                    choices=("time", "failure"),
                ),
            },
        ),
        "record": RECORD,
        "prior": Group(
            "What was believed before counting: a gamma prior of the rate, worth shape failures.",
            {
                "shape": Key("number", "How many failures it is worth.", example="1", required=True, exact=True),
                "mtbf_per_gpu": Key("time", "MTBF of one GPU believed in.", example="50_000 h", required=True),
            },
        ),
        "law": _LAW,
        "host_copy_survives": Key(
            "fraction",
            "Fraction of the failures (process crashes) after which the copy in host memory is still there.",
            "0",
            example="0.4",
            zero=True,
        ),
        "classes": CLASSES,
        "watchdog": WATCHDOG,
    },
    preset=True,
    required=True,
)

_STORAGE = Group(
    "Where checkpoints go; aggregate, sustained rates unless the name says otherwise.",
    {
        "preset": _PRESET,
        "write_bandwidth": Key("rate", "Aggregate sustained write bandwidth.", "not known", example="2 TB/s"),
        "read_bandwidth": Key("rate", "Aggregate sustained read bandwidth.", "not known", example="2 TB/s"),
        "write_bandwidth_per_node": Key("rate", "What one node can write.", "no limit", example="20 GB/s"),
        "write_bandwidth_per_writer": Key("rate", "What one writer can write.", "no limit", example="2 GB/s"),
        "peak_write_bandwidth": Key("rate", "Burst write bandwidth; shown, not used.", "not known", example="7 TB/s"),
        "latency": Key("time", "Fixed time of one save or load.", "0 s", example="2 s", zero=True),
        "measured": Key(
            "text",
            "Result of a storage benchmark beside the spec (fio, IOR, elbencho); rates given here win over it.",
            example="fio.json",
        ),
        "tiers": TIERS,
    },
    preset=True,
)

SLOW_DOWNS = ("training_speed_while_flushing", "step_time_while_flushing", "shared_link")
ASYNCHRONOUS_ONLY = ("flush", "copy_bandwidth", "copy_out", "in_flight", "step_time_outside", *SLOW_DOWNS)

_SAVE = Group(
    "One strategy of saving.",
    {
        "preset": _PRESET,
        "name": Key("text", "Its name; names are unique.", "its mode", example="asynchronous"),
        "mode": Key("choice", "How a save reaches storage.", "sharded", choices=tuple(Mode)),
        "stall": Key(
            "time", "Time that one save blocks training.", "computed: the write, or the copy-out", example="5 s"
        ),
        "flush": Key(
            "time", "Asynchronous: time that the write takes in the background.", "computed", example="30 s", zero=True
        ),
        "copy_bandwidth": Key("rate", "Asynchronous: GPU to host, per GPU.", "25 GB/s", example="50 GB/s"),
        "training_speed_while_flushing": Key(
            "fraction", "Asynchronous: training speed during a flush, 1 = not slowed.", "1", example="0.95", zero=True
        ),
        "step_time_while_flushing": Key(
            "time", "Asynchronous: the same as measured, the time of a step during a flush.", example="6.1 s"
        ),
        "step_time_outside": Key(
            "time", "Asynchronous: the step time outside saves that belongs to it.", "training.step_time", example="5 s"
        ),
        "shared_link": Group(
            "Asynchronous: the same computed, from a link of each node that flush and training share.",
            {
                "bandwidth": Key("rate", "Bandwidth of the link, per node.", example="50 GB/s", required=True),
                "exposed_communication": Key(
                    "fraction", "Share of a step that waits for this link.", example="0.2", zero=True, required=True
                ),
            },
        ),
        "copy_out": Key(
            "choice",
            "Asynchronous: blocking, or overlapped with forward and backward up to the optimizer step.",
            "blocking",
            choices=("blocking", "overlapped"),
        ),
        "in_flight": Key("integer", "Asynchronous: saves whose flush may be under way at one time.", "1", example="2"),
        "replicated": Key(
            "choice",
            "Whether replicas of a shard split its bytes, or the first of them writes all.",
            "spread",
            choices=("spread", "first"),
        ),
    },
    preset=True,
)

RESTART_PHASES = ("detect", "replace", "initialise", "load", "warm_up")

_RESTART = Group(
    "Time from a failure until training goes on: a total, or its phases.",
    {
        "preset": _PRESET,
        "total": Key("time", "All of it.", example="10 min", zero=True),
        "detect": Key("time", "Until the failure is noticed.", "0 s", example="60 s", zero=True),
        "replace": Key("time", "Until a healthy node is there.", "0 s", example="2 min", zero=True),
        "initialise": Key("time", "Until all processes have started.", "0 s", example="3 min", zero=True),
        "load": Key(
            "time or auto",
            "Until the checkpoint is read; auto computes it from storage.read_bandwidth.",
            "auto if storage.read_bandwidth is given, else 0 s",
            example="auto",
            zero=True,
        ),
        "warm_up": Key("time", "Until steps take their normal time.", "0 s", example="1 min", zero=True),
    },
    preset=True,
)

WORK_SOURCES = ("duration", "steps", "tokens")

_TRAINING = Group(
    "The run, if known. Its work is given once: as duration, steps or tokens.",
    {
        "step_time": Key("time", "Time of one optimizer step.", "not known", example="5 s"),
        "duration": Key("time", "Time of all steps, without saves and failures.", "not known", example="54 d"),
        "steps": Key("integer", "Optimizer steps of the run.", "not known", example="950_000"),
        "tokens": Key("number", "Tokens of the run.", "not known", example="15.6e12"),
        "tokens_per_step": Key("number", "Tokens of one step.", "not known", example="16.8e6"),
        "forward_backward": Key(
            "time",
            "Part of a step beside which an overlapped copy can run.",
            "90 % of step_time (assumed)",
            example="4.5 s",
        ),
        "start": Key("date", "When the run starts.", "not known", example="2026-12-01"),
        "step_noise": Key(
            "fraction",
            "Standard deviation of the time of one rank's step, over its mean: each step waits for the slowest.",
            "0",
            example="2 %",
            zero=True,
        ),
        "noise": Key("choice", "How that time is distributed.", "normal", choices=("normal", "exponential")),
        "scaling_exponent": Key(
            "fraction",
            "Throughput without failures grows as the number of GPUs to this power.",
            "1",
            example="0.95",
            plain=True,
        ),
        "global_batch": Key("integer", "Sequences of one optimizer step.", "not known", example="2048"),
        "micro_batch": Key("integer", "Sequences of one replica and pass.", "1", example="1"),
    },
)

_ASSUME = Group(
    "How the model is to be read.",
    {
        "failures_strike": Key(
            "choice",
            "Which part of a recovery a further failure may strike.",
            "DR",
            choices=tuple(Strike),
        ),
    },
)

SPEC = Group(
    "A training run: what it saves, where, how often it fails. Format version 1.",
    {
        "name": Key("text", "Name of the run.", "the name of the file", example="my run"),
        "model": _MODEL,
        "cluster": _CLUSTER,
        "failures": _FAILURES,
        "storage": _STORAGE,
        "save": Many(
            "One or more strategies, compared side by side; may be left out beside storage.tiers.",
            _SAVE,
            example="[{name: sharded, mode: sharded, stall: 60 s}]",
        ),
        "verification": VERIFICATION,
        "retention": RETENTION,
        "restart": _RESTART,
        "spares": SPARES,
        "prediction": PREDICTION,
        "training": _TRAINING,
        "assume": _ASSUME,
        "sweep": SWEEP,
    },
)

UNIT_OF_FORM = {
    "time": "s",
    "time or auto": "s",
    "size": "bytes",
    "bytes": "bytes",
    "rate": "bytes/s",
    "power": "W",
}


def find(path: str) -> Entry | None:
    """The entry of a path such as ``save[1].stall``."""
    entry: Entry | None = SPEC
    for part in path.replace("]", "").replace("[", ".").split("."):
        if isinstance(entry, Many):
            entry = entry.item
            continue
        entry = entry.keys.get(part) if isinstance(entry, Group) else None
    return entry
