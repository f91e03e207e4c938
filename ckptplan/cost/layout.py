"""The same layout at another number of GPUs."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from ckptplan.cost.scenario import Cluster, Layout, Shard
from ckptplan.errors import InputError

STAY_IDLE = "fill no further replica and stay idle"  # in a note: of GPUs that the layout leaves over


def at_scale(cluster: Cluster, gpus: int) -> tuple[Cluster, str | None]:
    """The same as `with_gpus`; at its own number of GPUs a cluster stays as it is."""
    return (cluster, None) if gpus == cluster.gpus else with_gpus(cluster, gpus)


def with_gpus(cluster: Cluster, gpus: int) -> tuple[Cluster, str | None]:
    """A cluster at another scale: only the number of data-parallel ranks changes.

    Parameters
    ----------
    cluster : Cluster
        The cluster as described.
    gpus : int
        GPUs wanted.

    Returns
    -------
    Cluster
        With ``gpus`` GPUs and the layout that fills as many of them as it can.
    str or None
        What had to change beyond the number of replicas, or which GPUs stay idle.

    Notes
    -----
    HSDP with several replicas adds or removes whole replicas; everything else changes ``data``, in steps
    that expert parallelism still divides. Below one model replica, tensor and pipeline parallelism shrink
    and all is sharded.
    """
    if gpus < 1:
        raise InputError(f"a job needs at least one GPU, not {gpus}")
    layout = cluster.layout
    model_parallel = layout.tensor * layout.pipeline * layout.context
    units = gpus // model_parallel
    fitted, note = _refilled(layout, units) if units else _shrunk(layout, gpus)
    notes = [part for part in (note, _idle(gpus, fitted)) if part]
    return replace(cluster, gpus=gpus, layout=fitted), "; ".join(notes) or None


def _refilled(layout: Layout, units: int) -> tuple[Layout, str | None]:
    """As many data-parallel ranks or replicas as ``units`` model replicas allow."""
    if layout.shard is Shard.HSDP and layout.replicas > 1 and units >= layout.data:
        return replace(layout, replicas=units // layout.data), None
    replicas = layout.replicas if units >= layout.replicas and layout.shard is not Shard.HSDP else 1
    step = layout.expert // gcd(layout.expert, layout.context)
    data = units // replicas // step * step
    if layout.shard is Shard.HSDP and layout.replicas > 1 and data > 0:
        note = f"one sharding group of {data} instead of {layout.replicas} groups of {layout.data} at this size"
        return replace(layout, data=data, replicas=1), note
    if data == 0 and replicas > 1:
        replicas, data = 1, units // step * step
    if data > 0:
        return replace(layout, data=data, replicas=replicas), None
    expert = gcd(layout.expert, units * layout.context)
    note = f"expert parallelism is {expert} instead of {layout.expert} at this size"
    return replace(layout, data=units, replicas=1, expert=expert), note


def _shrunk(layout: Layout, gpus: int) -> tuple[Layout, str | None]:
    """A fully sharded layout for fewer GPUs than one model replica had."""
    tensor = _largest_divisor(layout.tensor, gpus)
    pipeline = _largest_divisor(layout.pipeline, gpus // tensor)
    data = gpus // (tensor * pipeline)
    stages = layout.layers_per_stage if pipeline == layout.pipeline else ()
    expert = gcd(layout.expert, data)
    small = Layout(data, tensor, pipeline, expert=expert, shard=Shard.FSDP, layers_per_stage=stages)
    whole = layout.tensor * layout.pipeline * layout.context
    return small, (
        f"fewer GPUs ({gpus:,}) than one replica of {whole:,} needs: planned with tensor {tensor}, pipeline "
        f"{pipeline} and data {data}, everything sharded; whether that fits in GPU memory is not checked"
    )


def _largest_divisor(of: int, at_most: int) -> int:
    return max(n for n in range(1, min(of, at_most) + 1) if of % n == 0)


def _idle(gpus: int, layout: Layout) -> str | None:
    idle = gpus - layout.gpus
    if not idle:
        return None
    return f"{idle:,} of {gpus:,} GPUs {STAY_IDLE}"
