"""Options that a format cannot obey are said, so that none is ignored in silence."""

from __future__ import annotations

from collections.abc import Collection

from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.slurm.options import SlurmOptions

# As a spec and as a command line name them. How many nodes were watched is left aside: counting obeys it, too.
_NAMES = {
    "zone": "zone (--tz)",
    "columns": "columns (--column)",
    "unit": "unit (--unit)",
    "date_order": "date_order (--date-order)",
    "watched_from": "since (--since)",
    "watched_until": "until (--until)",
    "minimum_run_s": "minimum_run (--minimum-run)",
    "fail_exit_codes": "exit_codes (--exit-code)",
    "job_name": "job_name (--job-name)",
    "user": "user (--user)",
    "account": "account (--account)",
    "partition": "partition (--partition)",
}
OF_SLURM = ("minimum_run_s", "fail_exit_codes", "job_name", "user", "account", "partition")


def without_effect(options: RecordOptions, obeyed: Collection[str], form: str) -> tuple[str, ...]:
    """A sentence on the options that were given and are not among those that are obeyed; none where all are."""
    idle = [name for name in _given(options) if name not in obeyed]
    if not idle:
        return ()
    has = "has" if len(idle) == 1 else "have"
    said = f"{', '.join(_NAMES[name] for name in idle)} {has} no effect on {form}"
    if all(name in OF_SLURM for name in idle):
        return (f"{said}, which is no record of Slurm's jobs.",)
    return (f"{said}: leave {'it' if len(idle) == 1 else 'them'} out, or check what the file was taken for.",)


def _given(options: RecordOptions) -> list[str]:
    usual = RecordOptions()
    found = [name for name in _NAMES if name not in OF_SLURM and getattr(options, name) != getattr(usual, name)]
    own = options.slurm if isinstance(options.slurm, SlurmOptions) else SlurmOptions()
    return found + [name for name in OF_SLURM if getattr(own, name) != getattr(SlurmOptions(), name)]
