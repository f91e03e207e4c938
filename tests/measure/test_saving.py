"""A save in two phases: copies, flushes, steps beside them, and the forecast."""

from __future__ import annotations

import sys
import types
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.measure import devices, saving
from ckptplan.measure.blocks import PAGE_BYTES
from ckptplan.measure.devices import CudaDevice, HostDevice, device_maker
from ckptplan.measure.forecasts import forecast
from ckptplan.measure.host import HostMemory
from ckptplan.measure.saving import measure_saving
from ckptplan.measure.setting import Setting
from ckptplan.measure.writing import file_name
from tests.measure.clocks import ticking

SMALL = Setting(writers=2, size_bytes=3 * PAGE_BYTES, block_bytes=PAGE_BYTES, repeats=2)


class Counted(HostDevice):
    """A device in host memory that counts what is asked of it."""

    def __init__(self, writers: int, size_bytes: int) -> None:
        super().__init__(writers, size_bytes)
        self.copies: list[int] = []
        self.steps = 0

    def copy_out(self, number: int) -> None:
        """Copy, and count."""
        super().copy_out(number)
        self.copies.append(number)

    def step(self) -> None:
        """Count only."""
        self.steps += 1


def test_a_save_copies_then_flushes(tmp_path: Path) -> None:
    """Every writer copies once to warm up, and once alone and once in a save for each repetition; then all is gone."""
    made: list[Counted] = []

    def make(writers: int, size_bytes: int) -> Counted:
        made.append(Counted(writers, size_bytes))
        return made[0]

    found = measure_saving(str(tmp_path), SMALL, make, clock=ticking())
    assert sorted(made[0].copies) == [0] * 5 + [1] * 5
    assert made[0].steps >= 2 * 50
    assert [len(one.values) for one in (found.copy, found.write, found.stall, found.flush)] == [2, 2, 2, 2]
    assert list(tmp_path.iterdir()) == []


def test_what_is_flushed_is_the_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a flush hold the bytes of the shards."""
    device = HostDevice(2, SMALL.size_bytes)
    seen: list[bytes] = []
    real = saving.write_round

    def looked_at(folder: Any, *arguments: Any, **options: Any) -> Any:
        done = real(folder, *arguments, **options)
        seen.extend((Path(folder.path) / file_name(n)).read_bytes() for n in range(2))
        return done

    monkeypatch.setattr(saving, "write_round", looked_at)
    measure_saving(str(tmp_path), SMALL, lambda *_: device, clock=ticking())
    assert seen[-2:] == [bytes(device._shards[0]), bytes(device._shards[1])]
    assert seen[-2] != seen[-1]


def test_the_slow_down_is_steps_outside_over_steps_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With twenty steps beside a flush, each a tick, the speed is that of fifty outside in fifty and one ticks less."""
    monkeypatch.setattr(saving, "_STEPS_OUTSIDE", 50)

    def flush(rig: Any, report: Any, beside: list[float] | None = None) -> Any:
        if beside is not None:
            beside.extend([0.02] * 20)
        return saving.WriteRound(rig.setting.size_bytes, (saving_time(),) * 2)

    def saving_time() -> Any:
        from ckptplan.measure.writing import WriterTime

        return WriterTime(1.0, 2.0)

    monkeypatch.setattr(saving, "_flush", flush)
    found = measure_saving(str(tmp_path), SMALL, Counted, clock=ticking(0.5))
    assert found.step_outside.values == pytest.approx((0.01, 0.01))
    assert found.speed is not None
    assert found.speed.values == pytest.approx((0.5, 0.5))
    assert found.flush.values == (2.0, 2.0)


def test_few_steps_beside_a_flush_say_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below ten steps the speed is not known, and that is said."""
    monkeypatch.setattr(saving, "_FEWEST_BESIDE", 10**9)
    found = measure_saving(str(tmp_path), SMALL, Counted, clock=ticking())
    assert found.speed is None
    assert any("slow-down is not known" in note for note in found.notes)


def test_the_forecast_is_that_of_a_plan() -> None:
    """2 writers of 6 GB: copied at 3 GB/s each in 2 s, written at 4 GB/s together in 3 s."""
    setting = Setting(2, 6_000_000_000, PAGE_BYTES, 1)
    found = forecast(setting, 3e9, 4e9)
    assert (found.stall_s, found.flush_s) == pytest.approx((2.0, 3.0))


def test_shards_fit_into_memory_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of 100 MB available, a quarter is shared by a block, two shards and two buffers; below 1 MiB each is refused."""
    monkeypatch.setattr(saving, "host_memory", lambda: HostMemory(1e8, 1e8, 2e7))
    wanted = SMALL._replace(size_bytes=10**12, block_bytes=1 << 20, repeats=1)
    events: list[str] = []

    def make(writers: int, size_bytes: int) -> Counted:
        events.append("shards are made")
        return Counted(writers, size_bytes)

    found = measure_saving(str(tmp_path), wanted, make, clock=ticking(), announce=events.append)
    assert found.setting.size_bytes == (25_000_000 - (1 << 20)) // 4 // PAGE_BYTES * PAGE_BYTES
    assert "a quarter of the 100 MB" in events[0]
    assert events[1:] == ["shards are made"]
    assert events[0] in found.notes
    monkeypatch.setattr(saving, "host_memory", lambda: HostMemory(1e6, 1e6, 2e5))
    with pytest.raises(InputError, match="too little to measure with"):
        measure_saving(str(tmp_path), wanted, make, clock=ticking())
    assert events[1:] == ["shards are made"]


def test_no_page_of_the_shards_is_there_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three shards of ten and a half pages, made of pieces of four: no page equals another, none can be compressed."""
    monkeypatch.setattr(devices, "_PIECE_BYTES", 4 * PAGE_BYTES)
    device = HostDevice(3, 10 * PAGE_BYTES + 2051)
    shards = [bytes(one) for one in device._shards]
    assert [len(one) for one in shards] == [10 * PAGE_BYTES + 2051] * 3
    pages = [one[at : at + PAGE_BYTES] for one in shards for at in range(0, len(one), PAGE_BYTES)]
    assert len(set(pages)) == len(pages)
    assert all(len(zlib.compress(page)) >= len(page) for page in pages)


def test_without_a_gpu_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy within host memory is not passed off as that of a GPU, and GPUs that are there are pointed to."""
    found = measure_saving(str(tmp_path), SMALL, HostDevice, clock=ticking())
    assert found.notes[0].startswith("no GPU took part")
    monkeypatch.setattr(saving, "has_gpu_unused", lambda: True)
    assert "--device cuda" in measure_saving(str(tmp_path), SMALL, HostDevice, clock=ticking()).notes[0]


class FakeTensor:
    """As much of a tensor as the measurement uses."""

    def __init__(self, data: np.ndarray[Any, Any], device: str) -> None:
        self.data, self.device = data, device

    def copy_(self, other: FakeTensor, non_blocking: bool) -> None:
        """Copy what the other one holds."""
        assert non_blocking
        self.data[:] = other.data

    def numpy(self) -> np.ndarray[Any, Any]:
        """The memory itself."""
        return self.data


def fake_torch(gpus: int) -> types.SimpleNamespace:
    """A torch whose GPUs are host memory."""
    synchronized: list[int] = []
    generator = np.random.default_rng(1)
    return types.SimpleNamespace(
        uint8="u1",
        bfloat16="bf16",
        randint=lambda low, high, shape, dtype, device: FakeTensor(
            generator.integers(low, high, shape, np.uint8), device
        ),
        empty=lambda size, dtype, pin_memory: FakeTensor(np.empty(size, np.uint8), f"pinned {pin_memory}"),
        ones=lambda shape, dtype, device: FakeTensor(np.ones(1), device),
        matmul=lambda left, right: None,
        synchronized=synchronized,
        cuda=types.SimpleNamespace(
            is_available=lambda: gpus > 0,
            device_count=lambda: gpus,
            get_device_name=lambda number: "X100",
            synchronize=synchronized.append,
        ),
    )


def test_gpus_take_the_writers_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three writers on two GPUs: copies wait for their own GPU, into pinned memory, and give the bytes of the shard."""
    torch = fake_torch(2)
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    device = device_maker("cuda")(3, 1000)
    assert isinstance(device, CudaDevice)
    for number in range(3):
        device.copy_out(number)
        assert bytes(device.buffer(number, 10)) == bytes(device._shards[number].data[10:])
    assert torch.synchronized == [0, 1, 0]
    assert device._buffers[0].device == "pinned True"
    assert (device.name, device.is_gpu) == ("2 GPUs (X100)", True)
    device.step()
    assert torch.synchronized[3:] == [0, 1]


def test_no_torch_or_no_gpu_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """--device cuda without torch, and with a torch that finds no GPU, are refused; host asks for neither."""
    monkeypatch.setitem(sys.modules, "torch", None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs torch"):
        device_maker("cuda")
    monkeypatch.setitem(sys.modules, "torch", fake_torch(0))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="finds no GPU"):
        device_maker("cuda")
    assert device_maker("host") is devices.HostDevice
