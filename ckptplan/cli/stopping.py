"""A command that writes large files ends tidily: a signal that would end the program is an interruption."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ckptplan.checkpoint.writing.signals import arrived

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def tidy() -> Iterator[None]:
    """While entered, SIGTERM and SIGHUP are as Ctrl-C: what was begun is removed on the way out, exit code 130.

    Only the first signal counts: a second one must not stop the removal. SIGKILL ends it nevertheless.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = False

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal ending
        if not ending:
            ending = True
            arrived()

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        for number in _SIGNALS:
            if before[number] is not signal.SIG_IGN:  # nohup; a shell's background job
                signal.signal(number, end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
