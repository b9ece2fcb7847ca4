"""``mmbn-opt query``: what a network says of some nodes when others are known."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmbn_opt.cli import options as opt
from mmbn_opt.exceptions import InputError

if TYPE_CHECKING:
    from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["query"]


def query(
    model: Annotated[
        Path,
        opt.text(
            "--model",
            "-m",
            panel=opt.DATA,
            metavar="FILE",
            required=True,
            help="Folder that a command wrote, its model.json, or a network as .bif or .xmlbif (.gz).",
        ),
    ],
    target: Annotated[
        list[str] | None,
        opt.text(
            "--target",
            "-t",
            panel=opt.PROBLEM,
            metavar="NODE",
            help="Node that is asked for; again for a joint one.",
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        opt.text("--given", "-g", panel=opt.PROBLEM, metavar="NODE=STATE", help="What is known; can be given again."),
    ] = None,
    most_probable: Annotated[
        bool,
        typer.Option(
            "--most-probable",
            rich_help_panel=opt.PROBLEM,
            help="The states that are most probable together, of the targets or of all that is not known.",
        ),
    ] = False,
    samples: Annotated[
        int | None,
        opt.whole("--samples", panel=opt.PROBLEM, help="Estimate from N weighted samples, with standard errors."),
    ] = None,
    seed: opt.Seed = 0,
    data: Annotated[
        Path | None,
        opt.text("--data", "-d", panel=opt.DATA, metavar="FILE", help="Cases, one a row: CSV (.gz), Parquet or ARFF."),
    ] = None,
    na: opt.NaValues = "NA,NaN,?",
    drop: opt.Drop = "",
    out: Annotated[
        Path | None, opt.text("--out", "-o", panel=opt.OUTPUT, metavar="FILE", help="CSV file for the answers to rows.")
    ] = None,
    spreadsheet: opt.Spreadsheet = False,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Ask a network how likely the states of a node are, given what is known."""
    from mmbn_opt.cli.tables import na_values, names_in, read, refuse_absent
    from mmbn_opt.interop.atomic import refuse_unwritable, write_bytes_atomic
    from mmbn_opt.interop.csv_text import csv_content

    if (data is None) != (out is None):
        raise InputError("--data and --out belong together: cases in a file are answered in a file.")
    if data is not None and (given or samples is not None):
        raise InputError("--given and --samples are for one case; --data has the cases itself.")
    if not target and data is not None and not most_probable:
        raise InputError("--data needs --target, or --most-probable for all nodes.")
    if samples is not None and (most_probable or not target):
        raise InputError("--samples needs --target, and leaves no room for --most-probable.")
    if data is not None and out is not None:
        refuse_absent(data)
        refuse_unwritable(out)
    network = _network(model)
    if data is not None and out is not None:
        cases = read(data, na_values(na), names_in(drop))
        answer = network.map_query(target, cases) if most_probable else network.query(target or [], cases)
        if not most_probable:
            answer.columns = [_heading(answer.columns.names, states) for states in answer.columns]
        write_bytes_atomic(out, csv_content(answer.reset_index(drop=True), spreadsheet=spreadsheet))
        typer.echo(f"{len(answer)} cases answered: {out}")
        return
    evidence = dict(_finding(network, text) for text in given or ())
    if most_probable:
        for name, state in network.map_query(target, evidence).items():
            typer.echo(f"{name} = {state}")
    elif samples is not None:
        estimate = network.estimate(target or [], evidence, n_samples=samples, random_state=seed)
        typer.echo(estimate.to_string(float_format="{:.6f}".format))
        typer.echo(f"{estimate.attrs['effective_samples']:.0f} of {samples} samples count")
    elif target:
        typer.echo(network.query(target, evidence).to_frame().to_string(float_format="{:.6f}".format))
    else:
        for name, posterior in network.marginals(evidence).items():
            told = ", ".join(f"{state} {p:.6f}" for state, p in posterior.items())
            typer.echo(f"{name}: {told}")


def _network(model: Path) -> "BayesianNetwork":
    from mmbn_opt.cli.remarks import remark
    from mmbn_opt.interop.bif import read_bif
    from mmbn_opt.interop.models import find_model, load_model
    from mmbn_opt.interop.xmlbif import read_xmlbif
    from mmbn_opt.networks.hidden_markov import HiddenMarkovClassifier
    from mmbn_opt.networks.network import BayesianNetwork
    from mmbn_opt.scores.calibrated import CalibratedModel

    endings = {part.lower() for part in model.suffixes}
    if not model.is_dir() and ".bif" in endings:
        return read_bif(model)
    if not model.is_dir() and endings & {".xml", ".xmlbif", ".bifxml"}:
        return read_xmlbif(model)
    path, notice = find_model(model)
    if notice:
        remark(notice)
    fitted = load_model(path)
    if isinstance(fitted, CalibratedModel):  # a calibration is of the class alone; a network answers for all nodes
        fitted = fitted.model
    if isinstance(fitted, HiddenMarkovClassifier):
        raise InputError(f"{str(model)!r} holds a model of sequences, which mmbn-opt sequences --model uses.")
    if not isinstance(fitted, BayesianNetwork):
        raise InputError(f"{str(model)!r} holds Gaussian mixtures, which only mmbn-opt predict can use.")
    return fitted


def _finding(network: "BayesianNetwork", text: str) -> tuple[str, Any]:
    name, sign, state = text.partition("=")
    if not (name.strip() and sign and state.strip()):
        raise InputError(f"--given must be NODE=STATE, got {text!r}.")
    name, value = name.strip(), state.strip()
    variable = next((v for v in network.variables if v.name == name), None)
    if variable is not None and variable.cuts is not None and value not in variable.states:
        try:
            return name, float(value)
        except ValueError:
            pass
    return name, value


def _heading(names: list[str], states: Any) -> str:
    values = states if len(names) > 1 else (states,)
    return f"P({', '.join(f'{name}={value}' for name, value in zip(names, values, strict=True))})"
