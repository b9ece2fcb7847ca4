"""``mmbn-opt cmm``: Gaussian mixtures with the largest margin between classes."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mmbn_opt.cli import choices
from mmbn_opt.cli import options as opt
from mmbn_opt.cli.clock import Clock
from mmbn_opt.cli.remarks import remark
from mmbn_opt.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cmm"]


def cmm(
    data: opt.Data,
    target: opt.Target,
    out: opt.Out,
    components: Annotated[int, opt.whole("--components", "-k", panel=opt.PROBLEM, help="Gaussians a class.")] = 3,
    tau: Annotated[
        float,
        opt.num(
            "--tau", panel=opt.PROBLEM, help="Lower limit of the variances, in units of each column's own variance."
        ),
    ] = 0.0025,
    xi: Annotated[
        float, opt.num("--xi", panel=opt.PROBLEM, help="Required log-odds of the true class, in nats.")
    ] = 2.6,
    xi_growth: Annotated[
        float,
        opt.num("--xi-growth", panel=opt.PROBLEM, help="Raise xi by this factor whenever it is met; 1 leaves it."),
    ] = 10.0,
    h: Annotated[float, opt.num("--h", panel=opt.PROBLEM, help="Sharpness of the soft minimum.")] = 10.0,
    penalty: Annotated[
        choices.Penalty,
        opt.chosen(choices.Penalty, "--penalty", panel=opt.PROBLEM, help="exterior, or printed (as in the paper)."),
    ] = choices.Penalty.EXTERIOR,
    strategy: Annotated[
        choices.Strategy,
        opt.chosen(
            choices.Strategy,
            "--strategy",
            panel=opt.PROBLEM,
            help="With more than two classes: one-vs-one or one-vs-rest.",
        ),
    ] = choices.Strategy.ONE_VS_ONE,
    calibration: opt.Calibration = "auto",
    solver: opt.Solver = "exterior_penalty",
    time_limit: opt.TimeLimit = None,
    threads: opt.Threads = 1,
    seed: opt.Seed = 0,
    missing: Annotated[
        choices.MissingNumbers,
        opt.chosen(
            choices.MissingNumbers,
            "--missing",
            panel=opt.DATA,
            help="Missing cells: error, drop (leave their rows out) or marginalize (sum them out).",
        ),
    ] = choices.MissingNumbers.ERROR,
    na: opt.NaValues = "NA,NaN,?",
    drop: opt.Drop = "",
    test: opt.Test = None,
    hold_out: opt.HoldOut = None,
    spreadsheet: opt.Spreadsheet = False,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Separate classes of numeric rows by mixtures of Gaussians, every row on its side.

    Exit status 1 says that some rows miss xi: violations.csv lists them. All other files are written all the same.
    """
    from mmbn_opt._budget import interruptible, leave_in_time

    clock = Clock(time_limit)
    from mmbn_opt.cli.accuracy import HeldOut, Judged
    from mmbn_opt.cli.output import exit_status
    from mmbn_opt.cli.probabilities import Calibrating
    from mmbn_opt.cli.problems import try_call
    from mmbn_opt.cli.progress import Progress
    from mmbn_opt.cli.running import Keeper, hand_over, open_folder
    from mmbn_opt.cli.tables import Table
    from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
    from mmbn_opt.interop.csv_text import csv_content
    from mmbn_opt.interop.writable import refuse_unwritable_classes
    from mmbn_opt.mixtures.classifier import MixtureClassifier
    from mmbn_opt.results.status import TerminationStatus
    from mmbn_opt.solving.parts import solve_parts
    from mmbn_opt.tuning.mixtures import calibrate_mixture

    def formulation(features: Any, labels: Any, members: int, **more: Any) -> MulticlassMargin:
        return MulticlassMargin(
            features, labels, members, h, xi, tau, cast(Any, penalty.value), strategy=cast(Any, strategy.value),
            xi_growth=xi_growth, missing="marginalize" if missing is choices.MissingNumbers.MARGINALIZE else "error",
            seed=seed, class_name=target, **more,
        )  # fmt: skip

    call: dict[str, Any] = {"threads": threads, "seed": seed, "verbose": opt.solver_log(verbose)}
    with interruptible():
        # More components than these four rows are as good a number as any.
        tried = formulation([[0.0], [1.0], [5.0], [6.0]] * 2, ["a", "a", "b", "b"] * 2, min(components, 4))
        try_call(tried.binaries[0], solver, time_limit=time_limit, **call)
        calibrating = Calibrating(calibration, trained=True)
        table = Table(data, target, na, drop, test, hold_out, seed)
    with open_folder(out) as folder:
        with interruptible():
            rows = table.read()
            features, labels, dropped = _complete(rows.learned, target, missing)
            problem = formulation(features, labels, components, n_dropped=dropped)
            refuse_unwritable_classes(problem.data.classes, target)
            usual = {}
            if rows.held_out is not None:
                usual["the start, by k-means"] = _joined(problem, [], None)
            held_out = HeldOut(rows.held_out, rows.where, usual)
        progress = Progress(time_limit, sought="classifier", paced=("incumbent", "progress"))
        search = clock.for_search(calibrating.share)
        with progress, Keeper(folder, lambda states, model: _joined(problem, states, model), table.na_values, search):
            result = solve_parts(problem, solver, time_limit=search, callback=progress, **call)
        result = replace(result, settings={**result.settings, "time_limit": time_limit})

        def learn(samples: Any, codes: Any, seconds: float | None) -> MixtureClassifier | None:
            part = formulation(samples, codes, components, fewer_components=True, tells=False)
            found = solve_parts(part, solver, time_limit=seconds, **call | {"verbose": None})
            cut = any(one.termination_status is TerminationStatus.INTERRUPTED for one in found.parts)
            return None if cut else found.model

        def choose(seconds: float | None) -> Any:
            return calibrate_mixture(problem.data, learn, own=result.model, seed=seed, seconds=seconds)

        chosen = calibrating.of(result, choose, clock)
        violated, listed, judged = None, {}, Judged(held_out, len(labels))
        with clock.handing_over():
            judged.judge(result.model, result.formulation.data, "these mixtures", chosen)
            if all(part.solution is not None for part in result.parts):  # no list of programs that were not begun
                missed = result.formulation.violated_samples(result.model)
                if len(missed):
                    leave_in_time()
                    listed["violations.csv"] = csv_content(missed, spreadsheet=spreadsheet)
                violated = missed

        def say() -> None:
            _say(result, violated, out)
            judged.say()

        hand_over(
            result, folder, say, title=f"{problem.title} on {data.name}", extra=listed, na_values=table.na_values,
            **judged.for_files(),
        )  # fmt: skip
    missing_xi = violated is not None and len(violated) > 0
    raise typer.Exit(exit_status(result) or int(missing_xi))


def _joined(problem: Any, states: list[Any], model: Any) -> Any:
    """The classifier of the parts so far; those that have not begun stand at their start."""
    done = [state.best for state in states[:-1]]
    now = [] if model is None else [model]
    starts = [problem.start_at_hand(index).model for index in range(len(done) + len(now), len(problem.parts))]
    return problem.join([*done, *now, *starts])


def _complete(frame: "pd.DataFrame", target: str, missing: choices.MissingNumbers) -> tuple[Any, Any, int]:
    """Features, labels, and the number of rows left out."""
    from mmbn_opt.data.discrete import check_columns, complete_target

    check_columns(frame, target)
    complete_target(frame, target, missing=missing.value)
    kept = frame.dropna() if missing is choices.MissingNumbers.DROP else frame
    if len(frame) and not len(kept):
        raise InputError(
            f"No row is left of {len(frame)}: each has a missing cell. Fill them or use --missing marginalize."
        )
    dropped = len(frame) - len(kept)
    labels = kept[target]
    return kept.drop(columns=target), labels.astype(object if labels.isna().any() else labels.dtype), dropped


def _say(result: Any, violated: Any, out: Path) -> None:
    """The answer on stdout."""
    from mmbn_opt.cli.output import say_remarks

    typer.echo(f"status: {result.termination_status} - {result.termination_status.sentence}")
    if violated is None:
        for outcome in result.parts:
            typer.echo(f"{outcome.part}: {outcome.termination_status}")
        remark("no time was left to list the rows that miss xi")
    else:
        _say_margins(result, violated)
    typer.echo(f"solver: {result.solver_name} {result.solver_version}  seconds: {result.seconds.total:.2f}")
    say_remarks(result)
    typer.echo("certificate:")
    for check in result.certificate.checks:
        typer.echo(f"  {check}")
    if violated is not None and len(violated):
        worst = violated.sort_values("violation", ascending=False, kind="stable").iloc[0]
        remark(
            f"{violated['row'].nunique()} rows miss xi, the worst is row {worst['row']} by {worst['violation']:.4g} "
            f"nats: {out / 'violations.csv'}"
        )


def _say_margins(result: Any, violated: Any) -> None:
    margins = result.formulation.margins(result.model)
    counts = violated["part"].value_counts()
    for part, margin, outcome in zip(result.formulation.parts, margins, result.parts, strict=True):
        missed = int(counts.get(part.name, 0))
        told = f"{missed} of {len(part.rows)} rows miss xi" if missed else f"all {len(part.rows)} rows beyond xi"
        typer.echo(f"margin: {margin:12.6f}  {part.name}: {told}; {outcome.termination_status}")
