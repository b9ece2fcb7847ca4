"""Three and four parents a node: the optimum is that of all networks, listed by a program that shares nothing."""

from dataclasses import replace

import pytest
from enumeration import SCORES, Problem, random_problem
from seldom import mostly_slow
from stated_problems import assert_optimal, formulation_of

import mmbn_opt as mm
from mmbn_opt.solvers.choice.branch_and_cut import _race

RULES = ("race", "dual", "mixture")


def problem_of(number: int) -> Problem:
    """Four or five nodes with three parents, or five with four; each score comes equally often with each."""
    turn, place = divmod(number, len(SCORES))
    for seed in range(10_000 + 1000 * number, 11_000 + 1000 * number):
        problem = random_problem(seed, SCORES[place])
        nodes = len(problem.card)
        if nodes >= 4:
            most = replace(problem, max_parents=4 if nodes == 5 and turn // 3 % 2 else 3, _families={})
            if most.members():
                return most
    raise AssertionError("no problem of that size")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", mostly_slow(range(50), 1))
def test_two_thousand_programs_of_three_and_four_parents_equal_enumeration(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With cluster rows, either rule and their race after few boxes; from the formulation's starts and from none."""
    monkeypatch.setattr(_race, "LAP_BOXES", 3)
    monkeypatch.setattr(_race, "LAP_WORK", 0.0)
    for number in range(40 * part, 40 * part + 40):
        problem, turn = problem_of(number), number // len(SCORES)
        members = problem.members()
        values = problem.values(members)
        options = {"branching": RULES[turn % 3], "rounds": 1 + turn % 2}
        starts = {} if turn % 4 == 0 else {"starts": []}
        solver = "scip_cuts" if turn // 6 % 10 == 9 else "branch_and_cut"
        given = {"options": options} if solver == "branch_and_cut" else {}
        result = mm.solve(formulation_of(problem), solver, **given, **starts)
        told = f"{number} {problem}\n{solver} {options}: {result}\n{result.certificate}"
        assert_optimal(result, values, members, told)
