"""MaxText: keys of its YAML configuration."""

from __future__ import annotations

from ckptplan.render.trainers.setting import Format, Trainer, TrainerSetting


def _body(setting: TrainerSetting) -> tuple[str, ...]:
    return (
        "enable_checkpointing: true",
        f"async_checkpointing: {'true' if setting.asynchronous else 'false'}  # true is the default",
        f"checkpoint_period: {setting.steps}  # the default is 10,000",
        f"max_num_checkpoints_to_keep: {setting.keep}  # the default keeps all",
        "save_checkpoint_on_start: false  # true, the default, writes a full checkpoint at step 0",
    )


TRAINER = Trainer(
    name="maxtext",
    title="MaxText",
    format=Format.YAML,
    version="main of August 2026",
    source=(
        "AI-Hypercomputer/maxtext@e591f30c: src/maxtext/configs/base.yml",
        "AI-Hypercomputer/maxtext@e591f30c: src/maxtext/configs/types.py",
        "AI-Hypercomputer/maxtext@e591f30c: src/maxtext/common/checkpointing.py",
        "AI-Hypercomputer/maxtext@e591f30c: src/maxtext/configs/gpu/models/llama3.1_405b.yml (synchronous on GPU)",
    ),
    writes_in_background=True,
    keys=(
        "enable_checkpointing",
        "async_checkpointing",
        "checkpoint_period",
        "max_num_checkpoints_to_keep",
        "save_checkpoint_on_start",
    ),
    gotchas=(
        "`async_checkpointing` is true in the base file but false in the shipped GPU model files: say which one is "
        "meant. The same keys may follow on the command line as `key=value`.",
        "`checkpoint_period` counts training steps, one optimizer step each; gradient accumulation is inside.",
        "`max_num_checkpoints_to_keep` is unset by default and keeps all.",
        "A full checkpoint is written at step 0 and at the end by default (`save_checkpoint_on_start`, "
        "`save_checkpoint_on_completion`).",
        "`enable_autocheckpoint` (off by default) saves at a preemption.",
        "`enable_continuous_checkpointing` saves as often as possible and overrides the period.",
        "Tiers: `enable_multi_tier_checkpointing` and `enable_emergency_checkpoint` need `local_checkpoint_directory` "
        "and `local_checkpoint_period` (steps). With the first the interval to persistent storage is "
        "`multi_tier_checkpointing_backup_interval_steps` or `_minutes`, exactly one of them; with the second it "
        "stays `checkpoint_period`.",
    ),
    body=_body,
)
