"""Runs of an experiment: kept as they end, gone on with, apart from each other; what is told of them."""

import json
import os
import re
import threading
import time
from dataclasses import replace

import pandas as pd
import pytest
from seldom import mostly_slow

from mmbn_opt.comparison.machine import family
from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.reproduction import Method, Results, load_experiment, run_experiment, write_results
from mmbn_opt.reproduction.page import markdown_page, markdown_table, not_run
from mmbn_opt.reproduction.remaining import remaining
from mmbn_opt.reproduction.runner import plan_of
from mmbn_opt.reproduction.sources import Source
from mmbn_opt.reproduction.testing import ranks_of, wins
from mmbn_opt.reproduction.trial import TrialRecord

TABLE = load_experiment("peharz2012-table2")
LITTLE = TABLE.narrowed(sets=["iris", "corral"], methods=["NB", "TAN"], n_splits=2)


def record(dataset="iris", method="NB", split=0, accuracy=0.9, seconds=1.0, n_train=120, **changes):
    fields = {
        "key": f"{dataset}{method}{split}", "dataset": dataset, "method": method, "split": split,
        "outcome": RunOutcome.ANSWERED, "detail": "", "numbers": {"accuracy": accuracy, "train_accuracy": 1.0},
        "certificate": "none", "chosen": {}, "n_train": n_train, "n_test": 30, "time_limit": 60.0, "seconds": seconds,
    }  # fmt: skip
    return TrialRecord(**fields | changes)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    told = []
    results = run_experiment(LITTLE, folder=folder, progress=lambda *event: told.append(event))
    return folder, results, told


def test_each_method_is_run_on_each_split_and_each_run_is_a_file(done):
    folder, results, told = done
    frame = results.frame
    assert len(frame) == len(told) == len(list((folder / "runs").iterdir())) == 8
    assert set(frame["outcome"]) == {"ANSWERED"}
    assert set(zip(frame["dataset"], frame["method"], frame["split"], strict=True)) == {
        (d, m, s) for d in ("iris", "corral") for m in ("NB", "TAN") for s in (0, 1)
    }
    assert frame["split"].tolist() == sorted(frame["split"]), "the first splits of all sets come first"
    assert [(n, total) for _, n, total, _ in told] == [(k, 8) for k in range(1, 9)]
    assert told[-1][3].seconds == 0.0


def test_two_labels_of_the_same_run_are_done_once(tmp_path):
    margins = {name: Method("structure", {"criterion": name, "max_parents": 1}) for name in ("sm", "sbm")}
    both = replace(TABLE, methods=margins).narrowed(sets=["iris", "corral"], n_splits=1)
    told = []
    frame = run_experiment(both, folder=tmp_path, progress=lambda *event: told.append(event)).frame
    assert len(frame) == len(told) == len(list((tmp_path / "runs").iterdir())) == 4
    seconds = frame.set_index(["dataset", "method"])["seconds"]
    assert seconds["corral", "sm"] == seconds["corral", "sbm"], "two classes"
    assert seconds["iris", "sm"] != seconds["iris", "sbm"], "three classes"
    for path in (tmp_path / "runs").glob("corral-sbm-*"):
        path.unlink()
    again = run_experiment(both, folder=tmp_path).frame
    assert again["seconds"].tolist() == frame["seconds"].tolist(), "told from the run of the other label"
    alone = run_experiment(both.narrowed(methods=["sbm"], sets=["corral"]), folder=tmp_path / "own").frame
    columns = ["accuracy", "parameters", "edges", "log_loss"]
    pd.testing.assert_frame_equal(
        alone[columns], again.query("method == 'sm' and dataset == 'corral'")[columns].reset_index(drop=True)
    )


def test_the_numbers_of_a_run_are_those_of_the_classifier_on_these_rows(done):
    _, results, _ = done
    import mmbn_opt as mm

    table = Source(None).find("corral")
    train, test = LITTLE.splits.of(table)[0]
    model = mm.TANClassifier(kinds=dict(table.kinds)).fit(table.X.iloc[train], table.y.iloc[train])
    [row] = results.frame.query("dataset == 'corral' and method == 'TAN' and split == 0").to_dict("records")
    assert row["accuracy"] == pytest.approx(model.score(table.X.iloc[test], table.y.iloc[test]))
    assert row["train_accuracy"] == pytest.approx(model.training_accuracy_)
    assert row["parameters"] == model.network_.n_parameters
    assert row["edges"] == 5
    assert row["error"] == pytest.approx(1 - row["accuracy"])
    assert row["generalization"] == pytest.approx(row["accuracy"] / row["train_accuracy"])
    assert 0 < row["log_loss"] < 2
    assert row["fit_seconds"] > 0


def test_what_is_done_is_not_done_again_and_more_splits_add_to_it(done):
    folder, results, _ = done
    told = []
    again = run_experiment(LITTLE, folder=folder, progress=lambda *event: told.append(event))
    assert told == []
    pd.testing.assert_frame_equal(again.frame, results.frame)
    more = run_experiment(
        TABLE.narrowed(sets=["iris"], methods=["NB"], n_splits=3), folder=folder, progress=lambda *e: told.append(e)
    )
    assert [event[0].split for event in told] == [2]
    assert len(more.frame) == 3


def test_sets_that_are_equal_but_for_their_name_have_runs_of_their_own(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y"] * 20, "class": ["p", "q"] * 20})
    for name in ("diabetes", "pima"):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    plan = plan_of(TABLE.narrowed(sets=["diabetes", "pima"], methods=["NB"], n_splits=1), Source(tmp_path))
    assert len({trial.key for trial in plan.trials}) == 2


@pytest.mark.parametrize("spoiled", mostly_slow(['{"format": "mmbn_opt trial 1", "key"', "", "{"], 1))
def test_a_file_that_was_cut_short_is_run_again(done, tmp_path, spoiled):
    small = TABLE.narrowed(sets=["corral"], methods=["NB"], n_splits=1)
    run_experiment(small, folder=tmp_path)
    [path] = (tmp_path / "runs").iterdir()
    path.write_text(spoiled)
    told = []
    run_experiment(small, folder=tmp_path, progress=lambda *event: told.append(event))
    assert len(told) == 1
    assert TrialRecord.from_json(path.read_text()).outcome is RunOutcome.ANSWERED


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("outcome", "FINE", "outcome must be one of ANSWERED"),
        ("numbers", {"accuracy": "high"}, "numbers.accuracy must be a number"),
        ("numbers", [1], "numbers must be an object"),
        ("split", 1.5, "split must be a whole number"),
        ("seconds", None, "seconds must be a number"),
        ("peak_memory", -(2**70), "peak_memory must be a whole number or null"),
        ("luck", 7, "'luck' is no field of a run"),
    ],
)
def test_a_file_of_something_else_is_refused_with_the_place(field, value, message):
    content = json.loads(record().to_json()) | {field: value}
    with pytest.raises(FormatError, match=message):
        TrialRecord.from_json(json.dumps(content))
    del content[field]
    if field != "luck":
        with pytest.raises(FormatError, match=f"{field} is absent"):
            TrialRecord.from_json(json.dumps(content))


@pytest.mark.slow
def test_a_run_that_raises_or_dies_is_a_row_and_the_next_one_goes_on(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y"] * 20, "class": ["p"] * 40})
    frame.to_csv(tmp_path / "iris.csv", index=False)
    mixed = TABLE.narrowed(sets=["iris", "corral"], methods=["SM", "NB"], n_splits=1)
    results = run_experiment(mixed, data=tmp_path)
    outcomes = results.frame.set_index(["dataset", "method"])["outcome"]
    assert outcomes["iris", "SM"] == "REFUSED"
    assert outcomes["corral", "NB"] == "ANSWERED"
    assert any(line.startswith("SM on iris, split 0: REFUSED: InputError") for line in not_run(results))


def test_runs_share_a_process_and_none_is_left_behind(done):
    time.sleep(0.5)
    ours = []
    for pid in family(os.getpid())[1:]:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                ours.append(stream.read())
        except OSError:
            continue
    assert not [command for command in ours if b"reproduction._child" in command]


def test_an_interruption_keeps_what_is_done_and_says_so(tmp_path):
    def interrupt(*event):
        raise KeyboardInterrupt

    assert threading.current_thread() is threading.main_thread()
    results = run_experiment(LITTLE, folder=tmp_path, progress=interrupt)
    assert results.interrupted
    assert len(results.frame) == 1
    whole = run_experiment(LITTLE, folder=tmp_path)
    assert not whole.interrupted
    assert len(whole.frame) == 8


def test_what_is_not_here_is_left_out_with_the_reason_unless_it_was_asked_for():
    plan = plan_of(TABLE.narrowed(sets=["iris", "letter"]), Source(None))
    assert {trial.dataset for trial in plan.trials} == {"iris"}
    assert plan.left_out["letter"].startswith("not here: put letter.csv")
    assert "no public copy" in plan.left_out["shuttle-small"]
    with pytest.raises(InputError, match=r"The data set 'letter' is not here: put letter\.csv"):
        plan_of(TABLE.narrowed(sets=["iris", "letter"]), Source(None), wanted=["letter"])
    with pytest.raises(InputError, match="None of the 2 data sets of peharz2012-table2 is here"):
        plan_of(TABLE.narrowed(sets=["letter", "adult"]), Source(None))


def test_a_method_whose_package_is_absent_is_left_out_with_the_reason(monkeypatch):
    monkeypatch.setattr("mmbn_opt.reproduction.runner.availability", lambda kind: "gone" if kind == "tan" else None)
    assert plan_of(LITTLE, Source(None)).left_out["TAN"] == "gone"
    with pytest.raises(InputError, match="methods cannot hold 'TAN' here: gone"):
        plan_of(LITTLE, Source(None), wanted=["TAN"])
    with pytest.raises(InputError, match=r"No method of peharz2012-table2 can be run here\. TAN: gone"):
        plan_of(LITTLE.narrowed(methods=["TAN"]), Source(None))


@pytest.mark.parametrize("jobs", [0, 1.5, True])
def test_a_number_of_jobs_that_makes_no_sense_is_refused(jobs):
    with pytest.raises(InputError, match="n_jobs must be a whole number other than 0"):
        run_experiment(LITTLE, n_jobs=jobs)


def test_the_rest_is_judged_by_the_same_set_then_by_the_method_and_else_not_at_all():
    pending = plan_of(TABLE.narrowed(sets=["iris", "corral"], methods=["NB", "TAN"], n_splits=1), Source(None)).trials
    assert [(t.dataset, t.method) for t in pending] == [
        ("iris", "NB"), ("iris", "TAN"), ("corral", "NB"), ("corral", "TAN"),
    ]  # fmt: skip
    left = remaining(pending, [record(seconds=3.0), record(split=1, seconds=5.0)])
    # iris NB: the mean; corral NB: 102 rows at (3 + 5) / (120 + 120) s, not below the quickest run of NB.
    assert left.seconds == pytest.approx(4.0 + max(3.0, 102 * 8 / 240))
    assert (left.unknown, left.runs_unknown) == (("TAN",), 2)
    assert "without 2 runs of TAN, of which none has ended yet" in str(left)
    assert remaining(pending, [record(seconds=3.0)], n_jobs=2).seconds == pytest.approx(3.0)
    assert remaining([], []).seconds == 0.0


def results_of(*records, experiment=TABLE):
    return Results.of(experiment, records, {}, planned=len(records))


def test_a_cell_is_a_mean_with_its_interval_its_runs_and_the_papers():
    found = results_of(*(record(split=k, accuracy=a) for k, a in enumerate([0.9, 0.95, 1.0]))).cells()
    [cell] = found.values()
    assert cell.ours == pytest.approx(95.0)
    assert cell.half == pytest.approx(12.42, abs=0.01)
    assert (cell.runs, cell.planned, cell.paper.value) == (3, 5, 94.0)
    assert cell.difference == pytest.approx(1.0)
    assert cell.why == "within the intervals"


def test_a_difference_that_is_beyond_the_intervals_is_open_or_has_its_declared_reason():
    far = record("chess", "NB", accuracy=0.5, n_test=1066)
    [cell] = results_of(far).cells().values()
    assert cell.half == pytest.approx(100 * 1.96 * (0.25 / 1066) ** 0.5, rel=1e-3)
    assert cell.why == "open"
    told = parse_with_reason({"chess": "another split"})
    assert next(iter(results_of(far, experiment=told).cells().values())).why == "another split"


def parse_with_reason(why, **changes):
    from dataclasses import replace

    return replace(TABLE, why=why, **changes)


def test_a_cell_without_runs_is_not_in_the_table_and_is_named_below():
    results = results_of(record(), record("corral", "TAN"), experiment=LITTLE)
    assert set(results.cells()) == {("iris", "NB"), ("corral", "TAN")}
    table = markdown_table(results)
    assert len(table.splitlines()) == 4
    assert "| iris | NB | 90.00 ± " in table
    assert "| 1 of 2 |" in table
    assert not_run(results) == ["no run of NB yet: corral", "no run of TAN yet: iris"]
    page = markdown_page(results)
    assert "2 runs are behind them" in page
    assert "no run of NB yet: corral" in page


def test_without_figures_of_a_paper_cells_are_a_grid_and_methods_come_first():
    alone = parse_with_reason({"*": "it draws curves"}, paper={})
    runs = [record("corral", "TAN", 0, 0.8), *(record(split=k) for k in range(5))]
    page = markdown_page(results_of(*runs, experiment=alone))
    assert page.index("## Methods") < page.index("## Cells")
    lines = page[page.index("## Cells") :].splitlines()
    assert lines[2] == "| set | NB | TAN | runs a cell |"
    assert re.fullmatch(r"\| corral \| - \| 80\.00 ± [\d.]+ \(1 of 5\) \| 5 \|", lines[4])
    assert lines[5] == "| iris | 90.00 ± 0.00 | - | 5 |"
    assert "Beside the paper: it draws curves." in page


def test_wins_are_counted_by_folds_and_by_test_rows():
    folds = [
        record("iris", m, k, a) for m, level in (("NB", 0.8), ("TAN", 0.9)) for k, a in enumerate([level, level + 0.02])
    ]
    rows = [record("chess", "NB", accuracy=0.87, n_test=1066), record("chess", "TAN", accuracy=0.94, n_test=1066)]
    counts = wins(results_of(*folds, *rows))
    assert counts.loc["TAN", "NB"] == "2/2"
    assert counts.loc["NB", "TAN"] == "0/0"
    # A set on which one of the two lacks a split is not counted.
    assert wins(results_of(*folds[:-1], *rows)).loc["TAN", "NB"] == "1/1"


def test_ranks_are_of_the_sets_that_all_methods_have():
    some = [record(d, m, 0, a) for d, m, a in (("iris", "NB", 0.8), ("iris", "TAN", 0.9), ("car", "NB", 0.7))]
    assert ranks_of(results_of(*some)) is None
    found = ranks_of(results_of(*some, record("car", "TAN", 0, 0.9)))
    assert found.ranks.to_dict() == {"TAN": 1.0, "NB": 2.0}


def test_a_method_that_was_only_begun_does_not_take_the_sets_of_the_others_away():
    rates = {("iris", "NB"): 0.8, ("iris", "TAN"): 0.9, ("car", "NB"): 0.7, ("car", "TAN"): 0.9, ("corral", "NB"): 0.7}
    rates |= {("corral", "TAN"): 0.8, ("iris", "SM"): 0.5}
    results = results_of(*(record(d, m, 0, a) for (d, m), a in rates.items()))
    assert ranks_of(results).sets == 3
    page = markdown_page(results)
    assert "- not ranked, since they have runs on few sets: SM" in page
    assert (
        "Means over the 3 sets that all have but those with runs on few sets, which have no means: SM (1 of 3)." in page
    )
    assert "| TAN | 86.67 | - |" in page
    assert "| SM | - | - |" in page


def test_methods_have_what_they_prove_and_what_becomes_of_missing_cells():
    runs = [record(certificate="none"), record(method="SVM"), record(method="SM", certificate="proved")]
    runs += [record(method="SBM", certificate="proved"), record(method="SBM", split=1, certificate="gap 2.50%")]
    runs += [record(method="MDL", certificate="failed: no tree")]
    page = markdown_page(results_of(*runs))
    ends = {
        line.split(" | ")[0][2:]: line.split(" | ")[-2:]
        for line in page.splitlines()
        if line.endswith((" out |", "in |"))
    }
    assert ends == {
        "NB": ["none", "summed out |"], "SVM": ["none", "filled in |"], "SM": ["yes", "summed out |"],
        "SBM": ["yes in 1 of 2 runs, gap up to 2.50 % in 1", "summed out |"],
        "MDL": ["a check failed", "summed out |"],
    }  # fmt: skip


def test_ranks_are_drawn_where_they_are_tested(tmp_path):
    from mmbn_opt.interop.run_folder import RunFolder

    rates = {("iris", "NB"): 0.8, ("iris", "TAN"): 0.9, ("car", "NB"): 0.7, ("car", "TAN"): 0.9}
    results = results_of(*(record(d, m, 0, a) for (d, m), a in rates.items()))
    with RunFolder(tmp_path / "out") as folder:
        write_results(results, folder)
    assert "TAN: 1.00" in (tmp_path / "out" / "ranks.svg").read_text()
    assert "](ranks.svg)" in (tmp_path / "out" / "table.md").read_text()
    with RunFolder(tmp_path / "few") as folder:
        write_results(results_of(record()), folder)
    assert not (tmp_path / "few" / "ranks.svg").exists()
    assert "ranks.svg" not in (tmp_path / "few" / "table.md").read_text()


def test_results_are_read_again_as_they_were_written(done, tmp_path):
    from mmbn_opt.interop.run_folder import RunFolder

    _, results, _ = done
    with RunFolder(tmp_path / "out") as folder:
        write_results(results, folder)
    again = Results.read(LITTLE, tmp_path / "out" / "results.csv")
    assert again.cells() == results.cells()
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="the column 'dataset' is absent"):
        Results.read(LITTLE, tmp_path / "bad.csv")
    with pytest.raises(InputError, match="can't be read"):
        Results.read(LITTLE, tmp_path / "gone.csv")


def test_a_method_is_known_by_its_settings():
    from dataclasses import replace

    def keys(settings):
        methods = {"NB": Method("naive-bayes", settings)}
        return [t.key for t in plan_of(replace(LITTLE, methods=methods), Source(None)).trials]

    assert keys({}) == keys({})
    assert set(keys({})).isdisjoint(keys({"smoothing": 2.0}))


def test_where_the_paper_tells_averages_ours_are_over_the_sets_that_all_methods_have():
    table = load_experiment("pernkopf-bilmes2008-table1")
    rates = {("iris", "NB-ML"): 0.9, ("iris", "NB-CL"): 0.92, ("car", "NB-ML"): 0.1, ("corral", "NB-ML"): 0.8}
    rates["corral", "NB-CL"] = 0.9
    cells = results_of(*(record(d, m, 0, a) for (d, m), a in rates.items()), experiment=table).cells()
    ours = cells["average", "NB-ML"]
    assert ours.ours == pytest.approx(85.0)
    assert (ours.runs, ours.planned, ours.paper.value) == (2, 10, 83.82)
    assert ours.why.endswith("(2 sets here)")
    assert cells["average", "NB-CL"].ours == pytest.approx(91.0)
