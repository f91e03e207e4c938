"""A real save in two phases: a copy that blocks, then a flush beside which work goes on."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from ckptplan.cost.slowdown import speed_from_step_times
from ckptplan.measure.blocks import Blocks
from ckptplan.measure.crew import Clock, Crew, Member, Report
from ckptplan.measure.devices import Device, MakeDevice, has_gpu_unused
from ckptplan.measure.doubts import LONG_ENOUGH_S
from ckptplan.measure.folder import OwnFolder, own_folder
from ckptplan.measure.forecasts import Forecast, forecast
from ckptplan.measure.host import FileSystem, HostMemory, file_system_of, host_memory
from ckptplan.measure.repeats import Repeats
from ckptplan.measure.room import fitting, limit_of_shards
from ckptplan.measure.setting import Announce, Progress, Setting, told
from ckptplan.measure.writing import WriteRound, write_round
from ckptplan.units import format_time

_STEPS_OUTSIDE = 50
_FEWEST_BESIDE = 10  # steps beside a flush that say something of its slow-down


class SavingMeasured(NamedTuple):
    """What was measured, one value per repetition. [s, bytes/s, 1].

    ``copy`` is the rate of one writer while all copy, ``write`` that of all of them; both alone, before the saves.
    ``speed`` is None where the flushes were too short for steps beside them.
    """

    folder: str
    device: str
    is_gpu: bool
    setting: Setting
    file_system: FileSystem
    memory: HostMemory
    copy: Repeats
    write: Repeats
    stall: Repeats
    flush: Repeats
    step_outside: Repeats
    step_beside: Repeats
    speed: Repeats | None
    forecast: Forecast
    notes: tuple[str, ...]


class _Save(NamedTuple):
    stall_s: float
    flush_s: float
    outside_s: float
    beside_s: tuple[float, ...]


class _Rig(NamedTuple):
    """What every repetition uses."""

    folder: OwnFolder
    device: Device
    setting: Setting
    blocks: Sequence[Blocks]
    clock: Clock
    progress: Progress | None

    def report(self, what: str, number: int) -> Report | None:
        """Progress of one repetition."""
        progress, label = self.progress, f"{what} {number} of {self.setting.repeats}"
        return None if progress is None else lambda done, total: progress(label, done, total)


def measure_saving(
    directory: str,
    setting: Setting,
    make_device: MakeDevice,
    *,
    clock: Clock = time.perf_counter,
    progress: Progress | None = None,
    announce: Announce | None = None,
) -> SavingMeasured:
    """Save several times: copy every shard to a host buffer, then flush the buffers while steps go on.

    Parameters
    ----------
    directory : str
        A folder on the storage that checkpoints go to; what is made there is removed.
    setting : Setting
        Writers of this node, bytes of each, and how.
    make_device : callable
        Makes shards and buffers.
    clock : callable
        Gives the time. [s]
    progress : callable, optional
        Called with what is being done, bytes done, and bytes in all.
    announce : callable, optional
        Called before the first byte with what is measured instead, if not all fits.

    Returns
    -------
    SavingMeasured

    Raises
    ------
    InputError
        If there is no room in memory or on the file system, or storage refuses.
    """
    with own_folder(directory) as folder:
        memory = host_memory()
        fitted, notes = fitting(directory, setting, limit_of_shards(setting, memory), memory=memory)
        told(notes, announce)
        device = make_device(fitted.writers, fitted.size_bytes)
        blocks = [Blocks(fitted.block_bytes, pool_bytes=fitted.block_bytes)] * fitted.writers  # buffers are written
        rig = _Rig(folder, device, fitted, blocks, clock, progress)
        _copy_out(rig)  # not counted: the first copy finds caches and page tables empty
        numbers = range(1, fitted.repeats + 1)
        copies = [_copy_out(rig) for _ in numbers]
        writes = [_flush(rig, rig.report("write alone", number)) for number in numbers]
        saves = [_save(rig, rig.report("save", number)) for number in numbers]
    found = _measured(directory, rig, memory, _Alone(copies, writes), saves)
    return found._replace(notes=(*_doubts(found), *notes))


def _copy_out(rig: _Rig) -> float:
    """All writers copy at one time; the time of the slowest. [s]."""
    times = [0.0] * rig.setting.writers

    def work(member: Member) -> None:
        started = member.start()
        rig.device.copy_out(member.number)
        times[member.number] = rig.clock() - started

    Crew(rig.setting.writers, 0, rig.clock).run(work)
    return max(times)


def _flush(rig: _Rig, report: Report | None, beside: list[float] | None = None) -> WriteRound:
    """The buffers to storage; where a list is given, steps run meanwhile and their times are put into it."""

    def step() -> None:
        started = rig.clock()
        rig.device.step()
        if beside is not None:
            beside.append(rig.clock() - started)

    try:
        return write_round(
            rig.folder,
            rig.setting.size_bytes,
            rig.blocks,
            direct=rig.setting.direct,
            clock=rig.clock,
            report=report,
            source=rig.device.buffer,
            beside=None if beside is None else step,
        )
    finally:
        rig.folder.empty()


def _save(rig: _Rig, report: Report | None) -> _Save:
    started = rig.clock()
    for _ in range(_STEPS_OUTSIDE):
        rig.device.step()
    outside_s = (rig.clock() - started) / _STEPS_OUTSIDE
    stall_s = _copy_out(rig)
    beside: list[float] = []
    flush_s = _flush(rig, report, beside).seconds
    return _Save(stall_s, flush_s, outside_s, tuple(beside))


class _Alone(NamedTuple):
    """Copies and writes without steps beside them."""

    copies_s: list[float]
    writes: list[WriteRound]


def _measured(directory: str, rig: _Rig, memory: HostMemory, alone: _Alone, saves: list[_Save]) -> SavingMeasured:
    setting, device = rig.setting, rig.device
    copy = Repeats(tuple(setting.size_bytes / seconds for seconds in alone.copies_s))
    write = Repeats(tuple(one.sustained_bytes_per_s for one in alone.writes))
    known = [save for save in saves if len(save.beside_s) >= _FEWEST_BESIDE]
    beside = Repeats(tuple(sum(save.beside_s) / len(save.beside_s) for save in known))
    speeds = tuple(
        float(speed_from_step_times(save.outside_s, mean)) for save, mean in zip(known, beside.values, strict=True)
    )
    return SavingMeasured(
        folder=directory,
        device=device.name,
        is_gpu=device.is_gpu,
        setting=setting,
        file_system=file_system_of(directory),
        memory=memory,
        copy=copy,
        write=write,
        stall=Repeats(tuple(save.stall_s for save in saves)),
        flush=Repeats(tuple(save.flush_s for save in saves)),
        step_outside=Repeats(tuple(save.outside_s for save in saves)),
        step_beside=beside,
        speed=Repeats(speeds) if speeds else None,
        forecast=forecast(setting, copy.mean, write.mean),
        notes=(),
    )


def _doubts(found: SavingMeasured) -> tuple[str, ...]:
    """What keeps the figures from being those of training, as sentences."""
    said = []
    if not found.is_gpu:
        gpu = "; this node has GPUs: --device cuda copies from them" if has_gpu_unused() else ""
        said.append(
            "no GPU took part: the copy is from host memory to host memory and the steps run on the processor. The "
            "stall of a GPU follows from its link to the host and is longer where that is slower than this memory; "
            f"the slow-down leaves out what communication between nodes loses{gpu}"
        )
    if found.file_system.is_memory:
        said.append(f"the folder is {found.file_system.kind}: this is memory, not storage")
    elif found.flush.mean < LONG_ENOUGH_S:
        said.append(
            f"a flush took {format_time(found.flush.mean)}: buffers of the storage itself may have taken all of it; "
            f"give a --size that takes {LONG_ENOUGH_S:g} s or longer"
        )
    if found.speed is None:
        said.append(
            f"the flushes were too short for {_FEWEST_BESIDE} steps beside them: their slow-down is not known; give a "
            "larger --size"
        )
    return tuple(said)
