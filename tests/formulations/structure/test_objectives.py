"""Objectives beside the plain scores, held against enumeration: terms, gammas of classes and rows, importances."""

import itertools
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from enumeration import MARGINS, SCORES, Parents, Problem, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from side_definitions import edges
from stated_problems import assert_optimal, formulation_of

import mmbn_opt as mm
from mmbn_opt.formulations.structure.row_values import row_values
from mmbn_opt.results.status import TerminationStatus

SOLVERS = ("branch_and_cut", "highs", "scip", "scip_cuts")


def free_entries(problem: Problem, parents: Parents) -> int:
    """Cells of all tables that the others of their row leave free, counted one by one."""
    card = problem.card
    return sum(
        card[node] - 1 for node, ps in enumerate(parents) for _ in itertools.product(*(range(card[p]) for p in ps))
    )


def random_objective(rng: np.random.Generator, problem: Problem):
    """Settings of a formulation and terms, and what they mean of networks: a function from networks to values."""
    members, rows = problem.members(), len(problem.rows)
    labels = np.array([row[-1] for row in problem.rows])
    gamma: object = problem.gamma
    per_row = np.full(rows, problem.gamma)
    margin_weight: object = 1.0
    counts = np.ones(rows)
    stated: dict[str, object] = {}
    if problem.score in MARGINS:
        kind = rng.integers(4)
        if kind == 1:
            gamma = {k: float(rng.choice([0.4, 1.0, 3.0])) for k in range(problem.card[-1])}
            per_row = np.array([gamma[k] for k in labels.tolist()])
        elif kind == 2:
            per_row = rng.choice([0.4, 1.0, 3.0], rows)
            gamma = per_row.copy()
        if rng.random() < 0.5:
            margin_weight = {k: float(rng.choice([0.0, 0.5, 4.0])) + (k == 0) for k in range(problem.card[-1])}
            counts = np.array([margin_weight[k] for k in labels.tolist()])
        elif rng.random() < 0.3:
            counts = rng.choice([0.5, 1.0, 4.0], rows)
            margin_weight = counts.tolist()
        stated = {"gamma": gamma, "margin_weight": margin_weight}
    terms, added = [], np.zeros(len(members))
    for kind in rng.choice(["edges", "parameters", "score"], int(rng.integers(0, 3)), replace=False):
        price = float(rng.choice([0.05, 0.3, 2.0]))
        if kind == "edges":
            terms.append(mm.EdgePenalty(price))
            added -= price * np.array([len(edges(dag)) for dag in members])
        elif kind == "parameters":
            terms.append(mm.ParameterPenalty(price))
            added -= price * np.array([free_entries(problem, dag) for dag in members])
        else:
            score = str(rng.choice(["loglik", "bic", "mdl", "bdeu"]))
            terms.append(mm.ScoreTerm(score, price, ess=problem.ess))
            added += price * replace(problem, score=score, _families={}).values(members)
    if problem.score in MARGINS:
        cut = np.minimum(problem.totals(members).min(axis=2), per_row)
        return stated, terms, cut @ (counts * np.array(problem.weights)) + added
    return stated, terms, problem.values(members) + added


def hold(number: int, score: str, solver: str, *, helped: bool) -> None:
    problem = random_problem(number, score)
    rng = np.random.default_rng(number + 1)
    stated, terms, values = random_objective(rng, problem)
    formulation = replace(formulation_of(problem), **stated).with_terms(*terms)
    members = problem.members()
    if rng.random() < 0.3:
        most = int(rng.integers(len(problem.required), 5))
        kept = [k for k, dag in enumerate(members) if len(edges(dag)) <= most]
        if kept:
            formulation = formulation.with_constraints(mm.MaxEdges(most))
            members, values = [members[k] for k in kept], values[kept]
    result = mm.solve(formulation, solver, **({} if helped else {"starts": []}))
    told = f"{problem}\n{stated}\n{terms}\n{solver}: {result}\n{result.raw_status}\n{result.certificate}"
    assert_optimal(result, values, members, told)


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_the_optimum_of_each_objective_is_that_of_all_networks(first):
    for number in range(first, first + 20):
        hold(number, SCORES[number % len(SCORES)], SOLVERS[number % 4], helped=number % 5 > 0)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_two_thousand_objectives(first):
    for number in range(first, first + 100):
        hold(number, SCORES[number % len(SCORES)], SOLVERS[number % 4], helped=number % 5 > 0)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(MARGINS), st.sampled_from(SOLVERS))
def test_margins_with_terms_gammas_and_importances_whatever_the_solver(seed, score, solver):
    hold(seed, score, solver, helped=seed % 2 == 0)


ROWS = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"], ["a", "u"]] * 6
LABELS = ["ill", "well", "well", "ill", "well"] * 6


def small(**settings):
    return mm.SoftMarginStructure(mm.DiscreteDataset.from_arrays(ROWS, LABELS, feature_names=["x", "z"]), **settings)


def test_equal_gammas_said_in_three_ways_are_the_same_problem():
    plain = mm.solve(small(gamma=1.5))
    by_class = mm.solve(small(gamma={"ill": 1.5, "well": 1.5}))
    by_row = mm.solve(small(gamma=[1.5] * len(LABELS)))
    by_series = mm.solve(small(gamma=pd.Series([1.5] * len(LABELS), index=range(7, 37))))
    assert by_series.bounds.primal_bound == plain.bounds.primal_bound
    assert plain.bounds.primal_bound == by_class.bounds.primal_bound == by_row.bounds.primal_bound
    assert plain.model.structure == by_class.model.structure == by_row.model.structure


def test_importances_are_weights_that_the_parameters_do_not_feel():
    twice = mm.solve(small(margin_weight=2.0))
    assert twice.bounds.primal_bound == pytest.approx(2 * mm.solve(small()).bounds.primal_bound)
    for one, other in zip(twice.model.log_cpts, mm.solve(small()).model.log_cpts, strict=True):
        assert (one == other).all()


def test_a_class_of_no_importance_is_left_to_the_others():
    """All rows of "ill" may be wrong: whatever is best for "well" alone."""
    found = mm.solve(small(margin_weight={"ill": 0.0, "well": 1.0}))
    margins = mm.scores.log_margins(found.model, small().data)
    own = small().data.target_codes == list(small().data.target.states).index("well")
    assert found.bounds.primal_bound == pytest.approx(np.minimum(margins[own], small().gamma).sum())


@dataclass(frozen=True)
class Liked(mm.ObjectiveTerm):
    """A reward for each node whose parents are two."""

    reward: float

    def __str__(self):
        return f"plus {self.reward:g} for each node of two parents"

    def value(self, structure, data):
        return self.reward * sum(len(parents) == 2 for parents in structure.parents)

    def gain(self, node, parents, data):
        return self.reward if len(parents) == 2 else 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_term_of_ones_own_is_part_of_the_optimum_and_of_its_certificate(solver):
    result = mm.solve(small().with_terms(Liked(50.0)), solver)
    assert sorted(len(p) for p in result.model.structure.parents) == [0, 1, 2], "two of two would be a cycle"
    own = mm.scores.soft_margin(result.model, small().data, small().gamma)
    assert result.bounds.primal_bound == pytest.approx(50.0 + own)
    assert result.certificate.ok
    assert result.formulation.value_name == "Soft margin, nats, plus 50 for each node of two parents"


def test_a_term_whose_parts_are_not_its_value_fails_the_certificate():
    class Wrong(Liked):
        def value(self, structure, data):
            return 0.0

    result = mm.solve(small().with_terms(Wrong(50.0)), "branch_and_cut")
    assert result.termination_status is not TerminationStatus.OPTIMAL


def test_a_curve_of_a_penalised_objective_rises_to_its_optimum():
    problem = small().with_terms(mm.EdgePenalty(0.7))
    curve = mm.trade_off(problem, mm.MaxEdges, range(5))
    assert curve.points[-1].bounds.primal_bound == pytest.approx(mm.solve(problem).bounds.primal_bound)


def test_terms_travel_with_the_formulation():
    problem = small(gamma={"ill": 2.0, "well": 1.0}).with_terms(mm.EdgePenalty(0.5), mm.ScoreTerm("bic", 0.1))
    again = pickle.loads(pickle.dumps(problem))
    assert again.terms == problem.terms
    assert mm.solve(again).bounds.primal_bound == mm.solve(problem).bounds.primal_bound


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: small(gamma={"ill": 1.0}), "gamma says nothing of ['well']"),
        (lambda: small(gamma={"ill": 1.0, "well": 1.0, "dead": 1.0}), "gamma names ['dead']"),
        (lambda: small(gamma={"ill": 1.0, "well": 0.0}), "gamma['well'] must be finite numbers > 0, got 0.0"),
        (lambda: small(gamma=np.ones((30, 2))), "gamma of row 0 must be finite numbers > 0"),
        (lambda: small(gamma=[]), "gamma has 0 numbers, and the data 30 rows"),
        (lambda: small(gamma=[1.0, 2.0]), "gamma has 2 numbers, and the data 30 rows"),
        (lambda: small(gamma=[1.0] * 29 + [float("nan")]), "gamma of row 29 must be finite numbers > 0"),
        (lambda: small(margin_weight={"ill": -1.0, "well": 1.0}), "margin_weight['ill'] must be finite numbers >= 0"),
        (lambda: small(margin_weight=0.0), "margin_weight leaves no row that counts"),
        (lambda: small(margin_weight="high"), "margin_weight must be"),
        (lambda: small(terms=(mm.MaxEdges(3),)), "terms must be"),
        (lambda: mm.EdgePenalty(-1.0), "price must be a finite number >= 0, got -1.0"),
        (lambda: mm.ParameterPenalty(float("inf")), "price must be a finite number >= 0"),
        (lambda: mm.ScoreTerm("aic"), "score must be one of"),
        (lambda: mm.ScoreTerm("loglik", float("nan")), "weight must be a finite number >= 0"),
        (lambda: mm.solve(small().with_terms(Liked(float("inf")))), "must give a finite number for each of the"),
    ],
)
def test_what_is_wrong_is_told(call, words):
    with pytest.raises(mm.InputError) as error:
        call()
    assert words in str(error.value)


def test_row_values_follow_the_labels_and_not_their_order():
    data = mm.DiscreteDataset.from_arrays([["a"]] * 3, [2, 10, 2])
    assert row_values("gamma", {10: 5.0, 2: 1.0}, data, zero=False).tolist() == [1.0, 5.0, 1.0]
