"""``mmbn-opt cmm``: Gaussian mixtures with the largest margin between classes."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from mmbn_opt.cli import options as opt
from mmbn_opt.cli.remarks import remark
from mmbn_opt.exceptions import InputError

__all__ = ["cmm"]

HAND_OVER_SEC = 0.5
"""What listing the rows that miss xi and classifying all rows may take after the limit."""


def cmm(
    data: opt.Data,
    target: opt.Target,
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.", show_default=False)],
    components: Annotated[int, typer.Option("--components", help="Gaussians a class.")] = 3,
    tau: Annotated[
        float, typer.Option("--tau", help="Lower limit of the variances, in units of each column's own variance.")
    ] = 0.0025,
    xi: Annotated[float, typer.Option("--xi", help="Required log-odds of the true class, in nats.")] = 2.6,
    xi_growth: Annotated[
        float, typer.Option("--xi-growth", help="Raise xi by this factor whenever it is met; 1 leaves it.")
    ] = 10.0,
    h: Annotated[float, typer.Option("--h", help="Sharpness of the soft minimum.")] = 10.0,
    penalty: Annotated[str, typer.Option("--penalty", help="exterior, or printed (as in the paper).")] = "exterior",
    strategy: Annotated[
        str, typer.Option("--strategy", help="With more than two classes: one-vs-one or one-vs-rest.")
    ] = "one-vs-one",
    solver: Annotated[str, typer.Option("--solver", help="Solver name; see mmbn-opt solvers.")] = "exterior_penalty",
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", help="Seconds for all programs, reading included.")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", help="Threads.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    missing: Annotated[
        str, typer.Option("--missing", help="Missing cells: error, drop (their rows) or marginalize.")
    ] = "error",
    na: opt.NaValues = "NA,NaN,?",
) -> None:
    """Separate classes of numeric rows by mixtures of Gaussians, every row on its side.

    Exit status 1 says that some rows miss xi: violations.csv lists them. All other files are written all the same.
    """
    from mmbn_opt._budget import Budget, OutOfTime, interruptible, leaving_when, now

    started = now()
    from mmbn_opt.cli.output import exit_status, time_left
    from mmbn_opt.cli.progress import Progress
    from mmbn_opt.cli.running import Keeper, hand_over, open_folder
    from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
    from mmbn_opt.solving.parts import solve_parts

    if missing not in ("error", "drop", "marginalize"):
        raise InputError(f"--missing must be error, drop or marginalize, got {missing!r}.")
    with open_folder(out) as folder:
        with interruptible():
            features, labels, dropped = _table(data, target, missing, na)
            problem = MulticlassMargin(
                features, labels, components, h, xi, tau, cast(Any, penalty), strategy=cast(Any, strategy),
                xi_growth=xi_growth, missing="marginalize" if missing == "marginalize" else "error", seed=seed,
                class_name=target, n_dropped=dropped,
            )  # fmt: skip
        progress = Progress(time_limit, sought="classifier", paced=("incumbent", "progress"))
        with progress, Keeper(folder, lambda states, model: _joined(problem, states, model)):
            result = solve_parts(
                problem, solver, time_limit=time_left(time_limit, started), threads=threads, seed=seed,
                callback=progress,
            )  # fmt: skip
        result = replace(result, settings={**result.settings, "time_limit": time_limit})
        left = time_left(time_limit, started)
        handing_over = Budget(None if left is None else max(left, HAND_OVER_SEC))
        violated, accuracy = None, None
        with suppress(OutOfTime), leaving_when(handing_over.over):
            violated = result.formulation.violated_samples(result.model)
            accuracy = _accuracy(result.model, features, labels)
        rows = {}
        if violated is not None and len(violated):
            rows["violations.csv"] = violated.to_csv(index=False).encode()
        hand_over(
            result, folder, lambda: _say(result, len(labels), violated, accuracy, out),
            title=f"{problem.title} on {data.name}", extra=rows,
        )  # fmt: skip
    raise typer.Exit(exit_status(result))


def _joined(problem: Any, states: list[Any], model: Any) -> Any:
    """The classifier of the parts so far; those that have not begun stand at their start."""
    done = [state.best for state in states[:-1]]
    starts = [problem.start_at_hand(index).model for index in range(len(states), len(problem.parts))]
    return problem.join([*done, model, *starts])


def _table(data: Path, target: str, missing: str, na: str) -> tuple[Any, Any, int]:
    """Features, labels, and the number of rows left out."""
    from mmbn_opt.data.discrete import check_columns
    from mmbn_opt.data.readers import read_table

    frame = read_table(data, na_values=opt.na_values(na))
    check_columns(frame, target)
    kept = frame.dropna() if missing == "drop" else frame
    if len(frame) and not len(kept):
        raise InputError(f"No row is left of {len(frame)}: each has a missing cell. Fill them or use marginalize.")
    dropped = len(frame) - len(kept)
    labels = kept[target]
    return kept.drop(columns=target), labels.astype(object if labels.isna().any() else labels.dtype), dropped


def _accuracy(model: Any, features: Any, labels: Any) -> float:
    import numpy as np

    return float(np.mean(model.predict(features) == np.asarray(labels)))


def _say(result: Any, n_rows: int, violated: Any, accuracy: float | None, out: Path) -> None:
    """The answer on stdout."""
    typer.echo(f"status: {result.termination_status} - {result.termination_status.sentence}")
    if violated is None:
        for outcome in result.parts:
            typer.echo(f"{outcome.part}: {outcome.termination_status}")
        remark("no time was left to list the rows that miss xi")
    else:
        _say_margins(result, violated)
    typer.echo(f"solver: {result.solver_name} {result.solver_version}  seconds: {result.seconds.total:.2f}")
    typer.echo("certificate:")
    for check in result.certificate.checks:
        typer.echo(f"  {check}")
    if violated is not None and len(violated):
        worst = violated.sort_values("violation", ascending=False, kind="stable").iloc[0]
        remark(
            f"{violated['row'].nunique()} rows miss xi, the worst is row {worst['row']} by {worst['violation']:.4g} "
            f"nats: {out / 'violations.csv'}"
        )
    told = "not computed, no time was left" if accuracy is None else f"{accuracy:.4f}"
    typer.echo(f"accuracy on all {n_rows} rows given: {told}")


def _say_margins(result: Any, violated: Any) -> None:
    margins = result.formulation.margins(result.model)
    counts = violated["part"].value_counts()
    for part, margin, outcome in zip(result.formulation.parts, margins, result.parts, strict=True):
        missed = int(counts.get(part.name, 0))
        told = f"{missed} of {len(part.rows)} rows miss xi" if missed else f"all {len(part.rows)} rows beyond xi"
        typer.echo(f"margin: {margin:12.6f}  {part.name}: {told}; {outcome.termination_status}")
