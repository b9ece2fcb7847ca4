"""``mmbn-opt predict``: classes and probabilities of new rows."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from mmbn_opt.cli import options as opt
from mmbn_opt.cli.remarks import remark
from mmbn_opt.exceptions import InputError

__all__ = ["predict"]


def predict(
    model: Annotated[
        Path, typer.Option("--model", help="Folder that a command wrote, or its model.json.", show_default=False)
    ],
    data: Annotated[
        Path, typer.Option("--data", help="Rows to classify: CSV (.gz), Parquet or ARFF.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", help="CSV file for the predictions.", show_default=False)],
    na: Annotated[
        str | None,
        typer.Option(
            "--na", help="Cell texts that mean missing, separated by commas; those that the model was learned with."
        ),
    ] = None,
    drop: opt.Drop = "",
    unseen: Annotated[
        str, typer.Option("--unseen", help="Labels never seen in training: summed out and told (warn), missing, error.")
    ] = "warn",
    spreadsheet: opt.Spreadsheet = False,
) -> None:
    """Classify rows; where the file has the class column too, say how many were right."""
    import numpy as np
    import pandas as pd

    from mmbn_opt.data.columns import left_out
    from mmbn_opt.data.readers import NA_VALUES, read_table
    from mmbn_opt.data.unseen import UNSEEN
    from mmbn_opt.interop.atomic import write_bytes_atomic
    from mmbn_opt.interop.csv_text import csv_content
    from mmbn_opt.interop.models import find_model, load_model
    from mmbn_opt.mixtures.classifier import MixtureClassifier

    if unseen not in UNSEEN:
        raise InputError(f"--unseen must be {', '.join(UNSEEN)}, got {unseen!r}.")
    path, notice = find_model(model)
    if notice:
        typer.echo(notice, err=True)
    fitted = load_model(path)
    missing = fitted.na_values if na is None else opt.na_values(na)
    frame = left_out(read_table(data, na_values=NA_VALUES if missing is None else missing), opt.names_in(drop))
    if isinstance(fitted, MixtureClassifier):
        name, classes, states = fitted.class_name, fitted.classes, fitted.classes.tolist()
        probabilities = fitted.predict_proba(frame)
    else:
        name, classes, states = fitted.target.name, fitted.classes, list(fitted.target.states)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            probabilities = fitted.predict_proba(frame, unseen=unseen)  # type: ignore[arg-type]
        for one in told:
            remark(str(one.message).replace('unseen="', "--unseen ").replace('"', ""))
    codes = np.argmax(probabilities, axis=1)
    table = pd.DataFrame({name: classes[codes]})
    for k, label in enumerate(states):
        table[f"P({name}={label})"] = probabilities[:, k]
    write_bytes_atomic(out, csv_content(table, spreadsheet=spreadsheet))
    typer.echo(f"{len(table)} rows classified: {out}")
    if name in frame.columns and len(frame):
        if isinstance(fitted, MixtureClassifier):
            truth = frame[name].map({label: k for k, label in enumerate(states)}).fillna(-1).to_numpy(dtype=np.intp)
        else:
            truth = fitted.target.encode(frame[name], unseen="missing")
        known = truth >= 0
        if known.any():
            right = int((truth[known] == codes[known]).sum())
            typer.echo(f"accuracy: {right / known.sum():.4f} ({right} of {int(known.sum())} labelled rows)")
