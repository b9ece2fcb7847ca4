"""What the commands do with a result: its files, its words, the exit status; and the time that is left."""

from contextvars import ContextVar
from typing import Any

import typer

from mmbn_opt._budget import now
from mmbn_opt.exceptions import InputError

__all__ = ["command_began", "command_begins", "exit_status", "say_remarks", "say_result", "time_left"]


_began: ContextVar[float | None] = ContextVar("mmbn_opt command began", default=None)


def command_begins() -> None:
    """The clock of a command starts: what reads its options imports the library, and that takes a second."""
    _began.set(now())


def command_began() -> float:
    """When the command began, on the clock of `now`."""
    began = _began.get()
    return now() if began is None else began


def time_left(time_limit: float | None, started: float) -> float | None:
    """What is left of the limit: reading and preparing the data count against it."""
    if time_limit is None or not time_limit >= 0:
        return time_limit  # for the solver to refuse
    return max(0.0, time_limit - (now() - started))


def say_result(result: Any) -> None:
    """The answer on stdout."""
    from mmbn_opt.interop.result_files import parents_of

    bounds = result.bounds
    typer.echo(f"status: {result.termination_status} - {result.termination_status.sentence}")
    if result.model is None:
        return
    if bounds.dual_bound is None:
        typer.echo(f"objective: {bounds.primal_bound:.6f}  (no bound is claimed)")
    else:
        typer.echo(f"objective: {bounds.primal_bound:.6f}  bound: {bounds.dual_bound:.6f}  gap: {bounds.gap_rel:.4%}")
    typer.echo(f"solver: {result.solver_name} {result.solver_version}  seconds: {result.seconds.total:.2f}")
    typer.echo("network:")
    network = parents_of(result.model) or {}
    width = max(map(len, network), default=0)
    for name, parents in network.items():
        typer.echo(f"  {name:<{width}} <- {', '.join(parents) or '(no parents)'}")
    say_remarks(result)
    typer.echo("certificate:")
    for check in result.certificate.checks:
        typer.echo(f"  {check}")


def say_remarks(result: Any) -> None:
    """What was odd about the table, on stdout with the answer that it bears on."""
    from mmbn_opt.cli.wording import in_options
    from mmbn_opt.data.findings import remark_lines

    lines = remark_lines(result.remarks)
    if lines:
        typer.echo("remarks on the data:")
    for line in lines:
        typer.echo(f"  {in_options(line)}")


def exit_status(result: Any) -> int:
    """0 for an answer, 1 for a failed solver or certificate, 130 where an interruption cut something off."""
    from mmbn_opt.results.status import TerminationStatus

    if result.termination_status is TerminationStatus.INTERRUPTED:
        return 130
    failed = result.termination_status in (
        TerminationStatus.SOLVER_ERROR, TerminationStatus.NUMERICAL_ERROR,
        TerminationStatus.INFEASIBLE, TerminationStatus.UNBOUNDED,
    )  # fmt: skip
    if result.model is None:
        raise InputError(result.termination_status.sentence)
    return 1 if failed or not result.certificate.ok else 0
