"""Seeded changes of files, of the kinds that break parsers, and a reading of all that is left."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ckptplan.checkpoint.manifest import Manifest, Object, Tensor
from ckptplan.errors import InputError

IN_PICKLES = (b"cos\nsystem\n", b"(", b"\x94", b"R", b"b", b"]", b"\x8c\x04evil", b'{"a":')
IN_JSON = (b"0", b"-1", b"9" * 20, b"[", b"{", b'"', b"null", b"\xff" * 9, b"1e400")
MOST_BYTES = 200 << 20


def mutated(data: bytes, draw: random.Random, inserted: Sequence[bytes] = IN_PICKLES) -> bytes:
    """One to four small changes of the kinds that break parsers."""
    out = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = _place(out, draw)
        match draw.randrange(9):
            case 0:
                out[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                out[at : at + 1] = bytes([out[at] ^ (1 << draw.randrange(8))]) if at < len(out) else b""
            case 2:
                del out[at:]
            case 3:
                del out[at : at + draw.randint(1, 64)]
            case 4:
                out[at:at] = out[at : at + draw.randint(1, 64)]
            case 5:
                out[at : at + 4] = draw.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\0\0\0\x80"))
            case 6:
                out[at : at + 8] = draw.choice((b"\xff" * 8, b"\xff" * 7 + b"\x7f", b"\0" * 8, b"\1" + b"\0" * 7))
            case 7:
                out[at:at] = draw.choice(inserted)
            case _:
                other = draw.randrange(max(1, len(out)))
                length = draw.randint(1, 32)
                out[at : at + length] = out[other : other + length]
        if not out:
            return b""
    return bytes(out)


def _place(out: bytearray, draw: random.Random) -> int:
    """Headers are at the front and indices at the end: these are hit more often than the middle."""
    match draw.randrange(4):
        case 0:
            return draw.randrange(min(len(out), 400))
        case 1:
            return max(0, len(out) - 1 - draw.randrange(min(len(out), 400)))
        case _:
            return draw.randrange(len(out))


def each_mutated(
    files: Sequence[Path], draw: random.Random, number: int, inserted: Sequence[bytes] = IN_PICKLES
) -> Iterator[Path]:
    """Change one of the files at a time, which is as it was before the next is changed."""
    for _ in range(number):
        path = draw.choice(files)
        before = path.read_bytes()
        path.write_bytes(mutated(before, draw, inserted) if before else b"\0")
        try:
            yield path
        finally:
            path.write_bytes(before)


def refused(action: Callable[[], object]) -> bool:
    """Whether an action ends in an InputError, which then has a text; any other exception is the test's failure."""
    try:
        action()
    except InputError as error:
        return bool(error.render())
    return False


def read_all(
    manifest: Manifest, tensors: Sequence[Tensor] | None = None, objects: Sequence[Object] | None = None, rows: int = 3
) -> None:
    """Read the first shards of the given tensors and the given objects; of each an answer or an InputError."""
    for tensor in manifest.tensors if tensors is None else tensors:
        for row in range(min(tensor.shards.number, rows)):
            refused(lambda tensor=tensor, row=row: manifest.source.raw(tensor, row))
            refused(lambda tensor=tensor, row=row: _bounded(manifest, tensor, row))
    for entry in manifest.objects if objects is None else objects:
        refused(lambda entry=entry: manifest.source.value(entry))


def _bounded(manifest: Manifest, tensor: Tensor, row: int) -> None:
    assert manifest.source.read(tensor, row).nbytes <= MOST_BYTES
