"""Commercial engines: what is told where they are absent or have no licence, and that the door to them works.

The door is tried with an engine that is always there; the engines themselves where they are installed.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

import mmbn_opt as mm
from mmbn_opt.programs import MixedIntegerProgram
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers import get_solver_class
from mmbn_opt.solvers.commercial_probe import probe
from mmbn_opt.solvers.mixed_integer.commercial import CommercialSolver

NAMES = ["gurobi", "cplex", "copt", "xpress", "mosek"]


@dataclass(frozen=True)
class StandIn(CommercialSolver):
    """HiGHS through the same door."""

    name: ClassVar[str] = "stand_in"
    title: ClassVar[str] = "Stand-in"
    cvxpy_name: ClassVar[str] = "HIGHS"
    package: ClassVar[str] = "highspy"
    without_licence: ClassVar[str] = "anything"

    def _settings(self, seconds):
        return {"mip_rel_gap": self.rel_gap, **({} if seconds is None else {"time_limit": seconds}), **self.options}


def knapsack(*, upper=5.0, top=1.0, sign=1.0):
    return MixedIntegerProgram(
        c=sign * np.array([-5.0, -4.0, -3.0]),
        A=sp.csr_array(np.array([[2.0, 3.0, 1.0]])),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([upper]),
        col_lower=np.zeros(3),
        col_upper=np.full(3, top),
        integrality=np.ones(3, dtype=bool),
        offset=0.5,
    )


def test_what_is_not_installed_says_how_to_get_it():
    found = probe("NOSUCH", "no-such-package-here", cone=False, without_licence="up to 7 rows without a licence")
    assert not found.available
    assert found.version is None
    assert found.reason == (
        "no-such-package-here is not installed; run: pip install no-such-package-here "
        "(which solves up to 7 rows without a licence)"
    )


def test_what_is_installed_and_fails_says_why():
    found = probe("NOSUCH", "numpy", cone=False, without_licence="nothing")
    assert not found.available
    assert found.version == np.__version__
    assert "is installed, but a one-variable model fails: " in found.reason
    assert "NOSUCH" in found.reason


def test_what_is_installed_and_works_is_available_with_whole_numbers_and_cones():
    assert probe("HIGHS", "highspy", cone=False, without_licence="").available
    assert probe("CLARABEL", "clarabel", cone=True, without_licence="").available
    assert not probe("HIGHS", "highspy", cone=True, without_licence="").available


@pytest.mark.parametrize(
    ("program", "status", "optimum"),
    [
        (knapsack(), TerminationStatus.OPTIMAL, -8.5),
        (knapsack(upper=-1.0), TerminationStatus.INFEASIBLE, None),
        (knapsack(top=np.inf, upper=np.inf), TerminationStatus.UNBOUNDED, None),
    ],
    ids=["optimal", "infeasible", "unbounded"],
)
def test_the_door_tells_optimum_and_status(program, status, optimum):
    answer = StandIn(time_limit=60.0).solve(program)
    assert answer.termination_status is status, answer.raw_status
    assert answer.bounds.primal_bound == (None if optimum is None else pytest.approx(optimum))
    if optimum is not None:
        assert answer.bounds.dual_bound == pytest.approx(optimum, abs=1e-8)


def test_a_library_that_refuses_is_quoted_with_the_size_of_the_program():
    answer = StandIn(options={"no_such_option": 1}).solve(knapsack(), start=np.zeros(3))
    assert answer.termination_status is TerminationStatus.SOLVER_ERROR
    assert "the program has 1 rows and 3 columns; highspy solves anything" in answer.raw_status
    assert answer.bounds.primal_bound == pytest.approx(0.5)  # the start is kept


def test_all_of_them_are_listed_with_the_reason_where_they_cannot_be_used():
    table = mm.solvers().set_index("name")
    for name in [*NAMES, "copt_cone", "mosek_cone"]:
        row = table.loc[name]
        assert row.licence == "commercial"
        assert bool(row.available) == (row.reason == "")


@pytest.mark.parametrize("name", NAMES)
def test_each_finds_the_best_structure_and_refuses_unknown_options(name):
    found = get_solver_class(name).availability()
    if not found.available:
        pytest.skip(found.reason)
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    problem = mm.SoftMarginStructure(data, max_parents=2)
    result = mm.solve(problem, name, time_limit=120, starts=[])
    assert result.termination_status is TerminationStatus.OPTIMAL, result.raw_status
    assert result.bounds.primal_bound == pytest.approx(261.13479974, rel=1e-6)  # as HiGHS, SCIP and enumeration find
    assert result.certificate.ok
    if name == "xpress":
        with pytest.raises(mm.InputError, match="Xpress has no control 'no_such_option'"):
            mm.solve(problem, name, options={"no_such_option": 1})
        return
    wrong = mm.solve(problem, name, time_limit=120, starts=[], options={"no_such_option": 1})
    assert wrong.termination_status is TerminationStatus.SOLVER_ERROR


@pytest.mark.parametrize("name", ["copt", "mosek"])
def test_those_with_cones_prove_the_relaxation(name):
    found = get_solver_class(f"{name}_cone").availability()
    if not found.available:
        pytest.skip(found.reason)
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    problem = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=4.0)
    tied = problem.with_constraints(mm.TiedTables(("B0", "B1")))
    for asked in (problem, tied):
        result = mm.solve(asked, name, rel_gap=1e-4, time_limit=120)
        assert result.solver_name == f"{name}_cone"
        assert result.bounds.gap_rel <= 1e-3
        assert result.bounds.primal_bound == pytest.approx(mm.solve(asked, rel_gap=1e-5).bounds.primal_bound, rel=1e-3)
