"""One browser for all tests of a process, ended for sure; reports are made once, by the command itself."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from ckptplan.cli.edge import run
from tests.browser import long_names
from tests.browser.chromium import Chromium, Tab, found
from tests.render.page import hostile

MADE: dict[str, Callable[[], str]] = {"one_tier": hostile.one_tier, "tiers": hostile.tiers, **long_names.SPECS}
OPTIONS = ("--interval", "1h", "--gpu-hour-price", "2.5")
Report: TypeAlias = Callable[..., Path]
Shown: TypeAlias = Callable[..., Tab]


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
    """The HTML of a spec, by its name or by that of one that is made here, with a given interval and a price."""
    folder = _folder(tmp_path_factory)

    @cache
    def made(name: str, *options: str) -> Path:
        digest = hashlib.sha256(repr((name, options)).encode()).hexdigest()[:12]
        out = folder / f"{name}-{digest}.html"
        with _alone(folder / f"{digest}.lock"):
            if not out.exists():
                _make(name, options, out)
        return out

    return made


def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all processes of a run of the tests: each report is made by the first that wants it."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "reports"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(name: str, options: tuple[str, ...], out: Path) -> None:
    spec = name
    if name in MADE:
        path = out.parent / f"{name}.yaml"
        if not path.exists():
            aside = out.with_suffix(".yaml.part")
            aside.write_text(MADE[name](), encoding="utf-8")
            aside.replace(path)
        spec = str(path)
    assert run(["report", spec, *OPTIONS, *options, "-o", str(out)]) == 0


@pytest.fixture(scope="session")
def page(browser: Chromium, report: Report) -> Iterator[Shown]:
    """A tab with a report, loaded once for all tests that only look at it: from its top, with nothing unfolded."""
    with ExitStack() as stack:

        @cache
        def loaded(name: str, *options: str) -> Tab:
            tab = stack.enter_context(browser.tab())
            tab.open(report(name, *options).as_uri())
            return tab

        def shown(name: str, *options: str, width: int = 1280, dark: bool = False, media: str = "") -> Tab:
            tab = loaded(name, *options)
            tab.look(width=width, dark=dark, media=media)
            tab.ask("document.querySelectorAll('details').forEach(one => one.open = false), scrollTo(0, 0)")
            return tab

        yield shown
