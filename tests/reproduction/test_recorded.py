"""The page of the papers' tables: each cell has its kept runs, and quoted figures have something that makes them."""

import importlib.util
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mmbn_opt.reproduction import Method, experiment_names, load_experiment, markdown_page, recorded_results

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "benchmarks" / "papers"
INDEX = tomllib.loads((ROOT / "benchmarks" / "index.toml").read_text(encoding="utf-8"))
QUOTED = tomllib.loads((ROOT / "benchmarks" / "quoted.toml").read_text(encoding="utf-8"))["figures"]
SCRIPTS = {f"benchmarks/{entry['script']}" for entry in INDEX["benchmark"]}
FIGURE = re.compile(r"\d[\d,.]*\d? (?:%|s|min|million|GB)(?![\w])")
PAGES = ("README.md", "docs/reproduction.md")
OTHERS = [
    str(path.relative_to(ROOT))
    for folder in (ROOT / "docs", ROOT / "docs" / "formulations")
    for path in sorted(folder.glob("*.md"))
    if str(path.relative_to(ROOT)) not in PAGES
]


def pages():
    path = ROOT / "docs" / "experiment_pages.py"
    spec = importlib.util.spec_from_file_location("experiment_pages", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_file_of_kept_runs_is_of_an_experiment_and_all_its_rows_are_declared():
    for path in KEPT.glob("*.csv"):
        experiment = load_experiment(path.stem)
        frame = pd.read_csv(path)
        assert set(frame["dataset"]) <= set(experiment.sets), path.name
        assert set(frame["method"]) <= set(experiment.methods), path.name
        choosing = frame["method"].map(lambda name, of=experiment.methods: of[name].chosen_on != "training rows")
        variant = frame["chosen"].astype("string").where(choosing).fillna("")
        assert not frame.assign(variant=variant).duplicated(["dataset", "method", "split", "variant"]).any(), path.name
        assert len(recorded_results(experiment, KEPT).frame) >= len(frame)


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.csv")), ids=lambda path: path.stem)
def test_no_cell_is_without_its_run(path):
    experiment = load_experiment(path.stem)
    results = recorded_results(experiment, KEPT)
    answered = results.chosen.groupby(["dataset", "method"]).size().to_dict()
    cells = results.cells()
    assert cells
    behind = {}
    for (row, column), cell in cells.items():
        if row != "average":
            at = row if row in experiment.sets else row.rpartition("/")[0], experiment.shown[column].method
            assert cell.runs <= min(cell.planned, answered[at])
            behind[at] = behind.get(at, 0) + cell.runs
    if experiment.splits.apart or not (experiment.removed or experiment.columns):
        assert behind == {at: answered[at] for at in behind}


@pytest.mark.slow
def test_the_pages_have_the_cells_and_say_what_was_not_run(tmp_path):
    made = pages()
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "gone.md").write_text("of an experiment that is no more")
    made.write_experiment_pages(KEPT, tmp_path)
    with_runs = {name for name in experiment_names() if recorded_results(load_experiment(name), KEPT) is not None}
    assert {page.stem for page in (tmp_path / "experiments").glob("*.md")} == with_runs
    text = (tmp_path / "experiments" / "peharz2012-table2.md").read_text(encoding="utf-8")
    results = recorded_results(load_experiment("peharz2012-table2"), KEPT)
    rows = re.findall(r"^\| [\w-]+ \| (?:NB|TAN|MDL|SM|SBM|SVM) \| \d", text, flags=re.MULTILINE)
    assert len(rows) == len(results.cells())
    assert "shuttle-small: the 5,800 rows of MLC++ have no public copy" in text
    table = (tmp_path / "experiment-table.md").read_text(encoding="utf-8")
    for name in experiment_names():
        assert re.search(rf"^\| \[?{re.escape(name)}\b", table, flags=re.MULTILINE), name


def test_mdl_structures_are_as_good_as_the_papers_where_theirs_are_naive_bayes_and_where_not():
    cells = recorded_results(load_experiment("peharz2012-table2"), KEPT).cells()
    for name in ("satimage", "waveform-21", "segment", "vehicle", "soybean-large"):
        assert cells[name, "MDL"].why == "within the intervals", name
    for name in ("iris", "segment", "waveform-21"):
        assert cells[name, "MDL"].ours == pytest.approx(cells[name, "NB"].ours, abs=1e-9), name


def test_runs_of_another_declaration_count_where_the_method_is_the_same():
    table = load_experiment("guo2018-table9")
    mine = replace(table, name="mine", like="guo2018-table9", methods={"EM again": table.methods["EM"]})
    frame = recorded_results(mine, KEPT).frame
    assert set(frame["method"]) == {"EM again"}
    assert len(frame) == (recorded_results(table, KEPT).frame["method"] == "EM").sum()
    other = replace(mine, methods={"EM": Method("mixture", {"components": 2})})
    assert recorded_results(other, KEPT) is None
    assert recorded_results(replace(mine, splits=replace(mine.splits, seed=1)), KEPT) is None


def test_own_runs_on_some_sets_leave_the_others_to_the_declaration_that_is_leant_on(tmp_path):
    mine = tmp_path / "guo2005-figure7.csv"
    theirs = pd.read_csv(KEPT / "guo2005-figure6.csv")
    theirs = theirs[(theirs["method"] == "M2BN") & theirs["dataset"].isin(["iris", "vote"])]
    theirs.to_csv(tmp_path / "guo2005-figure6.csv", index=False)
    theirs[theirs["dataset"] == "vote"].assign(accuracy=0.5).to_csv(mine, index=False)
    frame = recorded_results(load_experiment("guo2005-figure7"), tmp_path).frame
    assert set(frame["dataset"]) == {"iris", "vote"}
    assert len(frame) == len(theirs)
    assert (frame["accuracy"] == 0.5).to_numpy().tolist() == (frame["dataset"] == "vote").to_numpy().tolist()


def test_runs_on_whole_rows_do_not_count_where_cells_are_taken_out():
    table = load_experiment("pernkopf2012-table1")
    assert "NB-ML" in set(recorded_results(table, KEPT).answered["method"])
    mine = replace(table, name="mine", like="pernkopf2012-table1")
    assert recorded_results(mine, KEPT) is not None
    assert recorded_results(replace(mine, removed=(0.0, 0.5)), KEPT) is None
    other = replace(load_experiment("pernkopf2012-figure6"), name="mine", like="pernkopf2012-figure6")
    assert len(recorded_results(other, KEPT).cells()) == 40
    assert recorded_results(replace(other, patterns=7), KEPT) is None


def test_a_set_that_comes_with_its_split_has_all_of_its_runs_after_one():
    cells = recorded_results(load_experiment("guo2018-table9"), KEPT).cells()
    assert (cells["segmentation", "CMM"].runs, cells["segmentation", "CMM"].planned) == (1, 1)
    assert (cells["sonar", "CMM"].runs, cells["sonar", "CMM"].planned) == (10, 10)


def test_the_tests_of_a_table_stand_on_its_page():
    results = recorded_results(load_experiment("guo2018-table10"), KEPT)
    text = markdown_page(results)
    assert re.search(r"- CMM against EM: ranks \d+(?:\.5)? and \d+(?:\.5)?, p = [\d.e-]+ \(10 sets\)", text)


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_that_a_page_quotes_is_listed_with_what_makes_it(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    listed = {figure for entry in QUOTED if entry["page"] == page for figure in entry["quotes"]}
    for figure in listed:
        assert figure in prose, f"{figure!r} is not on {page} any more"
    found = {match.strip() for match in FIGURE.findall(prose)}
    assert found <= listed, f"{page} quotes {sorted(found - listed)}; say in benchmarks/quoted.toml what makes them"


def unnamed_figures(text):
    """The figures of each section that names nothing that could make them, by its heading."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    known = SCRIPTS | set(experiment_names()) | {f"examples/{path.name}" for path in (ROOT / "examples").glob("*.py")}
    return {
        section.partition("\n")[0]: figures
        for section in re.split(r"^(?=##? )", prose, flags=re.MULTILINE)
        if (figures := {match.strip() for match in FIGURE.findall(section)})
        and not known & set(re.findall(r"[\w./-]*\w", section))
    }


@pytest.mark.parametrize("page", OTHERS)
def test_a_section_with_figures_names_what_makes_them_or_they_are_listed(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    listed = {figure for entry in QUOTED if entry["page"] == page for figure in entry["quotes"]}
    for figure in listed:
        assert figure in text, f"{figure!r} is not on {page} any more"
    for heading, figures in unnamed_figures(text).items():
        assert figures <= listed, f"{page}, {heading!r}: nothing is named that makes {sorted(figures - listed)}"


def test_a_section_without_a_name_is_found():
    text = "# A\nIt takes 3 s.\n## B\n`benchmarks/data.py`: 4 s.\n### C\nand 5 s\n## D\n7 % of `benchmarks/dater.py`"
    assert unnamed_figures(text) == {"# A": {"3 s"}, "## D": {"7 %"}}


@pytest.mark.parametrize("entry", QUOTED, ids=lambda entry: f"{entry['page']} {entry['by']}")
def test_what_makes_a_figure_is_there(entry):
    assert set(entry) == {"page", "quotes", "by"}
    by = entry["by"]
    known = by in SCRIPTS or by in experiment_names() or by in ("mmbn-opt demo", "settings")
    known |= by.startswith(("docs/formulations/", "tests/browser/")) and (ROOT / by).is_file()
    assert known, f"{by} is no experiment, no script of the index and no command"


def test_a_figure_that_nobody_declared_is_found():
    assert FIGURE.findall("It takes 1,234.5 s, or 12 %, in 3 steps.") == ["1,234.5 s", "12 %"]
