"""The same problem as a model of five libraries: equal optima, names shown, a row of one's own added, and back."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.interop.programs import write_program

CONSTRAINED = "constrained"


@pytest.fixture(scope="module", params=["corral", "car", CONSTRAINED, "scores"])
def problem(request):
    """A problem, with or without side constraints."""
    if request.param == "scores":
        return mm.LocalScoreStructure({
            "a, b": [(-10.5, ()), (-8.25, ("c", "d"))], "c": [(-3.0, ()), (-1.0, ("a, b",))], "d": [(-2.0, ())],
        })  # fmt: skip
    frame = mm.load_dataset("car" if request.param == "car" else "corral")
    data = mm.prepare(frame.sample(120, random_state=0) if request.param == "car" else frame, "class").data
    if request.param == "car":
        return mm.DecomposableStructure(data, score="bic", max_parents=2)
    problem = mm.SoftMarginStructure(data, max_parents=2)
    if request.param == CONSTRAINED:
        problem = problem.with_constraints(mm.MaxEdges(5), mm.AllOrNone(["A0", "B0"]), mm.Ancestor("A1", "class"))
    return problem


def own_row(problem):
    """A node, and its columns that have a parent: an own row forbids them."""
    names = problem.named_program().column_names
    best = mm.solve(problem).model
    structure = best if isinstance(best, mm.Structure) else best.structure
    node = max(structure.names, key=lambda name: len(structure.parent_names[name]))
    return node, [k for k, name in enumerate(names) if name.startswith(f"parents[{node} | ")]


def by_highspy(problem, banned=()):
    model = problem.to_highspy()
    if banned:
        model.addRow(-np.inf, 0.0, len(banned), np.array(banned, dtype=np.int32), np.ones(len(banned)))
    model.run()
    return model.getInfo().objective_function_value, list(model.getSolution().col_value)


def by_scip(problem, banned=()):
    scip = pytest.importorskip("pyscipopt", reason="SCIP is not installed (extra scip)")
    model = problem.to_scip()
    columns = model.getVars()
    if banned:
        model.addCons(scip.quicksum(columns[k] for k in banned) <= 0)
    model.optimize()
    return model.getObjVal(), {column.name: model.getVal(column) for column in columns}


def by_pyomo(problem, banned=()):
    pyo = pytest.importorskip("pyomo.environ", reason="Pyomo is not installed (extra pyomo)")
    model = problem.to_pyomo()
    columns = list(model.x.values())
    if banned:
        model.own = pyo.Constraint(expr=sum(columns[k] for k in banned) <= 0)
    pyo.SolverFactory("appsi_highs").solve(model)
    return pyo.value(model.objective), {name: model.x[name].value or 0.0 for name in model.x}


def by_cvxpy(problem, banned=()):
    import cvxpy as cp

    model = problem.to_cvxpy()
    x = model.var_dict["x"]
    if banned:
        model = cp.Problem(model.objective, [*model.constraints, cp.sum(x[list(banned)]) <= 0])
    return model.solve(solver="HIGHS"), x.value


WAYS = {"highspy": by_highspy, "scip": by_scip, "pyomo": by_pyomo, "cvxpy": by_cvxpy}


@pytest.mark.parametrize("way", WAYS)
def test_every_library_finds_the_optimum_and_its_values_lead_back(problem, way):
    result = mm.solve(problem)
    value, values = WAYS[way](problem)
    assert -value == pytest.approx(result.bounds.primal_bound, rel=1e-6)
    model = problem.recover(values)
    assert problem.evaluate(model) == pytest.approx(result.bounds.primal_bound, rel=1e-6)
    assert mm.certify(model, problem).ok


@pytest.mark.parametrize("way", WAYS)
def test_a_row_of_ones_own_is_kept(problem, way):
    node, banned = own_row(problem)
    value, values = WAYS[way](problem, banned)
    model = problem.recover(values)
    structure = model if isinstance(model, mm.Structure) else model.structure
    assert structure.parent_names[node] == []
    if way != "highspy":
        assert value == pytest.approx(by_highspy(problem, banned)[0], rel=1e-6)
    same = problem.with_constraints(mm.DegreeLimit(node, max_in=0))
    assert -value == pytest.approx(mm.solve(same).bounds.primal_bound, rel=1e-6)


def test_names_say_what_columns_and_rows_are(problem):
    program = problem.named_program()
    assert len(program.row_names) == program.A.shape[0] == len(set(program.row_names))
    assert len(program.column_names) == program.c.size == len(set(program.column_names))
    for (node, parents), name in zip(problem.candidates.columns, program.column_names, strict=False):
        names = problem.node_names
        assert name == f"parents[{names[node]} | {', '.join(names[p] for p in parents)}]".replace(" ]", "]")
    assert all(name.endswith("]") for name in (*program.column_names, *program.row_names))
    if isinstance(problem, mm.SoftMarginStructure):
        margins = [name for name in program.row_names if name.startswith("margin[")]
        assert len(margins) == problem.merged.n_samples
        row, own, rival = margins[0].removeprefix("margin[row ").replace(" vs ", ", ").rstrip("]").split(", ")
        data = problem.data
        assert data.target.states[int(data.target_codes[int(row)])] == type(data.target.states[0])(own) != rival
        assert "order[A0]" in program.column_names
        assert any(name.startswith("order[A0 -> ") for name in program.row_names)
    highs = problem.to_highspy()
    assert [highs.getColName(k)[1] for k in range(3)] == list(program.column_names[:3])


def test_what_cannot_be_recovered_is_told(problem):
    highs = problem.to_highspy()
    highs.run()
    values = list(highs.getSolution().col_value)
    least = problem.candidates.n_columns
    for wrong, words in (
        (values[: least - 1], f"must be at least {least:,} numbers"),
        ([*values[:3], float("nan"), *values[4:]], "it must be a finite number"),
        ([0.0] * least, "No parent set of .* is chosen: the largest value of its columns is 0"),
        ({"parents[nobody |]": 1.0}, "None of the names"),
        ("parents", "must be numbers, one a column"),
    ):
        with pytest.raises(mm.InputError, match=words):
            problem.recover(wrong)


def test_a_convex_problem_is_handed_over_too():
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    relaxation = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=10.0)
    best = mm.solve(relaxation).bounds.primal_bound
    model = relaxation.to_cvxpy()
    model.solve(solver="CLARABEL")
    found = relaxation.recover(np.asarray(model.var_dict["w"].value))
    assert relaxation.evaluate(found) == pytest.approx(best, rel=1e-4)
    assert len(relaxation.to_pyomo().w) == relaxation.build().margins.n_parameters
    with pytest.raises(mm.InputError, match="MaxMarginRelaxation has no row form, which to_highspy could hand over"):
        relaxation.to_highspy()
    with pytest.raises(mm.InputError, match="has neither a row form nor a convex program, which to_cvxpy"):
        mm.SmoothMargin(data, mm.naive_bayes(data)).to_cvxpy()


def test_the_written_file_has_the_same_names(problem, tmp_path):
    import json

    write_program(problem, tmp_path / "p.mps", file_format="mps")
    columns = json.loads((tmp_path / "p.mps.names.json").read_text())["columns"]
    assert [entry["name"] for entry in columns.values()] == list(problem.named_program().column_names)
