"""Megatron-LM: command-line flags."""

from __future__ import annotations

from ckptplan.render.trainers.setting import Format, Trainer, TrainerSetting

_SPARSE = 10  # the suggested spacing of retained saves, in intervals; the flag has no default of its own


def _body(setting: TrainerSetting) -> tuple[str, ...]:
    lines = [
        "# nothing is saved unless --save DIR is given as well",
        f"# no flag keeps the last {setting.keep}: every save stays, unless --save-retain-interval"
        f" {setting.steps * _SPARSE} is",
        f"# added, which keeps the newest save and every {_SPARSE}th one and deletes the others",
    ]
    if not setting.asynchronous:
        return (*lines, f"--save-interval {setting.steps}")
    return (
        *lines,
        "# --async-save is dropped with a warning if --use-persistent-ckpt-worker is missing",
        f"--save-interval {setting.steps} --ckpt-format torch_dist --async-save --use-persistent-ckpt-worker",
    )


TRAINER = Trainer(
    name="megatron",
    title="Megatron-LM",
    format=Format.SHELL,
    version="core 0.20.0, August 2026",
    source=(
        "NVIDIA/Megatron-LM@d98e8a64: megatron/training/config/training_config.py (CheckpointConfig)",
        "NVIDIA/Megatron-LM@d98e8a64: megatron/training/arguments.py",
        "NVIDIA/Megatron-LM@d98e8a64: megatron/training/training.py (checkpoint_and_decide_exit)",
        "NVIDIA/Megatron-LM@d98e8a64: megatron/training/checkpointing.py (iter_finalize_fn)",
    ),
    writes_in_background=True,
    keys=(
        "--save-interval",
        "--async-save",
        "--use-persistent-ckpt-worker",
        "--ckpt-format",
        "--save-retain-interval",
    ),
    gotchas=(
        "With a distributed format, `--async-save` without `--use-persistent-ckpt-worker` is switched off with only "
        "a warning, and the run saves synchronously.",
        "The default writer of asynchronous saves is `--async-strategy nvrx`, from the nvidia-resiliency-ext "
        "package; `mcore` is the built-in one. Asynchronous saves were made for the `torch_dist` format.",
        "`--save-interval` counts iterations, one optimizer step each, whatever the number of micro-batches.",
        "There is no keep-last-N flag. `--save-retain-interval`, a multiple of the interval, deletes the previous "
        "save once a new one is complete, except at its multiples: only one recent save is left to fall back on.",
        "`--exit-signal-handler` saves and stops on SIGTERM; `--exit-duration-in-mins` and `--exit-interval` save "
        "before they stop. None of them is on by default.",
        "`--ckpt-fully-parallel-save` is deprecated and does nothing: parallel writing is the default, and "
        "`--no-ckpt-fully-parallel-save` turns it off.",
        "`--non-persistent-save-interval` adds a second, faster kind of save; it is skipped at steps at which "
        "`--save-interval` fires.",
    ),
    body=_body,
)
