"""Side constraints in the verifier: what they take away and the rows that follow, by listing the structures."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from enumeration import random_problem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from side_definitions import KINDS, random_meant
from small_proofs import INCUMBENT, SmallProblem, taken_apart, tree_file
from stated_problems import formulation_of
from tampering import outcomes_of, tampered

import mmbn_opt as mm
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.interop.limits_told import limits_told
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.verification import verify
from mmbn_opt.verification.boxes import Boxes
from mmbn_opt.verification.problem import Problem
from mmbn_opt.verification.side import EXACT, SLACK, _whole


def constrained(seed, kinds, score):
    """A problem of unweighted rows, constraints of some kinds, and its networks that keep them; None where none do."""
    rng = np.random.default_rng(seed)
    problem = replace(random_problem(seed, score), _families={})
    problem = replace(problem, weights=(1.0,) * len(problem.rows))
    meant = [random_meant(rng, problem, kind) for kind in kinds]
    members = [dag for dag in problem.members() if all(m.holds(dag) for m in meant)]
    return (problem, meant, members) if members else None


def written(problem, meant, folder):
    """The table as CSV, and the tree file of a search."""
    folder.mkdir(exist_ok=True)
    names = [*(f"x{j}" for j in range(len(problem.card) - 1)), "class"]
    lines = [",".join(names), *(",".join(map(str, row)) for row in problem.rows)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    stated = formulation_of(problem).with_constraints(*(m.constraint for m in meant))
    mm.solve(stated, "branch_and_cut", checkpoint=folder / "run")
    return folder / "run" / "tree.mmbn", folder / "rows.csv"


def held_against_enumeration(problem, meant, members, folder):
    tree, table = written(problem, meant, folder)
    found = verify(tree, table)
    best = float(problem.values(members).max())
    scale = max(1.0, abs(best))
    told = [str(m.constraint) for m in meant], found
    assert best - 1e-12 * scale <= found.bound <= best + 1e-8 * scale, told
    assert found.holds, told
    assert found.value == pytest.approx(best, abs=1e-8 * scale), told
    assert found.rounding <= 1e-9 * scale, told
    assert sum(line.startswith("limit: ") for line in found.statement) == len(meant)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_vouched_for_is_the_optimum_of_what_keeps_a_constraint(kind, tmp_path):
    cases = (constrained(seed, [kind], "sm") for seed in range(100))
    for number, case in zip(range(2), filter(None, cases), strict=False):
        held_against_enumeration(*case, tmp_path / str(number))


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    score=st.sampled_from(["sm", "sbm", "bic", "mdl", "bdeu", "loglik"]),
)
def test_what_is_vouched_for_is_the_optimum_of_what_keeps_several(seed, kinds, score, tmp_path_factory):
    case = constrained(seed, kinds, score)
    if case is not None:
        held_against_enumeration(*case, tmp_path_factory.mktemp("several"))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_what_is_vouched_for_is_the_optimum_of_a_thousand_problems_with_constraints(first, tmp_path):
    for seed in range(first, first + 100):
        kinds = [KINDS[seed % len(KINDS)], *np.random.default_rng(seed).choice(KINDS, seed % 3)]
        case = constrained(seed, kinds, ("sm", "sm", "sbm", "bic", "bdeu")[seed % 5])
        if case is not None:
            held_against_enumeration(*case, tmp_path / str(seed))


# -- boxes and rows ----------------------------------------------------------------------------------------------------


def boxes_of(seed, kind):
    """The boxes of a random problem with a constraint, and its acyclic choices, with whether each keeps it."""
    rng = np.random.default_rng(seed)
    problem = replace(random_problem(seed, "bic"), _families={}, required=(), forbidden=())
    if len(problem.card) > 4:  # 29,281 networks
        return boxes_of(seed + 1, kind)
    problem = replace(problem, weights=(1.0,) * len(problem.rows), max_parents=2)
    meant = random_meant(rng, problem, kind)
    stated = formulation_of(problem).with_constraints(meant.constraint)
    names = [*(f"x{j}" for j in range(len(problem.card) - 1)), "class"]
    header = SmallProblem(problem.rows, problem.card, "bic").header()
    for node, name in zip(header["nodes"], names, strict=True):
        node["name"] = name
    side = stated.side
    told = json.loads(json.dumps(limits_told(stated)))
    header["problem"]["limits"] = told
    header["candidates"] = [[list(s) for s in options] for options in stated.candidates.sets]
    if side is not None:
        kept = ("rows", "weights", "groups")
        header["side"] = {"items": list(map(list, side.items)), **{name: getattr(side, name).tolist() for name in kept}}
    boxes = Boxes(Problem(header))
    sets = stated.candidates.sets
    starts = stated.candidates.offsets.tolist()
    choices = {}
    for picks in product(*(range(len(options)) for options in sets)):
        parents = tuple(options[k] for options, k in zip(sets, picks, strict=True))
        left = set(range(len(sets)))
        while free := {v for v in left if not left & set(parents[v])}:
            left -= free
        if not left:
            choices[tuple(a + k for a, k in zip(starts, picks, strict=False))] = meant.holds(parents)
    return boxes, side, stated, choices


def single(choice, size):
    box = np.zeros((1, size), dtype=bool)
    box[0, list(choice)] = True
    return box


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS))
def test_what_is_taken_from_boxes_breaks_the_constraint_and_single_choices_are_decided(seed, kind):
    boxes, _, _, choices = boxes_of(seed, kind)
    size = len(boxes.owner)
    every = np.concatenate([single(choice, size) for choice in choices])
    assert boxes.settle(every).tolist() == list(choices.values())
    for choice, holds in list(choices.items())[:: max(1, len(choices) // 20)]:
        assert boxes.keeps(list(choice)) == holds
    rng = np.random.default_rng(seed)
    for share in (0.4, 0.6, 0.9):
        allowed = rng.random(size) < share
        settled = allowed[None].copy()
        alive = boxes.settle(settled)[0]
        inside = [c for c, holds in choices.items() if holds and allowed[list(c)].all()]
        assert all(settled[0][list(choice)].all() for choice in inside)
        assert alive or not inside


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS))
def test_rows_that_the_search_has_are_made_again_and_hold_for_all_that_keep_the_constraint(seed, kind):
    boxes, side, stated, choices = boxes_of(seed, kind)
    if side is None:
        return
    offsets = stated.candidates.offsets
    rng = np.random.default_rng(seed)
    points = [single(choice, len(boxes.owner))[0].astype(float) for choice in choices]
    for _ in range(6):
        x = np.concatenate([rng.dirichlet(np.ones(n) * 0.3) for n in np.diff(offsets)])
        points.append(x)
    told = {wanted for x in points[-40:] for wanted in side.violated(x, 1e-6)}
    for wanted in told:
        said = {"kind": "side", "row": [wanted.kind, int(wanted.number), [int(k) for k in wanted.key]]}
        row, least, unit = boxes.row(json.loads(json.dumps(said)))
        own, own_least = side.row(wanted)
        assert row / unit == pytest.approx(own, abs=1e-9)
        assert least / unit >= own_least - 1e-9
        for choice, holds in choices.items():
            assert not holds or row[list(choice)].sum() >= least


def test_rows_of_no_limit_are_refused():
    for kind in ("edges", "budget", "all or none", "above", "not above"):
        boxes, side, _, _ = next(
            found for found in (boxes_of(seed, kind) for seed in range(40)) if found[1] is not None
        )
        items, nodes = len(side.items), len(side.offsets) - 1
        for row in (
            ["row", 7, []], ["cap", 7, [0] * items], ["group", 0, [0, 0, 99]], ["path", 0, [0]], ["path", 0, [0, 0]],
            ["cut", 0, []], ["cut", 0, list(range(nodes))], ["row_row", 0, []], ["nothing", 0, []],
        ):  # fmt: skip
            with pytest.raises((FormatError, LookupError, ValueError)):
                boxes.row({"kind": "side", "row": row})


@settings(max_examples=200)
@given(
    weights=st.lists(st.fractions(-9, 9, max_denominator=10**6) | st.floats(-1e6, 1e6).map(Fraction), min_size=1),
    limit=st.fractions(-50, 50, max_denominator=1000),
    count=st.integers(1, 6),
    data=st.data(),
)
def test_whole_numbers_keep_their_limit_where_the_weights_keep_theirs(weights, limit, count, data):
    numbers, most, unit = _whole(weights, limit, count)
    some = data.draw(st.lists(st.integers(0, len(weights) - 1), max_size=count))
    assert all(float(n).is_integer() and (abs(n) - 1) * count <= EXACT for n in numbers)
    if sum(weights[k] for k in some) <= limit + SLACK * max(1, abs(limit)):
        assert sum(int(numbers[k]) for k in some) <= most
    if all(w.denominator <= 100 for w in weights):  # nothing is given away then
        assert sum(int(numbers[k]) for k in some) == sum(weights[k] for k in some) * Fraction(unit)


@pytest.mark.parametrize("weight", [5e-324, 1.3782667363360702e-306, 1e-300, 1e300])
def test_weights_of_any_size_have_a_unit(weight):
    numbers, most, unit = _whole([Fraction(weight)], Fraction(1), 1)
    assert np.isfinite([*numbers, most, unit]).all()
    assert unit > 0


# -- what is stated, and what is tampered with -------------------------------------------------------------------------


@pytest.fixture
def example(tmp_path):
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 2, (40, 4)), rng.integers(0, 2, 40)
    X[:, 0] ^= (rng.random(40) < 0.8) & (y == 1)
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y]), "%d", ",", header="x0,x1,x2,x3,class", comments="")
    return mm.SoftMarginStructure(mm.DiscreteDataset.from_arrays(X, y), gamma=1.5), tmp_path


def solved(problem, folder, *constraints):
    result = mm.solve(problem.with_constraints(*constraints), "branch_and_cut", checkpoint=folder / "run")
    header, records = taken_apart((folder / "run" / "tree.mmbn").read_bytes())
    return result.bounds.primal_bound, header, records


def vouched(header, records, folder):
    (folder / "tree.mmbn").write_bytes(tree_file(header, records))
    return verify(folder / "tree.mmbn", folder / "rows.csv")


def test_limits_are_printed_as_they_are_read(example):
    problem, folder = example
    costs = {"x0": 1.5, "x1": 0.25}
    rows = mm.LinearRow({("x0", "x1"): 1.0, ("x2", ("x0", "class")): 2.0}, upper=2.5)
    _, header, records = solved(
        problem, folder, mm.MaxEdges(4), mm.FeatureBudget(costs, 1.5), mm.NotAncestor("x1", "x0"), rows,
        mm.DegreeLimit(max_out=3, min_out=0),
    )  # fmt: skip
    said = [line for line in vouched(header, records, folder).statement if line.startswith("limit: ")]
    assert said == [
        "limit: edges, most: 4",
        "limit: weights, of: [['x0', 1.5], ['x1', 0.25]], most: 1.5",
        "limit: no ancestor, above: 'x1', below: 'x0'",
        "limit: sum, of: [['x0', 'x1', 1.0], ['x2', ['x0', 'class'], 2.0]], most: 2.5",
        "limit: degrees, nodes: None, max_out: 3, min_out: 0",
    ]
    assert not any("constraints" in line for line in vouched(header, records, folder).statement)


def test_a_limit_that_is_too_long_to_print_is_told_by_its_digest(example):
    problem, folder = example
    row = mm.LinearRow(lambda node, parents: 1.0 + len(parents) / 3, upper=7.0)
    _, header, records = solved(problem, folder, row)
    before = vouched(header, records, folder).statement[1]
    assert "SHA-256 of all" in before
    header["problem"]["limits"][0]["of"][-1][-1] += 1e-9
    assert vouched(header, records, folder).statement[1] != before


@pytest.mark.parametrize("most", [0, 2, 3, 5, 20])
def test_another_limit_is_said_and_its_bound_is_true(most, example):
    problem, folder = example
    _, header, records = solved(problem, folder, mm.MaxEdges(4))
    header["problem"]["limits"][0]["most"] = most
    best = mm.solve(problem.with_constraints(mm.MaxEdges(most)), "highs").bounds.primal_bound
    records = [record for record in records if record[0] != INCUMBENT] if most < 4 else records
    try:
        found = vouched(header, records, folder)
    except FormatError:
        assert most == 20  # that never binds, and has no rows
        return
    assert f"limit: edges, most: {most}" in found.statement
    assert found.bound >= best - 1e-9


def test_a_limit_that_is_dropped_is_no_longer_said_and_the_bound_is_true_or_the_file_refused(example):
    problem, folder = example
    best, header, records = solved(problem, folder, mm.MaxFeatures(1), mm.MaxEdges(3))
    free = mm.solve(problem, "highs").bounds.primal_bound
    assert free > best + 1e-3
    for left in ([], header["problem"]["limits"][1:], header["problem"]["limits"][:1]):
        changed = {**header, "problem": {**header["problem"], "limits": left}}
        for side in (header["side"], None):
            changed["side"] = side
            try:
                found = vouched(changed, records, folder)
            except InputError:
                continue
            assert [line for line in found.statement if line.startswith("limit")] != [
                "limit: features, most: 1", "limit: edges, most: 3",
            ]  # fmt: skip
            if not left:
                assert found.bound >= free - 1e-9


def test_a_limit_that_is_added_is_said_and_the_bound_is_true(example):
    problem, folder = example
    _, header, records = solved(problem, folder)
    header["problem"]["limits"] = [{"kind": "no ancestor", "above": "class", "below": "x0"}]
    records = [record for record in records if record[0] != INCUMBENT]
    found = vouched(header, records, folder)
    assert "limit: no ancestor, above: 'class', below: 'x0'" in found.statement
    best = mm.solve(problem.with_constraints(mm.NotAncestor("class", "x0")), "highs").bounds.primal_bound
    assert found.bound >= best - 1e-9


@pytest.mark.parametrize("name", ["rows", "upper", "weights", "caps", "groups", "above", "apart", "cover", "items"])
def test_what_the_search_says_of_its_limits_proves_nothing(name, example):
    problem, folder = example
    constraints = mm.MaxEdges(5), mm.MaxFeatures(2), mm.AllOrNone(["x1", "x2"]), mm.Ancestor("x0", "class")
    best, header, records = solved(problem, folder, *constraints)
    whole = vouched(header, records, folder)
    rng = np.random.default_rng(0)
    for _ in range(10):
        given = np.array(header["side"][name])
        changed = {**header["side"], name: np.where(rng.random(given.shape) < 0.3, 0, given).tolist()}
        try:
            found = vouched({**header, "side": changed}, records, folder)
        except InputError:
            continue
        assert found.statement == whole.statement
        assert found.bound >= best - 1e-9


@pytest.mark.parametrize(
    "limit",
    [
        {"kind": "sides", "most": 1}, {"kind": "edges"}, {"kind": "edges", "most": "many"}, {"most": 3},
        {"kind": "edges", "most": "1e999999999"}, {"kind": "edges", "most": None},
        {"kind": "edges", "most": 3, "least": 1}, {"kind": "weights", "of": [["x0", -1.0]], "most": 1},
        {"kind": "weights", "of": [["class", 1.0]], "most": 1}, {"kind": "ancestor", "above": "x0", "below": "x0"},
        {"kind": "ancestor", "above": "x9", "below": "x0"}, {"kind": "sum", "of": [["x0", "x1"]], "most": 1},
        {"kind": "edges", "most": float("nan")}, {"kind": "edges", "most": float("inf")}, {"kind": "told", "of": []},
        [], 5, {"kind": []},
    ],
)  # fmt: skip
def test_limits_that_say_nothing_are_refused(limit, example):
    problem, folder = example
    _, header, records = solved(problem, folder)
    header["problem"]["limits"] = [limit]
    with pytest.raises(InputError):
        vouched(header, records, folder)


def test_a_best_structure_that_breaks_a_limit_is_refused(example):
    problem, folder = example
    _, header, records = solved(problem, folder, mm.MaxEdges(4))
    header["problem"]["limits"][0]["most"] = 1
    with pytest.raises(FormatError, match="outside of its class or limits"):
        vouched(header, records, folder)


def test_parent_sets_that_are_left_out_must_be_no_loss_under_the_limits(example):
    """Sets without the class stand for themselves where fewer edges may break a limit."""
    problem, folder = example
    _, header, records = solved(problem, folder, mm.MaxEdges(4))
    header["problem"]["limits"] = [{"kind": "degrees", "nodes": ["x0"], "min_out": 1}]
    with pytest.raises(FormatError, match="No candidate of the tree file stands for"):
        vouched(header, records, folder)


def test_files_that_declare_nothing_are_refused_with_the_reason(example):
    problem, folder = example
    _, header, records = solved(problem, folder, mm.MaxEdges(4))
    del header["problem"]["limits"]
    with pytest.raises(InputError, match=r"does not declare them.*earlier version.*at most 4 edges"):
        vouched(header, records, folder)


class Paired(mm.StructureConstraint):
    """Two features go together, and at most two edges in all lead to them."""

    def __str__(self):
        return "x0 and x1 in a pair"

    def check(self, nodes):
        pass

    def objection(self, structure, nodes):
        used = {"x0", "x1"} & {nodes.names[v] for v in structure.markov_blanket(structure.class_index)}
        edges = [child for _, child in structure.edges if child in ("x0", "x1")]
        return "not in a pair" if len(used) == 1 or len(edges) > 2 else None

    def write(self, form):
        from mmbn_opt.networks import Item

        form.all_or_none([Item(0), Item(1)])
        form.row(lambda node, parents: float(len(parents) * (node < 2)), upper=2.0)


class Forbidding(Paired):
    def write(self, form):
        super().write(form)
        form.forbid(lambda node, parents: node == 0 and 3 in parents)


def test_a_constraint_of_ones_own_is_declared_by_its_parts(example):
    problem, folder = example
    best, header, records = solved(problem, folder, Paired())
    found = vouched(header, records, folder)
    assert found.bound == pytest.approx(best, rel=1e-8)
    assert "limit: all or none, of: ['x0', 'x1']" in found.statement
    (row,) = (line for line in found.statement if line.startswith("limit: sum, of: "))
    assert "['x0', ['class'], 1.0], " in row
    assert row.endswith("most: 2.0")


def test_one_that_forbids_parent_sets_is_not_verified_and_says_so(example):
    problem, folder = example
    _, header, records = solved(problem, folder, Forbidding())
    assert "limits" not in header["problem"]
    with pytest.raises(InputError, match="somebody's own that forbids parent sets"):
        vouched(header, records, folder)


def outcomes(folder, seeds, tries):
    """Random tamperings with proofs under constraints; what they are about is said, and no bound is false."""
    total = 0
    for seed in seeds:
        kinds = [KINDS[seed % len(KINDS)], KINDS[(7 * seed) % len(KINDS)]]
        case = constrained(seed, kinds, ("sm", "bic", "sbm")[seed % 3])
        if case is None:
            continue
        problem, meant, members = case
        tree, table = written(problem, meant, folder / str(seed))
        header, records = taken_apart(tree.read_bytes())
        whole, best = verify(tree, table), float(problem.values(members).max())
        rng = np.random.default_rng(seed)
        contents = (tampered(header, records, rng) for _ in range(tries))
        slack = 1e-12 * max(1.0, abs(best))
        total += outcomes_of(contents, tree, table, whole, best, slack).total()
    return total


def test_no_tampering_with_a_proof_under_constraints_makes_a_bound_that_is_false(tmp_path):
    assert outcomes(tmp_path, range(300, 312), 30) >= 150


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(400, 480, 20))
def test_thousands_of_tamperings_with_proofs_under_constraints_make_no_bound_that_is_false(first, tmp_path):
    assert outcomes(tmp_path, range(first, first + 20), 80) >= 800


def test_each_point_of_a_trade_off_has_a_proof_of_its_own(example):
    problem, folder = example
    curve = mm.trade_off(problem, mm.MaxFeatures, range(1, 5))
    for point in curve.points:
        best, header, records = solved(problem, folder / str(point.limit), mm.MaxFeatures(int(point.limit)))
        found = vouched(header, records, folder)
        assert found.bound == pytest.approx(point.bounds.dual_bound, rel=1e-8)
        assert found.value == pytest.approx(point.bounds.primal_bound, rel=1e-8)
        assert best == pytest.approx(found.value, rel=1e-8)


def test_the_declaration_is_that_of_the_program(example):
    """The header of a plain problem is as it was: nothing is declared where nothing is asked for."""
    problem, folder = example
    assert limits_told(problem) == []
    _, header, _ = solved(problem, folder)
    assert "limits" not in header["problem"]
    assert problem.build(ProgramKind.IMPLICIT_CONCAVE).side is None
