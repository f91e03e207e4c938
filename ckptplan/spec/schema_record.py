"""Keys of a record of failures that a spec names: the file, how it is to be read, and what is counted."""

from __future__ import annotations

from ckptplan.spec.schema_entries import Group, Key

ROLES = (
    "time",
    "start",
    "end",
    "gap",
    "duration",
    "cause",
    "category",
    "node",
    "failed",
    "censored",
    "severity",
)

RECORD = Group(
    "A record of failures beside the spec, read, fitted and rescaled to this job; its name alone is enough.",
    {
        "file": Key("names", "The file, or a list of the files of one record.", example="sacct.txt", required=True),
        "format": Key("text", "What it is; ckptplan fit --help lists the formats.", "recognised", example="sacct"),
        "zone": Key("text", "Time zone of stamps that have none.", "UTC", example="America/Los_Angeles"),
        "per": Key(
            "choice",
            "What the rate is a rate of, before it is rescaled by the GPUs.",
            "node where the record knows nodes, else job",
            choices=("job", "node", "gpu"),
        ),
        "count": Key("names", "What interrupts: failures, preemptions, maintenance.", "failures", example="failures"),
        "merge": Key("time", "Interruptions closer than this are one.", "60 s", example="10 min", zero=True),
        "part": Key("choice", "All of it, or the latest part without a trend.", "all", choices=("all", "recent")),
        "gpus": Key("integer", "GPUs of the recorded job, where the record does not say.", "cluster.gpus", "1024"),
        "gpus_per_node": Key("integer", "GPUs of its nodes.", "cluster.gpus_per_node", example="8"),
        "nodes": Key("integer", "Nodes that were watched, failed or not.", "those in the record", example="128"),
        "since": Key("text", "When watching began.", "the first event", example="2026-01-01"),
        "until": Key("text", "When it ended.", "the end of the record", example="2026-06-30"),
        "unit": Key("text", "Unit of times that are plain numbers.", "read from the column", example="h"),
        "date_order": Key("choice", "Of dates such as 1/2/2026.", "read from the dates", choices=("mdy", "dmy")),
        "columns": Group(
            "Columns by what they hold, where their names do not say it.",
            {role: Key("text", f"The column of {role}.", "guessed", example=f"my_{role}") for role in ROLES},
        ),
        "minimum_run": Key(
            "time",
            "Slurm: jobs that end with FAILED sooner have failed by themselves.",
            "10 min",
            example="30 min",
            zero=True,
        ),
        "exit_codes": Key("names", "Slurm: exit codes of FAILED that count.", "all but 2, 126, 127, 130", "1"),
        "job_name": Key("text", "Slurm: only jobs of this name.", "all", example="pretrain"),
        "user": Key("text", "Slurm: only jobs of this user.", "all", example="alice"),
        "account": Key("text", "Slurm: only jobs of this account.", "all", example="llm"),
        "partition": Key("text", "Slurm: only jobs of this partition.", "all", example="train"),
    },
    shorthand="file",
)
