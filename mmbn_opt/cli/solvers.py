"""``mmbn-opt solvers``: what is installed and what each solver accepts."""

import typer

__all__ = ["solvers"]


def solvers() -> None:
    """List the solvers: version, licence, what they accept, why one is not available."""
    from mmbn_opt.solving.dispatch import AUTO_RULES
    from mmbn_opt.solving.dispatch import solvers as table

    for row in table().itertuples():
        state = f"{row.version}" if row.available else "not available"
        typer.echo(f"{row.name:<10} {state:<14} {row.licence:<28} {row.title}")
        typer.echo(f"{'':<10} accepts: {row.accepts}" + ("" if row.available else f"; {row.reason}"))
    typer.echo("auto: " + "; ".join(f"{rule.kind}, {rule.condition} -> {rule.solver}" for rule in AUTO_RULES))
