"""A signal that ends the program waits while files have names that only the next step puts right."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _State:
    """Of the main thread, the only one in which Python handles signals."""

    held = 0
    waiting = False


def arrived() -> None:
    """A handler's: interrupt the program, now or as soon as nothing holds it."""
    if _State.held:
        _State.waiting = True
        return
    raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """Put an interruption off to the end of a few quick steps."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _State.held += 1
    try:
        yield
    finally:
        _State.held -= 1
    if _State.waiting and not _State.held:
        _State.waiting = False
        raise KeyboardInterrupt
