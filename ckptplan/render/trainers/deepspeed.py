"""DeepSpeed: a call in the user's own loop, and a section of its configuration."""

from __future__ import annotations

from ckptplan.render.trainers.setting import Format, Trainer, TrainerSetting


def _background() -> tuple[str, ...]:
    return (
        "# the next optimizer step waits until the write is done, and fails after 300 s:",
        "# only one step of training hides it",
        "# before deepspeed.initialize(config=ds_config); fast needs the asynchronous I/O extension (libaio)",
        'ds_config["checkpoint"] = {"writer": {"type": "fast", "decoupled": True}}',
        "",
    )


def _body(setting: TrainerSetting) -> tuple[str, ...]:
    return (
        "# DeepSpeed has no interval key and deletes nothing: the loop decides, on every rank",
        f"# keep the newest {setting.keep} folders global_step* yourself",
        *(_background() if setting.asynchronous else ()),
        f"SAVE_EVERY = {setting.steps}",
        "last_saved = model_engine.global_steps  # after load_checkpoint, if any",
        "",
        "# in the loop, after model_engine.step(); global_steps counts optimizer steps, not micro-batches",
        "if model_engine.global_steps - last_saved >= SAVE_EVERY:",
        "    last_saved = model_engine.global_steps",
        '    model_engine.save_checkpoint(save_dir, client_state={"step": last_saved})',
    )


TRAINER = Trainer(
    name="deepspeed",
    title="DeepSpeed",
    format=Format.PYTHON,
    version="0.19.6, August 2026",
    source=(
        "deepspeedai/DeepSpeed@edaa7221: deepspeed/runtime/engine.py (save_checkpoint, step)",
        "deepspeedai/DeepSpeed@edaa7221: deepspeed/runtime/model_checkpointing/constants.py, config.py",
        "deepspeedai/DeepSpeed@edaa7221: deepspeed/runtime/checkpoint_engine/decoupled_checkpoint_engine.py, utils.py",
        "deepspeedai/DeepSpeed@edaa7221: docs/_tutorials/datastates-async-checkpointing.md",
    ),
    writes_in_background=True,
    keys=("save_checkpoint", "checkpoint", "writer", "type", "decoupled"),
    gotchas=(
        "A decoupled save is committed before the next optimizer step, which waits for it: it hides at most one "
        "step's forward and backward pass. A flush longer than that is a stall, and one of more than 300 s an error.",
        "There is no interval and no retention key: `model_engine.save_checkpoint(save_dir)` is called by the user's "
        "loop, on every rank (a call on one rank alone hangs), and old folders are the user's to delete.",
        "`global_steps` counts optimizer steps and stays the same for all micro-batches between two of them: a test "
        "of `global_steps % n == 0` in the loop saves once per micro-batch.",
        "The file `latest` names the checkpoint to resume from; a decoupled save writes it at the commit.",
        "Any `writer` section replaces the default engine; without one, saves are synchronous `torch.save` calls.",
        'The DataStates engine is another asynchronous writer (`"datastates_ckpt": {"host_cache_size": 16}`, in GB '
        "of pinned memory; ZeRO-1 and NVIDIA only). Its commit waits in the same place.",
        "Nothing is saved at exit or on a signal.",
    ),
    body=_body,
    hides_one_step=True,
)
