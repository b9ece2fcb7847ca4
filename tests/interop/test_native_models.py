"""The same problem as a model of five libraries and two files: equal optima, names, rows of one's own, and back."""

import json
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import mmbn_opt as mm
from mmbn_opt.cli.app import app
from mmbn_opt.interop.programs import write_program
from mmbn_opt.interop.with_linopy import linopy_model
from mmbn_opt.programs import MixedIntegerProgram
from mmbn_opt.programs.as_mof import linear_mof
from tests.mof_reader import Mof

CONSTRAINED = "constrained"


@pytest.fixture(
    scope="module", params=["corral", "car", CONSTRAINED, "scores", pytest.param("all of car", marks=pytest.mark.slow)]
)
def problem(request):
    """A problem, with or without side constraints."""
    if request.param == "scores":
        return mm.LocalScoreStructure({
            "a, b": [(-10.5, ()), (-8.25, ("c", "d"))], "c": [(-3.0, ()), (-1.0, ("a, b",))], "d": [(-2.0, ())],
        })  # fmt: skip
    if request.param == "all of car":
        data = mm.prepare(mm.load_dataset("car"), "class").data
        return mm.SoftMarginStructure(data, max_parents=2, gamma=mm.log_odds(0.9)).with_constraints(mm.MaxEdges(6))
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


def by_linopy(problem, banned=()):
    pytest.importorskip("linopy", reason="linopy is not installed (extra linopy)")
    model = problem.to_linopy()
    x, names = model.variables["x"], problem.named_program().column_names
    if banned:
        model.add_constraints(x.sel(column=[names[k] for k in banned]).sum() <= 0, name="own")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of coordinates that do not fit
        model.solve("highs", output_flag=False)
    assert not model.solution["x"].isnull().any()
    return model.objective.value, model.solution["x"].to_series()


def by_mof(problem, banned=()):
    import cvxpy as cp

    with TemporaryDirectory() as folder:
        read = Mof(problem.to_mof(Path(folder, "problem.mof.json")))
    own = [cp.sum(read.x[list(banned)]) <= 0] if banned else []
    value = cp.Problem(read.problem.objective, [*read.problem.constraints, *own]).solve(solver="HIGHS")
    return value, read.values()


def by_mps(problem, banned=()):
    import highspy

    with TemporaryDirectory() as folder:
        write_program(problem, Path(folder, "p.mps"), file_format="mps")
        model = highspy.Highs()
        model.setOptionValue("output_flag", False)
        model.readModel(str(Path(folder, "p.mps")))
        told = json.loads(Path(folder, "p.mps.names.json").read_text())["columns"]
    if banned:
        model.addRow(-np.inf, 0.0, len(banned), np.array(banned, dtype=np.int32), np.ones(len(banned)))
    model.run()
    values = model.getSolution().col_value
    at = {model.getColName(k)[1]: values[k] for k in range(len(values))}
    return model.getInfo().objective_function_value, {entry["name"]: at[there] for there, entry in told.items()}


WAYS = {
    "highspy": by_highspy,
    "scip": by_scip,
    "pyomo": by_pyomo,
    "cvxpy": by_cvxpy,
    "linopy": by_linopy,
    "mof": by_mof,
    "mps": by_mps,
}


@cache
def solved(problem):
    return mm.solve(problem)


@cache
def optimum_without_parents(problem, node):
    """What the problem is worth to our engine where a node has none."""
    return mm.solve(problem.with_constraints(mm.DegreeLimit(node, max_in=0))).bounds.primal_bound


@pytest.mark.parametrize("way", WAYS)
def test_every_library_finds_the_optimum_and_its_values_lead_back(problem, way):
    result = solved(problem)
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
    assert -value == pytest.approx(optimum_without_parents(problem, node), rel=1e-6)


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
        assert len(margins) == problem.merged.n_samples * (problem.data.target.cardinality - 1)
        row, own, rival = margins[0].removeprefix("margin[row ").replace(" vs ", ", ").rstrip("]").split(", ")
        data = problem.data
        assert data.target.states[int(data.target_codes[int(row)])] == type(data.target.states[0])(own) != rival
        first = problem.node_names[0]
        assert f"order[{first}]" in program.column_names
        assert any(name.startswith(f"order[{first} -> ") for name in program.row_names)
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
    write_program(problem, tmp_path / "p.mps", file_format="mps")
    columns = json.loads((tmp_path / "p.mps.names.json").read_text())["columns"]
    assert [entry["name"] for entry in columns.values()] == list(problem.named_program().column_names)


def test_a_convex_problem_is_written_by_cones_and_its_values_lead_back_by_name(tmp_path):
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    graph = mm.from_edges(data, [("class", "A0"), ("class", "A1"), ("A0", "A1"), ("class", "B0")])
    for number, shape in enumerate(
        ({"gamma": 5.0, "normalization": "floor", "min_prob": 0.02}, {"gamma": 3.0}, {"B": 0.01, "min_prob": 1e-3})
    ):
        relaxation = mm.MaxMarginRelaxation(data, graph, **shape)
        best = mm.solve(relaxation, rel_gap=1e-7).bounds.primal_bound
        read = Mof(relaxation.to_mof(tmp_path / f"{number}.mof.json"))
        assert read.problem.solve(solver="CLARABEL") == pytest.approx(best, rel=1e-5)
        assert relaxation.evaluate(relaxation.recover(read.values())) == pytest.approx(best, rel=1e-4)
        assert read.sets["ExponentialCone"] == len(relaxation.entry_names)
        assert ("PowerCone" in read.sets) == ("B" in shape)
        assert "sum[A1 | A0=1, class=0]" in read.rows or "sum[A1 | class=0, A0=1]" in read.rows
    with pytest.raises(mm.InputError, match="SmoothMargin has neither a row form nor cones, which to_mof could write"):
        mm.SmoothMargin(data, graph).to_mof(tmp_path / "none.mof.json")
    assert not (tmp_path / "none.mof.json").exists()


@pytest.mark.parametrize("offset", [0.0, -2.5])
@pytest.mark.parametrize("whole", [[False] * 3, [True] * 3, [True, False, True]])
def test_both_sides_of_a_row_a_constant_and_whole_numbers_are_kept(tmp_path, offset, whole):
    program = MixedIntegerProgram(
        c=np.array([1.0, -2.0, 0.5]),
        A=sp.csr_array(np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, -1.0], [1.0, 0.0, 0.0]])),
        row_lower=np.array([0.5, 2.0, -np.inf, -np.inf]),
        row_upper=np.array([3.5, 2.0, 1.25, np.inf]),
        col_lower=np.array([0.0, -1.0, -np.inf]),
        col_upper=np.array([1.0, 3.0, 7.0]),
        integrality=np.array(whole),
        offset=offset,
        column_names=("a | b", "größe", "c"),
        row_names=("two sides", "equal", "one side", "free"),
    )
    best = mm.solve(program).bounds.primal_bound
    path = tmp_path / "p.mof.json"
    path.write_text(json.dumps(linear_mof(program)), encoding="utf-8")
    read = Mof(path)
    assert read.problem.solve(solver="HIGHS") == pytest.approx(best)
    assert set(read.rows) == {"two sides", "equal", "one side"}
    assert read.sets["Interval"] == 1 + (not whole[0]) + 1
    pytest.importorskip("linopy", reason="linopy is not installed (extra linopy)")
    model = linopy_model(program)
    model.solve("highs", output_flag=False)
    assert model.objective.value == pytest.approx(best)
    values = {
        k: v for name in set(model.variables) - {"one"} for k, v in model.variables[name].solution.to_series().items()
    }
    assert program.value(np.array([values[name] for name in program.column_names])) == pytest.approx(best)
    assert program.violation(np.array([values[name] for name in program.column_names])) < 1e-6


def test_a_file_of_the_command_line_is_the_same(tmp_path):
    frame = mm.load_dataset("corral")
    frame.to_csv(tmp_path / "corral.csv", index=False)
    out = tmp_path / "c.mof.json"
    done = CliRunner().invoke(
        app, ["export", "-d", str(tmp_path / "corral.csv"), "-t", "class", "--format", "mof", "-o", str(out)]
    )
    assert done.exit_code == 0, done.output
    problem = mm.SoftMarginStructure(mm.prepare(frame, "class").data, max_parents=2)
    assert out.read_bytes() == problem.to_mof(tmp_path / "own.mof.json").read_bytes()
    assert "written: " in done.output
