"""An experiment's table as Markdown: ours, the paper's, the difference, why, and how many runs are behind each cell."""

from collections.abc import Iterator

from mmbn_opt.comparison.machine import package_versions
from mmbn_opt.display.ranks import ranks_svg
from mmbn_opt.interop.csv_text import csv_content
from mmbn_opt.interop.run_folder import RunFolder
from mmbn_opt.reproduction.declaration import Experiment
from mmbn_opt.reproduction.measures import MEASURES
from mmbn_opt.reproduction.method_table import methods_table
from mmbn_opt.reproduction.results import Cell, Results
from mmbn_opt.reproduction.testing import compared, ranks_of, standing, wins

__all__ = [
    "markdown_grid", "markdown_page", "markdown_table", "measures_in_words", "not_run", "ranks_drawing",
    "tests_in_words", "write_results",
]  # fmt: skip

_RANKS = "ranks.svg"
_TESTS = {
    "wins": "Sets on which the row outperforms the column, at 68 % / at 95 %",
    "wilcoxon": "Wilcoxon's signed-rank test over the sets",
    "paired-t": "One-sided paired t-test over the sets",
    "friedman": "Ranks over the sets",
}


def markdown_page(results: Results, *, heading: str = "#", drawing: str | None = None) -> str:
    """The whole of an experiment.

    Parameters
    ----------
    results : Results
    heading : str
        Marks of the highest heading.
    drawing : str or None
        Where `ranks_drawing` lies, for a page that shows it.
    """
    experiment = results.experiment
    done = len(results.answered)
    parts = [
        f"{heading} {experiment.title}",
        f"{experiment.source}. Cells: {measures_in_words(experiment)}; "
        f"{done} runs are behind them. Run with mmbn_opt {package_versions().get('mmbn-opt', 'unknown')}: "
        f"`mmbn-opt reproduce {experiment.name} --out results/`.",
    ]
    methods = methods_table(results)
    summary = [f"{heading}# Methods\n\n{methods}"] if methods else []
    if experiment.paper:
        parts.append(markdown_table(results))
    else:  # nothing to compare with: what a reader looks for is which method is good for what
        parts += [*summary, f"{heading}# Cells\n\n{markdown_grid(results)}"]
    for test in experiment.tests:
        lines = list(tests_in_words(results, test))
        if lines:
            parts.append(f"{heading}# {_TESTS[test]}\n\n" + "\n".join(lines))
        if lines and test == "friedman" and drawing is not None:
            parts.append(f"![mean ranks; methods that are not told apart are joined by bars]({drawing})")
    if experiment.paper:
        parts += summary
    missing = [f"- {line}" for line in not_run(results)]
    if missing:
        parts.append(f"{heading}# Not run\n\n" + "\n".join(missing))
    return "\n\n".join(parts) + "\n"


def measures_in_words(experiment: Experiment) -> str:
    """What the cells are."""
    if experiment.columns:
        told = [f"{label}: {MEASURES[column.measure].words}" for label, column in experiment.columns.items()]
    else:
        told = [MEASURES[experiment.measure].words]
    if experiment.relative_to is not None:
        told.append(f"in per cent of {experiment.relative_to}")
    if experiment.removed:
        told.append(f"without a share of the cells, the mean of {experiment.patterns} draws")
    return ", ".join(told)


def write_results(results: Results, folder: RunFolder) -> None:
    """Write ``results.csv``, a row a run, ``table.md`` and, where ranks are tested, ``ranks.svg``: all or none.

    Raises
    ------
    InputError
        If they cannot be written.
    """
    ranks = ranks_drawing(results)
    page = markdown_page(results, drawing=None if ranks is None else _RANKS)
    files = {"results.csv": csv_content(results.frame), "table.md": page.encode()}
    folder.publish(files if ranks is None else files | {_RANKS: ranks.encode()})


def ranks_drawing(results: Results) -> str | None:
    """Mean ranks as SVG, where the experiment asks for Friedman's test and has runs for it."""
    found = ranks_of(results) if "friedman" in results.experiment.tests else None
    if found is None:
        return None
    ranks = {str(name): float(rank) for name, rank in found.ranks.items()}
    return ranks_svg(ranks, found.critical_difference, found.groups)


def markdown_table(results: Results) -> str:
    """The cells that have runs, a line each."""
    lines = ["| set | method | ours | paper | difference | runs | why |", "|---|---|---:|---:|---:|---:|---|"]
    for (dataset, method), cell in results.cells().items():
        digits = results.digits(method)
        lines.append(
            f"| {dataset} | {method} | {_with_half(cell.ours, cell.half, digits)} | {_of_paper(cell, digits)} | "
            f"{_difference(cell, digits)} | {_runs(cell)} | {cell.why} |"
        )
    return "\n".join(lines)


def markdown_grid(results: Results) -> str:
    """The cells that have runs, a line a row, with how many runs each has; for tables without a paper's figures."""
    cells = results.cells()
    rows, seen = list(dict.fromkeys(row for row, _ in cells)), {column for _, column in cells}
    columns = [column for column in results.experiment.shown if column in seen]
    lines = [f"| set | {' | '.join(columns)} | runs a cell |", f"|---|{'---:|' * len(columns)}---:|"]
    for row in rows:
        own = {column: cells[row, column] for column in columns if (row, column) in cells}
        whole = max(cell.planned for cell in own.values())
        told = [_of_grid(own.get(column), whole, results.digits(column)) for column in columns]
        lines.append(f"| {row} | {' | '.join(told)} | {whole} |")
    reason = results.experiment.why.get("*")
    return "\n".join(lines) + ("" if reason is None else f"\n\nBeside the paper: {reason}.")


def _of_grid(cell: Cell | None, whole: int, digits: int) -> str:
    if cell is None:
        return "-"
    return _with_half(cell.ours, cell.half, digits) + (
        "" if cell.runs == whole else f" ({cell.runs} of {cell.planned})"
    )


def tests_in_words(results: Results, test: str) -> Iterator[str]:
    """What a test says, in lines of Markdown; nothing where there are too few runs for it."""
    if test == "wins":
        table = wins(results)
        if len(table) > 1:
            yield f"| | {' | '.join(table.columns)} |"
            yield f"|---|{'---|' * len(table.columns)}"
            for name, row in table.iterrows():
                yield f"| {name} | {' | '.join(row)} |"
    elif test == "friedman":
        found = ranks_of(results)
        if found is not None:
            yield from (f"- {line}" for line in standing(found))
            few = [str(name) for name in results.values() if name not in found.ranks.index]
            if few:
                yield f"- not ranked, since they have runs on few sets: {', '.join(few)}"
    else:
        yield from (f"- {line}" for line in compared(results, test))


def not_run(results: Results) -> list[str]:
    """What has no cell, or one with fewer runs than are declared, and why."""
    told = [f"{name}: {reason}" for name, reason in results.left_out.items()]
    told += results.failures()
    return told + list(_gaps(results, results.experiment))


def _gaps(results: Results, experiment: Experiment) -> Iterator[str]:
    cells = set(zip(results.answered["dataset"], results.answered["method"], strict=True))
    here = [s for s in experiment.sets if s not in results.left_out]
    methods = [m for m in experiment.methods if m not in results.left_out]
    without = [s for s in here if not any((s, m) in cells for m in methods)]
    if without:
        yield f"no run yet: {', '.join(without)}"
    for method in methods:
        lacking = [s for s in here if s not in without and (s, method) not in cells]
        if lacking:
            yield f"no run of {method} yet: {', '.join(lacking)}"


def _with_half(value: float, half: float, digits: int) -> str:
    return f"{value:.{digits}f}" + (f" ± {half:.{digits}f}" if half == half else "")


def _of_paper(cell: Cell, digits: int) -> str:
    if cell.paper is None:
        return "-"
    return _with_half(cell.paper.value, float("nan") if cell.paper.half is None else cell.paper.half, digits)


def _difference(cell: Cell, digits: int) -> str:
    # Adding 0.0 takes the sign of a zero.
    return "-" if cell.paper is None else f"{round(cell.difference, digits) + 0.0:+.{digits}f}"


def _runs(cell: Cell) -> str:
    return str(cell.runs) if cell.runs >= cell.planned else f"{cell.runs} of {cell.planned}"
