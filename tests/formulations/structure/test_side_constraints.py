"""Side constraints held against enumeration: every network is listed, and what each constraint means is said anew."""

import numpy as np
import pytest
from enumeration import MARGINS, SCORES, Problem, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from side_definitions import KINDS, Meant, random_meant
from stated_problems import formulation_of

import mmbn_opt as mm
from mmbn_opt.exceptions import InfeasibleError
from mmbn_opt.results.status import TerminationStatus

SOLVERS = ("branch_and_cut", "highs", "scip", "scip_cuts")


def hold(problem: Problem, meant: list[Meant], solver: str, *, helped: bool) -> None:
    """Solve under constraints and hold everything that is said against the enumeration."""
    members = [dag for dag in problem.members() if all(m.holds(dag) for m in meant)]
    stated = formulation_of(problem).with_constraints(*(m.constraint for m in meant))
    told = f"{problem}\n{[str(m.constraint) for m in meant]}\n{solver}"
    if not members:
        with pytest.raises(InfeasibleError):
            mm.solve(stated, solver)
        return
    best = max(problem.values(members))
    result = mm.solve(stated, solver, **({} if helped else {"starts": []}))
    told = f"{told}: {result}\n{result.raw_status}\n{result.certificate}"
    assert result.termination_status is TerminationStatus.OPTIMAL, told
    assert result.certificate.ok, told
    assert result.bounds.primal_bound == pytest.approx(best, rel=1e-6, abs=1e-9), told
    parents = result.model.structure.parents
    assert problem.holds(parents), told
    assert all(m.holds(parents) for m in meant), told
    slack = 1e-9 * max(1.0, abs(best))
    assert all(record.dual_bound is None or record.dual_bound >= best - slack for record in result.trace), told


def draw(number: int) -> tuple[Problem, list[Meant], str, bool]:
    """A problem with one to three constraints; every kind, score and solver comes equally often."""
    rng = np.random.default_rng(number)
    problem = random_problem(number, SCORES[number % len(SCORES)])
    kinds = [KINDS[(number // 3) % len(KINDS)], *rng.choice(KINDS, int(rng.integers(0, 3)))]
    return problem, [random_meant(rng, problem, kind) for kind in kinds], SOLVERS[number % 4], number % 5 > 0


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_the_optimum_under_constraints_is_that_of_all_networks_that_keep_them(first):
    for number in range(first, first + 40):
        problem, meant, solver, helped = draw(number)
        hold(problem, meant, solver, helped=helped)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(1000, 4000, 100))
def test_three_thousand_problems_under_constraints(first):
    for number in range(first, first + 100):
        problem, meant, solver, helped = draw(number)
        hold(problem, meant, solver, helped=helped)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.sampled_from(MARGINS), st.sampled_from(SOLVERS))
def test_each_kind_of_constraint_is_kept_whatever_the_score_and_the_solver(seed, kind, score, solver):
    problem = random_problem(seed, score)
    hold(problem, [random_meant(np.random.default_rng(seed), problem, kind)], solver, helped=seed % 2 == 0)
