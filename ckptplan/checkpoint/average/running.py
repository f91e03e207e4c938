"""One pass over all checkpoints: blocks are read, averaged and written by threads that wait for each other's parts."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.average.blocks import Block, blocks, number_of_blocks
from ckptplan.checkpoint.average.buffers import buffer
from ckptplan.checkpoint.average.filling import BlockSource
from ckptplan.checkpoint.average.kernel import Kernel, Matrix
from ckptplan.checkpoint.average.matching import Matched
from ckptplan.checkpoint.average.strange import NONE, Strange, strange_of
from ckptplan.checkpoint.dtypes import BITS, size_bytes
from ckptplan.checkpoint.manifest import Manifest, Shards, Tensor
from ckptplan.errors import InputError, printable

Progress = Callable[[str, int, int], object]
_BLOCK_BYTES = 1 << 20  # of one checkpoint, read at once
_MOST_BYTES = 1 << 26  # of all checkpoints, that one thread holds
_COMPUTING = 2  # threads that compute at once; more of them wait for the interpreter rather than for memory
_WAIT_S = 0.1  # between two looks of the main thread


class Writer(Protocol):
    """What takes the bytes of the result."""

    def write(self, name: str, start_byte: int, data: NDArray[np.uint8]) -> None:
        """Bytes of one tensor from a place in it on."""
        ...


class Ran(NamedTuple):
    """What became of one tensor."""

    matched: Matched
    gram: Matrix  # of kernel.Result, summed over its blocks; zeros if it is not averaged
    not_finite: tuple[int, ...]  # infinite or NaN, of each checkpoint
    strange: Strange  # of the result
    differs: bool  # the checkpoints do not hold the same bytes; told of what is not averaged


def run(
    manifests: Sequence[Manifest],
    matched: Sequence[Matched],
    weights: Sequence[float],
    writer: Writer | None,
    progress: Progress | None = None,
) -> list[Ran]:
    """Average every tensor, in one pass over the data.

    Parameters
    ----------
    manifests, matched, weights
        The checkpoints, the tensors of the result, one weight for each checkpoint.
    writer : Writer, optional
        Takes the result; None: nothing is written.
    progress : callable, optional
        Called from this thread with what is done, bytes read, and bytes in all.

    Returns
    -------
    list of Ran
        In the order of `matched`, whatever thread came first. Memory is bounded by some blocks of 1 MB per checkpoint;
        where shards are packed or strided, by the largest tensor of each checkpoint as well.
    """
    with ExitStack() as stack:
        locks = {id(manifest.source): threading.Lock() for manifest in manifests}
        sources = [stack.enter_context(BlockSource(manifest, locks[id(manifest.source)])) for manifest in manifests]
        return _Pass(sources, matched, weights, writer).run(progress)


class _Pass:
    """The state that the threads share."""

    def __init__(
        self,
        sources: Sequence[BlockSource],
        matched: Sequence[Matched],
        weights: Sequence[float],
        writer: Writer | None,
    ) -> None:
        self._sources, self._weights, self._writer = sources, weights, writer
        self._tensors = [_Progressing(one, len(weights)) for one in matched]
        self._tasks = self._listed()
        self._next, self._writing, self._noting = threading.Lock(), threading.Lock(), threading.Lock()
        self._computing = threading.Semaphore(_COMPUTING)
        self._failed: BaseException | None = None
        self._stop = False
        self._done_bytes = 0
        self._total_bytes = len(weights) * sum(one.tensors[-1].logical_bytes for one in matched)

    def run(self, progress: Progress | None) -> list[Ran]:
        """Start the threads, look after them, and stop them whatever happens."""
        number = 1 + min(_COMPUTING, os.cpu_count() or 1)
        threads = [threading.Thread(target=self._work, name=f"average-{n}", daemon=True) for n in range(number)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(_WAIT_S)
                    self._tell(progress)
            self._tell(progress)
        finally:
            self._stop = True
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        if self._failed is not None:
            raise self._failed
        return [tensor.ran() for tensor in self._tensors]

    def _tell(self, progress: Progress | None) -> None:
        if progress is not None:
            progress("averaging", self._done_bytes, self._total_bytes)

    def _listed(self) -> Iterator[tuple[_Progressing, int, Block]]:
        for tensor in self._tensors:
            for number, block in enumerate(tensor.begin()):
                yield tensor, number, block

    def _work(self) -> None:
        own = _Own()
        try:
            while not self._stop:
                with self._next:
                    task = next(self._tasks, None)
                if task is None:
                    return
                self._one(own, *task)
        except BaseException as error:
            self._stop = True
            self._failed = self._failed or error

    def _one(self, own: _Own, tensor: _Progressing, number: int, block: Block) -> None:
        width = BITS[tensor.stored[0].dtype] // 8
        raws = own.raws(len(self._sources), block.elements * width)
        for source, stored, raw in zip(self._sources, tensor.stored, raws, strict=True):
            source.fill(stored, block, raw)
        matched = tensor.matched
        if not matched.averaged:
            out, start = raws[-1], block.start * width
            tensor.compare(raws)
            tensor.found(strange_of(out, tensor.stored[-1].dtype))
        else:
            out = own.out(size_bytes(matched.dtype, block.elements))
            start = size_bytes(matched.dtype, block.start)
            kernel = own.kernel(tensor.stored[0].dtype, matched.dtype, self._weights)
            with self._computing:
                result = kernel.mean(raws, None if self._writer is None else out)
                if any(result.not_finite):  # rare: the result is made for this alone if need be, and looked at
                    result = kernel.mean(raws, out) if self._writer is None else result
                    tensor.found(strange_of(out, matched.dtype))
            if result.overflowed:
                _refuse_overflow(matched, result.overflowed)
            tensor.note(number, result.gram, result.not_finite)
        if self._writer is not None:
            with self._writing:
                self._writer.write(matched.name, start, out)
        with self._noting:
            self._done_bytes += raws.size
            if tensor.ended():
                for source, stored in zip(self._sources, tensor.stored, strict=True):
                    source.forget(stored)


def _refuse_overflow(matched: Matched, number: int) -> None:
    said = f"{printable(matched.name)}: {number:,} numbers of the mean are too large for {matched.dtype}"
    raise InputError(said, hint="write bfloat16 or float32")


class _Own:
    """What one thread works with, kept from block to block: new memory has to be cleared by the system every time."""

    def __init__(self) -> None:
        self._raws: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._out: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._kernels: dict[tuple[str, str], Kernel] = {}

    def raws(self, checkpoints: int, size: int) -> NDArray[np.uint8]:
        """Room for a block of each checkpoint."""
        if self._raws.size < checkpoints * size:
            self._raws = buffer(checkpoints * size)
        return self._raws[: checkpoints * size].reshape(checkpoints, size)

    def out(self, size: int) -> NDArray[np.uint8]:
        """Room for a block of the result."""
        if self._out.size < size:
            self._out = np.empty(size, dtype=np.uint8)
        return self._out[:size]

    def kernel(self, dtype: str, to: str, weights: Sequence[float]) -> Kernel:
        """The kernel for one type."""
        if (dtype, to) not in self._kernels:
            self._kernels[dtype, to] = Kernel(dtype, to, weights)
        return self._kernels[dtype, to]


class _Progressing:
    """One tensor on its way."""

    def __init__(self, matched: Matched, checkpoints: int) -> None:
        self.matched = matched
        self.stored = tuple(_bytewise(tensor) if BITS[tensor.dtype] % 8 else tensor for tensor in matched.tensors)
        self._checkpoints = checkpoints
        self._gram: Matrix = np.zeros((checkpoints, checkpoints))
        self._early: dict[int, Matrix] = {}  # of blocks that were done before one in front of them
        self._summed = 0
        self._not_finite = np.zeros(checkpoints, dtype=np.int64)
        self._strange = NONE
        self._left = 0
        self._differs = False
        self._lock = threading.Lock()

    def begin(self) -> Iterator[Block]:
        """Its blocks; called once, before the first of them."""
        one = self.stored[0]
        most = min(_BLOCK_BYTES, _MOST_BYTES // self._checkpoints) * 8 // BITS[one.dtype]
        self._left = number_of_blocks(one.shape, most)
        return blocks(one.shape, most)

    def compare(self, raws: NDArray[np.uint8]) -> None:
        """Note whether the checkpoints hold the same bytes."""
        if not (raws == raws[-1]).all():
            self._differs = True

    def found(self, strange: Strange) -> None:
        """Note what a block of the result holds that is not finite."""
        if strange != NONE:
            with self._lock:
                self._strange = self._strange.plus(strange)

    def note(self, number: int, gram: Matrix, not_finite: tuple[int, ...]) -> None:
        """Note what a block gave; sums are taken in the order of the blocks, so that they do not depend on threads."""
        with self._lock:
            self._not_finite += not_finite
            self._early[number] = gram
            while self._summed in self._early:
                self._gram += self._early.pop(self._summed)
                self._summed += 1

    def ended(self) -> bool:
        """Count a block as done; whether it was the last one."""
        self._left -= 1
        return self._left == 0

    def ran(self) -> Ran:
        """What became of it."""
        return Ran(self.matched, self._gram, tuple(self._not_finite.tolist()), self._strange, self._differs)


def _bytewise(tensor: Tensor) -> Tensor:
    """A tensor whose elements are smaller than a byte, as the bytes of its one shard: it is copied, not averaged."""
    if tensor.shards.number != 1:
        raise InputError(
            f"{printable(tensor.key)}: several shards of elements of {BITS[tensor.dtype]} bits",
            hint="only whole tensors of such types can be copied",
        )
    size = np.array([[tensor.logical_bytes]], dtype=np.int64)
    shards: Shards = tensor.shards._replace(offsets=np.zeros_like(size), sizes=size, flat=True)
    return tensor._replace(dtype="uint8", shape=(tensor.logical_bytes,), shards=shards)
