"""Files that a DeepSpeed checkpoint must have by its own account, and files that are not of the same save."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ckptplan.checkpoint.archives.elements import read_elements
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.deepspeed.names import StateFile, other_rank
from ckptplan.checkpoint.formats.deepspeed.parts import ModelPart, OptimizerPart, whole_number
from ckptplan.checkpoint.manifest import Fault, Flaw
from ckptplan.errors import InputError, printable

MIXED = "the copy mixes two saves"
_SHOWN = 3
_MOST_FAULTS = 20
_MOST_PLACES = 1 << 20
_HINT = "is the copy complete?"
# Files of pipeline layers and experts: the numbers that are left out of a set are those of layers without parameters.
_SETS = (
    re.compile(r"(?P<set>(?:.*/)?layer_\d+-model_)(?P<a>\d{1,7})(?P<b>)-model_states\.pt"),
    re.compile(r"(?P<set>(?:.*/)?layer_\d+_expert_)(?P<a>\d{1,7})_mp_rank_(?P<b>\d{1,7})_model_states\.pt"),
    re.compile(r"(?P<set>(?:.*/)?(?:bf16_|fp16_)?expp_rank_)(?P<a>\d{1,7})_mp_rank_(?P<b>\d{1,7})_optim_states\.pt"),
)


def missing_files(
    files: Sequence[StateFile], others: Sequence[str], models: Sequence[ModelPart], ranks: int, model_ranks: int
) -> list[Fault]:
    """Model-parallel ranks without any file, or without one of the two kinds that the others have; and gaps."""
    by_rank: dict[int, list[StateFile]] = defaultdict(list)
    for file in files:
        by_rank[file.mp].append(file)
    optimizer = next((file for file in files if file.optimizer), None)
    faults = _without_any(sorted(set(range(model_ranks)) - set(by_rank)), files, ranks, model_ranks)
    for rank, own in sorted(by_rank.items()):
        if optimizer is not None and not any(file.optimizer for file in own):
            message = f"the optimizer files of model-parallel rank {rank} are not there, {ranks:,} by the other ranks"
            faults.append(Fault(Flaw.MISSING_FILE, message, _of_rank(optimizer.name, rank), hint=_HINT))
    stage = max((_stage(part) for part in models), default=0)
    if optimizer is None and stage > 0:
        message = f"no optimizer file is there, and ZeRO of stage {stage} writes one for each of {ranks:,} ranks"
        faults.append(Fault(Flaw.MISSING_FILE, message, hint=_HINT))
    return [*faults[:_MOST_FAULTS], *_gaps(others, model_ranks)[:_MOST_FAULTS]]


def absent_models(files: Sequence[StateFile], ranks: int) -> list[Fault]:
    """Model states that stage 3 wrote for every rank and that are not there."""
    ranked = [file for file in files if not file.optimizer and file.dp is not None]
    faults: list[Fault] = []
    for mp in sorted({file.mp for file in ranked}):
        first = next(file for file in ranked if file.mp == mp)
        there = {file.dp for file in ranked if file.mp == mp}
        absent = [rank for rank in range(ranks) if rank not in there]
        for rank in absent[:_MOST_FAULTS]:
            name = other_rank(first.name, rank)
            faults.append(Fault(Flaw.MISSING_FILE, f"the model states of rank {rank} are not there", name))
        if len(absent) > _MOST_FAULTS:
            faults.append(
                Fault(Flaw.MISSING_FILE, f"{len(absent) - _MOST_FAULTS:,} more files of model states are missing")
            )
    return faults


def _without_any(absent: list[int], files: Sequence[StateFile], ranks: int, model_ranks: int) -> list[Fault]:
    """One fault for all model-parallel ranks that left nothing."""
    if not absent:
        return []
    optimizer = any(file.optimizer for file in files)
    each = (ranks if optimizer else 0) + (ranks if any(f.dp is not None and not f.optimizer for f in files) else 1)
    first = ", ".join(map(str, absent[:_SHOWN])) + (", ..." if len(absent) > _SHOWN else "")
    message = (
        f"{len(absent):,} of {model_ranks:,} model-parallel ranks left no file: {first}; "
        f"{each * len(absent):,} files are missing"
    )
    sample = next((file for file in files if not file.optimizer), files[0])
    return [Fault(Flaw.MISSING_FILE, message, _of_rank(sample.name, absent[0]), hint=_HINT)]


def _of_rank(name: str, rank: int) -> str:
    """The name that the file of another model-parallel rank has."""
    return re.sub(r"mp_rank_\d+", f"mp_rank_{rank:02d}", name, count=1)


def _stage(part: ModelPart) -> int:
    """The stage of ZeRO by the configuration that lies in the file."""
    held: Any = part.values.get("ds_config")
    zero = held.get("zero_optimization") if isinstance(held, dict) else None
    found = whole_number(zero.get("stage")) if isinstance(zero, dict) else None
    return found if found in {1, 2, 3} else 0


def _gaps(others: Sequence[str], model_ranks: int) -> list[Fault]:
    """Files of layers and experts whose neighbours are there: every one has a file for each rank of its set."""
    there: dict[tuple[int, str], dict[tuple[int, int], str]] = defaultdict(dict)
    for name in others:
        for at, pattern in enumerate(_SETS):
            if found := pattern.fullmatch(name):
                there[at, found["set"]][int(found["a"]), int(found["b"] or 0)] = name
    # Layers of one model are cut alike; experts of one layer are as many as those of the others.
    wide: dict[int, tuple[int, int]] = {}
    for (at, _), places in there.items():
        largest = (max(a for a, _ in places) + 1, max(b for _, b in places) + 1)
        wide[at] = max(wide.get(at, (1, 1))[0], largest[0]), max(wide.get(at, (1, 1))[1], largest[1])
    faults = []
    for (at, _), places in sorted(there.items()):
        rows, columns = wide[at]
        columns = max(columns, model_ranks) if at > 0 else columns
        lacking = rows * columns - len(places)
        if lacking and rows * columns <= _MOST_PLACES:
            a, b = next((a, b) for a in range(rows) for b in range(columns) if (a, b) not in places)
            name = _renamed(next(iter(places.values())), at, a, b)
            faults.append(
                Fault(Flaw.MISSING_FILE, f"{lacking:,} of {rows * columns:,} files are missing", name, hint=_HINT)
            )
    return faults


def _renamed(name: str, at: int, a: int, b: int) -> str:
    """The name of another file of a set."""
    found = _SETS[at].fullmatch(name)
    if found is None:
        return name
    digits = [(found.span("a"), a), (found.span("b"), b)]
    for (begin, end), number in reversed(digits if found["b"] else digits[:1]):
        name = f"{name[:begin]}{number:0{end - begin}d}{name[end:]}"
    return name


def steps_differ(
    folder: CheckpointFolder, optimizers: Sequence[OptimizerPart], models: Sequence[ModelPart]
) -> list[Fault]:
    """Files of ranks at different steps: all ranks step together, so that the copy mixes two saves."""
    progress = {part.file.name: whole_number(part.values.get("global_steps")) for part in models}
    steps: dict[object, dict[str, int | None]] = defaultdict(dict)
    for part in optimizers:
        base = part.rest.get("base_optimizer_state", part.rest.get("optimizer_state_dict"))
        state = base.get("state") if isinstance(base, dict) else None
        for group, slots in state.items() if isinstance(state, dict) else ():
            steps[group][part.file.name] = _number(folder, slots.get("step") if isinstance(slots, dict) else None)
    faults = _unlike(progress, "global_steps")
    for counts in steps.values():
        faults = faults or _unlike(counts, "the optimizer's step")
    return faults


def _number(folder: CheckpointFolder, value: Any) -> int | None:
    """A step, which is a number or a tensor of one element."""
    if isinstance(value, StoredTensor) and value.elements == 1 and value.dtype in {"float32", "int64", "int32"}:
        try:
            value = read_elements(folder, value).view(value.dtype)[0].item()
        except InputError:
            return None
    return whole_number(int(value) if isinstance(value, float) and value.is_integer() else value)


def _unlike(values: Mapping[str, int | None], what: str) -> list[Fault]:
    """One fault if the files do not all say the same number, at a file of the rarest."""
    files: dict[int, list[str]] = defaultdict(list)
    for name, value in values.items():
        if value is not None:
            files[value].append(name)
    if len(files) < 2:
        return []
    said = ", ".join(f"{value:,} in {_files(names)}" for value, names in sorted(files.items())[:5])
    rarest = min(files.values(), key=len)[0]  # named in the message: the file itself can be read
    message = f"states of different steps: {what} is {said}; see {rarest}"
    return [Fault(Flaw.CORRUPT, message, hint=MIXED)]


def _files(names: Sequence[str]) -> str:
    return "1 file" if len(names) == 1 else f"{len(names):,} files"


def lost_parameters(models: Sequence[ModelPart], others: Sequence[str], stage: int) -> list[Fault]:
    """Weights that the list of trained parameters names and that the file does not hold; stage 3 stores none."""
    faults = []
    for part in models:
        if stage == 3 or others or not part.module:  # the layers of a pipeline have files of their own
            continue
        listed = [name for group in part.shapes for name in group]
        gone = [name for name in listed if name not in part.module and name not in part.shared]
        if gone:
            first = ", ".join(printable(name)[:80] for name in gone[:_SHOWN]) + (", ..." if len(gone) > _SHOWN else "")
            message = f"{len(gone):,} of {len(listed):,} trained parameters are not in it: {first}"
            faults.append(Fault(Flaw.MISSING_ENTRY, message, part.file.name, gone[0], _HINT))
    return faults[:_MOST_FAULTS]
