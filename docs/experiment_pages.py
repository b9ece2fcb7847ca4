"""Pages of the papers' tables, made from the declarations and from the runs that are kept; no cell without its run."""

import re
from collections.abc import Iterable
from pathlib import Path

from mmbn_opt.reproduction import (
    Experiment,
    Results,
    experiment_names,
    load_experiment,
    markdown_page,
    ranks_drawing,
    recorded_results,
)
from mmbn_opt.reproduction.results import AVERAGE

__all__ = ["write_experiment_pages"]


def write_experiment_pages(records: Path, folder: Path) -> None:
    """Write one page an experiment that has runs, and the table of all, into `folder`.

    Pages of experiments that are gone, or without runs, are removed.
    """
    pages = folder / "experiments"
    pages.mkdir(parents=True, exist_ok=True)
    found = {
        name: (load_experiment(name), recorded_results(load_experiment(name), records)) for name in experiment_names()
    }
    for name, (_, results) in found.items():
        if results is not None:
            ranks = ranks_drawing(results)
            if ranks is not None:
                _write(pages / f"{name}.svg", ranks)
            _write(pages / f"{name}.md", markdown_page(results, drawing=None if ranks is None else f"{name}.svg"))
    _write(folder / "experiment-table.md", _table(found.values()))
    for page in (*pages.glob("*.md"), *pages.glob("*.svg")):
        if page.stem not in found or found[page.stem][1] is None:
            page.unlink()


def _write(path: Path, text: str) -> None:
    # An unchanged page keeps its time, so that Sphinx does not read it again.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _hours(results: Results | None) -> str:
    """By the clock, of all runs, those that ended without a model too."""
    return "0" if results is None else f"{results.frame['seconds'].sum() / 3600.0:.2f}"


def _table(experiments: Iterable[tuple[Experiment, Results | None]]) -> str:
    lines = [
        "| experiment | source | cells | complete | not run | runs | hours | within the intervals | beyond |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for experiment, results in experiments:
        cells = {} if results is None else results.cells()
        of_sets = [cell for (row, _), cell in cells.items() if row != AVERAGE]
        compared = [cell for cell in cells.values() if cell.paper is not None]
        within = sum(cell.why == "within the intervals" for cell in compared)
        name = (
            experiment.name if results is None else f"[{experiment.name}](_generated/experiments/{experiment.name}.md)"
        )
        have = (
            set() if results is None else set(zip(results.answered["dataset"], results.answered["method"], strict=True))
        )
        # The name says whose it is.
        source = re.sub(r"^.*?\b\d{4}, (?=\w)", "", experiment.source)
        without = sum((s, m) not in have for s in experiment.sets for m in experiment.methods)
        lines.append(
            f"| {name} | {source} | {len(of_sets)} | {sum(c.runs >= c.planned for c in of_sets)} | "
            f"{without} | {0 if results is None else len(results.answered)} | {_hours(results)} | "
            f"{within} | {len(compared) - within} |"
        )
    return "\n".join(lines) + "\n"
