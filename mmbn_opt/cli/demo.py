"""``mmbn-opt demo``: the main job on a data set that the package ships."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from mmbn_opt.cli import choices
from mmbn_opt.cli import options as opt

__all__ = ["demo"]


def _shipped() -> list[str]:
    from mmbn_opt.data.datasets import dataset_names

    return list(dataset_names())


def demo(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", rich_help_panel=opt.OUTPUT, help="Folder for the results."),
    ] = Path("demo-output"),
    dataset: Annotated[
        str,
        typer.Option(
            "--dataset",
            metavar="NAME",
            rich_help_panel=opt.DATA,
            autocompletion=choices.completing(_shipped),
            help="A shipped data set: iris, car, vote, corral or mofn-3-7-10.",
        ),
    ] = "car",
    max_parents: opt.MaxParents = 2,
    p: opt.P = 0.9,
    time_limit: Annotated[
        float, opt.num("--time-limit", "-l", panel=opt.SEARCH, metavar="SECONDS", help="Seconds for the search.")
    ] = 90.0,
    seed: Annotated[int, opt.whole("--seed", panel=opt.SEARCH, help="Of the split and the search.")] = 0,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Show the main job: the network with the largest soft margin, held against naive Bayes and TAN."""
    import mmbn_opt as mm
    from mmbn_opt._budget import interruptible
    from mmbn_opt.cli.output import exit_status, say_result
    from mmbn_opt.cli.problems import try_call
    from mmbn_opt.cli.progress import Progress
    from mmbn_opt.cli.running import Keeper, found, hand_over, open_folder
    from mmbn_opt.cli.tables import stand_in
    from mmbn_opt.comparison.holdout import compare_accuracy
    from mmbn_opt.scores.confusion import confusion_on

    tried = mm.SoftMarginStructure(stand_in(), max_parents=max_parents, gamma=mm.log_odds(p))
    try_call(tried, "auto", time_limit=time_limit, seed=seed)
    loaded = mm.load_dataset(dataset, return_info=True)
    with open_folder(out) as folder:
        with interruptible():
            train, test, info = _split(*loaded, seed)
        formulation = mm.SoftMarginStructure(train, max_parents=max_parents, gamma=mm.log_odds(p))
        with Progress(time_limit) as progress, Keeper(folder, seconds=time_limit):
            result = found(
                mm.solve(
                    formulation, time_limit=time_limit, seed=seed, verbose=opt.solver_log(verbose), callback=progress
                )
            )
        models = {
            "naive Bayes": mm.BayesianNetwork.fit(mm.naive_bayes(train), train),
            "TAN": mm.BayesianNetwork.fit(mm.tan_cmi(train), train),
            "soft-margin optimum" if result.bounds.gap_rel < 1e-8 else "soft margin, best found": result.model,
        }
        comparison = compare_accuracy(models, train, test, mm.log_odds(p))

        def say() -> None:
            say_result(result)
            typer.echo(f"held-out accuracy on {test.n_samples} rows (soft margin on the training rows):")
            for row in comparison:
                typer.echo(f"  {row.name:<24} {row.accuracy:.4f} +- {row.standard_error:.4f}   {row.soft_margin:12.4f}")
            typer.echo(f"proved gap: {result.bounds.gap_rel:.4%}")

        hand_over(
            result, folder, say, title=f"{formulation.title} of {info.name}", comparison=list(map(asdict, comparison)),
            held_out=None if result.model is None else confusion_on(result.model, test),
        )  # fmt: skip
    raise typer.Exit(exit_status(result))


def _split(frame: Any, info: Any, seed: int) -> tuple[Any, Any, Any]:
    """Training rows, rows held out, and what the data set is."""
    import pandas as pd

    import mmbn_opt as mm
    from mmbn_opt.data.folds import holdout_rows

    if frame.isna().any(axis=None):
        frame = frame.dropna().reset_index(drop=True)
    labels = pd.factorize(frame[info.target], sort=True)[0]
    train_rows, test_rows = holdout_rows(labels, seed=seed)
    preparation = mm.prepare(frame.iloc[train_rows], info.target, kinds=info.kinds)
    train, test = preparation.data, preparation.apply(frame.iloc[test_rows])
    typer.echo(f"data: {info.name}, {len(frame)} complete rows ({info.source}; {info.licence})")
    typer.echo(f"split: {train.n_samples} training rows, {test.n_samples} held out, seed {seed}")
    return train, test, info
