"""One browser for all tests of a process, ended for sure; reports are made once, by the command itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from ckptplan.cli.edge import run
from tests.browser.chromium import Chromium, found
from tests.render.page import hostile

OPTIONS = ("--interval", "1h", "--gpu-hour-price", "2.5")
Report: TypeAlias = Callable[..., Path]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A headless Chromium."""
    path = found()
    if path is None:
        pytest.skip("no chromium here")
    started = Chromium(path, tmp_path_factory.mktemp("profile"))
    try:
        yield started
    finally:
        started.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The HTML of a spec, by its name or by that of a hostile one, with a given interval and a price."""
    folder = tmp_path_factory.mktemp("reports")

    @cache
    def made(name: str, *options: str) -> Path:
        spec = name
        if name in {"one_tier", "tiers"}:
            spec = str(folder / f"{name}.yaml")
            Path(spec).write_text(getattr(hostile, name)(), encoding="utf-8")
        out = folder / f"{name}-{len(list(folder.iterdir()))}.html"
        assert run(["report", spec, *OPTIONS, *options, "-o", str(out)]) == 0
        return out

    return made
