"""Whether a dask server listens at an address, found out in bounded time."""

from __future__ import annotations

import socket
import time
from urllib.parse import SplitResult, urlsplit

CONNECT_S = 8.0  # for a scheduler to answer
_GREETING = b"pickle-protocol"  # in the first message of a dask server
_LONGEST_GREETING = 4096  # bytes


def greeted(address: str, patience_s: float = 0.0) -> None:
    """Raise OSError unless a dask server greets at an address in time; some patience is for one that starts again.

    A client of dask tries again and again where nobody listens, and waits for ever where somebody else does.
    """
    last_s = time.monotonic() + patience_s
    while True:
        try:
            heard = _greeting(urlsplit(address))
        except OSError:
            if time.monotonic() >= last_s:
                raise
            time.sleep(0.1)
        else:
            break
    if _GREETING not in heard:
        raise OSError("what listens there is no scheduler of dask, or one that wants encryption")


def _greeting(place: SplitResult) -> bytes:
    """The first bytes that a server sends."""
    deadline_s = time.monotonic() + CONNECT_S
    heard = b""
    with socket.create_connection((place.hostname, place.port), CONNECT_S) as line:
        while _GREETING not in heard and len(heard) < _LONGEST_GREETING:
            line.settimeout(max(0.001, deadline_s - time.monotonic()))
            piece = line.recv(4096)
            if not piece:
                break
            heard += piece
    return heard
