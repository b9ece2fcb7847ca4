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
    import numpy as np
    import pandas as pd

    from mmbn_opt.cli.accuracy import rate_of, reliability_of
    from mmbn_opt.cli.tables import na_values, names_in, read, refuse_absent
    from mmbn_opt.data.readers import NA_VALUES
    from mmbn_opt.interop.atomic import refuse_unwritable, write_bytes_atomic
    from mmbn_opt.interop.csv_text import csv_content
    from mmbn_opt.interop.models import find_model, load_model
    from mmbn_opt.mixtures.classifier import MixtureClassifier
    from mmbn_opt.networks.hidden_markov import HiddenMarkovClassifier
    from mmbn_opt.scores.calibrated import CalibratedModel

    refuse_absent(data)
    refuse_unwritable(out)
    path, notice = find_model(model)
    if notice:
        remark(notice)
    loaded = load_model(path)
    if isinstance(loaded, HiddenMarkovClassifier):
        raise InputError(f"{str(path)!r} holds a model of sequences; mmbn-opt sequences --model {path} uses it.")
    fitted = loaded.model if isinstance(loaded, CalibratedModel) else loaded
    known = fitted.na_values or NA_VALUES
    frame = read(data, known if na is None else na_values(na), names_in(drop))
    if isinstance(fitted, MixtureClassifier):
        name, classes, states = fitted.class_name, fitted.classes, fitted.classes.tolist()
        probabilities = loaded.predict_proba(frame)
    else:
        name, classes, states = fitted.target.name, fitted.classes, list(fitted.target.states)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            calibrated = loaded if isinstance(loaded, CalibratedModel) else fitted
            probabilities = calibrated.predict_proba(frame, unseen=unseen.value)
        for one in told:
            remark(in_options(str(one.message)))
    table = pd.DataFrame({name: classes[np.argmax(probabilities, axis=1)]})
    for k, label in enumerate(states):
        table[f"P({name}={label})"] = probabilities[:, k]
    write_bytes_atomic(out, csv_content(table, spreadsheet=spreadsheet))
    typer.echo(f"{len(table)} rows classified: {out}")
    rate = rate_of(fitted, frame, probabilities)
    if rate is not None:
        typer.echo(f"accuracy: {rate.accuracy:.4f} ({rate.right} of {rate.rows} labelled rows)")
        typer.echo(f"probabilities: {reliability_of(fitted, frame, probabilities)}")
