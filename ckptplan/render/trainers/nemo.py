"""NeMo 2: a checkpoint callback and an argument of the strategy, in Python."""

from __future__ import annotations

from ckptplan.render.trainers.setting import Format, Trainer, TrainerSetting


def _body(setting: TrainerSetting) -> tuple[str, ...]:
    return (
        "from nemo import lightning as nl",
        "",
        "checkpoint = nl.ModelCheckpoint(",
        f"    every_n_train_steps={setting.steps},",
        f"    save_top_k={setting.keep},",
        '    monitor="step",  # the newest ones; the default, val_loss, puts a save off until validation',
        '    mode="max",',
        '    filename="{step}",',
        '    save_last="link",  # True, the default, writes every checkpoint twice; resuming looks for *last',
        "    save_optim_on_train_end=True,  # otherwise the save at the last step has no optimizer state",
        ")",
        "strategy = nl.MegatronStrategy(",
        f"    ckpt_async_save={setting.asynchronous},  # True is the default",
        ")  # with your parallelism; pass nl.NeMoLogger(ckpt=checkpoint) and nl.Trainer(strategy=strategy)",
    )


TRAINER = Trainer(
    name="nemo",
    title="NeMo 2",
    format=Format.PYTHON,
    version="2.6.0rc0, September 2025",
    source=(
        "NVIDIA/NeMo@8cfedd72: nemo/lightning/pytorch/callbacks/model_checkpoint.py",
        "NVIDIA/NeMo@8cfedd72: nemo/lightning/pytorch/strategies/megatron_strategy.py",
        "NVIDIA/NeMo@8cfedd72: nemo/lightning/resume.py, nemo/lightning/pytorch/callbacks/preemption.py",
        "AI-Hypercomputer/gpu-recipes@2e1fd5ef: .../nemo-gke-resiliency/nemo2412/recipe/train.py (monitor step)",
        "nemo_toolkit 3.0.0 wheel: nemo/lightning (MegatronStrategy and ModelCheckpoint are gone)",
    ),
    writes_in_background=True,
    keys=(
        "every_n_train_steps",
        "save_top_k",
        "monitor",
        "mode",
        "filename",
        "save_last",
        "save_optim_on_train_end",
        "ckpt_async_save",
    ),
    gotchas=(
        '`save_last=True`, the default, writes a second full copy at each save, which doubles its cost. `"link"` '
        "makes a symbolic link, on local file systems only. `False` leaves `AutoResume` with nothing to find: it "
        "looks for folders that end in `last`.",
        "`monitor` is `val_loss` by default: a save that is due before that metric exists is put off until after "
        'validation. With `monitor="step"`, `mode="max"`, `save_top_k` keeps the newest ones.',
        "`ckpt_async_save` is true by default: a synchronous plan must turn it off. It cannot be combined with EMA.",
        "The value of the monitored metric is read back from the path: the file name must contain it, and no folder "
        'above it may be called anything with "step".',
        "`save_optim_on_train_end` is false by default: the save at the last step has no optimizer state.",
        "Steps are optimizer steps. `PreemptionCallback` saves and stops on SIGTERM if it is added.",
        "With asynchronous saves the surplus checkpoint is deleted when the new one is complete: there must be room "
        "for one more than `save_top_k`.",
        "Recipes of the library save by time (`train_time_interval`, 15 min), which excludes `every_n_train_steps`: "
        "set it to None there.",
        "Version 3 of the package no longer holds the large-language-model part that these settings belong to.",
    ),
    body=_body,
)
