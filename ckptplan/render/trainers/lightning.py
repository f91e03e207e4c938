"""PyTorch Lightning: a callback and a plugin, in Python."""

from __future__ import annotations

from ckptplan.render.trainers.setting import Format, Trainer, TrainerSetting


def _body(setting: TrainerSetting) -> tuple[str, ...]:
    plugin = ("from lightning.pytorch.plugins.io import AsyncCheckpointIO",) if setting.asynchronous else ()
    warning = (
        ("# AsyncCheckpointIO has no effect with FSDP, DeepSpeed and ModelParallel: they do not use it",)
        if setting.asynchronous
        else ()
    )
    plugins = ", plugins=[AsyncCheckpointIO()]" if setting.asynchronous else ""
    return (
        *warning,
        "from lightning.pytorch import Trainer",
        "from lightning.pytorch.callbacks import ModelCheckpoint",
        *plugin,
        "",
        "checkpoint = ModelCheckpoint(",
        f"    every_n_train_steps={setting.steps},",
        f"    save_top_k={setting.keep},",
        '    monitor="step",  # the newest ones; without a metric, save_top_k above 1 is refused',
        '    mode="max",',
        '    filename="{step}",',
        ")",
        f"trainer = Trainer(callbacks=[checkpoint]{plugins})",
    )


TRAINER = Trainer(
    name="lightning",
    title="PyTorch Lightning",
    format=Format.PYTHON,
    version="2.6.2, July 2026",
    source=(
        "Lightning-AI/pytorch-lightning@7f0c3436: src/lightning/pytorch/callbacks/model_checkpoint.py",
        "Lightning-AI/pytorch-lightning@7f0c3436: src/lightning/pytorch/plugins/io/async_plugin.py",
        "Lightning-AI/pytorch-lightning@7f0c3436: src/lightning/pytorch/strategies/fsdp.py, deepspeed.py, "
        "model_parallel.py",
        "Lightning-AI/pytorch-lightning@7f0c3436: src/lightning/pytorch/trainer/trainer.py (global_step)",
    ),
    writes_in_background=True,
    keys=("every_n_train_steps", "save_top_k", "monitor", "mode", "filename", "AsyncCheckpointIO"),
    gotchas=(
        "`save_top_k` keeps the best by a metric, not the newest; above 1 it is refused without one. "
        '`monitor="step"`, `mode="max"` makes it keep the newest.',
        "`AsyncCheckpointIO` (experimental) is used by strategies that write through a `CheckpointIO`, such as DDP. "
        "FSDP, DeepSpeed and ModelParallel do not: their saves stay synchronous.",
        "`AsyncCheckpointIO` clones each tensor where it is: GPU tensors need room for a second copy on the GPU. One "
        "thread writes; saves queue up, and a failed write is raised at a later save or at the end.",
        "Steps are `trainer.global_step`: optimizer steps, not micro-batches; several optimizers count each.",
        "`every_n_train_steps` excludes `every_n_epochs` and `train_time_interval`.",
        '`trainer.fit(ckpt_path="last")` needs `save_last`. With `True` a second copy is written at each save, with '
        '`"link"` a symbolic link is made.',
        "`save_on_exception` (off by default) saves when training raises, SIGTERM included; under SLURM the requeue "
        "signal saves as well.",
    ),
    body=_body,
)
