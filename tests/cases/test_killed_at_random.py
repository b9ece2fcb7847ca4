"""Lines 06 to 09 for real: signals at random moments of real runs, full and read-only disks, two runs at once.

``MMBN_KILLS`` is the number of runs a signal (100).
"""

import json
import os
import random
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.interop.models import load_model
from mmbn_opt.interop.run_folder import RunFolder
from mmbn_opt.interop.run_manifest import mismatch, read_manifest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(sys.platform != "linux", reason="forks, and looks for processes in /proc"),
]

KILLS = int(os.environ.get("MMBN_KILLS", "100"))
PATIENCE_SEC = 60.0
"""A busy machine may take its time; what is asserted is that nothing is lost, and what lives on after five seconds."""


@dataclass
class Server:
    """The fork server of this module, and one command at a time in it."""

    process: Any
    folder: Path
    commands: dict[str, list[str]]
    tag: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    def start(self, argv: list[str], **extra: Any) -> int:
        self.tag = secrets.token_hex(8)
        for name in ("stdout", "stderr"):
            (self.folder / name).unlink(missing_ok=True)  # a fork may be killed before it has emptied them
            (self.folder / name).touch()
        job = {"argv": argv, "stdout": f"{self.folder}/stdout", "stderr": f"{self.folder}/stderr", "tag": self.tag}
        self.process.stdin.write(json.dumps({**job, **extra}) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def spawn(self, argv: list[str]) -> "subprocess.Popen[bytes]":
        """A process from the beginning: HiGHS does not take up again in a fork what it had begun before."""
        self.tag = secrets.token_hex(8)
        with (self.folder / "stdout").open("wb") as out, (self.folder / "stderr").open("wb") as err:
            return subprocess.Popen(
                [sys.executable, "-m", "mmbn_opt", *argv],
                stdout=out,
                stderr=err,
                env={**os.environ, "MMBN_TAG": self.tag},
            )

    def wait(self) -> int:
        return int(self.process.stdout.readline())

    def said(self) -> tuple[str, str]:
        return (self.folder / "stdout").read_text(), (self.folder / "stderr").read_text()

    def living(self) -> list[str]:
        """Command lines of what the last command started and is still alive."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and f"MMBN_TAG={self.tag}".encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        return found

    def require_nobody_left(self) -> None:
        deadline = time.monotonic() + 5.0
        while (left := self.living()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left, left


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("killed")
    folder.chmod(0o777)
    for name in ("corral", "mofn-3-7-10"):
        mm.load_dataset(name).to_csv(folder / f"{name}.csv", index=False)
    draw = np.random.default_rng(0)
    rows = np.concatenate([draw.normal(5.0 * k, 1.0, (20, 2)) for k in range(3)])
    pd.DataFrame(rows, columns=["a", "b"]).assign(**{"class": np.repeat(["u", "v", "w"], 20)}).to_csv(
        folder / "blobs.csv", index=False
    )
    corral = ["--data", f"{folder}/corral.csv", "--target", "class"]
    commands = {
        "structure": ["structure", *corral],
        "structure by cbc": ["structure", *corral, "--solver", "cbc", "--max-parents", "1"],
        "parameters": ["parameters", *corral, "--structure", "tan-cmi"],
        "lambda": ["parameters", *corral, "--lam", "cv"],
        "relaxation": ["parameters", *corral, "--method", "relaxation"],
        "cmm": ["cmm", "--data", f"{folder}/blobs.csv", "--target", "class", "--components", "1", "--xi-growth", "1"],
        "compare": ["compare", *corral, "--max-parents", "1", "--solvers", "highs,branch_and_cut"],
    }
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).parents[1] / "fork_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([command for name, command in commands.items() if name != "compare"]) + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "ready\n"
    served = Server(process, folder, commands)
    for name, command in commands.items():
        began = time.monotonic()
        served.start([*command, "--out", f"{folder}/older {name}"])
        status = served.wait()
        assert status == 0, served.said()
        served.seconds[name] = time.monotonic() - began
    yield served
    with process:
        process.stdin.close()


def whole(folder: Path) -> str:
    """The run that the folder holds, after whoever comes next has put it in order."""
    RunFolder(folder, "the next to come").close()
    assert not list(folder.glob(".mmbn-*")), "leftovers"
    manifest = read_manifest(folder)
    assert manifest is not None
    assert not mismatch(folder, manifest), "the folder is a mixture"
    if "model.json" in manifest.files:
        load_model(folder / "model.json")
    kept = read_manifest(folder / "unfinished")
    if kept is not None:
        assert not mismatch(folder / "unfinished", kept)
        load_model(folder / "unfinished" / "model.json")
    return manifest.command


def best_told(errors: str) -> float | None:
    """Objective of the last incumbent on stderr."""
    told = re.findall(r"incumbent (-?[\d.]+)", errors)
    return float(told[-1]) if told else None


MOMENTS = [(number, k) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL) for k in range(KILLS)]


@pytest.mark.parametrize(("number", "k"), MOMENTS, ids=lambda value: str(getattr(value, "name", value)))
def test_06_07_08_a_signal_at_any_moment(server: Server, number: signal.Signals, k: int) -> None:
    draw = random.Random(f"{number.name} {k}")
    # A comparison starts processes, which takes long; the others are where the moments matter.
    name = "compare" if k % 10 == 9 else draw.choice([name for name in server.commands if name != "compare"])
    out = server.folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(server.folder / f"older {name}", out)
    older = (out / "manifest.json").read_bytes()
    pid = server.start([*server.commands[name], "--out", str(out)])
    time.sleep(draw.uniform(0.0, 1.1) * server.seconds[name])
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    status = server.wait()
    said, errors = server.said()
    server.require_nobody_left()
    assert "Traceback" not in errors, errors
    replaced = (out / "manifest.json").read_bytes() != older
    hidden = list(out.glob(".mmbn-*"))
    whole(out)
    if number is signal.SIGKILL:
        return
    assert not hidden
    assert status in (0, 128 + number, -number), (status, errors)  # -number: before it could be noted
    if "status:" in said or "solved" in said:
        assert replaced, "an answer was said and not written"
    if status == 0:
        assert replaced
    if status == -number:
        assert replaced or not (said or errors)
    told = best_told(errors)
    if told is not None and name != "compare" and status != -number:
        answer = json.loads((out / "result.json").read_text())
        assert replaced, errors
        if name.startswith("structure"):
            assert answer["primal_bound"] >= told - 1e-3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda value: value.name)
@pytest.mark.parametrize("solver", ["auto", "cbc", "highs"])
def test_07_a_long_search_leaves_its_best(server: Server, solver: str, number: signal.Signals) -> None:
    data = f"{server.folder}/mofn-3-7-10.csv"
    out = server.folder / "long"
    shutil.rmtree(out, ignore_errors=True)
    argv = [
        "structure",
        "--data",
        data,
        "--target",
        "class",
        "--max-parents",
        "3",
        "--solver",
        solver,
        "--out",
        str(out),
    ]
    process = server.spawn(argv)
    deadline = time.monotonic() + PATIENCE_SEC
    while "local_search" not in server.said()[1] and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(4.0)  # seconds in which the best so far has to reach the disk
    told = best_told(server.said()[1])
    process.send_signal(number)
    status = process.wait(PATIENCE_SEC)
    server.require_nobody_left()
    where = out / "unfinished" if number is signal.SIGKILL else out
    assert status == (-number if number is signal.SIGKILL else 128 + number)
    manifest = read_manifest(where)
    assert manifest is not None
    assert not mismatch(where, manifest)
    answer = json.loads((where / "result.json").read_text())
    assert told is not None
    assert answer["primal_bound"] >= 0.99 * told
    assert isinstance(load_model(where / "model.json"), mm.BayesianNetwork)
    predict = ["predict", "--model", str(out), "--data", data, "--out", f"{server.folder}/p.csv"]
    server.start(predict)
    assert server.wait() == (2 if number is signal.SIGKILL else 0)
    assert ("holds no finished run" in server.said()[1]) == (number is signal.SIGKILL)


@pytest.mark.parametrize("size", [1, 8, 16, 24, 32, 48, 64])
@pytest.mark.parametrize("name", ["structure", "parameters", "cmm"])
def test_09_on_a_full_disk_of_any_size_nothing_is_mixed_and_the_answer_is_said(
    server: Server, name: str, size: int, tmp_path: Path
) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={4 * size}k", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        server.start([*server.commands[name], "--out", f"{tmp_path}/out"])
        status = server.wait()
        said, errors = server.said()
        assert "Traceback" not in errors
        found = sorted(path.name for path in (tmp_path / "out").iterdir()) if (tmp_path / "out").exists() else []
        if status == 0:
            whole(tmp_path / "out")
        else:
            assert status == 2
            assert "No space left on device" in errors
            assert set(found) <= {"unfinished"}
            if found or "incumbent" in errors:
                assert "status:" in said
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_09_a_folder_that_cannot_be_written_is_refused_before_any_work(server: Server) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    out = server.folder / "closed"
    out.mkdir()
    out.chmod(0o555)
    for part in (server.folder, *server.folder.parents):
        if not part.stat().st_mode & 0o001:
            part.chmod(part.stat().st_mode | 0o011)
    server.start([*server.commands["structure"], "--out", str(out)], uid=65534)
    assert server.wait() == 2
    _, errors = server.said()
    assert "closed' is not writable; change its permissions or choose another folder" in errors
    assert "incumbent" not in errors


def test_08_two_runs_into_one_folder(server: Server) -> None:
    out = server.folder / "shared"
    with RunFolder(out, "the first"):
        server.start([*server.commands["structure"], "--out", str(out)])
        assert server.wait() == 2
        _, errors = server.said()
        assert f"is being written by process {os.getpid()} on" in errors
        assert "incumbent" not in errors
    server.start([*server.commands["structure"], "--out", str(out)])
    assert server.wait() == 0
    assert "structure" in whole(out)
