"""A page in headless Chromium, driven through the DevTools protocol."""

import base64
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_SEC = 60.0


def find_browser() -> str | None:
    """Path of a browser that speaks the DevTools protocol."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Page:
    """One tab.

    Parameters
    ----------
    socket : websocket.WebSocket
    """

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer; script errors that arrive meanwhile are kept in `errors`."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])
            self._note(message)

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] == "error":
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in event["params"]["args"]))

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float = PATIENCE_SEC) -> Any:
        """Evaluate until the value is true, and return it."""
        end = time.monotonic() + seconds
        while not (value := self.evaluate(expression)):
            if time.monotonic() > end:
                raise TimeoutError(f"after {seconds:g} s still not true: {expression}")
            time.sleep(0.1)
        return value

    def open(self, address: str) -> None:
        """Go to an address and wait until it has loaded."""
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete'")

    def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        """Set the size of the window's inside."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def theme(self, name: str) -> None:
        """Prefer "light" or "dark"."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def click(self, element: str) -> None:
        """Click into the middle of what the JavaScript expression `element` gives."""
        box = self.evaluate(
            f"(() => {{const e = {element}; e.scrollIntoView({{block: 'center'}});"
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def screenshot(self, element: str | None = None) -> bytes:
        """PNG of the window, or of what the JavaScript expression `element` gives."""
        options: dict[str, Any] = {"format": "png"}
        if element is not None:
            x, y, width, height = self.evaluate(
                f"(() => {{const r = ({element}).getBoundingClientRect();"
                "return [r.x + scrollX, r.y + scrollY, r.width, r.height]})()"
            )
            options["clip"] = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
            options["captureBeyondViewport"] = True
        return base64.b64decode(self.call("Page.captureScreenshot", **options)["data"])


@contextmanager
def browser_page(profile: Path) -> Iterator[Page]:
    """A page of a fresh browser, which ends with the block.

    Parameters
    ----------
    profile : Path
        Empty folder for the browser's own files.
    """
    import websocket

    browser = find_browser()
    assert browser is not None, "look for the browser first"
    process = subprocess.Popen(
        [
            browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
            "--remote-debugging-port=0", "--remote-allow-origins=*", f"--user-data-dir={profile}", "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    socket = None
    try:
        socket = websocket.create_connection(_page_address(profile, process), timeout=PATIENCE_SEC)
        yield Page(socket)
    finally:
        if socket is not None:
            socket.close()
        process.terminate()
        process.wait(PATIENCE_SEC)


def _page_address(profile: Path, process: "subprocess.Popen[bytes]") -> str:
    """Address of the tab's socket, once the browser has written its port."""
    told = profile / "DevToolsActivePort"
    end = time.monotonic() + PATIENCE_SEC
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the browser ended at once with exit code {process.returncode}")
        if told.exists() and (lines := told.read_text().split()):
            with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json/list", timeout=10) as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise TimeoutError("the browser opened no port for its DevTools")
