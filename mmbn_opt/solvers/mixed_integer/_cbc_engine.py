"""Drives the CBC executable: files in, log while it runs, binary solution out."""

import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import cast

import numpy as np

from ..._arrays import FloatArray
from ...programs.as_text import mps_blocks
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.status import TerminationStatus
from ..base import program_bounds
from ..ending import Tolerances
from ..hosting.guard import Guard
from ..hosting.link import EngineAnswer, EngineJob, EngineLink
from ._cbc_executable import plain_environment
from ._cbc_log import CbcLog

__all__ = ["run"]

_STATUS = {
    "Optimal": TerminationStatus.OPTIMAL,
    "Infeasible": TerminationStatus.INFEASIBLE,
    "Integer infeasible": TerminationStatus.INFEASIBLE,
    "Unbounded": TerminationStatus.UNBOUNDED,
    "Stopped on time": TerminationStatus.TIME_LIMIT,
    "Stopped on nodes": TerminationStatus.NODE_LIMIT,
    "Stopped on iterations": TerminationStatus.ITERATION_LIMIT,
    "Stopped on solutions": TerminationStatus.NODE_LIMIT,
    "Stopped on difficulties": TerminationStatus.NUMERICAL_ERROR,
}
"""First words of the solution file; anything else is SOLVER_ERROR."""

_LIMITS = {"node limit": TerminationStatus.NODE_LIMIT, "time limit": TerminationStatus.TIME_LIMIT}
"""What the log says of a limit; the solution file calls some of them iterations."""

MIN_INCREMENT = 1e-13
"""By how much of the objective's scale a new incumbent must be better: a search that CBC completes proves no less."""
_LARGEST_SEED = 2**31 - 2
_READ_BYTES = 65536


def run(job: EngineJob[MixedIntegerProgram], link: EngineLink) -> EngineAnswer:
    """The engine: runs in a thread of the user's process or in a child process."""
    answer = _run_once(job, link, job.program)
    is_mip = bool(job.program.integrality.any())
    if answer.termination_status is TerminationStatus.UNBOUNDED and is_mip:
        # CBC says so when the relaxation is unbounded, whether or not there is an integral point.
        settled = _run_once(job, link, replace(job.program, c=np.zeros_like(job.program.c), offset=0.0), silent=True)
        status = settled.termination_status
        found = TerminationStatus.UNBOUNDED if status is TerminationStatus.OPTIMAL else status
        text = f"{answer.raw_status}; without the objective: {settled.raw_status}"
        return EngineAnswer(found, text, None, None, answer.nodes, answer.iterations)
    return answer


def _run_once(
    job: EngineJob[MixedIntegerProgram], link: EngineLink, program: MixedIntegerProgram, *, silent: bool = False
) -> EngineAnswer:
    assert job.workspace is not None
    folder = Path(job.workspace)
    for old in folder.glob("[!.]*"):  # what begins with a dot is not of this program
        old.unlink()
    with (folder / "program.mps").open("w", encoding="ascii", newline="\n") as stream:
        for block in mps_blocks(program, constant_column=False):
            stream.write(block)
            if link.stop_requested:
                return EngineAnswer(TerminationStatus.INTERRUPTED, "stopped while the program was written")
            if job.time_left() == 0.0:
                return EngineAnswer(TerminationStatus.TIME_LIMIT, "out of time while the program was written")
    process = _Process(_command(job, folder), folder, own_session=not link.isolated)
    link.on_stop(process.stop)
    log, closed = CbcLog(), False
    for line in process.lines():
        if log.read(line) and not silent:
            link.report(primal_bound=log.primal_bound, dual_bound=log.dual_bound, nodes=log.nodes)
            if job.rel_gap > 0 and _is_closed(log, job) and not process.stopped:
                closed = True
                process.stop(hard=False)
        if job.verbose:
            link.log(line)
    code = process.wait()
    link.on_stop(None)
    if closed and code == 0:
        answer = _answer(job, folder, program, log, process.stopped)
        status = TerminationStatus.OPTIMAL if answer.termination_status.is_limit else answer.termination_status
        return replace(answer, termination_status=status)
    if code != 0:
        status = TerminationStatus.INTERRUPTED if process.stopped else TerminationStatus.SOLVER_ERROR
        return EngineAnswer(status, f"cbc ended with code {code}", None, log.dual_bound, log.nodes, log.iterations)
    return _answer(job, folder, program, log, process.stopped)


def _is_closed(log: CbcLog, job: EngineJob[MixedIntegerProgram]) -> bool:
    """Whether the bounds in the log are as close as was asked for."""
    return Tolerances(job.rel_gap, job.abs_gap, scale=0.0).leave_nothing(
        program_bounds(log.primal_bound, log.dual_bound)
    )


def _increment(job: EngineJob[MixedIntegerProgram]) -> float:
    return max(job.abs_gap, MIN_INCREMENT * min(1.0, abs(job.program.box_bound or 1.0)))


def _command(job: EngineJob[MixedIntegerProgram], folder: Path) -> list[str]:
    seed = str(1 + job.seed % _LARGEST_SEED)
    settings: dict[str, object] = {
        # Measured against the root relaxation, which can be far from the objective; see `_is_closed`.
        "ratioGap": 0.0,
        "allowableGap": job.abs_gap,
        "increment": _increment(job),
        "primalTolerance": min(job.feasibility_tol, 1e-7),
        "integerTolerance": min(job.feasibility_tol, 1e-7),
        "randomCbcSeed": seed,
        "randomSeed": seed,
        "probingCuts": "off",  # CBC 2.10 loses optima by them: of 4/7 x - y with 2 x - 4 y >= 1, both from -2 to 2
        **job.options,
    }
    if job.threads > 1:
        settings["threads"] = job.threads
    left = job.time_left()
    if left is not None:
        settings["seconds"] = max(left, 0.01)
    command = [str(job.executable), str(folder / "program.mps"), "-timeMode", "elapsed"]
    for name, value in settings.items():
        command += [f"-{name}", repr(value) if isinstance(value, float) else str(value)]
    if job.start is not None:
        _write_start(folder / "start.sol", job.program, job.start)
        command += ["-mipstart", str(folder / "start.sol")]
    return [*command, "-solve", "-solution", str(folder / "answer.txt"), "-saveSolution", str(folder / "answer.bin")]


def _write_start(path: Path, program: MixedIntegerProgram, start: FloatArray) -> None:
    """The start in the format of CBC's own solution files; only the integer columns count."""
    integers = np.flatnonzero(program.integrality)
    lines = [f"feasible - objective value {program.value(start)!r}"]
    lines += [f"{column} c{column} {float(start[column])!r} 0" for column in integers]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _answer(
    job: EngineJob[MixedIntegerProgram], folder: Path, program: MixedIntegerProgram, log: CbcLog, stopped: bool
) -> EngineAnswer:
    words = _first_line(folder / "answer.txt").partition(" - ")[0].partition(" (")[0]
    status = _STATUS.get(words, TerminationStatus.SOLVER_ERROR)
    if status is TerminationStatus.SOLVER_ERROR and log.says_infeasible:
        status, words = TerminationStatus.INFEASIBLE, "infeasibility proved"
    if status.is_limit:
        status = next((limit for name, limit in _LIMITS.items() if name in log.result), status)
    if stopped and status in (TerminationStatus.ITERATION_LIMIT, TerminationStatus.SOLVER_ERROR):
        status = TerminationStatus.INTERRUPTED
    objective, vector = _read_binary(folder / "answer.bin", program)
    bounds = [log.dual_bound]
    if status is TerminationStatus.OPTIMAL and objective is not None:
        # Search completed: nothing is better by more than this, although the log may not say so.
        bounds.append(objective - _increment(job))
    dual = max((bound for bound in bounds if bound is not None), default=None)
    if dual is not None and status is TerminationStatus.OPTIMAL and objective is not None:
        dual = min(dual, objective)
    raw = "; ".join(part for part in (words or "cbc wrote no solution file", log.result) if part)
    has_vector = status not in (TerminationStatus.INFEASIBLE, TerminationStatus.UNBOUNDED)
    return EngineAnswer(
        status,
        raw,
        vector if has_vector else None,
        dual if has_vector else None,
        log.nodes,
        log.iterations,
        {"raw_objective": objective if has_vector else None},
    )


def _first_line(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open(encoding="utf-8", errors="replace") as lines:
        return lines.readline().strip()


def _read_binary(path: Path, program: MixedIntegerProgram) -> tuple[float | None, FloatArray | None]:
    """Objective and columns of a file of ``-saveSolution``: two counts, then doubles (the text file has 8 digits).

    The rows need not be as many as in the program: CBC leaves out those that are empty or free.
    """
    data = path.read_bytes() if path.exists() else b""
    if len(data) < 8:
        return None, None
    rows, columns = np.frombuffer(data, dtype=np.int32, count=2).tolist()
    if columns != program.c.size or len(data) < 8 + 8 * (1 + 2 * rows + 2 * columns):
        return None, None
    numbers = np.frombuffer(data, dtype=np.float64, offset=8)
    objective = float(numbers[0])
    return objective if math.isfinite(objective) else None, numbers[1 + 2 * rows : 1 + 2 * rows + columns].copy()


class _Process:
    """A running CBC whose lines arrive as they are printed."""

    def __init__(self, command: list[str], folder: Path, own_session: bool) -> None:
        self.stopped = False
        self._master = -1
        output: int = subprocess.PIPE
        if sys.platform != "win32":
            # Into a pipe, CBC 2.10 prints in large blocks and mostly at the end; to a terminal line by line.
            self._master, output = os.openpty()
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=plain_environment(),
            # Ctrl-C in a terminal is for the user's process alone; a child's CBC must die with the child's group.
            start_new_session=own_session,
        )
        if self._master >= 0:
            os.close(output)
        self._guard = Guard(self._process.pid)

    def lines(self) -> Iterator[str]:
        """Lines until the output ends."""
        rest = b""
        while block := self._read():
            *whole, rest = (rest + block).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", errors="replace").rstrip()
        if rest:
            yield rest.decode("utf-8", errors="replace").rstrip()

    def _read(self) -> bytes:
        if self._master < 0:
            return cast(BufferedReader, self._process.stdout).read1(_READ_BYTES)
        try:
            return os.read(self._master, _READ_BYTES)
        except OSError:
            # A terminal whose other side is closed gives an error instead of an end of file.
            return b""

    def stop(self, hard: bool) -> None:
        """Interrupt CBC, once, so that it writes what it has; or kill it."""
        again, self.stopped = self.stopped, True
        if hard or sys.platform == "win32":
            self._process.kill()
        elif not again:
            self._process.send_signal(signal.SIGINT)

    def wait(self) -> int:
        """The exit code."""
        code = self._process.wait()
        self._guard.release()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
        return code
