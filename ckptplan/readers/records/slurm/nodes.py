"""How many nodes and GPUs a Slurm allocation had: compressed node lists and trackable resources."""

from __future__ import annotations

import math
import re

_TYPED = re.compile(r"(?:^|,)gres/(?:gpu|gpus):([^=,]+)=([0-9]+)")
_UNTYPED = re.compile(r"(?:^|,)gres/gpu=([0-9]+)")
_NODE = re.compile(r"(?:^|,)node=([0-9]+)")
_PER_NODE = re.compile(r"(?:^|,)(?:gres[:/])?gpu(?::([A-Za-z_][^:,(]*))?[:=]([0-9]+)")
_MOST_NODES = 10_000_000


def gpus_of_tres(text: str) -> float:
    """GPUs in AllocTRES: gres/gpu is their sum; types are added up only where it is absent. nan without any."""
    total = _UNTYPED.search(text)
    if total:
        return float(total[1])
    typed = _TYPED.findall(text)
    if typed:
        return float(sum(int(count) for _, count in typed))
    return 0.0 if text.strip() else math.nan


def nodes_of_tres(text: str) -> float:
    """Nodes in AllocTRES; nan where it does not say."""
    found = _NODE.search(text)
    return float(found[1]) if found else math.nan


def gpus_of_gres(text: str) -> float:
    """GPUs per node in AllocGRES, ``gpu:8`` or ``gpu:a100:4,gpu:v100:2``; nan without any."""
    found = _PER_NODE.findall(text)
    return float(sum(int(count) for _, count in found)) if found else math.nan


def count_nodes(text: str) -> float:
    """Nodes in ``gpu[01-04,07],login1``; nan for an empty or broken list."""
    text = text.strip()
    if not text or text in ("None", "None assigned", "(null)", "Unknown"):
        return math.nan
    total = 0
    for name in _split(text):
        count = _count_name(name)
        if math.isnan(count):
            return math.nan
        total += int(count)
    return float(total) if total <= _MOST_NODES else math.nan


def _split(text: str) -> list[str]:
    """Names of a list: commas inside of brackets belong to a name."""
    names, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            names.append(text[start:at])
            start = at + 1
    return [*names, text[start:]]


def _count_name(name: str) -> float:
    """One name may have several brackets, rack[1-2]n[1-4]: their counts multiply."""
    if not name or name.count("[") != name.count("]"):
        return math.nan
    count = 1
    for inside in re.findall(r"\[([^\[\]]*)\]", name):
        ranges = [re.fullmatch(r"([0-9]{1,12})(?:-([0-9]{1,12}))?", part) for part in inside.split(",")]
        sizes = [int(r[2] or r[1]) - int(r[1]) + 1 if r else 0 for r in ranges]
        if min(sizes) < 1:
            return math.nan
        count *= sum(sizes)
        if count > _MOST_NODES:
            return math.nan
    return float(count)
