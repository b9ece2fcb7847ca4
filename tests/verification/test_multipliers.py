"""Proofs of the convex relaxation: true whatever is done to the file, and as strong as the search says."""

import json
import struct
from collections import Counter
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_proofs import framed, taken_apart
from tampering import outcomes_of

import mmbn_opt as mm
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.programs.convex_bounds import support_function
from mmbn_opt.relaxation_proofs.relaxation import _two_thirds
from mmbn_opt.relaxation_proofs.support import Floor, support
from mmbn_opt.verification import verify

BEGINS = b"\x89MMBNC\r\n" + struct.pack("<II", 1, 0)
HEADER, MULTIPLIERS, TABLES = 1, 2, 3
BAD_NUMBERS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 5.0, 1e99, 1e308)
KINDS = ("floor", "hybrid", "dirichlet", "free", "free hybrid")


def random_problem(rng, kind):
    """A relaxation on a random structure, and its table as text."""
    cards = [*rng.integers(1, 4, size=rng.integers(1, 4)), int(rng.integers(2, 4))]
    rows = [[f"s{rng.integers(0, c)}" for c in cards] for _ in range(rng.integers(6, 30))]
    rows[0][-1], rows[1][-1] = "s0", "s1"
    data = mm.DiscreteDataset.from_arrays([row[:-1] for row in rows], [row[-1] for row in rows])
    order = rng.permutation([*data.feature_names, data.class_name])
    edges = [(a, b) for k, b in enumerate(order) for a in order[:k] if rng.random() < 0.6]
    graph = mm.from_edges(data, edges)
    weight = (
        {"B": float(rng.choice([0.3, 2.0]))} if kind.startswith("free") else {"gamma": float(rng.choice([0.7, 3.0]))}
    )
    problem = mm.MaxMarginRelaxation(
        data, graph, **weight, normalization="floor" if kind in ("floor", "free") else "hybrid",
        alpha=float(rng.choice([0.03, 0.5])), min_prob=float(rng.choice([1e-6, 0.01])),
        smoothing=mm.Dirichlet(1.5) if kind == "dirichlet" else 0.5,
    )  # fmt: skip
    names = [*data.feature_names, data.class_name]
    return problem, "\n".join([",".join(names), *(",".join(row) for row in rows)]) + "\n"


def optimum(problem):
    """By cvxpy, from the definition: every table by itself, every margin as a sum of its entries.

    Nodes of one state have no parameters, says the formulation.
    """
    data, names = problem.data, problem.structure.names
    c, cards = len(names) - 1, (*(v.cardinality for v in data.features), data.n_classes)
    codes = np.column_stack([data.codes, data.target_codes])
    parents = [tuple(names.index(p) for p in problem.structure.parent_names[name]) for name in names]
    tables, blocks, likelihood = {}, [], 0.0
    for v in range(c + 1):
        if cards[v] == 1 or (v != c and c not in parents[v]):
            continue
        for above in np.ndindex(*(cards[p] for p in parents[v])):
            w = tables[v, above] = cp.Variable(cards[v])
            blocks += [cp.sum(cp.exp(w)) <= 1, w >= np.log(problem.min_prob)]
            if problem.normalization == "hybrid":
                inside = (codes[:, list(parents[v])] == above).all(axis=1)
                extra = 0.5
                if isinstance(problem.smoothing, mm.Dirichlet):
                    extra = 1.5 / np.prod([cards[p] for p in (*parents[v], v)])
                counts = np.bincount(codes[inside, v], minlength=cards[v]) + extra
                likelihood += problem.alpha * (counts @ w)
    gamma = problem.gamma if problem.B is None else cp.Variable(pos=True)
    lost = 0.0
    for row in codes:
        scores = []
        for k in range(data.n_classes):
            state = [*row[:-1], k]
            keys = {v: tuple(state[p] for p in parents[v]) for v in range(c + 1)}
            parts = [tables[v, above][state[v]] for v, above in keys.items() if (v, above) in tables]
            scores.append(sum(parts))
        others = [scores[k] for k in range(data.n_classes) if k != row[-1]]
        lost += cp.pos(gamma - cp.min(cp.hstack([scores[row[-1]] - other for other in others])))
    cost = lost - likelihood
    if problem.B is not None:
        cost = 0.5 * cp.power(gamma, -2) + problem.B * cost
    return cp.Problem(cp.Minimize(cost), blocks).solve(solver="CLARABEL")


def proof_file(header, records):
    return BEGINS + framed(HEADER, json.dumps(header).encode()) + b"".join(framed(*record) for record in records)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_below_the_optimum_of_cvxpy_and_what_the_search_claims(kind, tmp_path):
    rng = np.random.default_rng(KINDS.index(kind))
    table, file = tmp_path / "rows.csv", tmp_path / "proof.mmbn"
    for _ in range(4):
        problem, text = random_problem(rng, kind)
        table.write_text(text)
        result = mm.solve(problem, rel_gap=1e-7, time_limit=20)
        result.save_proof(file)
        found, best = verify(file, table), optimum(problem)
        slack = 1e-6 * max(1.0, abs(best))
        assert found.holds
        assert found.bound == pytest.approx(result.bounds.dual_bound, rel=1e-9, abs=1e-9)
        assert best - 10 * slack <= found.bound <= best + slack
        assert abs(found.value - result.bounds.primal_bound) <= found.value_error + 1e-12 * max(1.0, abs(best))
        assert found.bound <= found.value + found.value_error
        assert found.violation < 1e-9


@given(
    st.lists(st.fractions(-50, 50, max_denominator=10**6), min_size=1, max_size=6), st.sampled_from([1e-6, 0.01, 0.15])
)
def test_the_closed_form_is_bounded_from_above_and_closely(values, share):
    digits = Context(prec=40)
    floor = Floor(digits.ln(Decimal(share)), Decimal(share))
    found = support([v.as_integer_ratio() for v in values], floor)
    near, _ = support_function(np.array([float(v) for v in values]), np.array([0, len(values)]), float(np.log(share)))
    assert float(found) == pytest.approx(near, rel=1e-12, abs=1e-11)


@given(
    st.lists(st.fractions(-50, 50, max_denominator=10**6), min_size=2, max_size=5),
    st.lists(st.integers(0, 1000), min_size=5, max_size=5),
)
def test_no_point_of_the_set_reaches_more_than_the_closed_form_says(values, shares):
    least = Decimal("0.01")
    with localcontext(Context(prec=60)):
        found = support([v.as_integer_ratio() for v in values], Floor(least.ln(), least))
        rest, total = 1 - len(values) * least, max(sum(shares[: len(values)]), 1)
        logs = [(least + rest * share / total).ln() for share in shares[: len(values)]]
        reached = sum(Decimal(v.numerator) / Decimal(v.denominator) * w for v, w in zip(values, logs, strict=True))
        assert found >= reached


@given(st.fractions(Fraction(1, 10**9), 10**9))
def test_the_power_of_a_free_margin_is_bounded_from_below_and_closely(number):
    found = _two_thirds(number) * Fraction(2, 3)
    assert found**3 <= number**2 <= found**3 * (1 + Fraction(1, 10**13))


@pytest.mark.parametrize("kind", KINDS)
def test_multipliers_that_are_not_admissible_are_clipped_as_the_search_clips_them(kind, tmp_path):
    rng = np.random.default_rng(20 + KINDS.index(kind))
    problem, text = random_problem(rng, kind)
    (tmp_path / "rows.csv").write_text(text)
    result = mm.solve(problem, rel_gap=1e-8, time_limit=20)
    header, (_, tables) = taken_apart(result.save_proof(tmp_path / "proof.mmbn").read_bytes())
    n, classes = problem.program.margins.n_samples, problem.data.n_classes
    labels, weight = problem.program.margins.labels, problem.program.margins.weight
    full = result.multipliers.sum(axis=1) > 0.999 * weight
    for case in range(7):
        y = result.multipliers.copy()
        y[full] *= 1.0 + case  # beyond the weights
        y[np.arange(n), labels] = rng.choice([0.5, -1.0, np.nan, np.inf, -np.inf], size=n)  # at a sample's own class
        if case > 2:
            y += (0.01, 1.0, 100.0, 1e12)[case - 3] * rng.normal(size=y.shape) * (rng.random(y.shape) < 0.5)
            y[rng.integers(0, n), rng.integers(0, classes)] = rng.choice([np.nan, np.inf, -np.inf])
        payload = struct.pack("<II", n, classes) + np.packbits(y.ravel() != 0.0, bitorder="little").tobytes()
        payload += y.ravel()[y.ravel() != 0.0].tobytes()
        (tmp_path / "proof.mmbn").write_bytes(proof_file(header, [(MULTIPLIERS, payload), tables]))
        found = verify(tmp_path / "proof.mmbn", tmp_path / "rows.csv")
        assert found.bound == pytest.approx(max(problem.prove_bound(y), 0.0), rel=1e-9, abs=1e-9)
        assert found.bound <= result.bounds.primal_bound * (1 + 1e-12)
        assert found.bound > 0.0 or case > 0


def changed(header, records, rng):
    """Bytes of a file in which one thing is another, with all checksums right but for a cut."""
    header, records = json.dumps(header).encode(), list(records)
    some = int(rng.integers(0, len(records)))
    kind, payload = records[some]
    how = str(rng.choice(["bytes", "left out", "twice", "header", "number", "number", "cut"]))
    if how == "bytes":
        octets = bytearray(payload)
        for place in rng.integers(0, len(payload), size=rng.integers(1, 4)):
            octets[place] = rng.integers(0, 256)
        records[some] = kind, bytes(octets)
    elif how == "left out":
        del records[some]
    elif how == "twice":
        records.insert(some, records[some])
    elif how == "header":
        octets = bytearray(header)
        octets[rng.integers(0, len(header))] = rng.integers(32, 127)
        header = bytes(octets)
    elif how == "number" and len(payload) >= 16:
        place = len(payload) - 8 * int(rng.integers(1, (len(payload) - 8) // 8 + 1))
        number = float(rng.choice(BAD_NUMBERS)) if rng.random() < 0.7 else float(rng.random() * 3)
        records[some] = kind, payload[:place] + struct.pack("<d", number) + payload[place + 8 :]
    content = BEGINS + framed(HEADER, header) + b"".join(framed(*record) for record in records)
    return how, content[: rng.integers(0, len(content))] if how == "cut" else content


def outcomes(folder, seed, problems, tries):
    rng, seen = np.random.default_rng(seed), Counter()
    table, file = folder / "rows.csv", folder / "proof.mmbn"
    for number in range(problems):
        problem, text = random_problem(rng, KINDS[number % len(KINDS)])
        table.write_text(text)
        result = mm.solve(problem, rel_gap=1e-8, time_limit=20)
        header, records = taken_apart(result.save_proof(file).read_bytes())
        whole, best = verify(file, table), result.bounds.primal_bound
        contents = (changed(header, records, rng) for _ in range(tries))
        seen += outcomes_of(contents, file, table, whole, best, 1e-12 * max(1.0, abs(best)))
    return seen


def test_no_tampering_makes_a_bound_that_is_false(tmp_path):
    seen = outcomes(tmp_path, 0, problems=10, tries=60)
    assert seen.total() == 600
    assert seen["number", "weaker"] > 0
    assert seen["cut", "refused"] == sum(n for (how, _), n in seen.items() if how == "cut") > 0
    assert {end for _, end in seen} == {"refused", "another statement", "weaker", "the same"}


@pytest.mark.slow
def test_thousands_of_tamperings_make_no_bound_that_is_false(tmp_path):
    assert outcomes(tmp_path, 1, problems=40, tries=150).total() == 6000


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """Problem, header, records and folder of a proof of a table with a number, a missing state and a class of text."""
    folder = tmp_path_factory.mktemp("solved")
    rng = np.random.default_rng(7)
    lines = ["size,colour,kind"]
    for _ in range(60):
        kind = rng.integers(0, 2)
        lines.append(f"{rng.normal() + 2 * kind:.3f},{rng.choice(['red', 'blue', ''])},{'ab'[kind]}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    data = mm.prepare(mm.read_table(folder / "rows.csv"), "kind", missing="state").data
    problem = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0, normalization="floor")
    file = mm.solve(problem, rel_gap=1e-7).save_proof(folder / "proof.mmbn")
    return folder, lines, *taken_apart(file.read_bytes())


def test_cuts_and_missing_states_are_read_again(solved):
    folder, *_ = solved
    found = verify(folder / "proof.mmbn", folder / "rows.csv")
    assert found.holds
    assert found.minimize
    assert found.gap < 1e-6
    assert any(line.startswith(("size: [", "size: (")) for line in found.statement)


@pytest.mark.parametrize("what", ["swapped", "label", "unknown", "left out", "added", "number"])
def test_the_first_row_that_differs_is_named(what, solved, tmp_path):
    folder, lines, header, _ = solved
    lines = list(lines)
    at = next(k for k in range(5, len(lines)) if lines[k][-1] != lines[k + 1][-1])
    size, colour, kind = lines[at].split(",")
    cut = header["nodes"][0]["cuts"][0]
    far = cut + 100 if float(size) <= cut else cut - 100
    if what == "swapped":
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    elif what == "left out":
        del lines[at]
    elif what == "added":
        lines.append(lines[-1])
    else:
        lines[at] = {
            "label": f"{size},{colour},{'b' if kind == 'a' else 'a'}", "unknown": f"{size},green,{kind}",
            "number": f"{far},{colour},{kind}",
        }[what]  # fmt: skip
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    told = "61 rows, the proof is about 60" if what == "added" else rf"line {at + 1} differs"
    with pytest.raises(InputError, match=told):
        verify(folder / "proof.mmbn", tmp_path / "rows.csv")


def vouched(solved, tmp_path, header=None, records=None):
    folder, _, own_header, own = solved
    (tmp_path / "proof.mmbn").write_bytes(proof_file(header or own_header, own if records is None else records))
    return verify(tmp_path / "proof.mmbn", folder / "rows.csv")


def test_a_cut_point_that_was_moved_is_noticed(solved, tmp_path):
    header = json.loads(json.dumps(solved[2]))
    header["nodes"][0]["cuts"][0] += 1.5
    with pytest.raises(InputError, match=r"line \d+ differs"):
        vouched(solved, tmp_path, header)


@pytest.mark.parametrize("end", [0, 7, 15, 16, 24, 200, -1])
def test_a_file_that_was_cut_off_is_refused(end, solved, tmp_path):
    folder, *_ = solved
    (tmp_path / "proof.mmbn").write_bytes((folder / "proof.mmbn").read_bytes()[:end])
    with pytest.raises(FormatError, match=r"cut off|no tree file|no proof file"):
        verify(tmp_path / "proof.mmbn", folder / "rows.csv")


def test_a_later_version_is_refused(solved, tmp_path):
    folder, *_ = solved
    content = bytearray((folder / "proof.mmbn").read_bytes())
    content[8] = 2
    (tmp_path / "proof.mmbn").write_bytes(content)
    with pytest.raises(FormatError, match="no proof file of version 1"):
        verify(tmp_path / "proof.mmbn", folder / "rows.csv")


def test_a_claim_beyond_the_proof_does_not_hold(solved, tmp_path):
    header = json.loads(json.dumps(solved[2]))
    header["claimed"]["bound"] *= 1.0 + 1e-6
    found = vouched(solved, tmp_path, header)
    assert not found.holds
    assert found.bound == vouched(solved, tmp_path).bound


def test_without_multipliers_nothing_but_the_trivial_bound_is_vouched_for(solved, tmp_path):
    (kind, payload), tables = solved[3]
    n, classes = struct.unpack_from("<II", payload)
    empty = struct.pack("<II", n, classes) + bytes(-(-n * classes // 8))
    found = vouched(solved, tmp_path, records=[(kind, empty), tables])
    assert found.bound == pytest.approx(0.0, abs=1e-300)
    assert not found.holds


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gamma", None), ("gamma", -1.0), ("gamma", float("nan")), ("gamma", float("inf")), ("B", 1.0),
        ("min_prob", 0.0), ("min_prob", -1.0), ("min_prob", 2.0), ("min_prob", "little"), ("alpha", -0.5),
        ("alpha", [1]), ("edges", [["kind", "nobody"], ["nobody", "size"]]), ("edges", 3),
    ],
)  # fmt: skip
def test_settings_that_are_none_are_refused(key, value, solved, tmp_path):
    header = json.loads(json.dumps(solved[2]))
    header["problem"][key] = value
    with pytest.raises(FormatError):
        vouched(solved, tmp_path, header)


@pytest.mark.parametrize("smoothing", [{"laplace": -1.0}, {"dirichlet": float("nan")}, {}, None, 3])
def test_smoothing_that_is_none_is_refused(smoothing, solved, tmp_path):
    header = json.loads(json.dumps(solved[2]))
    header["problem"] |= {"alpha": 0.5, "smoothing": smoothing}
    with pytest.raises(FormatError):
        vouched(solved, tmp_path, header)


@pytest.mark.parametrize(("key", "value"), [("gamma", 0.5), ("min_prob", 0.01), ("edges", [["kind", "size"]])])
def test_another_problem_is_said(key, value, solved, tmp_path):
    header = json.loads(json.dumps(solved[2]))
    header["problem"][key] = value
    records = solved[3]
    if key == "edges":
        records = [records[0], (TABLES, records[1][1][: 8 * (2 * 2 + 2)])]
    assert f"{key}: {value}" in vouched(solved, tmp_path, header, records).statement
