"""``mmbn-opt predict``: classes and probabilities of new rows."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from mmbn_opt.cli import choices
from mmbn_opt.cli import options as opt
from mmbn_opt.cli.remarks import remark
from mmbn_opt.cli.wording import in_options
from mmbn_opt.exceptions import InputError

__all__ = ["predict"]


def predict(
    model: Annotated[
        Path,
        opt.text(
            "--model",
            "-m",
            panel=opt.DATA,
            metavar="FOLDER",
            required=True,
            help="Folder that a command wrote, or its model.json.",
        ),
    ],
    data: Annotated[
        Path,
        opt.text(
            "--data",
            "-d",
            panel=opt.DATA,
            metavar="FILE",
            required=True,
            help="Rows to classify: CSV (.gz), Parquet or ARFF.",
        ),
    ],
    out: Annotated[
        Path,
        opt.text("--out", "-o", panel=opt.OUTPUT, metavar="FILE", required=True, help="CSV file for the predictions."),
    ],
    na: Annotated[
        str | None,
        opt.text(
            "--na",
            panel=opt.DATA,
            metavar="TEXTS",
            help="Cell texts that mean missing, between commas; by default those that the model was learned with.",
        ),
    ] = None,
    drop: opt.Drop = "",
    unseen: Annotated[
        choices.Unseen,
        opt.chosen(
            choices.Unseen,
            "--unseen",
            panel=opt.DATA,
            help="Labels never seen in training: summed out and told (warn), missing (in silence), or error.",
        ),
    ] = choices.Unseen.WARN,
    spreadsheet: opt.Spreadsheet = False,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Classify rows; where the file has the class column too, say how many were right."""
    from mmbn_opt.cli.progress import RowsProgress
    from mmbn_opt.cli.tables import location, na_values, names_in, refuse_absent
    from mmbn_opt.interop.atomic import refuse_unwritable
    from mmbn_opt.interop.models import find_model, load_model
    from mmbn_opt.interop.predicting import predict_file
    from mmbn_opt.networks.hidden_markov import HiddenMarkovClassifier

    refuse_absent(data)
    refuse_unwritable(out)
    path, notice = find_model(model)
    if notice:
        remark(notice)
    loaded = load_model(path)
    if isinstance(loaded, HiddenMarkovClassifier):
        raise InputError(f"{str(path)!r} holds a model of sequences; mmbn-opt sequences --model {path} uses it.")
    with warnings.catch_warnings(record=True) as told, RowsProgress() as progress:
        warnings.simplefilter("always")
        done = predict_file(
            loaded,
            location(data),
            out,
            unseen=unseen.value,
            na_values=None if na is None else na_values(na),
            ignore=names_in(drop),
            spreadsheet=spreadsheet,
            progress=progress,
        )
    for one in told:
        remark(in_options(str(one.message)))
    typer.echo(f"{done.rows} rows classified: {out}")
    if done.accuracy is not None:
        typer.echo(f"accuracy: {done.accuracy:.4f} ({done.right} of {done.labelled} labelled rows)")
        typer.echo(f"probabilities: {done.reliability}")
