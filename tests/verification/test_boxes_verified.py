"""What the verifier takes from a box no acyclic choice needs, by listing the choices."""

from itertools import pairwise, product

import numpy as np
import pytest
from small_proofs import SmallProblem

from mmbn_opt.exceptions import FormatError
from mmbn_opt.verification.boxes import Boxes
from mmbn_opt.verification.branching import branching_bound
from mmbn_opt.verification.problem import Problem


def boxes_of(n_features, *, dirichlet=False, score="sm", max_parents=2):
    cards = (2,) * (n_features + 1)
    rows = [tuple((k >> j) & 1 for j in range(n_features + 1)) for k in range(2 ** (n_features + 1))]
    problem = SmallProblem(rows, cards, score, dirichlet=dirichlet, max_parents=max_parents)
    return problem, Boxes(Problem(problem.header()))


def choices(problem, allowed):
    """Acyclic choices of a box, as sets of columns."""
    offsets = np.cumsum([0, *map(len, problem.sets)])
    columns = [[k for k in range(a, b) if allowed[k]] for a, b in pairwise(offsets)]
    for choice in product(*columns):
        left = set(range(problem.nodes))
        while free := {v for v in left if not left & set(problem.columns[choice[v]][1])}:
            left -= free
        if not left:
            yield choice


def hung_from_the_smallest(problem, choice):
    """The choice with each tree below {class} hung from its smallest node."""
    c = problem.nodes - 1
    parents = [problem.columns[k][1] for k in choice]
    for root in [v for v in range(c) if parents[v] == (c,)]:
        tree = {root}
        while more := {v for v in range(c) if v not in tree and set(parents[v]) & tree}:
            tree |= more
        edges = {frozenset({v, next(iter(set(parents[v]) - {c}))}) for v in tree - {root}}
        done, turned = {min(tree)}, {min(tree): (c,)}
        while len(done) < len(tree):
            for a, b in (tuple(edge) for edge in edges):
                for near, far in ((a, b), (b, a)):
                    if near in done and far not in done:
                        turned[far] = tuple(sorted((near, c)))
                        done.add(far)
        for v, s in turned.items():
            parents[v] = s
    return tuple(problem.columns.index((v, tuple(s))) for v, s in enumerate(parents))


@pytest.mark.parametrize("score", ["sm", "bic"])
def test_no_acyclic_choice_is_taken_away(score):
    problem, boxes = boxes_of(3, score=score, max_parents=2 if score == "sm" else 1)
    rng = np.random.default_rng(0)
    for _ in range(60):
        allowed = rng.random(len(problem.columns)) < rng.choice([0.25, 0.5, 0.8])
        settled = allowed[None].copy()
        alive = boxes.settle(settled)[0]
        before = list(choices(problem, allowed))
        assert list(choices(problem, settled[0])) == before
        assert alive or not before


def test_a_box_that_is_one_cycle_is_empty():
    problem, boxes = boxes_of(2, score="bic")
    allowed = np.zeros((1, len(problem.columns)), dtype=bool)
    for pair in ((0, (1,)), (1, (0,)), (2, ())):
        allowed[0, problem.columns.index(pair)] = True
    assert not boxes.settle(allowed)[0]


def test_with_a_dirichlet_prior_each_tree_is_left_as_hung_from_its_smallest_node():
    problem, boxes = boxes_of(3, dirichlet=True)
    whole = np.ones((1, len(problem.columns)), dtype=bool)
    assert boxes.settle(whole)[0]
    fixed = 0
    for choice in choices(problem, whole[0]):
        single = np.zeros((1, len(problem.columns)), dtype=bool)
        single[0, list(choice)] = True
        canonical = hung_from_the_smallest(problem, choice)
        assert boxes.settle(single)[0] == (canonical == choice)
        fixed += canonical != choice
    assert fixed > 0


@pytest.mark.parametrize("what", ["laplace", "three parents", "decomposable"])
def test_trees_do_not_turn_where_that_is_no_matter_of_course(what):
    problem, boxes = boxes_of(
        3,
        dirichlet=what != "laplace",
        score="bic" if what == "decomposable" else "sm",
        max_parents=3 if "three" in what else 2,
    )
    for choice in choices(problem, np.ones(len(problem.columns), dtype=bool)):
        single = np.zeros((1, len(problem.columns)), dtype=bool)
        single[0, list(choice)] = True
        assert boxes.settle(single)[0]


def test_values_are_the_same_for_trees_that_are_turned():
    problem, _ = boxes_of(2, dirichlet=True)
    rng = np.random.default_rng(2)
    problem = SmallProblem(rng.integers(0, 2, (20, 3)), (2, 2, 2), dirichlet=True)
    for choice in choices(problem, np.ones(len(problem.columns), dtype=bool)):
        turned = hung_from_the_smallest(problem, choice)
        values = [problem.value(tuple(problem.columns[k][1] for k in some)) for some in (choice, turned)]
        assert abs(values[0] - values[1]) < 1e-20


def test_cluster_rows_hold_for_every_acyclic_choice():
    problem, boxes = boxes_of(3, score="bic", max_parents=1)
    every = list(choices(problem, np.ones(len(problem.columns), dtype=bool)))
    for members in ([0, 1], [0, 1, 2], [0, 2, 3], [0, 1, 2, 3], [3]):
        row, least, _ = boxes.row({"kind": "cluster", "nodes": members})
        assert min(row[list(choice)].sum() for choice in every) >= least


def test_program_rows_are_derived_and_others_refused():
    problem, boxes = boxes_of(2)
    c = problem.nodes - 1
    as_parent = [k for k, (node, s) in enumerate(problem.columns) if node == c and 0 in s]
    said = {
        "kind": "program",
        "row": 0,
        "columns": [*as_parent, 0],
        "coefficients": [1.0] * len(as_parent) + [-1.0],
        "upper": 0.0,
    }
    row, least, _ = boxes.row(said)
    for choice in choices(problem, np.ones(len(problem.columns), dtype=bool)):
        assert row[list(choice)].sum() >= least
    for wrong in (
        {**said, "upper": -1.0},
        {**said, "coefficients": [2.0] * len(as_parent) + [-1.0]},
        {**said, "columns": [*as_parent, 1]},
        {"kind": "side", "row": ["cap", 0, []], "number": 3, "upper": 0},
    ):
        with pytest.raises(FormatError, match=r"does not imply|none of its limits implies"):
            boxes.row(wrong)


@pytest.mark.parametrize("hub", [3, 0])
def test_branchings_bound_what_acyclic_choices_cost(hub):
    problem, boxes = boxes_of(3)
    rng = np.random.default_rng(1)
    whole = np.ones(len(problem.columns), dtype=bool)
    for _ in range(25):
        allowed = rng.random(len(whole)) < 0.8
        allowed[[problem.columns.index((v, ())) for v in range(4)]] = True
        rise = rng.exponential(size=len(whole)) * rng.integers(0, 2, len(whole))
        bound = float(rng.normal())
        found = branching_bound(bound, bound + rise, allowed, boxes, hub)
        least = bound + min(rise[list(choice)].sum() for choice in choices(problem, allowed))
        assert found == bound if hub != 3 else least - 1e-12 <= found <= least + 1e-12
