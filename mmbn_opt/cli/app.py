"""Commands of ``mmbn-opt`` and the exit statuses: 0 done, 1 solver failed, 2 bad input, 130 interrupted."""

import sys
from typing import Annotated

import typer

from mmbn_opt import __version__
from mmbn_opt.cli.cmm import cmm
from mmbn_opt.cli.compare import compare
from mmbn_opt.cli.demo import demo
from mmbn_opt.cli.export import export
from mmbn_opt.cli.parameters import parameters
from mmbn_opt.cli.predict import predict
from mmbn_opt.cli.solvers import solvers
from mmbn_opt.cli.structure import structure
from mmbn_opt.exceptions import InputError, MissingDependencyError, MmbnError

__all__ = ["app", "main"]

app = typer.Typer(
    name="mmbn-opt",
    help="Maximum-margin Bayesian networks with a proof of how good they are.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(demo)
app.command()(solvers)
app.command()(structure)
app.command()(parameters)
app.command()(cmm)
app.command()(predict)
app.command()(compare)
app.command()(export)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mmbn_opt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Maximum-margin Bayesian networks with a proof of how good they are."""


def main() -> None:
    """Run the command line; errors of ours become one line and an exit status."""
    try:
        app(standalone_mode=True)
    except (InputError, MissingDependencyError) as error:
        _fail(error, 2)
    except MmbnError as error:
        _fail(error, 1)
    except KeyboardInterrupt:
        typer.echo("interrupted before there was anything to write", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _fail(error: Exception, status: int) -> None:
    typer.echo(f"error: {error}", err=True)
    sys.exit(status)
