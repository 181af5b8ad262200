"""A headless Chromium, spoken to over its DevTools protocol: enough to use the page as a person does."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

PATIENCE = 30.0
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")


def program() -> str | None:
    """The browser of this machine, if it has one."""
    return next((path for name in _PROGRAMS if (path := shutil.which(name))), None)


class Page:
    """One tab. What is evaluated may be a promise; what it gives has to be JSON."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last = 0
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and give its result; errors of the page that come meanwhile are kept."""
        self._last += 1
        self._connection.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._connection.recv(timeout=PATIENCE))
            if message.get("id") == self._last:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._keep(message)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def goto(self, url: str) -> None:
        """Open an address other than the one that is shown."""
        self.send("Page.navigate", url=url)
        self._loaded()

    def reload(self) -> None:
        """Load the page again."""
        self.send("Page.reload")
        self._loaded()

    def until(self, condition: str) -> None:
        """Wait for an expression to become true."""
        deadline = time.monotonic() + PATIENCE
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < deadline, (condition, self.text(), self.errors)
            threading.Event().wait(0.05)

    def text(self) -> str:
        """What a person reads."""
        return str(self.evaluate("document.body?.innerText"))

    def until_it_shows(self, text: str) -> None:
        """Wait for a piece of text."""
        self.until(f"document.body?.innerText.includes({json.dumps(text)})")

    def write(self, text: str) -> None:
        """Write a message and send it with Enter."""
        self.until(
            "document.querySelector('#message')?.offsetParent && !document.querySelector('#message').disabled"
        )
        self.evaluate("document.querySelector('#message').focus()")
        self.send("Input.insertText", text=text)
        for kind in ("rawKeyDown", "char", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key="Enter", windowsVirtualKeyCode=13, text="\r")

    def press(self, label: str) -> None:
        """Press the last button of that name that can be seen."""
        button = (
            "[...document.querySelectorAll('button')].filter((one) => one.offsetParent && !one.disabled)"
            f".filter((one) => one.innerText.trim() === {json.dumps(label)}).at(-1)"
        )
        self.until(button)
        self.evaluate(f"{button}.click()")

    def size(self, width: int, height: int) -> None:
        """Show the page on a screen of that size, in CSS pixels."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2,
            mobile=width < 500,
        )

    def _loaded(self) -> None:
        while (message := json.loads(self._connection.recv(timeout=PATIENCE)))[
            "method"
        ] != "Page.loadEventFired":
            self._keep(message)

    def _keep(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(message["params"]["exceptionDetails"]))


@contextmanager
def browsing(folder: Path) -> Iterator[Page]:
    """A tab of a browser with a profile in `folder`."""
    found = program()
    assert found is not None
    command = [found, *_FLAGS, "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = _port(folder / "DevToolsActivePort")
        tabs = httpx.get(f"http://127.0.0.1:{port}/json", timeout=PATIENCE).json()
        address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        with connect(address, max_size=None, open_timeout=PATIENCE) as connection:
            yield Page(connection)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _port(file: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while not (file.exists() and file.read_text().strip()):
        assert time.monotonic() < deadline, "the browser did not start"
        threading.Event().wait(0.05)
    return file.read_text().split()[0]
