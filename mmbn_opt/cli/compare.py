"""``mmbn-opt compare``: several solvers on the structure problems of one or more files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mmbn_opt.cli import options as opt
from mmbn_opt.cli.remarks import remark
from mmbn_opt.exceptions import InputError

__all__ = ["compare"]

_FAILURES = ("CRASHED", "HUNG", "OUT_OF_MEMORY", "RAISED", "REFUSED", "SOLVER_ERROR", "NUMERICAL_ERROR")


def compare(
    data: Annotated[
        list[Path], typer.Option("--data", help="CSV (.gz), Parquet or ARFF file; repeatable.", show_default=False)
    ],
    target: opt.Target,
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.", show_default=False)],
    score: opt.Score = "sm",
    max_parents: opt.MaxParents = 2,
    p: opt.Gamma = 0.9,
    solvers: Annotated[
        str, typer.Option("--solvers", help="Names separated by commas, or all; see mmbn-opt solvers.")
    ] = "all",
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for each run.")] = 60.0,
    seeds: Annotated[str, typer.Option("--seeds", help="Random seeds, separated by commas.")] = "0",
    jobs: Annotated[int, typer.Option("--jobs", help="Runs at the same time; they disturb each other's times.")] = 1,
    memory_limit: Annotated[
        float | None, typer.Option("--memory-limit", help="Megabytes that the process of a run may hold (Linux).")
    ] = None,
    grace: Annotated[float, typer.Option("--grace", help="Seconds after the limit at which a run is killed.")] = 10.0,
    rel_gap: Annotated[
        float, typer.Option("--rel-gap", help="Stop at this proved relative gap; 0 asks for a proof.")
    ] = 0.0,
    threads: Annotated[int, typer.Option("--threads", help="Threads of each solver.")] = 1,
    rerun_failed: Annotated[
        bool, typer.Option("--rerun-failed", help="Run again what crashed, hung or ran out of memory.")
    ] = False,
    smoothing: opt.Smoothing = 1.0,
    ess: opt.Ess = 1.0,
    categorical: opt.Categorical = "",
    numeric: opt.Numeric = "",
    missing: opt.Missing = "error",
    na: opt.NaValues = "NA,NaN,?",
    drop: opt.Drop = "",
    no_discretize: opt.NoDiscretize = False,
    acyclicity: opt.Acyclicity = "auto",
    parent_sets: opt.ParentSets = "all",
    require: opt.Require = None,
    forbid: opt.Forbid = None,
    spreadsheet: opt.Spreadsheet = False,
) -> None:
    """Run solvers on the same problems, each run in a process of its own, and report who proved what.

    Started again with the same --out it does only what is missing.
    """
    from mmbn_opt import comparison
    from mmbn_opt._budget import interruptible
    from mmbn_opt.cli.running import command_line, open_folder, saying_first, writing

    with open_folder(out) as folder:
        formulations: dict[str, Any] = {}
        with interruptible():
            for path in data:
                preparation = opt.make_preparation(path, target, categorical, numeric, missing, na, no_discretize, drop)
                for line in preparation.describe(remarks=False):
                    remark(line)
                label = _label(path, formulations)
                formulations[label] = opt.make_formulation(
                    preparation.data, score=score, max_parents=max_parents, p=p, smoothing=smoothing, ess=ess,
                    acyclicity=acyclicity, parent_sets=parent_sets, require=require, forbid=forbid,
                )  # fmt: skip
        names = [name.strip() for name in solvers.split(",") if name.strip()]
        table = comparison.compare(
            formulations,
            "all" if names == ["all"] else names,
            time_limit=time_limit,
            seeds=_whole_numbers(seeds),
            folder=out,
            n_jobs=jobs,
            grace=grace,
            memory_limit=memory_limit,
            rel_gap=rel_gap,
            threads=threads,
            rerun_failed=rerun_failed,
            progress=_say_run,
        )
        if not len(table):
            raise KeyboardInterrupt
        title = f"Solvers on {', '.join(formulations)}"
        with saying_first(lambda: _say(table)):
            writing(folder, lambda: table.write(folder, title=title, command=command_line(), spreadsheet=spreadsheet))
    typer.echo(f"report: {out / 'report.html'}")
    raise typer.Exit(130 if table.interrupted else int(not _any_answer(table)))


def _label(path: Path, taken: dict[str, Any]) -> str:
    """A name for the problem of a file: that of the file, with its folder where another file has the same."""
    short = path.name.split(".")[0]
    return short if short not in taken else str(path)


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--seeds needs whole numbers separated by commas, got {text!r}.") from error


def _say_run(run: Any, done: int, total: int) -> None:
    """One line a run on stderr, as it ends."""
    primal, gap = run.bounds.primal_bound, run.bounds.gap_rel
    value = "none" if primal is None else f"{primal:.4f}"
    flag = "" if run.claim_ok else "  CLAIMS ANOTHER OBJECTIVE"
    detail = f"  {run.detail}" if run.detail else ""
    remark(
        f"[{done}/{total}] {run.formulation} {run.solver} seed {run.seed}: {run.label} after {run.seconds:.2f} s, "
        f"objective {value}, gap {gap:.3%}{flag}{detail}"
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
