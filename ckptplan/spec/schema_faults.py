"""Keys of the fault spectrum: failure classes, storage tiers, and what guards a run beside its saves."""

from __future__ import annotations

from ckptplan.spec.schema_entries import Group, Key, Many

# Written out: importing the names would load the cost of classes and tiers with every spec that has none.
CLASS_KINDS = ("crash", "hang", "slow node", "silent corruption", "loss spike", "preemption", "maintenance")
LOSSES = ("process", "memory", "node", "nodes")
TIER_KINDS = ("host memory", "peer memory", "local ssd", "file system", "object store")
ALL = "all"  # classes, in survives
RESERVED_NAMES = {"other": "what no class claims", ALL: "all classes, in survives"}
CLASS_RATES = ("share", "count", "every", "mtbf_per_gpu")
CLASS_PHASES = ("replace", "initialise", "load", "warm_up")
WRITE_RATES = ("bandwidth", "bandwidth_per_node", "bandwidth_per_gpu")
BACKGROUND_KEYS = ("drain", "training_speed_while_draining")
PEER_KEYS = ("replicas", "lost_at_once", "simultaneous")
MOST_TIERS = 6  # all subsets of them are compared
THEN_KEYS = {"keep_all": "6 h", "then_every": "2 h", "then_for": "7 d"}  # belong together; with examples
# Keys that only some kinds of class take.
KINDS_OF_KEY = {
    "slowdown": ("slow node",),
    "notice": ("preemption", "maintenance"),
    "detect_delay": ("slow node", "silent corruption"),
    "back_steps": ("loss spike",),
    "lag_steps": ("loss spike",),
    "skipped_batches": ("loss spike",),
}

CLASSES = Many(
    "Classes of failures that differ in detection, loss or recovery. What no class claims is a crash named other.",
    Group(
        "One class of failures.",
        {
            "kind": Key("choice", "What happens.", "crash", choices=CLASS_KINDS),
            "name": Key("text", "Its name; names are unique.", "its kind", example="faulty GPU"),
            "share": Key("fraction", "Share of the interruptions of the source.", example="35 %", zero=True),
            "count": Key(
                "number", "The same as a count, of interruptions.count.", example="148", zero=True, exact=True
            ),
            "every": Key("time", "Or its own mean time between, of the whole job at any size.", example="21 h"),
            "mtbf_per_gpu": Key("time", "Or its own MTBF of one GPU.", example="500_000 h"),
            "detect": Key(
                "time",
                "Until it is noticed; for a slow node and for silent corruption training goes on meanwhile.",
                "restart.detect; hang: the watchdog's timeout; slow node 1 h; silent corruption 8 h",
                example="10 min",
                zero=True,
            ),
            "detect_delay": Key(
                "choice", "How that delay is distributed.", "exponential", choices=("exponential", "fixed")
            ),
            "replace": Key("time", "Until a healthy node is there.", "restart.replace", example="2 min", zero=True),
            "initialise": Key(
                "time", "Until all processes have started.", "restart.initialise", example="3 min", zero=True
            ),
            "load": Key("time", "Until the checkpoint is read.", "restart.load", example="2 min", zero=True),
            "warm_up": Key(
                "time", "Until steps take their normal time.", "restart.warm_up", example="1 min", zero=True
            ),
            "total": Key("time", "All of the recovery after detection.", "the phases", example="10 min", zero=True),
            "loses": Key(
                "choice",
                "What is gone: the process, the memory of a node, a node with memory and disks, or several at once.",
                "node; hang, silent corruption, loss spike: process; preemption, maintenance: nodes",
                choices=LOSSES,
            ),
            "slowdown": Key(
                "fraction", "Slow node: how much longer every step takes.", "6 % (measured once)", example="10 %"
            ),
            "notice": Key(
                "time",
                "Time between the announcement and the end.",
                "preemption: 2 min; maintenance: always enough",
                example="30 s",
                zero=True,
            ),
            "back_steps": Key("integer", "Loss spike: steps that training goes back.", "100", example="100"),
            "lag_steps": Key("integer", "Loss spike: steps until it is noticed.", "10", example="10"),
            "skipped_batches": Key("number", "Loss spike: batches skipped then.", "350", example="350", zero=True),
        },
    ),
    example="[{kind: hang, share: 2 %}]",
)

WATCHDOG = Group(
    "The timeout that finds hangs.",
    {
        "timeout": Key("time", "Its timeout.", "10 min", example="10 min"),
        "false_alarms_per_day": Key(
            "number",
            "Healthy pauses a day that a timeout of seen_at would kill.",
            "not known",
            example="0.2",
            zero=True,
        ),
        "seen_at": Key("time", "The timeout at which those were seen.", "timeout", example="5 min"),
        "decay": Key(
            "time",
            "How much longer a timeout must be for e times fewer of them.",
            "seen_at / 5 (assumed)",
            example="60 s",
        ),
    },
)

TIERS = Many(
    "Where saves go, the cheapest first; each tier survives at least what the one before it survives.",
    Group(
        "One tier.",
        {
            "kind": Key("choice", "Where it keeps its saves.", required=True, choices=TIER_KINDS),
            "name": Key("text", "Its name; names are unique.", "its kind", example="burst buffer"),
            "stall": Key("time", "Time that a save to it blocks training.", "computed", example="5 s", zero=True),
            "write": Key(
                "choice",
                "Whether training waits for the write, or the tier below is drained into it in the background.",
                "blocking",
                choices=("blocking", "background"),
            ),
            "drain": Key("time", "Background: time that the write takes.", "computed", example="2 min", zero=True),
            "training_speed_while_draining": Key(
                "fraction", "Background: training speed meanwhile, 1 = not slowed.", "1", example="0.98", zero=True
            ),
            "bandwidth": Key("rate", "Aggregate write bandwidth.", "no limit", example="2 TB/s"),
            "bandwidth_per_node": Key("rate", "What one node can write.", "no limit", example="10 GB/s"),
            "bandwidth_per_gpu": Key("rate", "What one GPU can write.", "no limit", example="25 GB/s"),
            "read_bandwidth": Key("rate", "Aggregate read bandwidth.", "not known", example="2 TB/s"),
            "read_bandwidth_per_node": Key("rate", "What one node can read.", "not known", example="10 GB/s"),
            "latency": Key("time", "Fixed time of one write or read.", "0 s", example="2 s", zero=True),
            "load": Key(
                "time",
                "Time to load from it in a recovery.",
                "from the read bandwidth, else that of restart",
                example="10 s",
                zero=True,
            ),
            "capacity": Key("size", "Room for saves, in all.", "not known", example="2 PB"),
            "capacity_per_node": Key("size", "Room for saves, of one node.", "not known", example="2 TB"),
            "survives": Key(
                "names",
                "Classes after which its newest save is still there, or all.",
                "by its kind and what each class loses",
                example="[crash, hang]",
            ),
            "replicas": Key("integer", "Peer memory: nodes that hold a copy of each shard.", "2", example="2"),
            "lost_at_once": Key("integer", "Peer memory: nodes that a simultaneous loss takes.", "2", example="2"),
            "simultaneous": Key(
                "fraction",
                "Peer memory: share of the losses of a node that take several at once.",
                "0",
                example="5 %",
                zero=True,
            ),
            "endurance_per_node": Key(
                "size", "Local SSD: bytes that the disks of a node take in their life.", "not known", example="56 PB"
            ),
        },
    ),
    example="[{kind: file system, bandwidth: 2 TB/s}]",
)

VERIFICATION = Group(
    "A check before a save that finds silent corruption.",
    {
        "time": Key("time", "Time of one check.", example="30 s", required=True),
        "per_save": Key("integer", "Checks per save, evenly spaced.", "as many as are best", example="1"),
    },
)

RETENTION = Group(
    "Which saves are kept; ckptplan retain judges it, or proposes it.",
    {
        "probability": Key("fraction", "Wanted, of finding a clean save.", "99.9 %", example="99.9 %", exact=True),
        "keep": Key("integer", "A number of newest saves.", "what is needed", example="10"),
        "keep_all": Key("time", "Or: how long all are kept.", "not given", example="6 h"),
        "then_every": Key("time", "Then: one of every such time.", "not given", example="2 h"),
        "then_for": Key("time", "Up to this age.", "not given", example="7 d"),
        "archive_every": Key("time", "One of every such time is kept for ever.", "none", example="1 d"),
        "capacity": Key("size", "Room for them.", "that of the tier", example="500 TB"),
    },
)

SPARES = Group(
    "Nodes that stand by, and what happens when none is left.",
    {
        "nodes": Key("number", "Nodes that stand by.", example="8", required=True, zero=True, exact=True),
        "repair": Key("time", "Mean time until a failed node is back.", example="12 h", required=True),
        "most_waiting": Key("fraction", "Wanted: at most this share of time waiting.", "1 %", example="1 %"),
        "failing": Key(
            "choice",
            "Whether nodes fail only while the job runs, or always.",
            "running",
            choices=("running", "always"),
        ),
        "reshard": Key(
            "time", "Elastic: time to shrink to fewer replicas, or to regrow.", "the job waits", example="2 min"
        ),
    },
)

PREDICTION = Group(
    "A predictor of failures.",
    {
        "recall": Key("fraction", "Share of the failures that it predicts.", example="60 %", required=True),
        "precision": Key("fraction", "Share of its predictions that come true.", example="80 %", required=True),
        "save": Key("time", "Time of a save that it triggers.", "that of any other save", example="60 s"),
    },
)

# Powers are compared with each other only; watts give energy as well.
POWER = Group(
    "Power of one GPU and its share of the node.",
    {
        "compute": Key("power", "In work.", example="1.1 kW", required=True),
        "save": Key("power", "In a save.", example="600 W", required=True, zero=True),
        "restart": Key("power", "In a recovery.", example="300 W", required=True, zero=True),
    },
)
