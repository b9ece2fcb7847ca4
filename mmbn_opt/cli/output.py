"""What the commands do with a result: its words and the exit status."""

from typing import Any

import typer

from mmbn_opt.exceptions import InputError

__all__ = ["exit_status", "say_remarks", "say_result"]


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
