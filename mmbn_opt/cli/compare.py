"""``mmbn-opt compare``: several solvers on the structure problems of one or more files."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mmbn_opt.cli import choices
from mmbn_opt.cli import options as opt
from mmbn_opt.cli.parsing import whole_numbers

__all__ = ["compare"]

_FAILURES = ("CRASHED", "HUNG", "OUT_OF_MEMORY", "RAISED", "REFUSED", "SOLVER_ERROR", "NUMERICAL_ERROR")


def compare(
    data: Annotated[
        list[Path],
        typer.Option(
            "--data",
            "-d",
            metavar="FILE",
            rich_help_panel=opt.DATA,
            show_default=False,
            help="Table: CSV (.gz), Parquet or ARFF; can be given again.",
        ),
    ],
    target: opt.Target,
    out: opt.Out,
    score: opt.Score = "sm",
    max_parents: opt.MaxParents = 2,
    p: opt.P = 0.9,
    solvers: Annotated[
        str,
        typer.Option(
            "--solvers",
            "-s",
            metavar="NAMES",
            rich_help_panel=opt.SEARCH,
            parser=choices.solver_list,
            help="Names between commas, or all; mmbn-opt solvers lists them.",
        ),
    ] = "all",
    time_limit: Annotated[
        float, opt.num("--time-limit", "-l", panel=opt.SEARCH, metavar="SECONDS", help="Seconds for each run.")
    ] = 60.0,
    seeds: Annotated[
        Any,
        typer.Option(
            "--seeds",
            metavar="NS",
            rich_help_panel=opt.SEARCH,
            parser=whole_numbers,
            help="Random seeds, between commas.",
        ),
    ] = "0",
    jobs: Annotated[
        int, opt.whole("--jobs", panel=opt.SEARCH, help="Runs at the same time; they disturb each other's times.")
    ] = 1,
    memory_limit: Annotated[
        float | None,
        opt.num(
            "--memory-limit",
            panel=opt.SEARCH,
            metavar="MB",
            help="Megabytes that the process of a run may hold (Linux).",
        ),
    ] = None,
    grace: Annotated[
        float,
        opt.num(
            "--grace", panel=opt.SEARCH, metavar="SECONDS", help="Seconds after the limit at which a run is killed."
        ),
    ] = 10.0,
    rel_gap: opt.RelGap = 0.0,
    threads: opt.Threads = 1,
    rerun_failed: Annotated[
        bool,
        typer.Option(
            "--rerun-failed", rich_help_panel=opt.SEARCH, help="Run again what crashed, hung or ran out of memory."
        ),
    ] = False,
    smoothing: opt.Smoothing = 1.0,
    ess: opt.Ess = 1.0,
    categorical: opt.Categorical = "",
    numeric: opt.Numeric = "",
    missing: opt.Missing = choices.Missing.ERROR,
    na: opt.NaValues = "NA,NaN,?",
    drop: opt.Drop = "",
    no_discretize: opt.NoDiscretize = False,
    acyclicity: opt.Acyclicity = choices.Acyclicity.AUTO,
    parent_sets: opt.ParentSets = choices.ParentSets.ALL,
    require: opt.Require = None,
    forbid: opt.Forbid = None,
    spreadsheet: opt.Spreadsheet = False,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Run solvers on the same problems, each run in a process of its own, and report who proved what.

    Started again with the same --out it does only what is missing.
    """
    from mmbn_opt import comparison
    from mmbn_opt._budget import interruptible
    from mmbn_opt.cli.problems import Problem
    from mmbn_opt.cli.progress import RunsProgress
    from mmbn_opt.cli.running import command_line, open_folder, saying_first, writing
    from mmbn_opt.cli.tables import Table, kinds_of, prepared
    from mmbn_opt.comparison.runner import plan_of

    names = solvers.split(",")
    wanted: Any = "all" if names == ["all"] else names
    limits: dict[str, Any] = {
        "time_limit": time_limit, "seeds": seeds, "n_jobs": jobs, "grace": grace, "memory_limit": memory_limit,
        "rel_gap": rel_gap, "threads": threads,
    }  # fmt: skip
    problem = Problem(score, max_parents, p, smoothing, ess, acyclicity, parent_sets, require, forbid)
    with interruptible():
        plan_of(problem.tried(), wanted, **limits)
        kinds = kinds_of(categorical, numeric)
        tables = [Table(path, target, na, drop) for path in data]
    with open_folder(out) as folder:
        formulations: dict[str, Any] = {}
        with interruptible():
            for table in tables:
                preparation = prepared(table.read().learned, target, kinds, missing, no_discretize)
                formulations[_label(table.path, formulations)] = problem.formulation(preparation.data)
        with RunsProgress() as runs:
            found = comparison.compare(
                formulations, wanted, folder=out, rerun_failed=rerun_failed, progress=partial(_say_run, runs), **limits
            )  # fmt: skip
        if not len(found):
            raise KeyboardInterrupt
        title = f"Solvers on {', '.join(formulations)}"
        with saying_first(lambda: _say(found)):
            writing(folder, lambda: found.write(folder, title=title, command=command_line(), spreadsheet=spreadsheet))
    typer.echo(f"report: {out / 'report.html'}")
    raise typer.Exit(130 if found.interrupted else int(not _any_answer(found)))


def _label(path: Path, taken: dict[str, Any]) -> str:
    """A name for the problem of a file: that of the file, with its folder where another file has the same."""
    short = path.name.split(".")[0]
    return short if short not in taken else str(path)


def _say_run(runs: Any, run: Any, done: int, total: int) -> None:
    """One line a run on stderr, as it ends."""
    primal, gap = run.bounds.primal_bound, run.bounds.gap_rel
    value = "none" if primal is None else f"{primal:.4f}"
    flag = "" if run.claim_ok else "  CLAIMS ANOTHER OBJECTIVE"
    detail = f"  {run.detail}" if run.detail else ""
    runs.say(
        f"[{done}/{total}] {run.formulation} {run.solver} seed {run.seed}: {run.label} after {run.seconds:.2f} s, "
        f"objective {value}, gap {gap:.3%}{flag}{detail}",
        done,
        total,
    )


def _say(table: Any) -> None:
    summary = table.summary()
    width = max(len(name) for name in summary.index)
    typer.echo(f"{'solver':<{width}}  solved  seconds to proof  mean gap  flagged  failed")
    for name, row in summary.iterrows():
        gap = "-" if row["gap_rel"] != row["gap_rel"] else f"{row['gap_rel']:.3%}"
        solved = f"{int(row['solved'])}/{int(row['runs'])}"
        typer.echo(
            f"{name:<{width}}  {solved:>6}  {row['sec_to_proof']:>16.2f}  {gap:>8}  {int(row['flagged']):>7}  "
            f"{int(row['failed']):>6}"
        )
    for pair in table.left_out:
        typer.echo(f"left out: {pair.solver} on {pair.formulation}: {pair.reason}")
    if table.interrupted:
        typer.echo("interrupted: what is done is kept; the same command goes on from here")


def _any_answer(table: Any) -> bool:
    """Whether some run ended with an answer that stands."""
    stands = table["claim_ok"] & table["bound_ok"] & ~table["status"].isin(_FAILURES)
    return bool(stands.any())
