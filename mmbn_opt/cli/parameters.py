"""``mmbn-opt parameters``: parameters of a given structure."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from mmbn_opt.cli import options as opt
from mmbn_opt.cli.remarks import remark
from mmbn_opt.exceptions import InputError

__all__ = ["parameters"]

_METHODS = ("ml", "cg-mm", "cg-cl", "relaxation")


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
            "--lam", help='Scale of the margin; 0.05 for cg-mm, 0.1 for relaxation by default; "cv" to choose it.'
        ),
    ] = None,
    kappa: Annotated[float, typer.Option("--kappa", help="Rounding of the hinge for cg-mm.")] = 0.1,
    validation: Annotated[
        float, typer.Option("--validation", help="Share of the rows to watch for early stopping.")
    ] = 0.2,
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
    started = time.perf_counter()
    from mmbn_opt._budget import interruptible
    from mmbn_opt.cli.output import exit_status, say_result, time_left
    from mmbn_opt.cli.progress import Progress
    from mmbn_opt.cli.running import Keeper, found, hand_over, open_folder
    from mmbn_opt.formulations import ConditionalLikelihood, MaxMarginRelaxation, SmoothMargin
    from mmbn_opt.scores.predictive import classification_rate
    from mmbn_opt.solving.dispatch import solve

    if method not in _METHODS:
        raise InputError(f"--method must be one of {', '.join(_METHODS)}, got {method!r}.")
    with open_folder(out) as folder:
        with interruptible():
            preparation = opt.make_preparation(data, target, categorical, numeric, missing, na, no_discretize)
            for line in preparation.describe():
                remark(line)
            dataset = preparation.data
            graph = _structure(structure, dataset, seed, smoothing)
        if method == "ml":
            _maximum_likelihood(graph, dataset, smoothing, folder)
            return
        by_choice, scaled = _scale(lam, method, B)
        if method == "relaxation":
            scale = None if B is not None else 1.0 / _positive("--lam", 0.1 if scaled is None else scaled)
            formulation: Any = MaxMarginRelaxation(
                dataset, graph, gamma=scale, B=B, normalization=cast(Any, normalization), alpha=alpha,
                min_prob=min_prob, smoothing=smoothing,
            )  # fmt: skip
        elif method == "cg-mm":
            formulation = SmoothMargin(
                dataset, graph, lam=0.05 if scaled is None else scaled, kappa=kappa, smoothing=smoothing
            )
        else:
            formulation = ConditionalLikelihood(dataset, graph, smoothing=smoothing)
        watched = None if method == "relaxation" or validation <= 0 else validation
        if by_choice:
            formulation = _chosen(formulation, time_left(time_limit, started), seed)
        to_network = _normalized if method == "relaxation" else _as_it_is
        with Progress(time_limit) as progress, Keeper(folder, lambda states, model: to_network(model)):
            result = solve(
                formulation, solver, time_limit=time_left(time_limit, started),
                rel_gap=rel_gap if method == "relaxation" else 0.0, threads=threads, seed=seed,
                callback=progress, validation=watched,
            )  # fmt: skip
        result = replace(found(result), model=to_network(result.model))

        def say() -> None:
            say_result(result)
            rate = classification_rate(result.model, dataset)
            typer.echo(f"accuracy on all {dataset.n_samples} rows given: {rate:.4f}")

        hand_over(result, folder, say, title=f"{formulation.title} on {data.name}")
    raise typer.Exit(exit_status(result))


def _scale(lam: str | None, method: str, B: float | None) -> tuple[bool, float | None]:
    """Whether lambda is to be chosen, and the one given."""
    if lam is None:
        return False, None
    if lam == "cv":
        if method not in ("cg-mm", "relaxation") or B is not None:
            raise InputError("--lam cv chooses the scale of cg-mm and, without --B, of the relaxation.")
        return True, None
    try:
        return False, float(lam)
    except ValueError:
        raise InputError(f'--lam must be a number or "cv", got {lam!r}.') from None


def _chosen(formulation: Any, seconds: float | None, seed: int) -> Any:
    """The formulation with the lambda that does best on held-out rows; the table goes to stderr."""
    from mmbn_opt.formulations import MaxMarginRelaxation
    from mmbn_opt.tuning.grid import DEFAULT_GRID, tune
    from mmbn_opt.tuning.lambda_path import choose_lambda

    chosen: Any
    try:
        if isinstance(formulation, MaxMarginRelaxation):
            # Eight values on up to five folds share half of the time.
            limit = None if seconds is None else seconds / 80
            chosen, table = choose_lambda(formulation, time_limit=limit, seed=seed)
        else:
            tuning = tune(formulation, {"lam": DEFAULT_GRID["lam"]}, seed=seed)
            chosen, table = tuning.formulation, tuning.table
    except KeyboardInterrupt:
        remark("interrupted before a value of lambda was complete: the usual one stands")
        return formulation
    remark(table.to_string(index=False))
    return chosen


def _as_it_is(model: Any) -> Any:
    return model


def _positive(option: str, value: float) -> float:
    if not value > 0:
        raise InputError(f"{option} must be a number > 0, got {value!r}.")
    return value


def _normalized(model: Any) -> Any:
    """The network of factors; the certificate says how exactly they can be turned into one."""
    return None if model is None else model.normalize().network


def _structure(name: str, dataset: Any, seed: int, smoothing: float) -> Any:
    from mmbn_opt.heuristics.named import STRUCTURES, make_structure
    from mmbn_opt.interop.bif import read_bif
    from mmbn_opt.networks.structure import from_edges

    if name in STRUCTURES:
        return make_structure(name, dataset, seed=seed, smoothing=smoothing)
    if not Path(name).suffix:
        raise InputError(f"--structure must be one of {', '.join(STRUCTURES)} or a BIF file, got {name!r}.")
    return from_edges(dataset, read_bif(name, dataset.class_name).structure.edges)


def _maximum_likelihood(graph: Any, dataset: Any, smoothing: float, folder: Any) -> None:
    """Closed form: nothing to solve, nothing to bound."""
    from mmbn_opt.cli.running import saying_first, writing
    from mmbn_opt.interop.result_files import model_contents
    from mmbn_opt.networks.network import BayesianNetwork
    from mmbn_opt.scores.predictive import classification_rate, conditional_log_likelihood, log_likelihood

    network = BayesianNetwork.fit(graph, dataset, smoothing)

    def say() -> None:
        typer.echo(f"log-likelihood: {log_likelihood(network, dataset):.6f}")
        typer.echo(f"conditional log-likelihood: {conditional_log_likelihood(network, dataset):.6f}")
        typer.echo(f"accuracy on all {dataset.n_samples} rows given: {classification_rate(network, dataset):.4f}")

    with saying_first(say):
        writing(folder, lambda: folder.publish(model_contents(network)))
    typer.echo(f"written: {folder.path / 'model.json'}, {folder.path / 'network.bif'}")
