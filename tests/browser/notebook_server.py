"""A Jupyter server of one's own, and the commands of its page."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from browser_page import Page

TOKEN = "only-for-this-run"
PATIENCE_SEC = 40.0


@contextmanager
def notebook_server(folder: Path) -> Iterator[str]:
    """Serve `folder` by JupyterLab; gives the server's address, and ends the server with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    settings = {name: str(folder / f".{name}") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}
    pages = Path(settings["JUPYTER_CONFIG_DIR"]) / "labconfig" / "page_config.json"
    pages.parent.mkdir(parents=True)
    pages.write_text(json.dumps({"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}))
    log = (folder / "server.log").open("wb")
    process = subprocess.Popen(
        [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
            f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}",
            "--LabApp.expose_app_in_browser=True",
        ],
        stdout=log, stderr=log, env={**os.environ, **settings},
    )  # fmt: skip
    try:
        _wait_for(f"{address}/api/status?token={TOKEN}", process)
        yield address
    finally:
        process.terminate()
        process.wait(PATIENCE_SEC)
        log.close()


def _wait_for(address: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + PATIENCE_SEC
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the Jupyter server ended with exit code {process.returncode}")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise TimeoutError("the Jupyter server does not answer")


_WIDGET = "[...jupyterapp.shell.widgets('main')].find(w => w.context?.path?.endsWith('.ipynb'))"


def open_notebook(page: Page, address: str, name: str) -> None:
    """Open a notebook and wait for its kernel."""
    page.open(f"{address}/doc/tree/{name}?token={TOKEN}")
    page.wait_for("!!window.jupyterapp && jupyterapp.restored.then(() => true)", PATIENCE_SEC)
    page.wait_for(f"!!{_WIDGET}", PATIENCE_SEC)
    page.evaluate(f"(jupyterapp.shell.activateById({_WIDGET}.id), true)")
    page.wait_for(f"{_WIDGET}.sessionContext.session?.kernel?.status === 'idle'", PATIENCE_SEC)


def run_cell(page: Page, index: int, *, wait: bool = True) -> None:
    """Execute a cell, and wait until it has been."""
    page.evaluate(
        f"(() => {{{_WIDGET}.content.activeCellIndex = {index};"
        f"window.cellDone = false;"
        "jupyterapp.commands.execute('notebook:run-cell').then(() => {window.cellDone = true}); return true})()"
    )
    if wait:
        page.wait_for("window.cellDone", PATIENCE_SEC)


def save_notebook(page: Page) -> None:
    """Save the notebook to its file."""
    page.evaluate(f"{_WIDGET}.context.save().then(() => true)")


def output_of(index: int) -> str:
    """JavaScript expression for the output of a cell."""
    return f"document.querySelectorAll('.jp-Notebook .jp-Cell')[{index}].querySelector('.jp-Cell-outputArea')"


def stop_button(index: int) -> str:
    """JavaScript expression for the stop button in the output of a cell."""
    return f"{output_of(index)}?.querySelector('button.jupyter-button')"
