"""Unpacking with a bound: never more than was announced."""

from __future__ import annotations

import zlib

from ckptplan.checkpoint.formats.orbax.varints import Malformed

_STEP = 1 << 20


def unzstd(data: bytes, most: int) -> bytes:
    """A zstd stream; Malformed if it is none, or holds more than `most` bytes."""
    import pyarrow

    parts: list[bytes] = []
    size = 0
    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd") as stream:
            while part := stream.read(min(_STEP, most + 1 - size)):
                parts.append(part)
                size += len(part)
                if size > most:
                    raise Malformed(f"it unpacks to more than the {most:,} bytes announced")
    except (OSError, pyarrow.ArrowException) as error:
        raise Malformed(f"not a zstd stream ({str(error).splitlines()[0][:80]})") from None
    return b"".join(parts)


def ungzip(data: bytes, most: int) -> bytes:
    """A zlib or gzip stream; Malformed if it is none, or holds more than `most` bytes."""
    unpacker = zlib.decompressobj(wbits=47)  # either header
    try:
        unpacked = unpacker.decompress(data, most + 1)
    except zlib.error as error:
        raise Malformed(f"not a zlib stream ({error})") from None
    if len(unpacked) > most:
        raise Malformed(f"it unpacks to more than the {most:,} bytes announced")
    return unpacked
