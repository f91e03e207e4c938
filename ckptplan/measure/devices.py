"""Where the shard of a rank comes from, and the work that runs beside its flush: host memory, or GPUs by torch."""

import importlib
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ckptplan.errors import InputError
from ckptplan.measure.blocks import paged_memory

_PIECE_BYTES = 64 << 20
_WORD_BYTES = 8
_HOST_MATRIX, _GPU_MATRIX = 512, 8192  # a step of some milliseconds on either


class Device(Protocol):
    """Shards of the writers, buffers in host memory that they are copied to, and a step of training."""

    name: str
    is_gpu: bool

    def copy_out(self, number: int) -> None:
        """Copy the shard of one writer into its buffer, and wait until it is there."""

    def buffer(self, number: int, at: int) -> memoryview:
        """The buffer of one writer from an offset on."""

    def step(self) -> None:
        """One step of work like that of training."""


class HostDevice:
    """Both in host memory: no GPU is asked for."""

    name = "host memory"
    is_gpu = False

    def __init__(self, writers: int, size_bytes: int) -> None:
        self._shards = _shards(writers, size_bytes)
        self._maps = [paged_memory(size_bytes) for _ in range(writers)]  # begins on a page, as direct I/O needs it
        self._buffers = [np.frombuffer(one, dtype=np.uint8) for one in self._maps]
        for buffer in self._buffers:
            buffer[:: mmap.PAGESIZE] = 1  # the first touch of a page is no part of a copy
        self._left = np.ones((_HOST_MATRIX, _HOST_MATRIX), dtype=np.float32)
        self._right = self._left / _HOST_MATRIX
        self._product = np.empty_like(self._left)

    def copy_out(self, number: int) -> None:
        """One memory copy; numpy lets go of the interpreter meanwhile."""
        np.copyto(self._buffers[number], self._shards[number])

    def buffer(self, number: int, at: int) -> memoryview:
        """The bytes to write."""
        return memoryview(self._maps[number])[at:]

    def step(self) -> None:
        """A product of matrices on the processor."""
        np.matmul(self._left, self._right, out=self._product)


class CudaDevice:
    """Shards in GPU memory, one GPU per writer in turn, and pinned buffers in host memory."""

    is_gpu = True

    def __init__(self, writers: int, size_bytes: int, torch: Any) -> None:
        gpus = int(torch.cuda.device_count())
        self._torch = torch
        self._gpus = [number % gpus for number in range(writers)]
        self.name = (
            f"{min(writers, gpus)} GPU{'' if min(writers, gpus) == 1 else 's'} ({torch.cuda.get_device_name(0)})"
        )
        self._shards = [
            torch.randint(0, 256, (size_bytes,), dtype=torch.uint8, device=f"cuda:{gpu}") for gpu in self._gpus
        ]
        self._buffers = [torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True) for _ in range(writers)]
        self._views = [memoryview(buffer.numpy()) for buffer in self._buffers]
        self._matrices = [
            torch.ones((_GPU_MATRIX, _GPU_MATRIX), dtype=torch.bfloat16, device=f"cuda:{gpu}")
            for gpu in dict.fromkeys(self._gpus)
        ]

    def copy_out(self, number: int) -> None:
        """From GPU memory to pinned memory over the link of the GPU."""
        self._buffers[number].copy_(self._shards[number], non_blocking=True)
        self._torch.cuda.synchronize(self._gpus[number])

    def buffer(self, number: int, at: int) -> memoryview:
        """The bytes to write."""
        return self._views[number][at:]

    def step(self) -> None:
        """A product of matrices on every GPU."""
        for matrix in self._matrices:
            self._torch.matmul(matrix, matrix)
        for gpu in dict.fromkeys(self._gpus):
            self._torch.cuda.synchronize(gpu)


def _shards(writers: int, size_bytes: int) -> list[np.ndarray[Any, np.dtype[np.uint8]]]:
    """Random bytes, one random piece plus a number for each time it is used: no block is there twice.

    Random numbers for all of it would take several times as long as it takes to write them to memory.
    """
    generator = np.random.default_rng(np.frombuffer(os.urandom(32), dtype=np.uint32))
    words = -(-min(size_bytes, _PIECE_BYTES) // _WORD_BYTES)
    piece = generator.integers(0, 2**64, size=words, dtype=np.uint64)
    step = generator.integers(0, 2**63, dtype=np.uint64) * np.uint64(2) + np.uint64(1)  # odd: multiples all differ
    found, added = [], np.zeros(1, dtype=np.uint64)
    for _ in range(writers):
        shard = np.empty(-(-size_bytes // _WORD_BYTES), dtype=np.uint64)
        for at in range(0, shard.size, words):
            part = shard[at : at + words]
            np.add(piece[: part.size], added, out=part)
            added += step  # an array, which wraps around
        found.append(shard.view(np.uint8)[:size_bytes])
    return found


def cuda_torch() -> Any:
    """The torch of this machine, with GPUs.

    Raises
    ------
    InputError
        If there is none.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise InputError(
            "--device cuda needs torch, which cannot be imported here",
            hint="run it in the environment of your training, or leave --device out",
        ) from error
    if not torch.cuda.is_available() or torch.cuda.device_count() < 1:
        raise InputError("--device cuda: torch finds no GPU", hint="run it on a node with GPUs, or leave --device out")
    return torch


def has_gpu_unused() -> bool:
    """Whether this node has an NVIDIA GPU."""
    return Path("/dev/nvidia0").exists()


MakeDevice = Callable[[int, int], Device]  # of writers, and of the bytes of each


def device_maker(name: str) -> MakeDevice:
    """What makes the device of a name, "host" or "cuda"."""
    if name == "host":
        return HostDevice
    torch = cuda_torch()
    return lambda writers, size_bytes: CudaDevice(writers, size_bytes, torch)
