"""Drive a headless Chromium over the WebDriver protocol: JSON over HTTP, and no library."""

import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

CHROMIUM: Final = shutil.which("chromium")
DRIVER: Final = shutil.which("chromedriver")

_FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


class Browser:
    """One window."""

    def __init__(self, address: str) -> None:
        """Drive the session at this address."""
        self._address = address

    def post(self, command: str, content: Mapping[str, object]) -> Any:
        """Send one command of the protocol, and return its value."""
        return _send(f"{self._address}/{command}", content)

    @contextmanager
    def window(self) -> Iterator[None]:
        """Work in a new window, of the usual size and colours; close it and what it has opened."""
        first: str = _send(f"{self._address}/window", None, "GET")
        opened = self.post("window/new", {"type": "window"})
        self.post("window", {"handle": opened["handle"]})
        self.requests()
        try:
            yield
        finally:
            for handle in _send(f"{self._address}/window/handles", None, "GET"):
                if handle != first:
                    self.post("window", {"handle": handle})
                    _send(f"{self._address}/window", None, "DELETE")
            self.post("window", {"handle": first})
            self.log("browser")

    def open(self, address: str) -> None:
        """Load a page, whatever is shown now; wait until its scripts have run."""
        self.post("url", {"url": "about:blank"})
        self.show(address)

    def show(self, address: str) -> None:
        """Load a page, and wait until its scripts have read its data."""
        self.post("url", {"url": address})
        self.until("return typeof report === 'object'")

    def run(self, script: str, *arguments: object) -> Any:
        """Return what a function body returns."""
        return self.post("execute/sync", {"script": script, "args": list(arguments)})

    def tools(self, command: str, **parameters: object) -> Any:
        """Send one command of the developer tools."""
        return self.post("goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        """Set the size of the page in CSS pixels."""
        self.tools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )

    def dark(self, *, dark: bool) -> None:
        """Say which colours the user prefers."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tools("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.post("actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})
        self.settle()

    def click(self, selector: str) -> None:
        """Click the first element of a selector as a user does: where it is seen."""
        found = self.post("element", {"using": "css selector", "value": selector})
        (element,) = found.values()
        self.post(f"element/{element}/click", {})
        self.settle()

    def settle(self, milliseconds: int = 30) -> None:
        """Wait until what is under way, a change of the address, has reached the scripts."""
        script = "setTimeout(arguments[1], arguments[0])"
        self.post("execute/async", {"script": script, "args": [milliseconds]})

    def until(self, script: str, *arguments: object) -> None:
        """Wait until a function body returns what is true."""
        deadline = time.monotonic() + 300
        while not self.run(script, *arguments):
            assert time.monotonic() < deadline, script
            self.settle()

    def go(self, fragment: str) -> None:
        """Change the part of the address behind the #."""
        self.run("location.hash = arguments[0]", fragment)
        self.settle()

    def log(self, kind: str) -> list[dict[str, Any]]:
        """Return and forget what was logged: `browser` for the console, `performance`."""
        entries: list[dict[str, Any]] = self.post("se/log", {"type": kind})
        return entries

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def picture(self, path: Path) -> None:
        """Write a screenshot of the window."""
        with urllib.request.urlopen(f"{self._address}/screenshot", timeout=300) as reply:  # noqa: S310 - http on this machine
            path.write_bytes(b64decode(json.load(reply)["value"]))


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start a driver and a browser with an empty profile; end both."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        driver = subprocess.Popen(
            [str(DRIVER), "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            address = f"http://127.0.0.1:{_port(driver)}/session"
            options = {"binary": CHROMIUM, "args": [*_FLAGS, f"--user-data-dir={profile}"]}
            wish = {
                "browserName": "chrome",
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }
            session = _send(address, {"capabilities": {"alwaysMatch": wish}})
            browser = f"{address}/{session['sessionId']}"
            try:
                yield Browser(browser)
            finally:
                _send(browser, None, method="DELETE")
        finally:
            driver.terminate()
            driver.communicate(timeout=120)


def _port(driver: "subprocess.Popen[str]") -> int:
    """Return the free port that a driver has chosen, once it listens there."""
    assert driver.stdout
    for line in driver.stdout:
        if found := re.search(r"started successfully on port (\d+)", line):
            return int(found[1])
    raise RuntimeError("the driver ended and did not say where it listens")


def _send(address: str, content: Mapping[str, object] | None, method: str = "POST") -> Any:
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(  # noqa: S310 - http on this machine
        address, data, {"Content-Type": "application/json"}, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=300) as reply:  # noqa: S310 - the same
            return json.load(reply)["value"]
    except urllib.error.HTTPError as error:
        if error.code == 500 and "session not created" in (said := error.read().decode()):
            raise RuntimeError(said) from None
        raise
