"""``mmbn-opt reproduce``: tables of papers, each by one command that can be stopped and goes on."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mmbn_opt.cli import choices
from mmbn_opt.cli import options as opt
from mmbn_opt.cli.parsing import names_between_commas
from mmbn_opt.cli.remarks import remark

__all__ = ["reproduce"]


def _known() -> tuple[str, ...]:
    from mmbn_opt.reproduction import experiment_names

    return experiment_names()


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPERIMENT]...",
            show_default=False,
            autocompletion=choices.completing(_known),
            help="Names that --list tells, or files of your own that end in .toml.",
        ),
    ] = None,
    out: Annotated[
        Path | None, opt.text("--out", "-o", panel=opt.OUTPUT, metavar="FOLDER", help="Folder for the results.")
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", rich_help_panel=opt.PROBLEM, help="Say what there is, and run nothing.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", rich_help_panel=opt.PROBLEM, help="All experiments that --list tells.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", rich_help_panel=opt.PROBLEM, help="Minutes: few sets, few splits, short limits.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", rich_help_panel=opt.PROBLEM, help="As declared; this is the usual level.")
    ] = False,
    data: Annotated[
        Path | None,
        opt.text(
            "--data",
            "-d",
            panel=opt.DATA,
            metavar="FOLDER",
            help="One file a data set, NAME.csv (.gz), .parquet or .arff; sets that come with the package or with "
            "scikit-learn need none.",
        ),
    ] = None,
    sets: Annotated[
        Any,
        typer.Option(
            "--sets",
            metavar="NAMES",
            rich_help_panel=opt.DATA,
            parser=names_between_commas,
            show_default=False,
            help="Only these, between commas.",
        ),
    ] = "",
    methods: Annotated[
        Any,
        typer.Option(
            "--methods",
            metavar="NAMES",
            rich_help_panel=opt.PROBLEM,
            parser=names_between_commas,
            show_default=False,
            help="Only these, between commas.",
        ),
    ] = "",
    splits: Annotated[
        int | None, opt.whole("--splits", panel=opt.DATA, help="Only the first so many splits of each set.")
    ] = None,
    jobs: Annotated[
        int, opt.whole("--jobs", panel=opt.SEARCH, help="Runs at the same time; they disturb each other's times.")
    ] = 1,
    rerun_failed: Annotated[
        bool,
        typer.Option(
            "--rerun-failed",
            rich_help_panel=opt.SEARCH,
            help="Run again what raised, crashed, hung or ran out of memory.",
        ),
    ] = False,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Run the tables of the papers, each run in a process apart, and hold them beside the papers' figures.

    Started again with the same --out it does only what is missing.
    """
    from mmbn_opt._budget import interruptible
    from mmbn_opt.cli.running import open_folder
    from mmbn_opt.exceptions import InputError
    from mmbn_opt.reproduction import experiment_names, load_experiment

    if show_list:
        _say_list()
        return
    named = [*experiment_names()] if everything else list(dict.fromkeys(experiments or ()))
    if everything and experiments:
        raise InputError("--all takes no names; leave it or them out.")
    if not named:
        raise InputError("Name an experiment, or say --all; --list tells what there is.")
    if quick and full:
        raise InputError("--quick and --full exclude each other; give one.")
    if out is None:
        raise InputError("--out is missing: a folder for the results.")
    with interruptible():
        chosen = [
            load_experiment(name).at("quick" if quick else "full").narrowed(sets=sets, methods=methods, n_splits=splits)
            for name in named
        ]
    options: dict[str, Any] = {
        "data": data, "wanted": (*sets, *methods), "n_jobs": jobs, "rerun_failed": rerun_failed,
    }  # fmt: skip
    with open_folder(out):
        answers = [_run(experiment, out, options, alone=len(chosen) == 1) for experiment in chosen]
    raise typer.Exit(int(not any(answers)))


def _run(experiment: Any, out: Path, options: dict[str, Any], *, alone: bool) -> bool:
    """Whether some run answered; an interruption leaves with 130 when what is done is written."""
    from mmbn_opt.cli.running import open_folder, saying_first, writing
    from mmbn_opt.exceptions import InputError
    from mmbn_opt.reproduction import run_experiment, write_results

    remark(f"== {experiment.name}: {experiment.title} ({experiment.source})")
    try:
        found = run_experiment(experiment, folder=out, progress=_say_run, **options)
    except InputError as error:
        if alone or not str(error).startswith(("None of the", "No method of")):
            raise
        typer.echo(f"{experiment.name}: left out. {error}")
        return False
    if not len(found.frame):
        raise KeyboardInterrupt
    with open_folder(out / experiment.name) as folder, saying_first(lambda: _say(found)):
        writing(folder, lambda: write_results(found, folder))
    typer.echo(f"table: {out / experiment.name / 'table.md'}")
    if found.interrupted:
        typer.echo("interrupted: what is done is kept; the same command goes on from here")
        raise typer.Exit(130)
    return len(found.answered) > 0


def _say_run(run: Any, done: int, total: int, left: Any) -> None:
    """One line a run on stderr, as it ends."""
    accuracy = run.numbers.get("accuracy")
    told = run.outcome.name if accuracy is None else f"accuracy {accuracy:.2%}"
    detail = f"  {run.detail}" if run.detail else ""
    ahead = f"; {left}" if done < total else ""
    about = f"{run.dataset} {run.method}, split {run.split}"
    remark(f"[{done}/{total}] {about}: {told} after {run.seconds:.1f} s{detail}{ahead}")


def _say(found: Any) -> None:
    """The table: ours, and the paper's in brackets."""
    from mmbn_opt.reproduction.page import measures_in_words, not_run, tests_in_words

    cells = found.cells()
    sets, methods = list(dict.fromkeys(s for s, _ in cells)), list(dict.fromkeys(m for _, m in cells))
    rows = [
        ["set", *methods],
        *([name, *(_cell(cells.get((name, m)), found.digits(m)) for m in methods)] for name in sets),
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(len(methods) + 1)]
    typer.echo(f"{measures_in_words(found.experiment)}; the paper's in brackets")
    for row in rows:
        typer.echo("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
    for test in found.experiment.tests:
        for line in tests_in_words(found, test):
            typer.echo(line)
    for line in not_run(found):
        typer.echo(f"not run: {line}")


def _cell(cell: Any, digits: int) -> str:
    if cell is None:
        return "-"
    return f"{cell.ours:.{digits}f}" + (f" ({cell.paper.value:.{digits}f})" if cell.paper is not None else "")


def _say_list() -> None:
    from mmbn_opt.reproduction import experiment_names, load_experiment
    from mmbn_opt.reproduction.methods import availability

    absent: dict[str, str] = {}
    names = experiment_names()
    width = max(map(len, names))
    for name in names:
        experiment = load_experiment(name)
        kinds = {method.kind for method in experiment.methods.values()}
        absent |= {kind: reason for kind in sorted(kinds) if (reason := availability(kind)) is not None}
        typer.echo(f"{name:<{width}}  {experiment.title} ({experiment.source})")
        typer.echo(f"{'':<{width}}  {len(experiment.sets)} sets, {len(experiment.methods)} methods")
    for kind, reason in absent.items():
        typer.echo(f"{kind} cannot be run here: {reason}")
