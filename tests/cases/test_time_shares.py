"""011: the default chain of convex solvers never ends worse than its best member with half the time."""

import time
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import mmbn_opt as mm
from mmbn_opt.programs.convex import ConvexProgram
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.convex.chain import ConvexChainSolver
from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver
from mmbn_opt.solvers.convex.first_order import FirstOrderSolver
from mmbn_opt.solvers.convex.interior_point import InteriorPointSolver
from mmbn_opt.solvers.convex.proximal_newton import ProximalNewtonSolver

REL_GAP = 1e-4


@cache
def problem(name: str, normalization: Any) -> mm.MaxMarginRelaxation:
    """Digits with coarse pixels, naive Bayes (dense methods apply) or TAN (they do not)."""
    raw = load_digits()
    frame = pd.DataFrame((raw.data // 4).astype(int)).astype(str)
    frame = frame.loc[:, frame.nunique() > 1].rename(columns=lambda j: f"p{j}")
    data = mm.DiscreteDataset.from_frame(frame.assign(label=raw.target).iloc[:900], "label")
    graph = mm.naive_bayes(data) if name == "nb" else mm.tan_cmi(data)
    return mm.MaxMarginRelaxation(data, graph, gamma=10.0, normalization=normalization)


def gap(kind: Any, program: ConvexProgram, start: np.ndarray, limit: float) -> float:
    answer = kind(time_limit=limit, rel_gap=REL_GAP).solve(program, start=start)
    assert answer.termination_status is not TerminationStatus.INTERRUPTED
    return max(float(answer.bounds.gap_rel), REL_GAP)


@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["hybrid", "floor"])
@pytest.mark.parametrize("name", ["nb", "tan"])
def test_011_the_chain_never_ends_worse_than_its_best_member_with_half_the_time(
    name: str, normalization: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the processor's clock, which does not go on while others have the machine; so without the cone solver."""
    monkeypatch.setattr(time, "monotonic", time.process_time)
    monkeypatch.setattr(ClarabelSolver, "is_available", classmethod(lambda cls: False))
    limit = 3.0
    relaxation = problem(name, normalization)
    program = relaxation.build()
    start = relaxation.encode(relaxation.maximum_likelihood)
    members = [FirstOrderSolver, ProximalNewtonSolver] + [InteriorPointSolver] * (name == "nb")
    for kind in members:
        kind(time_limit=0.2).solve(program)  # compiles the kernels
    chain = gap(ConvexChainSolver, program, start, limit)
    alone = {kind.name: gap(kind, program, start, limit / 2) for kind in members}
    assert chain <= 1.1 * min(alone.values()), alone


@pytest.mark.slow
def test_011_a_published_problem_is_not_left_to_a_linear_program_that_does_not_end() -> None:
    relaxation = problem("tan", "published")
    answer = ConvexChainSolver(time_limit=30.0, rel_gap=REL_GAP).solve(relaxation.build())
    assert answer.termination_status is TerminationStatus.OPTIMAL or answer.stats["separable"]
    assert answer.stats["link_seconds"].get("highs_lp", 0.0) <= 16.0
