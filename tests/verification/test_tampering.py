"""Whatever is done to a proof, what is vouched for is true: optima are known by enumeration, to sixty digits."""

import struct
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from enumeration import random_problem
from small_proofs import INCUMBENT, POINT, SPLIT, SmallProblem, taken_apart, tree_file
from stated_problems import formulation_of
from tampering import outcomes_of, tampered

import mmbn_opt as mm
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.verification import verify


def small_problem(rng):
    cards = tuple(rng.integers(2, 4, size=rng.integers(2, 4)))
    rows = [tuple(rng.integers(0, c) for c in cards) for _ in range(rng.integers(5, 25))]
    return SmallProblem(
        rows,
        cards,
        score=str(rng.choice(["sm", "sm", "bic"])),
        gamma=float(rng.choice([0.3, 1.0, 2.2])),
        smoothing=float(rng.choice([0.5, 1.0])),
        dirichlet=bool(rng.random() < 0.5),
    )


def outcomes(folder, rng, problems, tries):
    """How often which tampering ended how; fails where a bound is false."""
    seen = Counter()
    table, tree = folder / "rows.csv", folder / "tree.mmbn"
    for _ in range(problems):
        problem = small_problem(rng)
        best, parents = problem.best()
        header = problem.header()
        records = problem.proof(parents, n_groups=rng.integers(1, 4), order=rng.permutation(problem.nodes))
        table.write_text(problem.text())
        tree.write_bytes(tree_file(header, records))
        whole = verify(tree, table)
        assert best <= whole.bound <= float(best) + 1e-9
        contents = (tampered(header, records, rng) for _ in range(tries))
        seen += outcomes_of(contents, tree, table, whole, best)
    return seen


def test_no_tampering_makes_a_bound_that_is_false(tmp_path):
    seen = outcomes(tmp_path, np.random.default_rng(0), problems=12, tries=25)
    assert seen["left out", "refused"] > 0
    assert seen["number", "weaker"] > 0
    assert sum(n for (_, end), n in seen.items() if end == "the same") > 0


@pytest.mark.slow
def test_thousands_of_tamperings_make_no_bound_that_is_false(tmp_path):
    seen = outcomes(tmp_path, np.random.default_rng(1), problems=150, tries=40)
    assert seen.total() == 6000
    assert {end for _, end in seen} >= {"refused", "weaker", "the same"}


def outcomes_for_searches(folder, rng, seeds, tries):
    """The same for proofs that searches wrote, with all kinds of records."""
    seen = Counter()
    for seed in seeds:
        score = ("sm", "sm", "bic", "sbm", "bdeu")[seed % 5]
        problem = replace(random_problem(seed, score), _families={})
        problem = replace(problem, weights=(1.0,) * len(problem.rows))
        names = [*(f"x{j}" for j in range(len(problem.card) - 1)), "class"]
        table, run = folder / f"{seed}.csv", folder / str(seed)
        table.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in problem.rows)]))
        mm.solve(formulation_of(problem), "branch_and_cut", checkpoint=run)
        tree, best = run / "tree.mmbn", problem.optimum()
        header, records = taken_apart(tree.read_bytes())
        whole = verify(tree, table)
        contents = (tampered(header, records, rng) for _ in range(tries))
        seen += outcomes_of(contents, tree, table, whole, best, 1e-12 * max(1.0, abs(best)))
    return seen


def test_no_tampering_with_what_a_search_wrote_makes_a_bound_that_is_false(tmp_path):
    seen = outcomes_for_searches(tmp_path, np.random.default_rng(0), range(40, 45), tries=60)
    assert {end for _, end in seen} >= {"refused", "weaker", "the same"}


@pytest.mark.slow
def test_thousands_of_tamperings_with_what_searches_wrote_make_no_bound_that_is_false(tmp_path):
    seen = outcomes_for_searches(tmp_path, np.random.default_rng(1), range(100, 140), tries=100)
    assert seen.total() == 4000


@pytest.fixture
def example(tmp_path):
    rng = np.random.default_rng(5)
    rows = [tuple(rng.integers(0, c) for c in (2, 3, 2)) for _ in range(20)]
    problem = SmallProblem(rows, (2, 3, 2), gamma=0.8)
    (tmp_path / "rows.csv").write_text(problem.text())
    return problem, problem.best()[1], tmp_path


def vouched(problem, header, records, folder):
    (folder / "tree.mmbn").write_bytes(tree_file(header, records))
    return verify(folder / "tree.mmbn", folder / "rows.csv")


@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.5, 4.0])
def test_another_gamma_is_said_and_its_bound_is_true(example, gamma):
    problem, parents, folder = example
    header = problem.header()
    header["problem"]["gamma"] = gamma
    found = vouched(problem, header, problem.proof(parents), folder)
    assert f"gamma: {gamma}" in found.statement
    other = SmallProblem(problem.rows, problem.cards, gamma=gamma)
    assert found.bound >= other.best()[0]


@pytest.mark.parametrize("smoothing", [{"laplace": 0.25}, {"dirichlet": 1.0}])
def test_another_smoothing_is_said_and_its_bound_is_true(example, smoothing):
    problem, parents, folder = example
    header = {**problem.header(), "problem": {**problem.header()["problem"], "smoothing": smoothing}}
    found = vouched(problem, header, problem.proof(parents), folder)
    ((kind, amount),) = smoothing.items()
    assert f"smoothing: {smoothing}" in found.statement
    other = SmallProblem(problem.rows, problem.cards, gamma=0.8, smoothing=amount, dirichlet=kind == "dirichlet")
    assert found.bound >= other.best()[0]


def test_more_states_are_said_and_their_bound_is_true(example):
    problem, parents, folder = example
    header = problem.header()
    header["nodes"][0]["states"].append("s2")
    found = vouched(problem, header, problem.proof(parents), folder)
    assert "x0: ('s0', 's1', 's2')" in found.statement
    assert found.bound >= SmallProblem(problem.rows, (3, 3, 2), gamma=0.8).best()[0]


def test_a_candidate_that_is_left_out_is_named(example):
    problem, parents, folder = example
    for node, options in enumerate(problem.sets):
        for gone in options:
            header = problem.header()
            header["candidates"][node] = [list(s) for s in options if s != gone]
            with pytest.raises(FormatError, match="No candidate of the tree file stands for") as refused:
                vouched(problem, header, problem.proof(parents), folder)
            assert ("x0", "x1", "class")[node] in str(refused.value)


@pytest.mark.parametrize("change", ["swapped", "another state", "left out", "added"])
def test_the_first_row_that_differs_is_named(example, change):
    problem, parents, folder = example
    (folder / "tree.mmbn").write_bytes(tree_file(problem.header(), problem.proof(parents)))
    lines = problem.text().splitlines()
    at = next(k for k in range(3, len(lines)) if lines[k] != lines[k + 1])
    if change == "swapped":
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    elif change == "another state":
        lines[at] = lines[at].replace("s0", "s9") if "s0" in lines[at] else lines[at].replace("s1", "s9")
    elif change == "left out":
        del lines[at]
    else:
        lines.append(lines[-1])
    (folder / "rows.csv").write_text("\n".join(lines))
    told = "21 rows, the proof is about 20" if change == "added" else rf"line {at + 1} differs"
    with pytest.raises(InputError, match=told):
        verify(folder / "tree.mmbn", folder / "rows.csv")


def test_with_forged_checksums_the_bound_is_that_of_the_rows_that_are_given(example):
    problem, parents, folder = example
    rng = np.random.default_rng(3)
    for _ in range(20):
        rows = [list(row) for row in problem.rows]
        row, node = rng.integers(0, len(rows)), rng.integers(0, 3)
        rows[row][node] = rng.integers(0, problem.cards[node])
        other = SmallProblem(rows, problem.cards, gamma=0.8)
        (folder / "rows.csv").write_text(other.text())
        if len(set(other.rows)) != len(set(problem.rows)):
            with pytest.raises(FormatError, match="samples"):
                vouched(problem, other.header(), problem.proof(parents), folder)
        else:
            assert vouched(problem, other.header(), problem.proof(parents), folder).bound >= other.best()[0]


def test_a_cut_at_another_point_proves_what_it_proves(example):
    problem, parents, folder = example
    best = problem.best()[0]
    rng = np.random.default_rng(4)
    for _ in range(30):
        records = problem.proof(parents)
        points = [k for k, (kind, _) in enumerate(records) if kind == POINT]
        for k in rng.choice(points, size=3, replace=False):
            _, _, size, n = struct.unpack_from("<IBBI", records[k][1])
            values = rng.random(n).tobytes()
            records[k] = POINT, records[k][1][: 10 + size * n] + values
        assert vouched(problem, problem.header(), records, folder).bound >= best


def test_a_box_that_is_left_out_counts_as_its_parent(example):
    problem, parents, folder = example
    records = problem.proof(parents)
    at = next(k for k, (kind, _) in enumerate(records) if kind == SPLIT)
    box, node, first, n = struct.unpack_from("<QIQI", records[at][1])
    columns = np.frombuffer(records[at][1], "<u4", n, 24)[:-1]
    body = struct.pack("<QIQI", box, node, first, n - 1) + columns.tobytes() + bytes([1] * (n - 1))
    records[at] = SPLIT, body + np.full(n - 1, -np.inf).tobytes() + struct.pack("<BHH", 8, 0, 0)
    gone, kept = {first + n - 1}, []
    for kind, payload in records:
        box, _, start, count = struct.unpack_from("<QIQI", payload) if kind == SPLIT else (-1, 0, 0, 0)
        if box in gone:
            opened = payload[24 + 4 * count] == 1
            gone |= set(range(start, start + count)) if opened else set()
        else:
            kept.append((kind, payload))
    assert len(kept) < len(records)
    found = vouched(problem, problem.header(), kept, folder)
    assert found.bound == pytest.approx(0.8 * len(problem.rows))  # nothing but gamma a row is known of that box


def test_a_best_structure_with_a_cycle_is_refused(example):
    problem, _, folder = example
    header = problem.header()
    records = problem.proof(problem.best()[1])
    c = problem.nodes - 1
    cyclic = [problem.columns.index(pair) for pair in ((0, (c,)), (1, ()), (c, (0,)))]
    records[-1] = INCUMBENT, struct.pack("<ddI", 0.0, 1e9, 3) + np.array(cyclic, dtype="<u4").tobytes()
    with pytest.raises(FormatError, match="has a cycle"):
        vouched(problem, header, records, folder)


@pytest.mark.parametrize("where", ["gamma", "smoothing"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, "much", None, [1]])
def test_numbers_that_are_none_are_refused(where, value, example):
    problem, parents, folder = example
    header = problem.header()
    header["problem"][where] = {"laplace": value} if where == "smoothing" else value
    if where == "gamma" and value == -1.0:  # a margin that is asked for may be anything
        other = SmallProblem(problem.rows, problem.cards, gamma=-1.0)
        assert vouched(problem, header, problem.proof(parents), folder).bound >= other.best()[0]
        return
    with pytest.raises(FormatError, match="no proof that can be read"):
        vouched(problem, header, problem.proof(parents), folder)
