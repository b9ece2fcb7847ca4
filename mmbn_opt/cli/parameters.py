"""``mmbn-opt parameters``: parameters of a given structure."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from mmbn_opt.cli import options as opt
from mmbn_opt.cli.remarks import remark
from mmbn_opt.exceptions import InputError

__all__ = ["parameters"]


def parameters(
    data: opt.Data,
    target: opt.Target,
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.", show_default=False)],
    structure: Annotated[
        str, typer.Option("--structure", help="nb, tan-cmi, tan-cr, omi, omisp, ro, or a BIF file.")
    ] = "nb",
    method: Annotated[
        str, typer.Option("--method", help="ml, cg-mm (smooth margin), cg-cl or relaxation (convex).")
    ] = "cg-mm",
    lam: Annotated[
        str | None,
        typer.Option(
            "--lam",
            help="Scale of the margin. By default 0.1 for relaxation, and for cg-mm 0.05 or 0.5, on held-out rows; "
            '"cv" to choose it among more.',
        ),
    ] = None,
    kappa: Annotated[float, typer.Option("--kappa", help="Rounding of the hinge for cg-mm.")] = 0.1,
    iterations: Annotated[
        str | None,
        typer.Option(
            "--iterations",
            help="Limit of cg-mm and cg-cl, which regularizes. By default chosen up to 100 on held-out rows; "
            '"cv" up to 200.',
        ),
    ] = None,
    validation: Annotated[
        float | None,
        typer.Option("--validation", help="Share of the rows to watch for early stopping, instead of a choice."),
    ] = None,
    normalization: Annotated[
        str, typer.Option("--normalization", help="Of the relaxation: hybrid, floor or published.")
    ] = "hybrid",
    B: Annotated[
        float | None, typer.Option("--B", help="Weight of the slacks in the papers' form; instead of --lam.")
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Weight of the likelihood in the hybrid relaxation.")] = 0.03,
    min_prob: Annotated[float, typer.Option("--min-prob", help="Smallest probability in the relaxation.")] = 1e-6,
    rel_gap: Annotated[float, typer.Option("--rel-gap", help="Stop the relaxation at this certified gap.")] = 1e-4,
    solver: Annotated[str, typer.Option("--solver", help="Solver name, or auto.")] = "auto",
    time_limit: Annotated[float | None, typer.Option("--time-limit", help="Seconds.")] = None,
    threads: Annotated[int, typer.Option("--threads", help="Threads.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    smoothing: opt.Smoothing = 1.0,
    categorical: opt.Categorical = "",
    numeric: opt.Numeric = "",
    missing: opt.Missing = "error",
    na: opt.NaValues = "NA,NaN,?",
    no_discretize: opt.NoDiscretize = False,
) -> None:
    """Learn the parameters of a structure: maximum likelihood, smooth margin or conditional likelihood."""
    from mmbn_opt._budget import interruptible, now

    started = now()
    from mmbn_opt.cli.output import exit_status, say_result, time_left
    from mmbn_opt.cli.progress import Progress
    from mmbn_opt.cli.running import Keeper, found, hand_over, open_folder
    from mmbn_opt.scores.predictive import classification_rate, conditional_log_likelihood, log_likelihood
    from mmbn_opt.solving.settings import SolveSettings
    from mmbn_opt.tuning.parameters import METHODS, Learning, ParameterSettings, as_network

    if method not in METHODS:
        raise InputError(f"--method must be one of {', '.join(METHODS)}, got {method!r}.")
    settings = ParameterSettings(
        method=cast(Any, method), lam=_lam(lam, method, B), B=B, kappa=kappa, iterations=_iterations(iterations),
        validation=validation or None, normalization=normalization, alpha=alpha, min_prob=min_prob,
        smoothing=smoothing, solver=solver, seed=seed,
        call=SolveSettings(rel_gap=rel_gap, threads=threads, seed=seed),
    )  # fmt: skip
    with open_folder(out) as folder:
        with interruptible():
            preparation = opt.make_preparation(data, target, categorical, numeric, missing, na, no_discretize)
            for line in preparation.describe():
                remark(line)
            dataset = preparation.data
            graph = _structure(structure, dataset, seed, smoothing)
            learning = Learning.of(dataset, graph, settings)
        if learning.by_choice:
            learning = _chosen(learning, time_left(time_limit, started))
        with Progress(time_limit) as progress, Keeper(folder, lambda states, model: as_network(model)):
            result = learning.solve(time_left(time_limit, started), progress)
        result = replace(found(result), model=as_network(result.model))

        def say() -> None:
            say_result(result)
            if method == "ml":
                typer.echo(f"log-likelihood: {log_likelihood(result.model, dataset):.6f}")
                typer.echo(f"conditional log-likelihood: {conditional_log_likelihood(result.model, dataset):.6f}")
            rate = classification_rate(result.model, dataset)
            typer.echo(f"accuracy on all {dataset.n_samples} rows given: {rate:.4f}")

        hand_over(result, folder, say, title=f"{learning.formulation.title} on {data.name}")
    raise typer.Exit(exit_status(result))


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

    with until_interrupted() as cut:
        chosen = learning.choose(None if seconds is None else seconds / 2)
    if cut:
        remark("interrupted before a candidate was complete: the usual settings stand")
        return learning.as_usual()
    if chosen.table is not None:
        remark(chosen.table.to_string(index=False))
    return chosen


def _structure(name: str, dataset: Any, seed: int, smoothing: float) -> Any:
    from mmbn_opt.heuristics.named import STRUCTURES, make_structure
    from mmbn_opt.interop.bif import read_bif
    from mmbn_opt.networks.structure import from_edges

    if name in STRUCTURES:
        return make_structure(name, dataset, seed=seed, smoothing=smoothing)
    if not Path(name).suffix:
        raise InputError(f"--structure must be one of {', '.join(STRUCTURES)} or a BIF file, got {name!r}.")
    return from_edges(dataset, read_bif(name, dataset.class_name).structure.edges)
