"""The bar of a measurement."""

from __future__ import annotations

import io

from ckptplan.render.measure_progress import RateBar


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_shows_what_is_done_and_goes() -> None:
    """What is done, how much of it, and a cleared line at the end."""
    stream = _Terminal()
    with RateBar(stream) as update:
        update("write 1 of 2", 5_000_000, 10_000_000)
        update("write 2 of 2", 10_000_000, 10_000_000)
    text = stream.getvalue()
    assert "write 2 of 2" in text
    assert "10.0/10.0 MB" in text
