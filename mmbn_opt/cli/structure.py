"""``mmbn-opt structure``: the best structure for a score, with its proof."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mmbn_opt.cli import options as opt
from mmbn_opt.cli.output import exit_status, say_result, time_left
from mmbn_opt.cli.remarks import remark

__all__ = ["structure"]


def structure(
    data: opt.Data,
    target: opt.Target,
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.", show_default=False)],
    score: opt.Score = "sm",
    max_parents: opt.MaxParents = 2,
    p: opt.Gamma = 0.9,
    solver: Annotated[str, typer.Option("--solver", help="Solver name, or auto; see mmbn-opt solvers.")] = "auto",
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", help="Seconds, reading included; without it to proof.")
    ] = None,
    rel_gap: Annotated[
        float, typer.Option("--rel-gap", help="Stop at this proved relative gap; 0 asks for a proof.")
    ] = 0.0,
    threads: Annotated[int, typer.Option("--threads", help="Threads of the solver.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
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
    candidates: opt.Candidates = None,
    require: opt.Require = None,
    forbid: opt.Forbid = None,
) -> None:
    """Find the structure with the best score and say how good it is."""
    from mmbn_opt._budget import interruptible, now

    started = now()
    from mmbn_opt.cli.progress import Progress
    from mmbn_opt.cli.running import Keeper, found, hand_over, open_folder
    from mmbn_opt.solving.dispatch import solve

    with open_folder(out) as folder:
        with interruptible():
            preparation = opt.make_preparation(data, target, categorical, numeric, missing, na, no_discretize, drop)
            for line in preparation.describe(remarks=False):
                remark(line)
            formulation = opt.make_formulation(
                preparation.data, score=score, max_parents=max_parents, p=p, smoothing=smoothing, ess=ess,
                acyclicity=acyclicity, parent_sets=parent_sets, require=require, forbid=forbid, candidates=candidates,
            )  # fmt: skip
        with Progress(time_limit) as progress, Keeper(folder, na_values=opt.na_values(na)):
            result = solve(
                formulation,
                solver,
                time_limit=time_left(time_limit, started),
                rel_gap=rel_gap,
                threads=threads,
                seed=seed,
                callback=progress,
            )
        result = replace(found(result), settings={**result.settings, "time_limit": time_limit})
        hand_over(
            result, folder, lambda: say_result(result), title=f"{formulation.title} of {data.name}",
            na_values=opt.na_values(na),
        )  # fmt: skip
    raise typer.Exit(exit_status(result))
