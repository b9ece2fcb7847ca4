"""The page of a comparison: one HTML file that opens without network, in light, dark and on paper."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mmbn_opt.display._pictures import gaps_picture, profile_picture
from mmbn_opt.display._templates import package_version, page_style, render
from mmbn_opt.display._text import number, percent, shorten
from mmbn_opt.display._words import glossary
from mmbn_opt.results.trace import BoundTrace

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["render_comparison"]

_FLAGS = {"claim_ok": "claims another objective", "bound_ok": "bound contradicted", "certificate_ok": "check failed"}
_TIMES = ("sec_to_gap_1e-2", "sec_to_gap_1e-3", "sec_to_proof")


@dataclass(frozen=True)
class _Run:
    solver: str
    seed: str
    status: str
    flags: tuple[str, ...]
    detail: str
    primal: str
    dual: str
    gap: str
    times: tuple[str, ...]
    memory: str
    best: bool


def render_comparison(
    frame: "pd.DataFrame",
    *,
    traces: Sequence[tuple[str, str, BoundTrace]],
    summary: "pd.DataFrame",
    profiles: Sequence[Any],
    left_out: Sequence[tuple[str, str, str]],
    title: str,
    command: str | None = None,
) -> str:
    """Write the page.

    Parameters
    ----------
    frame : DataFrame
        One row a run, with the columns of `mmbn_opt.compare`.
    traces : sequence of (formulation, solver, BoundTrace)
    summary : DataFrame
        One row a solver.
    profiles : sequence of PerformanceProfile
        One for each group of problems that were given to the same solvers.
    left_out : sequence of (formulation, solver, reason)
    title : str
    command : str or None

    Returns
    -------
    str
        HTML without scripts, links or anything to be loaded.
    """
    problems = list(dict.fromkeys(frame["formulation"]))
    return render(
        "comparison.html.j2",
        title=title,
        version=package_version(),
        style=page_style(),
        lead=_lead(frame, problems),
        figures=_figures(frame),
        solvers=[_solver(name, row) for name, row in summary.iterrows()],
        profiles=[profile_picture(p.ratios, p.n_problems) for p in profiles],
        problems=[
            {
                "name": problem,
                "curve": gaps_picture([(s, t) for p, s, t in traces if p == problem]),
                "runs": _runs(frame[frame["formulation"] == problem]),
            }
            for problem in problems
        ],
        left_out=list(left_out),
        setting=_setting(frame),
        command=command,
        words=glossary(["bound", "gap", "incumbent", "primal integral", "certificate: checks failed"]),
    )


def _lead(frame: "pd.DataFrame", problems: Sequence[str]) -> str:
    limits = sorted(set(frame["time_limit"].dropna()))
    told = f", at most {', '.join(number(v) for v in limits)} s each" if limits else ""
    solvers = _so_many(len(set(frame["solver"])), "solver")
    return f"{solvers} on {_so_many(len(problems), 'problem')}, {_so_many(len(frame), 'run')}{told}."


def _so_many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _figures(frame: "pd.DataFrame") -> list[tuple[str, str]]:
    wrong = sum(bool(_flags(row)) for _, row in frame.iterrows())
    failed = int(frame["status"].isin(["CRASHED", "HUNG", "OUT_OF_MEMORY", "RAISED"]).sum())
    return [
        ("Solved", f"{int(frame['solved'].sum())} of {len(frame)}"),
        ("Flagged", str(wrong)),
        ("Crashed, hung or out of memory", str(failed)),
    ]


@dataclass(frozen=True)
class _Solver:
    name: str
    solved: str
    seconds: str
    integral: str
    gap: str
    memory: str
    flagged: str
    failed: str


def _solver(name: Any, row: Any) -> _Solver:
    return _Solver(
        name=str(name),
        solved=f"{int(row['solved'])} of {int(row['runs'])}",
        seconds=_seconds(row["sec_to_proof"]),
        integral=_known(row["primal_integral"], 3),
        gap=_gap(row["gap_rel"]),
        memory=_memory(row["peak_memory_mb"]),
        flagged=str(int(row["flagged"])),
        failed=str(int(row["failed"])),
    )


def _runs(part: "pd.DataFrame") -> list[_Run]:
    fastest = part["sec_to_proof"].min()
    return [
        _Run(
            solver=str(row["solver"]),
            seed=str(row["seed"]),
            status=str(row["status"]),
            flags=_flags(row),
            detail=shorten(str(row["detail"]), 110),
            primal=_known(row["primal_bound"], 9),
            dual=_known(row["dual_bound"], 9),
            gap=_gap(row["gap_rel"]),
            times=tuple(_seconds(row[name]) for name in _TIMES),
            memory=_memory(row["peak_memory_mb"]),
            best=bool(row["sec_to_proof"] == fastest),
        )
        for _, row in part.iterrows()
    ]


def _flags(row: Any) -> tuple[str, ...]:
    # A certificate is NA where there was no answer: `is False` would miss numpy's False.
    return tuple(text for name, text in _FLAGS.items() if str(row[name]) == "False")


def _setting(frame: "pd.DataFrame") -> list[tuple[str, str]]:
    solvers = frame.drop_duplicates("solver")
    versions = [f"{s} {v}".strip() for s, v in zip(solvers["solver"], solvers["solver_version"], strict=True)]
    return [
        ("Machine", "; ".join(dict.fromkeys(frame["machine"]))),
        ("Solvers", ", ".join(versions)),
        ("Packages", "; ".join(dict.fromkeys(frame["versions"]))),
    ]


def _known(value: float, digits: int) -> str:
    return number(None if math.isnan(value) else float(value), digits)


def _seconds(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _gap(value: float) -> str:
    return "–" if not math.isfinite(value) else percent(float(value))


def _memory(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.0f} MB"
