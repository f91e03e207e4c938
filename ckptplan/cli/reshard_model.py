"""A model whose checkpoint nobody has saved yet: its tensors, its ledger of states, the layout that its spec gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckptplan.errors import InputError, UsageError, printable

if TYPE_CHECKING:
    from ckptplan.checkpoint.reshard.layout import Layout
    from ckptplan.cost.architecture import Architecture
    from ckptplan.cost.scenario import Ledger
    from ckptplan.spec.reading import Spec


def layout_of_spec(loaded: Spec | None) -> Layout:
    """The layout that a spec describes, where it shards the parameters over all data-parallel ranks."""
    from ckptplan.checkpoint.reshard.layout import parse_layout
    from ckptplan.cost.scenario import Shard

    hint = "give --from, such as --from pp=4,fsdp=16,tp=8"
    if loaded is None:
        raise UsageError("no layout of the run that would save", hint=hint)
    layout = loaded.scenario.cluster.layout
    if layout.shard not in (Shard.FSDP, Shard.HSDP, Shard.ZERO3) or layout.data % layout.expert:
        raise UsageError(f"cluster.layout of the spec ({layout.shard}) has no place for single tensors", hint=hint)
    sizes = {
        "pp": layout.pipeline,
        "replicate": layout.replicas,
        "fsdp": layout.data // layout.expert,
        "ep": layout.expert,
        "cp": layout.context,
        "tp": layout.tensor,
    }
    cut = [f"{axis}={size}" for axis, size in sizes.items() if size > 1 or axis == "fsdp"]
    return parse_layout(",".join(cut))._replace(layers_per_stage=layout.layers_per_stage)


def architecture_of(name: str, sets: list[str], *, has_spec: bool) -> tuple[Architecture, Ledger, Spec | None]:
    """The tensors of a model and what a checkpoint keeps of each: of a spec, or of a config.json with adam-14."""
    path = Path(name)
    if path.suffix == ".json" or (path / "config.json").is_file():
        from ckptplan.cost.state import DEFAULT_LEDGER
        from ckptplan.cost.state import ledger as named
        from ckptplan.readers.models.model_config import read_model_config

        if sets and not has_spec:
            raise UsageError("--set changes keys of a spec", hint="a config.json has none")
        return read_model_config(path), named(DEFAULT_LEDGER), None
    from ckptplan.load import load

    loaded = load(name, sets=sets)
    model = loaded.scenario.model
    if model.architecture is None:
        hint = "write model: {config: ./config.json} in it, or give --model config.json"
        raise InputError(f"{printable(name)} knows the number of parameters, not the tensors", hint=hint)
    return model.architecture, model.ledger, loaded
