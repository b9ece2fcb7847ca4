"""Commands of ``mmbn-opt``.

Exit statuses: 0 done, 1 solver failed, 2 bad input, 130 and 143 when Ctrl-C or SIGTERM cut something off.
"""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mmbn_opt import __version__
from mmbn_opt._budget import noting_signals
from mmbn_opt.cli.cmm import cmm
from mmbn_opt.cli.compare import compare
from mmbn_opt.cli.demo import demo
from mmbn_opt.cli.export import export
from mmbn_opt.cli.parameters import parameters
from mmbn_opt.cli.predict import predict
from mmbn_opt.cli.remarks import remark
from mmbn_opt.cli.solvers import solvers
from mmbn_opt.cli.streams import escape_what_cannot_be_shown
from mmbn_opt.cli.structure import structure
from mmbn_opt.exceptions import InputError, MissingDependencyError, MmbnError

__all__ = ["app", "main"]

_INTERRUPTED = 130


class _Interrupted(Exception):
    """KeyboardInterrupt under a name that the command line's library leaves alone."""


class _Commands(TyperGroup):
    """The commands, whose interruption is told by us."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Interrupted from error


app = typer.Typer(
    cls=_Commands,
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
    """Run the command line; errors of ours become one line and an exit status.

    Ctrl-C, SIGTERM and SIGHUP end a search, never what hands over its answer; a second signal ends everything.
    """
    escape_what_cannot_be_shown()
    with noting_signals(terminate=True) as noted:
        try:
            app(standalone_mode=True)
        except (InputError, MissingDependencyError) as error:
            _fail(error, 2)
        except MmbnError as error:
            _fail(error, 1)
        except _Interrupted:
            remark(
                "interrupted a second time: nothing more was written"
                if noted.repeated
                else "interrupted before there was anything to write"
            )
            sys.exit(_INTERRUPTED if noted.number is None else 128 + noted.number)
        except SystemExit as leave:
            if leave.code == _INTERRUPTED and noted.number is not None:
                sys.exit(128 + noted.number)
            raise
        except BrokenPipeError:
            sys.stderr.close()
            sys.exit(141)


def _fail(error: Exception, status: int) -> None:
    typer.echo(f"error: {error}", err=True)
    sys.exit(status)
