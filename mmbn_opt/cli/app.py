"""Commands of ``mmbn-opt``.

Exit statuses: 0 done, 1 solver failed, 2 bad input, 130 and 143 when Ctrl-C or SIGTERM cut something off.
"""

import gc
import os
import shlex
import shutil
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mmbn_opt import __version__
from mmbn_opt._budget import noting_signals
from mmbn_opt.cli import options as opt
from mmbn_opt.cli.clock import command_begins
from mmbn_opt.cli.cmm import cmm
from mmbn_opt.cli.compare import compare
from mmbn_opt.cli.demo import demo
from mmbn_opt.cli.export import export
from mmbn_opt.cli.parameters import parameters
from mmbn_opt.cli.predict import predict
from mmbn_opt.cli.query import query
from mmbn_opt.cli.remarks import remark, remarking
from mmbn_opt.cli.reproduce import reproduce
from mmbn_opt.cli.sequences import sequences
from mmbn_opt.cli.solvers import solvers
from mmbn_opt.cli.streams import escape_what_cannot_be_shown
from mmbn_opt.cli.structure import structure
from mmbn_opt.cli.verify import verify
from mmbn_opt.cli.wording import in_options, options_of, speak_of
from mmbn_opt.exceptions import InputError, MissingDependencyError, MmbnError

__all__ = ["app", "main"]

_OBJECTS_A_COLLECTION = 250_000
"""Garbage is collected after so many new objects: after 700, as usual, it takes a tenth of the library's import."""
_INTERRUPTED = 130
_NOBODY_READS = 141
_LEAST_WIDTH = 60
"""Columns of a terminal below which tables in frames cut the names of options."""

_HELP = "Bayesian network classifiers with the largest margin, each with a proof of how good it is."

_EPILOG = (
    "Exit status: 0 done; 1 the solver failed, or a check of the answer did; 2 something given can't be used, or a "
    "place can't be written; 130 Ctrl-C and 143 SIGTERM cut something off (what was found is written all the same); "
    "141 nobody reads the answer. "
    "The answer goes to stdout, everything else to stderr."
)


class _Interrupted(Exception):
    """KeyboardInterrupt under a name that the command line's library leaves alone."""


class _NobodyReads(Exception):
    """BrokenPipeError under another name, for the same reason."""


class _Commands(TyperGroup):
    """The commands, whose interruption is told by us, and whose messages speak of their options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before the command."""
        own = {flag for parameter in self.get_params(ctx) for flag in parameter.opts}
        first = args[0].partition("=")[0] if args else ""
        ours = first in own or (not first.startswith("--") and all(f"-{letter}" in own for letter in first[1:]))
        command = next((word for word in args if word in self.commands), None)
        if first.startswith("-") and not ours and command is not None:
            rest = list(args)
            rest.remove(command)
            ctx.fail(f"Options come after the command: mmbn-opt {command} {shlex.join(rest)}")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Interrupted from error
        except BrokenPipeError as error:
            raise _NobodyReads from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command by its name."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            speak_of(options_of(command.params))
        return name, command, rest


app = typer.Typer(
    cls=_Commands,
    name="mmbn-opt",
    help=_HELP,
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if shutil.get_terminal_size().columns >= _LEAST_WIDTH else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(structure)
app.command()(parameters)
app.command()(cmm)
app.command()(sequences)
app.command()(predict)
app.command()(query)
app.command()(compare)
app.command()(reproduce)
app.command()(export)
app.command()(verify)
app.command()(solvers)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mmbn_opt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; errors of ours become one line and an exit status.

    Ctrl-C, SIGTERM and SIGHUP end a search, never what hands over its answer; a second signal ends everything.
    """
    command_begins()
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    escape_what_cannot_be_shown()
    with noting_signals(terminate=True) as noted, remarking():
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
        except (_NobodyReads, BrokenPipeError):
            # What is left in the buffer would be written at exit, and fail once more.
            with suppress(OSError, ValueError):  # a stream that is no file has no such buffer
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(_NOBODY_READS)
        finally:
            gc.freeze()  # what is left goes with the process: Python would search it for circles as it leaves


def _fail(error: Exception, status: int) -> None:
    typer.echo(f"error: {in_options(str(error))}", err=True)
    sys.exit(status)
