"""Side constraints held against enumeration: every network is listed, and what each constraint means is said anew."""

import pickle

import numpy as np
import pytest
from enumeration import MARGINS, SCORES, Problem, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from seldom import mostly_slow
from side_definitions import KINDS, Meant, random_meant
from stated_problems import formulation_of

import mmbn_opt as mm
from mmbn_opt.exceptions import InfeasibleError, InputError
from mmbn_opt.programs.base import ProgramKind
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


@pytest.mark.parametrize("first", mostly_slow(range(0, 160, 40), 2))
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


ROWS = [["a", "u", "p"], ["a", "v", "q"], ["b", "u", "p"], ["b", "v", "p"], ["a", "u", "q"]] * 6
LABELS = ["no", "yes", "yes", "no", "yes"] * 6


def small(kind=mm.SoftMarginStructure, **settings):
    data = mm.DiscreteDataset.from_arrays(ROWS, LABELS, feature_names=["age", "bp", "mri"], class_name="ill")
    return kind(data, **settings)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mm.MaxEdges(-1), "most must be a whole number >= 0, got -1"),
        (lambda: mm.MaxEdges(2.5), "most must be a whole number >= 0, got 2.5"),
        (lambda: mm.MaxFeatures("3"), "most must be a whole number >= 0, got '3'"),
        (lambda: mm.FeatureBudget({"age": -1.0}, 3.0), "The cost of 'age' must be a finite number >= 0, got -1.0"),
        (lambda: mm.FeatureBudget({"age": 1.0}, float("inf")), "budget must be a finite number >= 0, got inf"),
        (lambda: mm.FeatureBudget([("age", 1.0)], 3.0), "costs must be a mapping"),
        (lambda: mm.AllOrNone("age"), "AllOrNone needs a list of features"),
        (lambda: mm.AtMostOne(["age"]), "AtMostOne needs two members or more, got ['age']"),
        (lambda: mm.AtMostOne(["age", 3]), "A member of AtMostOne is a feature's name or (parent, child), got 3"),
        (lambda: mm.DegreeLimit("age"), "DegreeLimit needs max_in, max_out, min_in or min_out"),
        (lambda: mm.Tiers([["age"]]), "tiers needs two tiers or more"),
        (lambda: mm.Tiers([["age"], ["age", "bp"]]), "['age'] stand in two tiers"),
        (lambda: mm.Tiers(["age", "bp"]), "tiers must be a list of lists of texts, got"),
        (lambda: mm.Ancestor("age", "age"), "Ancestor needs two different nodes, got 'age' twice"),
        (lambda: mm.LinearRow({("age", "bp"): 1.0}), "LinearRow needs upper, lower or both"),
        (lambda: mm.LinearRow({"age": 1.0}, upper=1.0), "A term of LinearRow is"),
        (lambda: mm.LinearRow({("age", "bp"): float("nan")}, upper=1.0), "The coefficient of ('age', 'bp') must be"),
        (lambda: mm.LinearRow({}, upper=1.0, lower=2.0), "lower=2 above upper=1; exchange them"),
        (lambda: small().with_constraints(7), "a list of StructureConstraints, got (7,). MaxEdges(7),"),
        (lambda: small().with_constraints(mm.Ancestor("agee", "bp")), "names the unknown node 'agee'; known: ['age'"),
        (lambda: small().with_constraints(mm.FeatureBudget({"ill": 1.0}, 1.0)), "'ill' is the class; leave it out"),
        (lambda: small().with_constraints(mm.AllOrNone(["bp", "ill"])), "'ill' is the class; leave it out"),
        (lambda: small().with_constraints(mm.LinearRow({("bp", ("aage",)): 1.0}, upper=1.0)), "unknown node 'aage'"),
        (
            lambda: mm.solve(small().with_constraints(mm.LinearRow(lambda node, parents: None, upper=1.0))),
            "The function of LinearRow must return a finite number; for 'age' with the parents [] it returned None",
        ),
        (
            lambda: small(mm.DecomposableStructure).with_constraints(mm.Tiers([["age"], ["bp"]])).with_constraints(3),
            "MaxFeatures(3) and the like are constraints",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_constraint_is_told_by_name_and_value(make, words):
    with pytest.raises(InputError) as error:
        make()
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("constraints", "named", "free"),
    [
        ([mm.Ancestor("age", "bp"), mm.MaxFeatures(2), mm.Ancestor("bp", "age")], ["above"] * 2, "used"),
        ([mm.MaxEdges(1), mm.Ancestor("age", "bp"), mm.Ancestor("bp", "mri")], ["at most 1 edge"], "nothing else"),
        ([mm.DegreeLimit("mri", min_in=2), mm.DegreeLimit(max_in=1), mm.MaxEdges(3)], ["at least 2 parents"], "edges"),
        ([mm.AtMostOne(["age", "bp"]), mm.AllOrNone(["age", "bp"]), mm.DegreeLimit("ill", min_out=3)],
         ["at most one of", "at least 3 children"], "all or none"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [mm.SoftMarginStructure, mm.DecomposableStructure])
def test_constraints_that_contradict_each_other_are_named_and_the_others_are_not(kind, constraints, named, free):
    with pytest.raises(InfeasibleError, match="No structure keeps these") as error:
        mm.solve(small(kind).with_constraints(*constraints))
    assert all(words in str(error.value) for words in named)
    assert free not in str(error.value)


def test_a_constraint_that_contradicts_required_edges_is_told_so():
    problem = small(required_edges=(("age", "bp"), ("age", "mri"))).with_constraints(mm.MaxEdges(1), mm.MaxFeatures(2))
    with pytest.raises(InfeasibleError, match=r"keeps the constraint .at most 1 edge.: it contradicts max_parents or"):
        mm.solve(problem)
    with pytest.raises(InfeasibleError, match=r"Node 'bp' has no parent set left .*tiers .mri, bp. < .age."):
        mm.solve(problem.under([mm.Tiers([["mri", "bp"], ["age"]])]))


def test_a_solver_that_cannot_keep_a_constraint_says_who_can():
    tied = small(mm.DecomposableStructure).with_constraints(mm.MaxEdges(1))
    with pytest.raises(InputError, match=r"with these constraints emits .*subset_search.*branch_and_cut, highs"):
        mm.solve(tied, "subset_search")
    program = tied.build(ProgramKind.IMPLICIT_CONCAVE)
    with pytest.raises(InputError, match=r"subset_search cannot keep side constraints .* branch_and_cut and scip_cuts"):
        mm.solvers.SubsetSearch().solve(program)
    tiers = small(mm.DecomposableStructure).with_constraints(mm.Tiers([["bp"], ["age", "mri"], ["ill"]]))
    results = [mm.solve(tiers, solver).bounds.primal_bound for solver in ("subset_search", "highs", "branch_and_cut")]
    assert results == pytest.approx([results[0]] * 3)


def test_a_certificate_holds_a_model_against_the_constraints():
    problem = small()
    best = mm.solve(problem).model
    assert mm.certify(best, problem).ok
    strict = problem.with_constraints(mm.MaxEdges(len(best.structure.edges) - 1), mm.Tiers([["ill"], ["age", "bp"]]))
    certificate = mm.certify(best, strict)
    assert [check.name for check in certificate.failures] == ["within the model class"]
    assert "edges, at most" in certificate.failures[0].detail
    assert "keeping at most" in mm.solve(strict).certificate.checks[1].detail
    with pytest.raises(InputError, match=r"outside the model class: it has \d edges, at most"):
        strict.choice_of(best.structure)
    assert strict.infeasibility(best) == 1.0


def test_parent_sets_are_left_out_only_where_every_constraint_allows_it():
    for kind in (mm.SoftMarginStructure, mm.BinarySoftMarginStructure, mm.DecomposableStructure):
        free = small(kind)
        every = [len(list(free.structure_class.parent_sets(v))) for v in range(4)]
        closed = free.with_constraints(mm.MaxEdges(2), mm.AtMostOne(["age", "bp"]), mm.NotAncestor("bp", "ill"))
        assert closed.candidates.sets == free.candidates.sets
        for constraint in (
            mm.Ancestor("age", "bp"), mm.AllOrNone(["age", "bp"]), mm.DegreeLimit("age", min_out=1),
            mm.LinearRow({("age", "bp"): 1.0}, lower=1.0), mm.LinearRow({("age", "bp"): -1.0}, upper=3.0),
            mm.LinearRow(lambda node, parents: 1.0, upper=9.0),
        ):  # fmt: skip
            assert [len(sets) for sets in free.with_constraints(constraint).candidates.sets] == every


def test_a_start_that_breaks_a_constraint_is_moved_to_one_that_keeps_it():
    problem = small().with_constraints(mm.MaxEdges(2), mm.Ancestor("mri", "ill"))
    tree = mm.tan_cmi(problem.data)
    moved = problem.nearest(tree)
    assert problem.structure_class.objection(moved) is None
    result = mm.solve(problem, starts=tree)
    assert result.certificate.ok
    assert ("mri", "ill") in result.model.structure.edges


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.booleans())
def test_rows_that_follow_from_constraints_hold_for_all_that_keep_them_and_cut_off_the_rest(seed, kind, fractional):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, "bic")
    meant = random_meant(rng, problem, kind)
    try:
        stated = formulation_of(problem).with_constraints(meant.constraint)
        side, candidates = stated.side, stated.candidates
    except InfeasibleError:
        return
    choices = [
        np.array([candidates.column_of[v, s] for v, s in enumerate(dag)])
        for dag in problem.members()
        if all((v, s) in candidates.column_of for v, s in enumerate(dag))
    ]
    keeping = [choice for choice in choices if meant.holds(candidates.parents_of_choice(choice))]
    if side is None:
        assert len(keeping) == len(choices)
        return
    assert [side.keeps(choice) for choice in choices] == [any(c is k for k in keeping) for c in choices]
    vectors = np.zeros((len(choices), candidates.n_columns))
    vectors[np.arange(len(choices))[:, None], np.array(choices)] = 1.0
    kept = vectors[[side.keeps(choice) for choice in choices]]
    points = rng.dirichlet(np.full(len(choices), 0.2), 5) @ vectors if fractional else vectors[:40]
    for x in points:
        found = side.violated(x, 1e-6)
        if not fractional and not side.keeps(np.flatnonzero(x)):
            assert found
        for wanted in found:
            row, least = side.row(wanted)
            assert row @ x < least
            assert not len(kept) or (kept @ row >= least - 1e-9).all()
    for choice in keeping[:10]:
        for node in range(candidates.n_nodes):
            fits = candidates.offsets[node] + np.flatnonzero(side.replacements(choice, node))
            assert choice[node] in fits
            for column in range(*candidates.offsets[node : node + 2]):
                other = choice.copy()
                other[node] = column
                if any((other == c).all() for c in choices):
                    assert (column in fits) == side.keeps(other)
        vector = stated.encode(stated.model_of(stated.structure_of(choice)))
        assert stated.build().violation(vector) <= 1e-9


def squares(node, parents):
    return float(len(parents) ** 2)


def test_a_function_travels_to_other_processes_or_is_told_why_not():
    row = mm.LinearRow(squares, upper=4.0, label="squares")
    assert pickle.loads(pickle.dumps(row)) == row
    assert pickle.loads(pickle.dumps(mm.LinearRow({("age", "bp"): 1.0}, upper=2.0))).upper == 2.0
    with pytest.raises(InputError, match=r"cannot be sent to another process .*define it by def in a module"):
        pickle.dumps(mm.LinearRow(lambda node, parents: 1.0, upper=9.0))
    with pytest.raises(InputError, match=r"Each run is a process of its own, to which a function cannot be sent"):
        mm.compare([small().with_constraints(mm.LinearRow(lambda node, parents: 1.0, upper=9.0))], solvers=["highs"])


@pytest.mark.parametrize("kind", [mm.SoftMarginStructure, mm.DecomposableStructure])
def test_a_problem_that_was_solved_travels_to_other_processes(kind):
    limits = [
        mm.MaxParameters(20),
        mm.Tiers([["age"], ["bp", "mri"]]),
        mm.DegreeLimit(max_in=2),
        mm.AllOrNone(["bp", "mri"]),
    ]
    problem = small(kind).with_constraints(*limits, mm.LinearRow(squares, upper=9.0))
    best = mm.solve(problem, "highs").bounds.primal_bound
    again = pickle.loads(pickle.dumps(problem))
    assert mm.solve(again, "branch_and_cut").bounds.primal_bound == pytest.approx(best)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "limit",
    [
        mm.DegreeLimit("age", max_in=1, min_out=1),
        mm.DegreeLimit(None, max_in=1, max_out=2, min_out=0),
        mm.DegreeLimit(["age", "bp"], max_in=0, min_in=0, min_out=1),
    ],
    ids=str,
)
def test_limits_from_both_sides_are_kept_and_certified(solver, limit):
    result = mm.solve(small().with_constraints(limit), solver)
    assert result.termination_status is TerminationStatus.OPTIMAL, str(result.certificate)
    assert result.certificate.ok
    assert limit.objection(result.model.structure, small().model_nodes) is None


def test_rows_are_called_by_what_they_say():
    limits = (
        mm.MaxEdges(2), mm.MaxFeatures(1), mm.FeatureBudget({"age": 2.0, "mri": 9.0}, 9.5),
        mm.LinearRow({("age", "bp"): 1.0, ("age", "mri"): 2.0}, lower=1, upper=2, label="age tells"),
        mm.DegreeLimit("bp", max_out=1),
    )  # fmt: skip
    names = small().with_constraints(*limits).named_program().row_names
    assert [name for name in names if name.startswith("limit[")] == [
        "limit[at most 2 edges]",
        "limit[at least 1 and at most 2 in 'age tells']",
        "limit[at least 1 and at most 2 in 'age tells', from below]",
        "limit[at most 1 child of 'bp']",
        "limit[at most 1 used feature]",
        "limit[used features that cost at most 9.5 together]",
    ]
