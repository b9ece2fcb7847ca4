"""The parts of a constrained-maximum-margin classifier as one result: all checks, the sum of work, the worst status."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pandas as pd

from mmbn_opt.bounds import ObjectiveBounds
from mmbn_opt.formulations.constrained_maximum_margin import ConstrainedMaximumMargin
from mmbn_opt.mixture import MixtureClassifier
from mmbn_opt.mixture_data import plain
from mmbn_opt.multiclass import worst_status
from mmbn_opt.result import Certificate, Check, Result, Seconds
from mmbn_opt.solvers.base import SolverResult
from mmbn_opt.status import Sense, SolutionStatus
from mmbn_opt.trace import TraceRecorder

__all__ = ["CMMPart", "CMMPrograms", "joint_result"]


@dataclass(frozen=True, eq=False)
class CMMPart:
    """One binary program of a classifier.

    Parameters
    ----------
    positive : label
    negative : label or None
        None stands for all other classes.
    result : SolverResult
        In the sense of the program, a minimum of minus the margin.
    margin : float
        Soft margin of the answer, recomputed, in nats.
    violated : DataFrame
        Samples that miss xi: row of the training data, label, log-odds, violation.
    checks : tuple of Check
        Looked at again, rows counted within the part.
    """

    positive: Any
    negative: Any
    result: SolverResult
    margin: float
    violated: pd.DataFrame
    checks: tuple[Check, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether every sample has log-odds of at least xi."""
        return self.violated.empty

    @property
    def name(self) -> str:
        """The two sides in words."""
        rival = "the rest" if self.negative is None else str(plain(self.negative))
        return f"{plain(self.positive)} against {rival}"


@dataclass(frozen=True, eq=False)
class CMMPrograms:
    """The programs that make up one classifier, in the place where a result names its formulation.

    Parameters
    ----------
    parts : tuple of ConstrainedMaximumMargin
    """

    parts: tuple[ConstrainedMaximumMargin, ...]

    title: ClassVar[str] = "Constrained maximum margin, one program a pair of sides"


def joint_result(
    model: MixtureClassifier, parts: Sequence[CMMPart], programs: CMMPrograms, settings: dict[str, Any], total: float
) -> Result:
    """Result of all parts: the objective is the sum of the soft margins, claimed where every sample meets xi.

    No bound is claimed, since the programs are not convex.

    Parameters
    ----------
    model : MixtureClassifier
    parts : sequence of CMMPart
    programs : CMMPrograms
    settings : dict
    total : float
        Seconds of the fit.
    """
    feasible = all(part.feasible for part in parts)
    # Where a sample misses xi the margin is that of no admissible classifier, and bounds nothing.
    margin = sum(part.margin for part in parts) if feasible else None
    recorder = TraceRecorder(Sense.MAXIMIZE)
    seconds, iterations = 0.0, 0
    for number, part in enumerate(parts):
        seconds += part.result.trace.records[-1].time_sec if len(part.result.trace) else 0.0
        iterations += int(part.result.stats.get("iterations", 0))
        # Before the last part has ended there is no classifier, so there is no incumbent.
        last = number == len(parts) - 1
        recorder.record(
            primal=margin if last else None, iterations=iterations, event="final" if last else "part",
            source=f"exterior_penalty, {part.name}", time_sec=seconds,
        )  # fmt: skip
    named = len(parts) > 1
    checks = [
        replace(check, name=f"{part.name}: {check.name}") if named else check for part in parts for check in part.checks
    ]
    return Result(
        model=model,
        certificate=Certificate(tuple(checks)),
        termination_status=worst_status(part.result.termination_status for part in parts),
        solution_status=SolutionStatus.FEASIBLE if feasible else SolutionStatus.INFEASIBLE,
        raw_status="; ".join(f"{part.name}: {part.result.raw_status}" for part in parts),
        solution=None,
        bounds=ObjectiveBounds(Sense.MAXIMIZE, margin, None),
        trace=recorder.snapshot(),
        sense=Sense.MAXIMIZE,
        formulation=programs,
        solver_name="exterior_penalty",
        solver_version="",
        solver_rule="the method of the paper, one run a part",
        seconds=Seconds(solve=seconds, total=total),
        settings=settings,
        stats={"iterations": iterations},
    )
