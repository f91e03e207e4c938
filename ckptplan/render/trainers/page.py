"""The documentation page of the trainers, made from what is known of each."""

from __future__ import annotations

from ckptplan.render.trainers import TRAINERS, Trainer, TrainerSetting

_INTRODUCTION = """\
# Trainer-ready settings

`ckptplan optimize llama3-405b --for megatron` prints the interval as the flag, key or call that a framework really
has, with how many checkpoints to keep and the asynchronous switch where it has them. A strategy with
`mode: asynchronous` turns that switch on; any other one turns it off where it is on by default. The number is always
in optimizer steps.

Each name below was read in the framework's own source, at the version and in the files listed. Frameworks rename
their settings: check the version you run.

| `--for` | framework | version read | interval in steps | retention | asynchronous |
|---|---|---|---|---|---|"""
_COLUMNS = {
    "megatron": ("`--save-interval`", "`--save-retain-interval` (not a count)", "`--async-save`"),
    "torchtitan": ("`checkpoint.interval`", "`checkpoint.keep_latest_k`", "`checkpoint.async_mode`"),
    "nemo": ("`every_n_train_steps`", "`save_top_k`", "`ckpt_async_save` (on by default)"),
    "deepspeed": ("none: a call", "none", "`checkpoint.writer.decoupled` (one step)"),
    "lightning": ("`every_n_train_steps`", "`save_top_k`", "`AsyncCheckpointIO` (not for FSDP)"),
    "huggingface": ("`save_steps`", "`save_total_limit`", "none"),
    "maxtext": (
        "`checkpoint_period`",
        "`max_num_checkpoints_to_keep`",
        "`async_checkpointing` (on by default)",
    ),
}
_EXAMPLE = TrainerSetting(steps=66, asynchronous=True, keep=3, strategy="asynchronous", interval_s=330.4)


def trainers_page() -> str:
    """``docs/trainers.md``: a table, then a section for each framework."""
    rows = [f"| {' | '.join((f'`{t.name}`', t.title, t.version, *_COLUMNS[t.name]))} |" for t in TRAINERS.values()]
    return "\n".join((_INTRODUCTION, *rows, *(_section(t) for t in TRAINERS.values()))) + "\n"


def _section(trainer: Trainer) -> str:
    """Example, what to watch for, and what was read."""
    return "\n".join(
        (
            f"\n## {trainer.title}\n",
            f"```{trainer.format}\n{trainer.snippet(_EXAMPLE)}```\n",
            *(f"- {gotcha}" for gotcha in trainer.gotchas),
            "\nRead in:\n",
            *(f"- {source}" for source in trainer.source),
        )
    )
