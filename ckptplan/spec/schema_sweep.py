"""The sweep group: a grid over keys of the spec. Only ``ckptplan sweep`` reads it."""

from ckptplan.spec.schema_entries import Group, Key

SWEEP = Group(
    "A grid of runs for ckptplan sweep; the other commands ignore it. Options of the command win over it.",
    {
        "over": Key(
            "axes",
            "Keys and the values each takes: a list, or a range such as 1024..131072:log:8.",
            example="{cluster.gpus: '1024..131072:log:8'}",
        ),
        "show": Key("names", "Columns to show.", "interval, goodput, status", example="[interval_s, goodput_typed]"),
        "each": Key(
            "choice",
            "What one row is about: the best strategy of a point, every strategy, or every strategy by every method.",
            "point",
            choices=("point", "strategy", "method"),
        ),
        "strategies": Key("names", "Only these strategies of the specs.", "all", example="[asynchronous]"),
        "methods": Key(
            "names", "Only these methods.", "those that say something about the run", example="[young, exact]"
        ),
        "gpu_hour_price": Key("number", "Price of one GPU for one hour.", "not known", example="2.5", exact=True),
        "runs": Key("integer", "Whole runs to simulate at each point.", "none", example="200"),
        "seed": Key("integer", "Seed of all random numbers.", "0", example="1", zero=True),
        "specs": Key(
            "names",
            "In a file that has only this group: the specs to sweep, beside it or below, or shipped ones.",
            example="[llama3-405b, run.yaml]",
        ),
    },
)
