"""What is written is read back, by the product and by every reader at hand, with the same numbers.

Each file is written, and read by the product, in a process whose locale has decimal commas (A1); others' readers, some
of which follow the locale themselves, read it with a point. Names and labels are as hostile as they come.
"""

import json
import math
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conformance.programs import PROGRAMS, Case
from locales import comma_locale, process_locale

import mmbn_opt as mm
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.display.report import render_report
from mmbn_opt.interop import read_jkl, write_jkl
from mmbn_opt.interop.name_map import write_name_map
from mmbn_opt.interop.nl import write_nl
from mmbn_opt.interop.programs import write_program as export
from mmbn_opt.solvers import get_solver_class, write_program

NAMES = [
    "plain", 'say "so"', "it's", "a b", " lead", "trail ", "a,b;c|d", "größe", "年", "😀", "=cmd|' /C calc'!A0", "@x",
    "-1+2", "+1", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "two\nlines", "tab\there",
    "back\\slash", "\\", "$HOME", "{}", "{{x}}", "%41%", "&amp;", "<!--", "]]>", "free", "inf", "-inf", "nan", "st",
    "subject to", "end", "e1", "1e5", "2", "1,5", "x" * 300, " ", "", "\u200b", "None", "#", "//", "/*", "table",
    "network", "\u202eabc", "A", "a",
]  # fmt: skip
GROUPS = [NAMES[k : k + 6] for k in range(0, len(NAMES), 6)]


@pytest.fixture(scope="module")
def comma(tmp_path_factory: pytest.TempPathFactory) -> str:
    return comma_locale(tmp_path_factory.mktemp("locales"))


@pytest.fixture(params=["point", "comma"])
def under(request: pytest.FixtureRequest) -> Callable[[], Any]:
    """``with under():`` the process has a decimal point, or a comma."""
    name = "C" if request.param == "point" else request.getfixturevalue("comma")
    return lambda: process_locale(name)


# --- programs -------------------------------------------------------------------------------------------------------


def by_highs(path: Path) -> tuple[str, float | None]:
    from mmbn_opt.solvers.mixed_integer.highs_model import quiet_highs

    highs = quiet_highs()
    assert "kError" not in str(highs.readModel(str(path)))
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.run()
    return highs.modelStatusToString(highs.getModelStatus()), highs.getInfo().objective_function_value


def by_scip(path: Path) -> tuple[str, float | None]:
    scip = pytest.importorskip("pyscipopt", reason="SCIP (extra scip) is not installed")
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    return model.getStatus(), model.getObjVal() if model.getStatus() == "optimal" else None


def by_cbc(path: Path) -> tuple[str, float | None]:
    if not get_solver_class("cbc").is_available():
        pytest.skip("CBC (extra cbc) is not installed")
    from mmbn_opt.solvers.mixed_integer._cbc_executable import find_executable

    answer = path.with_suffix(".txt")
    words = ["-ratioGap", "0", "-allow", "0", "-solve", "-solution", str(answer), "-quit"]
    subprocess.run([str(find_executable()), str(path), *words], capture_output=True, check=True)
    status, _, value = answer.read_text().partition("\n")[0].partition(" - objective value ")
    return status, float(value)


def by_glpk(path: Path) -> tuple[str, float | None]:
    if shutil.which("glpsol") is None:
        pytest.skip("glpsol (package glpk-utils) is not installed")
    kind, answer = "--lp" if path.suffix == ".lp" else "--freemps", path.with_suffix(".sol")
    subprocess.run(["glpsol", kind, str(path), "-o", str(answer)], capture_output=True, check=True)
    lines = dict(line.split(":", 1) for line in answer.read_text().splitlines() if ":" in line)
    value = lines["Objective"].partition("=")[2].split()[0]
    return lines["Status"].strip(), float(value) if "OPTIMAL" in lines["Status"] else None


READERS = {"highs": by_highs, "scip": by_scip, "cbc": by_cbc, "glpk": by_glpk}
PLACES = [(form, reader) for form in ("mps", "lp") for reader in READERS]


def agrees(case: Case, status: str, value: float | None) -> bool:
    if case.optimum is None:
        # Who reads them decides which of the two words fits first.
        return any(word in status.lower() for word in ("infeas", "unbou", "unbd", "undefined", "empty"))
    return value is not None and math.isclose(value, case.optimum, rel_tol=1e-6, abs_tol=1e-6)


@pytest.mark.parametrize(("form", "reader"), PLACES)
def test_a1_a2_every_format_means_the_same_program_to_every_reader(form, reader, comma, tmp_path) -> None:
    for case in PROGRAMS:
        path = tmp_path / f"{case.name.replace(' ', '_')}.{form}"
        with process_locale(comma):
            write_program(case.program, path)
        assert agrees(case, *READERS[reader](path)), case.name


@pytest.mark.parametrize(("form", "reader"), PLACES)
def test_a2_names_that_are_keywords_numbers_or_no_names_at_all(form, reader, tmp_path) -> None:
    knapsack = next(case for case in PROGRAMS if case.name == "offset")
    program = knapsack.program
    count = program.c.size
    for k in range(0, len(NAMES) - count, count):
        from dataclasses import replace

        named = replace(program, column_names=tuple(NAMES[k : k + count]), row_names=(NAMES[-k - 1],))
        path = tmp_path / f"named_{k}.{form}"
        write_program(named, path, names=True)
        assert agrees(knapsack, *READERS[reader](path)), named.column_names


@pytest.mark.parametrize("reader", ["highs", "scip", "cbc"])
@pytest.mark.parametrize("form", ["mps", "lp", "nl"])
@pytest.mark.parametrize("score", ["margin", "bic"])
def test_a1_a2_exported_structure_programs(form, reader, score, comma, tmp_path) -> None:
    """corral with one parent: 179.2194 by the margin; BIC's optimum by another solver, which reads no file."""
    if form == "nl" and reader != "scip":
        pytest.skip(f"{reader} reads no .nl file")
    data = mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), "class")
    if score == "margin":
        formulation: Any = mm.SoftMarginStructure(data, max_parents=1)
        optimum = 179.21944159031375
    else:
        formulation = mm.DecomposableStructure(data, score="bic")
        optimum = mm.solve(formulation, "subset_search").bounds.primal_bound
    path = tmp_path / f"corral.{form}"
    with process_locale(comma):
        export(formulation, path, file_format=form)
    value = READERS[reader](path)[1]
    assert value is not None
    assert -value == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("form", ["mps", "lp", "nl"])
def test_a2_the_map_beside_a_program_leads_back_to_any_names(form, under, tmp_path) -> None:
    names = [name for name in NAMES if name.strip()][:24:5]
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (40, len(names)))
    labels = np.where(rng.random(40) < 0.2, 1 - rows[:, 0], rows[:, 0] ^ rows[:, 1])
    data = mm.DiscreteDataset.from_arrays(
        rows, [f"={label}" for label in labels], feature_names=names, class_name="</script>"
    )
    formulation = mm.SoftMarginStructure(data, max_parents=1)
    path = tmp_path / f"program.{form}"
    with under():
        program = export(formulation, path, file_format=form)
    held = json.loads((tmp_path / f"program.{form}.names.json").read_text(encoding="utf-8"))
    assert next(iter(held["columns"].values()))["node"] == names[0]
    chosen = mm.solve(formulation, "highs").model.parents
    point = np.zeros(program.c.size)
    for j, column in enumerate(held["columns"].values()):
        if "node" in column:
            point[j] = chosen[column["node"]] == column["parents"]
    assert formulation.recover(point).parents == chosen
    if form == "nl":
        assert set((tmp_path / "program.col").read_text().split()) <= set(held["columns"])


def test_a2_an_nl_files_names_are_lines_whatever_they_were(tmp_path) -> None:
    from dataclasses import replace

    knapsack = next(case for case in PROGRAMS if case.name == "knapsack")
    for k in range(0, len(NAMES) - 3, 3):
        named = replace(knapsack.program, column_names=tuple(NAMES[k : k + 3]))
        write_nl(named, tmp_path / "k.nl")
        write_name_map(named, tmp_path / "k.nl", file_format="nl")
        columns = json.loads((tmp_path / "k.nl.names.json").read_text(encoding="utf-8"))["columns"]
        assert (tmp_path / "k.col").read_text(encoding="ascii").split("\n")[:-1] == list(columns)
        assert [column["name"] for column in columns.values()] == NAMES[k : k + 3]
        assert by_scip(tmp_path / "k.nl")[1] == pytest.approx(-9.0)


LINEAR = ("highs", "scip", "cbc", "scipy", "branch_and_cut", "scip-cuts")
CONVEX = ("clarabel", "ecos", "scs", "ipopt", "interior_point", "barrier")


@pytest.mark.parametrize("solver", LINEAR)
def test_a1_every_structure_solver_has_the_same_answer_where_the_process_has_a_comma(solver, comma) -> None:
    if not get_solver_class(solver).is_available():
        pytest.skip(f"{solver} is not installed")
    data = mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), "class")
    with process_locale(comma):
        result = mm.solve(mm.SoftMarginStructure(data, max_parents=1), solver)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.certificate.ok
    assert result.bounds.primal_bound == pytest.approx(179.21944159031375, rel=1e-9)


@pytest.mark.parametrize("solver", CONVEX)
def test_a1_every_convex_solver_has_the_same_answer_where_the_process_has_a_comma(solver, comma) -> None:
    if not get_solver_class(solver).is_available():
        pytest.skip(f"{solver} is not installed")
    data = mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), "class")
    with process_locale(comma):
        result = mm.solve(mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=1.0), solver)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    # 41.70252 by each of them with a point, within the relative gap of 1e-6 that counts as closed.
    assert result.bounds.primal_bound == pytest.approx(41.70252, abs=1e-4)
    assert result.bounds.dual_bound == pytest.approx(41.70252, abs=1e-4)


# --- local scores ---------------------------------------------------------------------------------------------------


def test_jkl_keeps_names_without_blanks_and_refuses_the_others(under, tmp_path) -> None:
    for group in GROUPS:
        scores = {name: [(-1.5, ()), (-1 / 3, (group[0],))][: 1 + (name != group[0])] for name in group}
        path = tmp_path / "scores.jkl"
        with under():
            if any(len(name.split()) != 1 or name != name.strip() for name in group):
                with pytest.raises(mm.InputError, match="rename the columns"):
                    write_jkl(path, group, scores)
                kept = [name for name in group if len(name.split()) == 1 and name == name.strip()]
                scores = {name: [(-1 / 3, ())] for name in kept}
            write_jkl(path, list(scores), scores)
            assert read_jkl(path) == scores


# --- networks -------------------------------------------------------------------------------------------------------


def network_of(names: list[str]) -> mm.BayesianNetwork:
    """A tree of sorts whose names are also its labels, with probabilities that have all digits."""
    rng = np.random.default_rng(len(names[0]))
    parents = tuple(tuple(p for p in (k - 1, k - 2) if p >= 0) for k in range(len(names)))
    structure = mm.Structure(tuple(names[:-1]), names[-1], tuple(tuple(sorted(ps)) for ps in parents))
    variables = [DiscreteVariable(name, tuple(names[: 2 + k % 2])) for k, name in enumerate(names)]
    tables = []
    for node, ps in enumerate(structure.parents):
        rows = math.prod(variables[p].cardinality for p in ps)
        table = rng.random((rows, variables[node].cardinality)) ** 6
        tables.append(np.log(table / table.sum(axis=1, keepdims=True)))
    return mm.BayesianNetwork(structure, tuple(variables[:-1]), variables[-1], tuple(tables))


def joint(network: mm.BayesianNetwork) -> np.ndarray:
    """P of every row and class, features in the network's order."""
    cards = [v.cardinality for v in network.variables[:-1]]
    return np.exp(network.log_joint(np.array(list(np.ndindex(*cards)), dtype=np.int32)))


def in_order(other: mm.BayesianNetwork, names: list[str]) -> np.ndarray:
    """The same of a network whose features come in another order."""
    position = [other.structure.feature_names.index(name) for name in names[:-1]]
    cards = [other.variables[p].cardinality for p in position]
    codes = np.array(list(np.ndindex(*cards)), dtype=np.int32)
    return np.exp(other.log_joint(codes[:, np.argsort(position)]))


@pytest.fixture
def quiet() -> Iterator[None]:
    """Warnings of other packages are their own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


PLACES_OF_NETWORKS: dict[str, tuple[str, Callable[..., Any], Callable[..., Any]]] = {
    "json": ("n.json", lambda n, p: n.save(p), lambda p, n: mm.BayesianNetwork.load(p)),
    "bif": ("n.bif", lambda n, p: n.to_bif(p), lambda p, n: mm.BayesianNetwork.from_bif(p, n.target.name)),
    "bif.gz": ("n.bif.gz", lambda n, p: n.to_bif(p), lambda p, n: mm.BayesianNetwork.from_bif(p, n.target.name)),
    "xmlbif": ("n.xml", lambda n, p: n.to_xmlbif(p), lambda p, n: mm.BayesianNetwork.from_xmlbif(p, n.target.name)),
    "uai": ("n.uai", lambda n, p: n.to_uai(p), lambda p, n: mm.BayesianNetwork.from_uai(p, variables=n.variables)),
}


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: ascii(group[0]))
@pytest.mark.parametrize("place", PLACES_OF_NETWORKS)
def test_a1_networks_come_back_with_their_names_and_numbers(place, group, under, tmp_path) -> None:
    network = network_of(group)
    name, write, read = PLACES_OF_NETWORKS[place]
    with under():
        if place == "xmlbif":
            pytest.importorskip("pgmpy", reason="pgmpy (extra interop) is not installed")
        write(network, tmp_path / name)
        again = read(tmp_path / name, network)
    assert again.structure == network.structure
    assert [v.states for v in again.variables] == [v.states for v in network.variables]
    for mine, theirs in zip(network.log_cpts, again.log_cpts, strict=True):
        np.testing.assert_allclose(np.exp(theirs), np.exp(mine), rtol=1e-13, atol=0)


def pgmpy_bif(path: Path) -> tuple[Any, list[str]]:
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy (extra interop) is not installed")
    reader = readwrite.BIFReader(str(path))
    return reader.get_model(), list(reader.variable_names)


def pgmpy_xml(path: Path) -> tuple[Any, list[str]]:
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy (extra interop) is not installed")
    reader = readwrite.XMLBIFReader(str(path))
    return reader.get_model(), list(reader.variables)


def agrum(path: Path) -> tuple[Any, list[str]]:
    gum = pytest.importorskip("pyagrum", reason="pyAgrum (extra interop) is not installed")
    model = gum.loadBN(str(path))
    return model, [model.variable(k).name() for k in range(model.size())]


STRANGERS: dict[str, tuple[str, Callable[..., Any], Callable[[Path], tuple[Any, list[str]]], float]] = {
    "bif by pgmpy": ("n.bif", lambda n, p: n.to_bif(p), pgmpy_bif, 1e-12),
    "bif by pyagrum": ("n.bif", lambda n, p: n.to_bif(p), agrum, 1e-6),
    "xmlbif by pgmpy": ("n.xml", lambda n, p: n.to_xmlbif(p), pgmpy_xml, 1e-12),
    "xmlbif by pyagrum": ("n.bifxml", lambda n, p: n.to_xmlbif(p), agrum, 1e-5),
    "uai by pyagrum": ("n.uai", lambda n, p: n.to_uai(p, layout="pyagrum"), agrum, 1e-5),
}
"""Writer, reader, and the digits that the reader keeps (pyAgrum takes some files in single precision)."""


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: ascii(group[0]))
@pytest.mark.parametrize("place", STRANGERS)
def test_a1_others_read_the_same_numbers(place, group, comma, tmp_path) -> None:
    network = network_of(group)
    name, write, read, digits = STRANGERS[place]
    with process_locale(comma):
        write(network, tmp_path / name)
    model, names = read(tmp_path / name)
    convert = mm.BayesianNetwork.from_pyagrum if "pyagrum" in place else mm.BayesianNetwork.from_pgmpy
    np.testing.assert_allclose(in_order(convert(model, names[-1]), names), joint(network), rtol=digits)


# --- the files of a run ---------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def run_with(command: Any, tmp_path: Path) -> Callable[[list[str], str], tuple[Path, Path]]:
    """``run_with(names, folder)``: the table and the folder of a search over columns and labels of these names."""

    def run(names: list[str], folder: str) -> tuple[Path, Path]:
        frame = pd.DataFrame({name: names[k:] + names[:k] for k, name in enumerate(names)})
        frame = frame.loc[list(range(len(names))) * 3]
        frame["label"] = [names[k % 2] for k in range(len(frame))]
        table, out = tmp_path / f"{folder}.parquet", tmp_path / folder
        pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
        frame.reset_index(drop=True).to_parquet(table)
        done = command("structure", "--data", table, "--target", "label", "--max-parents", 1, "--out", out)
        assert done.status == 0, done.err
        return table, out

    return run


@pytest.mark.parametrize("group", [[n for n in g if n.strip()][:4] for g in GROUPS], ids=lambda g: ascii(g[0]))
def test_a1_files_of_a_run_with_hostile_names(group, run_with, command, comma, tmp_path) -> None:
    with process_locale(comma):
        table, out = run_with(group, "out")
        done = command("predict", "--model", out, "--data", table, "--out", tmp_path / "predictions.csv")
        assert done.status == 0, done.err
        model = mm.BayesianNetwork.load(out / "model.json")
        bif = mm.BayesianNetwork.from_bif(out / "network.bif", "label")
        trace = mm.read_table(out / "trace.csv")
    assert model.structure.feature_names == tuple(group)
    assert bif.structure == model.structure
    for mine, theirs in zip(model.log_cpts, bif.log_cpts, strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-13)
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert result["parents"] == model.parents
    plain = pd.read_csv(out / "trace.csv")
    assert plain["primal_bound"].iloc[-1] == result["primal_bound"] == trace["primal_bound"].iloc[-1]
    probabilities = model.predict_proba(pd.read_parquet(table))
    written = pd.read_csv(tmp_path / "predictions.csv", keep_default_na=False, dtype={"label": str})
    np.testing.assert_array_equal(written.iloc[:, 1:].to_numpy(), probabilities)
    assert list(written.columns) == ["label", *(f"P(label={label})" for label in model.classes)]
    assert set(written["label"]) <= set(group)

    hostile, harmless = Page(), Page()
    hostile.feed((out / "report.html").read_text(encoding="utf-8"))
    _, other = run_with(["n1", "n2", "n3", "n4"][: len(group)], "harmless")
    harmless.feed((other / "report.html").read_text(encoding="utf-8"))
    for tag in ("script", "style", "img", "iframe", "link", "table", "svg"):
        assert hostile.tags.count(tag) == harmless.tags.count(tag), tag
    assert not [name for name in hostile.attributes if name.startswith("on")]


@pytest.mark.parametrize("group", [[n for n in g if n.strip()][:4] for g in GROUPS], ids=lambda g: ascii(g[0]))
def test_a1_mixtures_of_hostile_features_and_classes(group, under, tmp_path) -> None:
    """Their file gives the same model, to the last digit, and its report has no tag that other names would not have."""
    rng = np.random.default_rng(len(group[0]))
    X = pd.DataFrame(rng.normal(size=(40, len(group))), columns=group)
    y = np.array([group[k % 2] for k in range(40)], dtype=object)
    X.iloc[:, 0] += 30.0 * (y == group[0])
    with under():
        result = mm.solve(mm.ConstrainedMaximumMargin(X, y, n_components=1, xi=0.1, xi_growth=1.0))
        result.model.save(tmp_path / "mixture.json")
        model = mm.MixtureClassifier.load(tmp_path / "mixture.json")
        page = Page()
        page.feed(render_report(result))
    assert model.feature_names == tuple(group)
    assert model.classes.tolist() == sorted(group[:2])
    np.testing.assert_array_equal(model.predict_proba(X), result.model.predict_proba(X))
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert not [name for name in page.attributes if name.startswith("on")]
