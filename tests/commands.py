"""Commands of ``mmbn-opt`` in processes of their own, without the seconds that Python takes to import everything.

Each is a fork of one server a test process, see `fork_server`. What is about the beginning of a process itself (signals
while it imports, its environment, its locale) starts a Python of its own.
"""

import atexit
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _server() -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("fork_server.py"))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    atexit.register(process.communicate)
    _tell(process, [])
    assert _answer(process, 120.0) == "ready"
    return process


def run_command(
    *arguments: Any, timeout: float = 120.0, cwd: Path | None = None, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run ``mmbn-opt`` with some arguments; what it wrote and its exit status come back."""
    argv = list(map(str, arguments))
    server = _server()
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        out.touch()
        err.touch()
        _tell(
            server,
            {
                "argv": argv, "stdout": str(out), "stderr": str(err), "tag": secrets.token_hex(8),
                "cwd": str(cwd or Path.cwd()), "environment": environment,
            },
        )  # fmt: skip
        pid = int(_answer(server, timeout))
        try:
            status = int(_answer(server, timeout))
        except TimeoutError:
            os.killpg(pid, signal.SIGKILL)
            _answer(server, timeout)
            raise subprocess.TimeoutExpired(argv, timeout, out.read_text(), err.read_text()) from None
        return subprocess.CompletedProcess(argv, status, out.read_text(), err.read_text())


def _tell(server: "subprocess.Popen[str]", job: Any) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps(job) + "\n")


def _answer(server: "subprocess.Popen[str]", timeout: float) -> str:
    """Its next line; there is never more than one that was not read."""
    assert server.stdout is not None
    if not select.select([server.stdout], [], [], timeout)[0]:
        raise TimeoutError
    return server.stdout.readline().strip()
