"""A headless Chromium driven over the DevTools protocol through a pair of pipes: standard library only."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-breakpad",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# The browser reads commands from 3 and writes answers to 4.
_LAUNCH = (
    "import os, sys; a, b = os.dup(int(sys.argv[1])), os.dup(int(sys.argv[2])); a, b = [x if x > 4 else "
    "__import__('fcntl').fcntl(x, 0, 10) for x in (a, b)]; os.dup2(a, 3); os.dup2(b, 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
_PATIENCE_S = 60.0


class BrowserError(Exception):
    """The browser refused a command, or has gone."""


def found() -> str | None:
    """The path of a Chromium, if this machine has one; CKPTPLAN_CHROMIUM names another."""
    named = os.environ.get("CKPTPLAN_CHROMIUM")
    return next((path for name in (*filter(None, [named]), *_NAMES) if (path := shutil.which(name))), None)


class Chromium:
    """One browser process; ``tab`` gives a fresh tab."""

    def __init__(self, path: str, profile: Path) -> None:
        self.path = path
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", "-c", _LAUNCH, str(commands), str(answers), path),
                *_FLAGS,
                f"--user-data-dir={profile}",
            ],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # the browser and all of its children end together
        )
        os.close(commands)
        os.close(answers)
        self.group = self._process.pid
        self._rest = b""
        self._number = 0
        self._events: deque[dict[str, Any]] = deque()

    def close(self) -> None:
        """End the browser, all of its processes, for sure."""
        with suppress(BrowserError, OSError):
            self.send("Browser.close", patience_s=5.0)
        for end in (self._out, self._in):
            with suppress(OSError):
                os.close(end)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def send(
        self, method: str, /, session: str | None = None, patience_s: float = _PATIENCE_S, **parameters: Any
    ) -> dict[str, Any]:
        """One command and its answer; events that arrive meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        end = time.monotonic() + patience_s
        while True:
            answer = self._read(end)
            if answer.get("id") != self._number:
                self._events.append(answer)
            elif "error" in answer:
                raise BrowserError(f"{method}: {answer['error']}")
            else:
                result: dict[str, Any] = answer["result"]
                return result

    def events(self, session: str) -> Iterator[dict[str, Any]]:
        """What has happened in a tab and was not looked at yet."""
        for _ in range(len(self._events)):
            event = self._events.popleft()
            if event.get("sessionId") == session:
                yield event
            else:
                self._events.append(event)

    def wait_for(self, session: str, method: str) -> list[dict[str, Any]]:
        """All events of a tab up to the first one of this name."""
        seen: list[dict[str, Any]] = []
        end = time.monotonic() + _PATIENCE_S
        while True:
            for event in self.events(session):
                seen.append(event)
                if event["method"] == method:
                    return seen
            self._events.append(self._read(end))

    def _read(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise BrowserError("the browser has gone" if ready else "the browser does not answer")
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        found_: dict[str, Any] = json.loads(message)
        return found_

    @contextmanager
    def tab(self, *, width: int = 1280, dark: bool = False, media: str = "") -> Iterator[Tab]:
        """A tab of its own context, closed afterwards."""
        context, session = self.send("Target.createBrowserContext")["browserContextId"], None
        try:
            target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
            session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            tab = Tab(self, session)
            tab.look(width=width, dark=dark, media=media)
            yield tab
        finally:
            self.send("Target.disposeBrowserContext", browserContextId=context)
            kept = [event for event in self._events if event.get("sessionId") not in {None, session}]
            self._events = deque(kept)


class Tab:
    """One page, and everything that it did: requests, messages of the console, exceptions, dialogs."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser, self._session = browser, session
        self.requests: list[str] = []
        self.complaints: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            self.send(f"{domain}.enable")

    def send(self, method: str, /, **parameters: Any) -> dict[str, Any]:
        """One command to this tab."""
        return self._browser.send(method, session=self._session, **parameters)

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False, media: str = "") -> None:
        """How wide the window is, which theme its user prefers, and whether it shows how the page prints."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[theme])

    def open(self, address: str, *, scripts: bool = True) -> None:
        """Load a page and note what happens; ``scripts`` says whether the tab can run any."""
        error = self.send("Page.navigate", url=address).get("errorText")
        if error:
            raise BrowserError(f"{address}: {error}")
        self._note(self._browser.wait_for(self._session, "Page.loadEventFired"))
        if scripts:
            self.settle()

    def settle(self) -> None:
        """Let the page do what it still wants to do: two frames drawn, and what was queued by then."""
        frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"
        self.send("Runtime.evaluate", expression=frames, awaitPromise=True)
        self._note(list(self._browser.events(self._session)))

    def _note(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            method, parameters = event["method"], event.get("params", {})
            if method == "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            elif method in {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}:
                self.complaints.append(json.dumps(parameters))
            elif method == "Page.javascriptDialogOpening":
                self.complaints.append(f"dialog: {parameters['message']}")
                self.send("Page.handleJavaScriptDialog", accept=False)

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def tree(self) -> list[dict[str, Any]]:
        """The accessibility tree, what it ignores left out."""
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        return [node for node in nodes if not node["ignored"]]

    def pdf(self) -> bytes:
        """The page as it prints, on the paper that its style asks for."""
        options = {"preferCSSPageSize": True, "printBackground": True}
        return base64.b64decode(self.send("Page.printToPDF", **options)["data"])

    def screenshot(self, *, whole: bool = True) -> bytes:
        """The page as PNG."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        return base64.b64decode(data["data"])

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}}
