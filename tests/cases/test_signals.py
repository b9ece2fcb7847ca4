"""Lines 06, 07 and 010: the first signal ends a search, never what hands its answer over; many solves end at once."""

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import mmbn_opt as mm
from mmbn_opt import _budget as budget
from mmbn_opt.cli.running import Keeper
from mmbn_opt.comparison import runner
from mmbn_opt.comparison.record import RunOutcome, RunRecord
from mmbn_opt.estimators import MaxMarginBayesClassifier, MaxMarginStructureClassifier
from mmbn_opt.estimators.cmm import CMMClassifier
from mmbn_opt.interop.models import load_model
from mmbn_opt.interop.run_folder import RunFolder
from mmbn_opt.interop.run_manifest import mismatch, read_manifest
from mmbn_opt.results.trace import BoundTrace, TraceRecord
from mmbn_opt.tuning import grid as selection
from mmbn_opt.tuning.lambda_path import lambda_path

pytestmark = pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is not signal.default_int_handler, reason="SIGINT is ignored where this runs"
)

SIGNALS = [signal.SIGINT, signal.SIGTERM]
INTERRUPTED = mm.TerminationStatus.INTERRUPTED


@pytest.fixture(autouse=True)
def _handlers_are_given_back() -> Iterator[None]:
    before = [signal.getsignal(number) for number in SIGNALS]
    yield
    assert [signal.getsignal(number) for number in SIGNALS] == before
    assert budget._scope is None


@pytest.fixture
def table(tmp_path: Path) -> Path:
    mm.load_dataset("corral").to_csv(tmp_path / "corral.csv", index=False)
    return tmp_path / "corral.csv"


@pytest.fixture(scope="module")
def corral() -> mm.DiscreteDataset:
    return mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), "class")


def before_call(monkeypatch: pytest.MonkeyPatch, place: str, act: Callable[[], object], *, call: int = 1) -> list[None]:
    """Do something just before a function is called for the `call`-th time; the list grows with its calls."""
    module, _, name = place.rpartition(".")
    __import__(module)
    real, calls = getattr(sys.modules[module], name), []

    def wrapped(*arguments: Any, **settings: Any) -> Any:
        calls.append(None)
        if len(calls) == call:
            act()
        return real(*arguments, **settings)

    monkeypatch.setattr(sys.modules[module], name, wrapped)
    return calls


def whole(folder: Path) -> None:
    manifest = read_manifest(folder)
    assert manifest is not None
    assert not mismatch(folder, manifest)
    assert not list(folder.glob(".mmbn-*"))


# -- the scope ------------------------------------------------------------------------------------------------------


def test_06_the_first_signal_is_noted_and_the_second_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "SAME_PRESS_SEC", 0.0)
    told: list[str] = []
    with budget.noting_signals(lambda: told.append("noted")):
        signal.raise_signal(signal.SIGINT)
        assert (told, budget.stop_asked()) == (["noted"], True)
        with budget.noting_signals(lambda: told.append("noted before")):
            assert told == ["noted", "noted before"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert not budget.stop_asked()


def test_06_a_launcher_that_passes_the_same_press_on_does_not_make_two_of_it() -> None:
    with budget.noting_signals() as noted:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert noted.number == signal.SIGINT


def test_06_what_loses_nothing_is_interrupted_at_once_and_does_not_begin_after_a_signal() -> None:
    with budget.noting_signals():
        with pytest.raises(KeyboardInterrupt), budget.interruptible():
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), budget.interruptible():
            pytest.fail("it began")


def test_06_work_that_does_not_end_by_itself_is_interrupted_after_a_while() -> None:
    asked: list[bool] = []

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        asked.append(budget.stop_asked())
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            threading.Event().wait(0.01)

    with budget.noting_signals(), pytest.raises(KeyboardInterrupt), budget.interruptible(0.2):
        work()
    assert asked == [True]


def test_06_work_that_ends_by_itself_is_not() -> None:
    with budget.noting_signals():
        with budget.interruptible(0.05):
            signal.raise_signal(signal.SIGINT)
        threading.Event().wait(0.2)  # longer than its patience: nothing comes any more


def test_06_a_handler_of_the_host_program_still_decides() -> None:
    heard: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with budget.noting_signals() as noted, budget.interruptible():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, usual)
    assert heard == [noted.number] == [signal.SIGINT]


def test_07_a_library_leaves_sigterm_to_its_host_and_nohup_keeps_its_word() -> None:
    term = signal.getsignal(signal.SIGTERM)
    with budget.noting_signals():
        assert signal.getsignal(signal.SIGTERM) is term
    usual = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with budget.noting_signals(terminate=True) as noted:
            signal.raise_signal(signal.SIGTERM)
            assert not noted
    finally:
        signal.signal(signal.SIGTERM, usual)


# -- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def structure(command: Callable[..., Any], table: Path, tmp_path: Path) -> Callable[[], Any]:
    return lambda: command(
        "structure", "--data", table, "--target", "class", "--max-parents", 1, "--out", tmp_path / "run"
    )


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "place",
    [
        "mmbn_opt.solving.job.certify_run",
        "mmbn_opt.cli.structure.say_result",
        "mmbn_opt.display.report.render_report",
        "mmbn_opt.interop.result_files.result_to_dict",
        "mmbn_opt.interop.run_folder._move_into_place",
    ],
)
def test_06_a_signal_after_the_search_has_ended_changes_nothing(
    place: str, number: signal.Signals, structure: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = before_call(monkeypatch, place, lambda: signal.raise_signal(number))
    ended = structure()
    assert len(calls) == 1
    assert ended.status == 0
    assert "status: OPTIMAL" in ended.out
    assert json.loads((tmp_path / "run" / "result.json").read_text())["termination_status"] == "OPTIMAL"
    whole(tmp_path / "run")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_07_in_the_search_each_of_them_ends_it_with_what_there_is(
    number: signal.Signals,
    status: int,
    structure: Callable[[], Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    before_call(monkeypatch, "mmbn_opt.cli.progress.remark", lambda: signal.raise_signal(number))
    ended = structure()
    assert ended.status == status
    assert "status: INTERRUPTED" in ended.out
    answer = json.loads((tmp_path / "run" / "result.json").read_text())
    assert (answer["termination_status"], answer["certificate"]["ok"]) == ("INTERRUPTED", True)
    assert f"objective: {answer['primal_bound']:.6f}" in ended.out
    whole(tmp_path / "run")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_06_before_there_is_anything_the_older_run_stays(
    number: signal.Signals,
    status: int,
    structure: Callable[[], Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    assert structure().status == 0
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    before_call(monkeypatch, "mmbn_opt.data.preparation.prepare", lambda: signal.raise_signal(number))
    ended = structure()
    assert ended.status == status
    assert ended.err.endswith("interrupted before there was anything to write\n")
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    whole(tmp_path / "run")


def test_06_a_second_signal_ends_everything_and_the_older_run_stays(
    structure: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert structure().status == 0
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    monkeypatch.setattr(budget, "SAME_PRESS_SEC", 0.0)

    def twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    before_call(monkeypatch, "mmbn_opt.interop.result_files.result_to_dict", twice)
    ended = structure()
    assert ended.status == 130
    assert "status: OPTIMAL" in ended.out
    assert ended.err.endswith("interrupted a second time: nothing more was written\n")
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    whole(tmp_path / "run")


@pytest.mark.parametrize("method", ["cg-mm", "relaxation"])
def test_010_lambda_by_cross_validation_ends_with_the_values_that_are_complete(
    method: str, command: Callable[..., Any], table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Five folds a value: the second value is cut off.
    place = "mmbn_opt.tuning.grid._rates" if method == "cg-mm" else "mmbn_opt.tuning.lambda_path._rate"
    calls = before_call(monkeypatch, place, lambda: signal.raise_signal(signal.SIGINT), call=8)
    ended = command(
        "parameters", "--data", table, "--target", "class", "--method", method, "--lam", "cv", "--out", tmp_path / "run"
    )
    assert ended.status == 130
    assert len(calls) == 8
    _, row, *rest = ended.err.partition("lam ")[2].splitlines()
    assert row.split()[0] == ("0.01" if method == "cg-mm" else "3.0")
    assert "incumbent" in rest[0]
    assert json.loads((tmp_path / "run" / "result.json").read_text())["termination_status"] == "INTERRUPTED"
    whole(tmp_path / "run")


def test_010_parts_that_were_not_reached_stand_at_their_start(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    frame = mm.load_dataset("iris")
    frame.to_csv(tmp_path / "iris.csv", index=False)
    before_call(monkeypatch, "mmbn_opt.solving.parts.solve", lambda: signal.raise_signal(signal.SIGTERM), call=2)
    ended = command(
        "cmm", "--data", tmp_path / "iris.csv", "--target", "class", "--components", 1, "--xi-growth", 1,
        "--out", tmp_path / "run",
    )  # fmt: skip
    assert ended.status == 143
    answer = json.loads((tmp_path / "run" / "result.json").read_text())
    first, *others = [part["termination_status"] for part in answer["parts"]]
    assert first != "INTERRUPTED"
    assert others == ["INTERRUPTED", "INTERRUPTED"]
    assert load_model(tmp_path / "run" / "model.json").predict(frame.drop(columns="class")).shape == (150,)
    whole(tmp_path / "run")


def test_07_each_better_network_reaches_the_disk_while_the_search_goes_on(
    corral: mm.DiscreteDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_FIRST_SEC", "_PAUSE_SEC", "_LOOK_SEC"):
        monkeypatch.setattr(f"mmbn_opt.cli.running.{name}", 0.01)
    problem = mm.SoftMarginStructure(corral, max_parents=2)
    seen: dict[str, float] = {}

    def look(record: TraceRecord) -> None:
        if record.event != "start" or record.source in seen:
            return
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            content = _unfinished(tmp_path)
            if content is not None and content["source"] == record.source:
                seen[record.source] = content["primal_bound"]
                break
            threading.Event().wait(0.01)
        network = mm.BayesianNetwork.load(tmp_path / "unfinished" / "model.json")
        assert problem.evaluate(network) == pytest.approx(record.primal_bound, abs=1e-9)

    with RunFolder(tmp_path, "a run") as folder:
        with Keeper(folder):
            result = mm.solve(problem, callback=look)
        assert folder.has_unfinished
    assert {"empty graph", "naive_bayes", "tan_cmi", "local_search"} <= set(seen)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL


def _unfinished(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = read_manifest(folder / "unfinished")
        if manifest is None or mismatch(folder / "unfinished", manifest):
            return None
        content: dict[str, Any] = json.loads((folder / "unfinished" / "result.json").read_text())
    except (OSError, ValueError):
        return None  # between one and the next
    assert (content["status"], manifest.state) == ("unfinished", "unfinished")
    return content


# -- in Python ------------------------------------------------------------------------------------------------------


def test_06_solve_returns_what_was_proved_when_the_signal_comes_after(
    corral: mm.DiscreteDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_call(monkeypatch, "mmbn_opt.solving.job.certify_run", lambda: signal.raise_signal(signal.SIGINT))
    result = mm.solve(mm.SoftMarginStructure(corral, max_parents=1))
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.certificate.ok


def test_010_tune_chooses_among_what_is_complete(corral: mm.DiscreteDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = mm.SmoothMargin(corral, mm.naive_bayes(corral))
    grid = {"lam": [0.05, 0.2, 0.5]}
    whole_table = selection.tune(problem, grid, folds=2, max_iterations=5).table
    for call, n_complete in ((4, 1), (5, 2)):
        with monkeypatch.context() as patch:
            before_call(patch, "mmbn_opt.tuning.grid._rates", lambda: signal.raise_signal(signal.SIGINT), call=call)
            tuning = selection.tune(problem, grid, folds=2, max_iterations=5)
        assert tuning.interrupted
        pd.testing.assert_frame_equal(tuning.table, whole_table[:n_complete])
    before_call(monkeypatch, "mmbn_opt.tuning.grid._rates", lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        selection.tune(problem, grid, folds=2, max_iterations=5)


def test_010_a_lambda_path_ends_with_the_values_that_are_complete(
    corral: mm.DiscreteDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = mm.MaxMarginRelaxation(corral, mm.naive_bayes(corral))
    before_call(monkeypatch, "mmbn_opt.tuning.lambda_path._rate", lambda: signal.raise_signal(signal.SIGINT), call=3)
    path = lambda_path(problem, [0.1, 0.5, 1.0], folds=2)
    assert path.interrupted
    assert path.table["lam"].tolist() == [1.0]
    assert path.lam == 1.0
    assert path.result.termination_status is INTERRUPTED


def test_010_a_classifier_keeps_what_it_has_and_passes_the_interruption_on(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = mm.load_dataset("corral")
    X, y = frame.drop(columns="class"), frame["class"]
    place = "mmbn_opt.estimators.structure.solve"
    before_call(monkeypatch, place, lambda: signal.raise_signal(signal.SIGINT), call=7)
    model = MaxMarginStructureClassifier(p=[0.6, 0.9], max_parents=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.cv_results_["p"].tolist() == [0.6]
    assert model.chosen_["p"] == 0.6
    assert model.result_.termination_status is INTERRUPTED
    assert model.predict(X).shape == (128,)


def test_010_interrupted_before_anything_was_found_a_classifier_is_not_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = mm.load_dataset("corral")
    before_call(monkeypatch, "mmbn_opt.estimators._base.prepare", lambda: signal.raise_signal(signal.SIGINT))
    model = MaxMarginBayesClassifier()
    with pytest.raises(KeyboardInterrupt):
        model.fit(frame.drop(columns="class"), frame["class"])
    assert not hasattr(model, "network_")


def test_010_a_grid_search_ends_at_the_first_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = mm.load_dataset("corral")
    place = "mmbn_opt.tuning.parameters.solve"
    calls = before_call(monkeypatch, place, lambda: signal.raise_signal(signal.SIGINT), call=3)
    search = GridSearchCV(MaxMarginBayesClassifier(iterations=3), {"lam": [0.05, 0.1, 0.2]}, cv=3)
    with pytest.raises(KeyboardInterrupt):
        search.fit(frame.drop(columns="class"), frame["class"])
    assert len(calls) == 3
    assert not hasattr(search, "best_estimator_")


@pytest.mark.parametrize("by_choice", [False, True])
def test_010_a_mixture_classifier_too(by_choice: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    X, y = np.concatenate([draw.normal(3.0 * k, 1.0, (20, 2)) for k in range(3)]), np.repeat([0, 1, 2], 20)
    place = "mmbn_opt.estimators.cmm.solve_parts" if by_choice else "mmbn_opt.solving.parts.solve"
    before_call(monkeypatch, place, lambda: signal.raise_signal(signal.SIGINT), call=4 if by_choice else 2)
    model = CMMClassifier(n_components=[1, 2] if by_choice else 1, iterations=2, cv=3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    if by_choice:
        assert model.cv_results_["n_components"].tolist() == [1]
    assert model.predict(X).shape == (60,)


def test_010_a_comparison_keeps_the_run_that_ended_and_begins_no_other(
    corral: mm.DiscreteDataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun: list[str] = []

    def execute(run: Any) -> RunRecord | None:
        if run.token in runner_cancelled:
            return None
        begun.append(run.key)
        if len(begun) == 2:
            # In the main thread, while a run ends: the moment at which its record could be lost.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return RunRecord(
            run.key, run.formulation, run.solver, run.seed, 1.0, 0.0, 0.0, run.sense, RunOutcome.HUNG, None, "", "",
            BoundTrace(run.sense), None, None, None, "", 1.0, None, "",
        )  # fmt: skip

    from mmbn_opt.comparison.isolation import _cancelled as runner_cancelled

    monkeypatch.setattr(runner, "execute_unless_cancelled", execute)
    table = mm.compare(mm.SoftMarginStructure(corral), "highs", seeds=range(6), folder=tmp_path)
    assert table.interrupted
    assert table["seed"].tolist() == [0, 1]
    assert len(list((tmp_path / "runs").iterdir())) == 2
    assert len(begun) == 2


def test_06_the_command_line_gives_its_handlers_back(structure: Callable[[], Any]) -> None:
    assert structure().status == 0
    assert signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, signal.SIG_IGN)
