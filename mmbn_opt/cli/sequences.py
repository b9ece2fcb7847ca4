"""``mmbn-opt sequences``: labels for the positions of sequences, learned from a long table or given by a model."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mmbn_opt.cli import choices
from mmbn_opt.cli import options as opt
from mmbn_opt.cli.clock import Clock
from mmbn_opt.cli.remarks import remark, tell_unused
from mmbn_opt.cli.wording import in_options
from mmbn_opt.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sequences"]

_OF_METHODS = {
    "gamma": (choices.SequenceMethod.MAX_MARGIN, choices.SequenceMethod.CG_MM),
    "B": (choices.SequenceMethod.MAX_MARGIN,),
    "normalization": (choices.SequenceMethod.MAX_MARGIN,),
    "alpha": (choices.SequenceMethod.MAX_MARGIN,),
    "min_prob": (choices.SequenceMethod.MAX_MARGIN,),
    "C": (choices.SequenceMethod.MARKOV_NETWORK,),
    "l2": (choices.SequenceMethod.CONDITIONAL_LIKELIHOOD,),
    "iterations": (choices.SequenceMethod.CG_MM, choices.SequenceMethod.CONDITIONAL_LIKELIHOOD),
}
"""The methods that an option plays a part in, where not all do."""


def sequences(
    ctx: typer.Context,
    data: Annotated[
        Path,
        opt.text(
            "--data", "-d", panel=opt.DATA, metavar="FILE", required=True,
            help="Long table, a row a position: CSV (.gz), Parquet or ARFF; - reads stdin.",
        ),
    ],
    group: Annotated[
        str,
        opt.text(
            "--group", "-g", panel=opt.DATA, metavar="COLUMN", required=True,
            help="Column that tells the sequences apart.",
        ),
    ],
    out: Annotated[
        Path,
        opt.text(
            "--out", "-o", panel=opt.OUTPUT, metavar="FOLDER|FILE", required=True,
            help="Folder for the results; with --model, CSV file for the labels.",
        ),
    ],
    target: Annotated[
        str | None, opt.text("--target", "-t", panel=opt.DATA, metavar="COLUMN", help="Column of the labels.")
    ] = None,
    order: Annotated[
        str | None,
        opt.text(
            "--order", panel=opt.DATA, metavar="COLUMN",
            help="Column that sorts the rows of a sequence; without it they stay as they stand.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        opt.text(
            "--model", "-m", panel=opt.DATA, metavar="FOLDER",
            help="Learn nothing: label by this model, a folder that this command wrote or its model.json.",
        ),
    ] = None,
    method: Annotated[
        choices.SequenceMethod,
        opt.chosen(
            choices.SequenceMethod, "--method", "-M", panel=opt.PROBLEM,
            help="max-margin, markov-network (M3N), conditional-likelihood (CRF), cg-mm, or ml: counting.",
        ),
    ] = choices.SequenceMethod.MAX_MARGIN,
    window: Annotated[
        str,
        opt.text(
            "--window", panel=opt.PROBLEM, metavar="BEFORE,AFTER",
            help="Observations of so many positions before and after count at each position too.",
        ),
    ] = "0,0",
    gamma: Annotated[
        float | None,
        opt.num("--gamma", panel=opt.PROBLEM, help="Margin in nats asked for a wrong label; 5 without --B."),
    ] = None,
    B: Annotated[
        float | None, opt.num("--B", panel=opt.PROBLEM, help="Weight of the losses in the paper's form.")
    ] = None,
    normalization: Annotated[
        choices.Normalization,
        opt.chosen(
            choices.Normalization, "--normalization", panel=opt.PROBLEM, help="hybrid, floor or published."
        ),
    ] = choices.Normalization.HYBRID,
    alpha: Annotated[float, opt.num("--alpha", panel=opt.PROBLEM, help="Weight of the likelihood in hybrid.")] = 0.1,
    min_prob: Annotated[
        float | None,
        opt.num("--min-prob", panel=opt.PROBLEM, help="Smallest probability; 0.001 or less by default."),
    ] = None,
    C: Annotated[float, opt.num("--C", panel=opt.PROBLEM, help="Weight of the losses of markov-network.")] = 0.1,
    l2: Annotated[float, opt.num("--l2", panel=opt.PROBLEM, help="Penalty of conditional-likelihood.")] = 1.0,
    iterations: Annotated[
        int, opt.whole("--iterations", panel=opt.PROBLEM, help="Limit of cg-mm and conditional-likelihood.")
    ] = 100,
    smoothing: opt.Smoothing = 1.0,
    rel_gap: opt.RelGap = 1e-2,
    solver: opt.Solver = "auto",
    time_limit: opt.TimeLimit = None,
    threads: opt.Threads = 1,
    seed: opt.Seed = 0,
    na: opt.NaValues = "NA,NaN,?",
    drop: opt.Drop = "",
    test: Annotated[
        Path | None,
        opt.text("--test", panel=opt.DATA, metavar="FILE", help="Other sequences, on which the accuracy is told."),
    ] = None,
    unseen: Annotated[
        choices.Unseen,
        opt.chosen(
            choices.Unseen, "--unseen", panel=opt.DATA,
            help="Symbols never seen in training: missing and told (warn), in silence (missing), or error.",
        ),
    ] = choices.Unseen.WARN,
    spreadsheet: opt.Spreadsheet = False,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:  # fmt: skip
    """Learn to label the positions of sequences, or label them by a model that was learned.

    Ctrl-C ends the search: what was found so far is written.
    """
    clock = Clock(time_limit)
    if model is not None:
        _label(model, data, group, order, out, unseen.value, na, drop, spreadsheet)
        return
    if target is None:
        raise InputError("--target must name the column of the labels; or give --model to label by a model.")
    from mmbn_opt._budget import interruptible
    from mmbn_opt.cli.output import exit_status
    from mmbn_opt.cli.problems import try_call
    from mmbn_opt.cli.progress import Progress
    from mmbn_opt.cli.running import Keeper, found, hand_over, open_folder
    from mmbn_opt.cli.tables import na_values, names_in, read, refuse_absent
    from mmbn_opt.data.sequences import SequenceDataset
    from mmbn_opt.interop.writable import refuse_unwritable
    from mmbn_opt.networks.hidden_markov import HiddenMarkovClassifier
    from mmbn_opt.solving.dispatch import solve
    from mmbn_opt.solving.settings import SolveSettings
    from mmbn_opt.tuning.sequence_counts import SequenceMaximumLikelihood
    from mmbn_opt.tuning.sequences import SequenceSettings

    settings = SequenceSettings(
        cast(Any, method.value), gamma, B, cast(Any, normalization.value), alpha, min_prob, C, l2, smoothing,
        iterations, solver,
    )  # fmt: skip
    call: dict[str, Any] = {
        "rel_gap": rel_gap, "threads": threads, "seed": seed, "verbose": opt.solver_log(verbose),
        "options": settings.options,
    }  # fmt: skip
    tell_unused(ctx, method, _OF_METHODS)
    with interruptible():
        width = _window(window)
        SolveSettings(time_limit=time_limit)
        small = SequenceDataset.from_lists(["aab", "abb"], ["XXY", "XYY"], window=width)
        try_call(replace(settings, min_prob=None).formulation(small), settings.engine(rel_gap), **call)
        refuse_absent(data)
        if test is not None:
            refuse_absent(test)
    with open_folder(out) as folder:
        with interruptible():
            frame = read(data, na_values(na), names_in(drop))
            learned = SequenceDataset.from_frame(frame, target, group=group, order=order, window=width)
            refuse_unwritable((*learned.features, learned.target))
            counted = SequenceMaximumLikelihood(learned, smoothing)
            problem = counted if method is choices.SequenceMethod.ML else settings.formulation(learned)
            remark(repr(learned))
            others = None if test is None else _held_out(test, frame, na, target, group, order)
        search = clock.for_search()
        with Progress(time_limit) as progress, Keeper(folder, seconds=search):
            if isinstance(problem, SequenceMaximumLikelihood):
                result = problem.learn()
            else:
                engine = settings.engine(rel_gap)
                result = solve(problem, engine, time_limit=search, callback=progress, **call)
        result = found(result)
        rival = None if problem is counted else HiddenMarkovClassifier.fit(learned, smoothing)

        def say() -> None:
            _say(result, learned, others, rival, unseen.value)

        hand_over(result, folder, say, title=f"{problem.title} on {data.name}")
    raise typer.Exit(exit_status(result))


def _window(text: str) -> tuple[int, int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise InputError(f"--window must be BEFORE,AFTER, two whole numbers >= 0, got {text!r}.")
    return int(parts[0]), int(parts[1])


def _held_out(
    path: Path, frame: "pd.DataFrame", na: str, target: str, group: str, order: str | None
) -> tuple[Any, list[list[Any]]]:
    """Sequences of another file with the same columns, and their labels."""
    from mmbn_opt.cli.tables import na_values, read
    from mmbn_opt.data.sequences import SequenceDataset

    other = read(path, na_values(na))
    absent = [str(name) for name in frame.columns if name not in other.columns]
    if absent:
        raise InputError(f"{path}: the columns {absent[:8]} are absent; --test needs all of them, the labels too.")
    data = SequenceDataset.from_frame(other[list(frame.columns)], target, group=group, order=order)
    return data, data.decode(data.label_codes)


def _accuracy(model: Any, X: Any, y: list[list[Any]], unseen: str) -> float:
    """Share of positions labelled rightly; labels are compared by their text, as in files."""
    labels = model.predict(X, unseen=unseen)
    pairs = [
        (str(a), str(b)) for given, found in zip(y, labels, strict=True) for a, b in zip(given, found, strict=True)
    ]
    return sum(a == b for a, b in pairs) / len(pairs)


def _say(result: Any, learned: Any, others: Any, counts: Any, unseen: str) -> None:
    """The answer on stdout."""
    bounds = result.bounds
    typer.echo(f"status: {result.termination_status} - {result.termination_status.sentence}")
    proved = "(no bound is claimed)"
    if bounds.dual_bound is not None:
        proved = f"bound: {bounds.dual_bound:.6f}  gap: {bounds.gap_rel:.4%}"
    typer.echo(f"objective: {bounds.primal_bound:.6f}  {proved}")
    typer.echo(f"solver: {result.solver_name} {result.solver_version}  seconds: {result.seconds.total:.2f}")
    own = learned.decode(learned.label_codes)
    typer.echo(
        f"training: {_accuracy(result.model, learned, own, unseen):.4f} of {learned.n_positions} positions right"
    )
    if others is not None:
        data, labels = others
        with _remarking():
            rate = _accuracy(result.model, data, labels, unseen)
        usual = "" if counts is None else f" (tables by counts: {_accuracy(counts, data, labels, 'missing'):.4f})"
        typer.echo(f"held out: {rate:.4f} of {data.n_positions} positions right{usual}")
    typer.echo("certificate:")
    for check in result.certificate.checks:
        typer.echo(f"  {check}")


class _remarking:
    """Warnings in this block become remarks."""

    def __enter__(self) -> None:
        self._catch = warnings.catch_warnings(record=True)
        self._told = self._catch.__enter__()
        warnings.simplefilter("always")

    def __exit__(self, *error: Any) -> None:
        self._catch.__exit__(*error)
        for one in self._told or ():
            remark(in_options(str(one.message)))


def _label(
    model: Path,
    data: Path,
    group: str,
    order: str | None,
    out: Path,
    unseen: str,
    na: str,
    drop: str,
    spreadsheet: bool,
) -> None:
    """Label sequences by a model and write them with their probabilities."""
    import pandas as pd

    from mmbn_opt.cli.tables import na_values, names_in, read, refuse_absent
    from mmbn_opt.data.sequences import grouped_frame
    from mmbn_opt.interop.atomic import refuse_unwritable, write_bytes_atomic
    from mmbn_opt.interop.csv_text import csv_content
    from mmbn_opt.interop.models import find_model, load_model
    from mmbn_opt.networks.hidden_markov import HiddenMarkovClassifier

    refuse_absent(data)
    refuse_unwritable(out)
    path, notice = find_model(model)
    if notice:
        remark(notice)
    fitted = load_model(path)
    if not isinstance(fitted, HiddenMarkovClassifier):
        raise InputError(f"{str(model)!r} holds no model of sequences; mmbn-opt predict uses the others.")
    frame, starts = grouped_frame(read(data, na_values(na), names_in(drop)), group, order)
    parts = [frame.iloc[a:b] for a, b in zip(starts[:-1], starts[1:], strict=True)]  # noqa: RUF007
    with _remarking():
        labels = fitted.predict(parts, unseen=cast(Any, unseen))
        posteriors = fitted.predict_proba(parts, unseen="missing")
    name = fitted.target.name
    table = pd.DataFrame({group: frame[group]})
    if order is not None:
        table[order] = frame[order]
    found = [label for part in labels for label in part]
    table[f"predicted {name}" if name in frame.columns else name] = found
    for k, label in enumerate(fitted.classes):
        table[f"P({name}={label})"] = [p for part in posteriors for p in part[:, k]]
    write_bytes_atomic(out, csv_content(table, spreadsheet=spreadsheet))
    typer.echo(f"{len(parts)} sequences, {len(table)} positions labelled: {out}")
    if name in frame.columns and frame[name].notna().any():
        pairs = [(str(a), str(b)) for a, b in zip(frame[name], found, strict=True) if not pd.isna(a)]
        right = sum(a == b for a, b in pairs)
        typer.echo(f"accuracy: {right / len(pairs):.4f} ({right} of {len(pairs)} labelled positions)")
