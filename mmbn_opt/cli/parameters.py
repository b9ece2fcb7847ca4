"""``mmbn-opt parameters``: parameters of a given structure."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from mmbn_opt.cli import choices
from mmbn_opt.cli import options as opt
from mmbn_opt.cli.clock import Clock
from mmbn_opt.cli.remarks import remark, tell_unused
from mmbn_opt.exceptions import InputError

__all__ = ["parameters"]

_OF_METHODS = {
    "lam": (choices.Method.CG_MM, choices.Method.RELAXATION),
    "kappa": (choices.Method.CG_MM,),
    "iterations": (choices.Method.CG_MM, choices.Method.CG_CL),
    "validation": (choices.Method.CG_MM, choices.Method.CG_CL),
    "normalization": (choices.Method.RELAXATION,),
    "B": (choices.Method.RELAXATION,),
    "alpha": (choices.Method.RELAXATION,),
    "min_prob": (choices.Method.RELAXATION,),
}
"""The methods that an option plays a part in, where not all do."""

_STRUCTURES = ("nb", "tan-cmi", "tan-cr", "omi", "omisp", "ro")


def parameters(
    ctx: typer.Context,
    data: opt.Data,
    target: opt.Target,
    out: opt.Out,
    structure: Annotated[
        str,
        typer.Option(
            "--structure",
            metavar="NAME|FILE",
            rich_help_panel=opt.PROBLEM,
            autocompletion=choices.completing(lambda: _STRUCTURES),
            help="nb (naive Bayes), tan-cmi, tan-cr, omi, omisp, ro, or a BIF file.",
        ),
    ] = "nb",
    method: Annotated[
        choices.Method,
        opt.chosen(
            choices.Method,
            "--method",
            "-M",
            panel=opt.PROBLEM,
            help="ml (counts), cg-mm (smooth margin), cg-cl (conditional likelihood) or relaxation (convex).",
        ),
    ] = choices.Method.CG_MM,
    lam: Annotated[
        str | None,
        typer.Option(
            "--lam",
            metavar="NUMBER|cv",
            rich_help_panel=opt.PROBLEM,
            help="Scale of the margin. By default 0.1 for relaxation, and for cg-mm 0.05 or 0.5, on held-out rows; "
            '"cv" to choose it among more.',
        ),
    ] = None,
    kappa: Annotated[float, opt.num("--kappa", panel=opt.PROBLEM, help="Rounding of the hinge for cg-mm.")] = 0.1,
    iterations: Annotated[
        str | None,
        typer.Option(
            "--iterations",
            metavar="N|cv",
            rich_help_panel=opt.PROBLEM,
            help="Limit of cg-mm and cg-cl, which regularizes. By default chosen up to 100 on held-out rows; "
            '"cv" up to 200.',
        ),
    ] = None,
    validation: Annotated[
        float | None,
        opt.num(
            "--validation",
            panel=opt.PROBLEM,
            metavar="SHARE",
            help="Share of the training rows to watch for early stopping, instead of a choice; in (0, 1).",
        ),
    ] = None,
    normalization: Annotated[
        choices.Normalization,
        opt.chosen(
            choices.Normalization,
            "--normalization",
            panel=opt.PROBLEM,
            help="Of the relaxation: hybrid, floor or published.",
        ),
    ] = choices.Normalization.HYBRID,
    B: Annotated[
        float | None,
        opt.num("--B", panel=opt.PROBLEM, help="Weight of the slacks in the papers' form; instead of --lam."),
    ] = None,
    alpha: Annotated[
        float, opt.num("--alpha", panel=opt.PROBLEM, help="Weight of the likelihood in the hybrid relaxation.")
    ] = 0.03,
    min_prob: Annotated[
        float, opt.num("--min-prob", panel=opt.PROBLEM, help="Smallest probability in the relaxation.")
    ] = 1e-6,
    smoothing: opt.Smoothing = 1.0,
    calibration: opt.Calibration = "auto",
    rel_gap: opt.RelGap = 1e-4,
    solver: opt.Solver = "auto",
    time_limit: opt.TimeLimit = None,
    threads: opt.Threads = 1,
    seed: opt.Seed = 0,
    categorical: opt.Categorical = "",
    numeric: opt.Numeric = "",
    missing: opt.Missing = choices.Missing.ERROR,
    na: opt.NaValues = "NA,NaN,?",
    drop: opt.Drop = "",
    codes_in: opt.CodesIn = None,
    no_discretize: opt.NoDiscretize = False,
    test: opt.Test = None,
    hold_out: opt.HoldOut = None,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Learn the parameters of a given structure: by counts, smooth margin, conditional likelihood or relaxation.

    Ctrl-C ends the search: what was found so far is written.
    """
    from mmbn_opt._budget import interruptible

    clock = Clock(time_limit)
    from mmbn_opt.cli.accuracy import HeldOut, Judged
    from mmbn_opt.cli.output import exit_status, say_result
    from mmbn_opt.cli.probabilities import Calibrating
    from mmbn_opt.cli.progress import Progress
    from mmbn_opt.cli.running import Keeper, found, hand_over, open_folder
    from mmbn_opt.cli.tables import Table, calibrated_on, kinds_of, learned_of
    from mmbn_opt.networks.network import BayesianNetwork
    from mmbn_opt.scores.predictive import conditional_log_likelihood, log_likelihood
    from mmbn_opt.solving.settings import SolveSettings
    from mmbn_opt.tuning.calibration import calibrate
    from mmbn_opt.tuning.learning_again import learn_again
    from mmbn_opt.tuning.parameters import Learning, ParameterSettings, as_network

    settings = ParameterSettings(
        method=cast(Any, method.value), lam=_lam(lam, method.value, B), B=B, kappa=kappa,
        iterations=_iterations(iterations), validation=validation or None, normalization=normalization.value,
        alpha=alpha, min_prob=min_prob, smoothing=smoothing, solver=solver, seed=seed,
        call=SolveSettings(rel_gap=rel_gap, threads=threads, seed=seed, verbose=opt.solver_log(verbose)),
    )  # fmt: skip
    tell_unused(ctx, method, _OF_METHODS)
    with interruptible():
        calibrating = Calibrating(calibration, trained=method is not choices.Method.ML)
        edges = _edges_of(structure, target)
        _try(settings, time_limit)
        kinds = kinds_of(categorical, numeric)
        table = Table(data, target, na, drop, test, hold_out, seed, codes_in)
    with open_folder(out) as folder:
        with interruptible():
            rows = learned_of(table, kinds, missing, no_discretize)
            dataset = rows.data
            graph = _structure(structure, edges, dataset, seed, smoothing)
            learning = Learning.of(dataset, graph, settings)
            counted = {}
            if rows.held_out is not None and method is not choices.Method.ML:
                counted["the same structure by ml"] = BayesianNetwork.fit(graph, dataset, smoothing)
            held_out = HeldOut(rows.held_out, rows.where, counted)
        if learning.by_choice:
            learning = _chosen(learning, clock.for_search(calibrating.share))
        search = clock.for_search(calibrating.share)
        keeper = Keeper(folder, lambda states, model: as_network(model), table.na_values, search)
        with Progress(time_limit) as progress, keeper:
            result = learning.solve(search, progress)
        result = replace(found(result), model=as_network(result.model))

        def choose(seconds: float | None) -> Any:
            again, own = learn_again(settings, learning.chosen, graph), result.model
            some = calibrated_on(dataset)
            return calibrate(some, again, own=own, numbers=rows.numbers, seed=seed, seconds=seconds)

        chosen = calibrating.of(result, choose, clock)
        judged = Judged(held_out, dataset.n_samples)
        with clock.handing_over():
            judged.judge(result.model, dataset, f"this network ({method.value})", chosen)

        def say() -> None:
            say_result(result)
            if method is choices.Method.ML:
                typer.echo(f"log-likelihood: {log_likelihood(result.model, dataset):.6f}")
                typer.echo(f"conditional log-likelihood: {conditional_log_likelihood(result.model, dataset):.6f}")
            judged.say()

        hand_over(
            result, folder, say, title=f"{learning.formulation.title} on {data.name}", na_values=table.na_values,
            **judged.for_files(),
        )  # fmt: skip
    raise typer.Exit(exit_status(result))


def _try(settings: Any, time_limit: float | None) -> None:
    """Check all settings on a small table."""
    from mmbn_opt.cli.problems import try_call
    from mmbn_opt.cli.tables import stand_in
    from mmbn_opt.data.folds import draw_rows
    from mmbn_opt.formulations.base import Formulation
    from mmbn_opt.heuristics import naive_bayes
    from mmbn_opt.networks.smoothing import as_smoothing
    from mmbn_opt.solving.settings import SolveSettings
    from mmbn_opt.tuning.parameters import Learning

    SolveSettings(time_limit=time_limit)
    as_smoothing(settings.smoothing)
    small = stand_in()
    learning = Learning.of(small, naive_bayes(small), settings)
    share = settings.validation
    if share is not None and not 0.0 < share < 1.0:  # a small share of few rows is none, and is not what is asked here
        draw_rows(small, share, settings.seed)
    if isinstance(learning.formulation, Formulation):
        try_call(learning.formulation, learning.solver, **learning.call.given())


def _lam(text: str | None, method: str, B: float | None) -> float | str | None:
    """The scale of the margin, "cv" where it is to be chosen, None where the usual one does."""
    if text is None:
        return None
    if text == "cv":
        if method not in ("cg-mm", "relaxation") or B is not None:
            raise InputError("--lam cv chooses the scale of cg-mm and, without --B, of the relaxation.")
        return "cv"
    if B is not None:
        raise InputError("Give --lam or --B, not both.")
    with suppress(ValueError):
        if (value := float(text)) > 0:
            return value
    raise InputError(f'--lam must be a number > 0 or "cv", got {text!r}.')


def _iterations(text: str | None) -> int | str | None:
    if text is None or text == "cv" or not text.strip().isdecimal():
        return text  # what is no number is refused where the settings are checked
    return int(text)


def _chosen(learning: Any, seconds: float | None) -> Any:
    """With what does best on held-out rows, in half of the time; the table goes to stderr."""
    from mmbn_opt._budget import until_interrupted

    if seconds is not None and seconds <= 0:
        remark("no time was left to choose settings on held-out rows: the usual ones stand")
        return learning.as_usual()
    with until_interrupted() as cut:
        chosen = learning.choose(None if seconds is None else seconds / 2)
    if cut:
        remark("interrupted before a candidate was complete: the usual settings stand")
        return learning.as_usual()
    if chosen.table is not None:
        remark(chosen.table.to_string(index=False))
    return chosen


def _edges_of(structure: str, target: str) -> Any:
    """Edges of a BIF file, which is read before the table is; None for a structure that the table decides on."""
    if choices.nearest(structure, _STRUCTURES) is not None:
        return None
    if not Path(structure).suffix:
        raise InputError(f"--structure must be one of {', '.join(_STRUCTURES)} or a BIF file, got {structure!r}.")
    from mmbn_opt.interop.bif import read_bif

    return read_bif(structure, target).structure.edges


def _structure(name: str, edges: Any, dataset: Any, seed: int, smoothing: float) -> Any:
    from mmbn_opt.heuristics.named import make_structure

    given = choices.nearest(name, _STRUCTURES) if edges is None else edges
    return make_structure(given, dataset, seed=seed, smoothing=smoothing)
