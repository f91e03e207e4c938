"""Hugging Face Trainer: TrainingArguments, in Python."""

from __future__ import annotations

from ckptplan.render.trainers.setting import Format, Trainer, TrainerSetting


def _body(setting: TrainerSetting) -> tuple[str, ...]:
    blocked = (
        "# this trainer saves synchronously only: an asynchronous plan does not hold here",
        "# until its interval is computed for the blocking save",
    )
    return (
        *(blocked if setting.asynchronous else ()),
        "from transformers import TrainingArguments",
        "",
        "arguments = TrainingArguments(",
        '    output_dir="checkpoints",',
        '    save_strategy="steps",',
        f"    save_steps={setting.steps},  # update steps, not micro-batches",
        f"    save_total_limit={setting.keep},  # the default, None, keeps all",
        "    save_only_model=False,  # True cannot be resumed from",
        ")",
    )


TRAINER = Trainer(
    name="huggingface",
    title="Hugging Face Trainer",
    format=Format.PYTHON,
    version="transformers 5.24.0",
    source=(
        "transformers 5.24.0 wheel: transformers/training_args.py",
        "transformers 5.24.0 wheel: transformers/trainer_callback.py (DefaultFlowCallback), trainer_utils.py "
        "(rotate_checkpoints), trainer_jit_checkpoint.py",
        "huggingface/transformers@00349ae8: src/transformers/training_args.py",
    ),
    writes_in_background=False,
    keys=("save_strategy", "save_steps", "save_total_limit", "save_only_model"),
    gotchas=(
        "There is no asynchronous switch: each save blocks. Only pushes to the Hub run in the background.",
        "`save_steps` counts update steps: one per `gradient_accumulation_steps` micro-batches. A value below 1 is "
        "read as a share of all steps.",
        "`save_total_limit` deletes the oldest after each save; the most recent is always kept, and so is the best "
        "one with `load_best_model_at_end`, even if that makes one more.",
        "With `load_best_model_at_end`, `save_steps` must be a multiple of `eval_steps`.",
        "A run saves at its last step too. `enable_jit_checkpoint` (off by default) saves on SIGTERM, after a wait "
        "of 3 s and the end of the step: the grace period must allow for that and for the save.",
        "Resuming replays the data loader up to the saved step, which takes time; `ignore_data_skip` starts it over.",
    ),
    body=_body,
)
