"""torchtitan: command-line flags, which releases with and without a TOML file share."""

from __future__ import annotations

from ckptplan.render.trainers.setting import Format, Trainer, TrainerSetting

_LEAST_KEPT = 2  # torchtitan refuses 1: the newest may still be in the making


def _body(setting: TrainerSetting) -> tuple[str, ...]:
    mode = "async_with_pinned_mem" if setting.asynchronous else "disabled"
    kept = max(setting.keep, _LEAST_KEPT)
    lines = ["# nothing is saved without --checkpoint.enable; the save at the last step holds weights only"]
    if kept != setting.keep:
        lines.append(f"# at least {_LEAST_KEPT} must be kept: the newest may be incomplete")
    return (
        *lines,
        f"--checkpoint.enable --checkpoint.interval {setting.steps}"
        f" --checkpoint.keep_latest_k {kept} --checkpoint.async_mode {mode}",
    )


TRAINER = Trainer(
    name="torchtitan",
    title="torchtitan",
    format=Format.SHELL,
    version="0.3.0, September 2026; the same names in the TOML files of earlier releases",
    source=(
        "pytorch/torchtitan@b5bcd76c: torchtitan/components/checkpointer/base.py (BaseCheckpointManager.Config)",
        "pytorch/torchtitan@b5bcd76c: torchtitan/components/checkpointer/dcp.py (CheckpointManager)",
        "pytorch/torchtitan@b5bcd76c: tests/unit_tests/test_no_new_cli_options.py (names of the flags)",
        "pytorch/torchtitan@000204a4: torchtitan/config/job_config.py (the earlier TOML section)",
        "torchtitan 0.3.0 wheel: torchtitan/components/checkpointer/base.py, dcp.py",
    ),
    writes_in_background=True,
    keys=(
        "--checkpoint.enable",
        "--checkpoint.interval",
        "--checkpoint.keep_latest_k",
        "--checkpoint.async_mode",
    ),
    gotchas=(
        "`checkpoint.enable` is false by default: an interval alone saves nothing.",
        "`last_save_model_only` is true by default: the save at the last step has no optimizer state, so a finished "
        "run cannot be continued from it. `--checkpoint.no_last_save_model_only` keeps the whole state.",
        "Current releases read Python configurations and these flags, no TOML. In earlier ones the same names stand "
        "under `[checkpoint]`.",
        "`async_with_pinned_mem` needs host memory for the state of all ranks of a node; `async` needs less and "
        "writes from a thread of the trainer, which slows training down for longer.",
        "The first asynchronous save is slower: staging buffers and the save plan are made then. A save that is due "
        "while the last one is being written waits for it.",
        "`keep_latest_k` of 1 is refused, 0 keeps all. A save in flight counts as one of the k, and deletion starts "
        "before it is complete: with k = 2 one complete checkpoint is left meanwhile.",
        "Steps are optimizer steps. Training saves at the last step, but not on a signal.",
    ),
    body=_body,
)
