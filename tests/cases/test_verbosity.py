"""Section C, silence: what a fit and a solver tell when asked, and the warning at a limit."""

import logging
import warnings
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import mmbn_opt as mm
from mmbn_opt.results.status import TerminationStatus

CLASSIFIERS: dict[str, Any] = {
    "bayes": mm.MaxMarginBayesClassifier(iterations=10),
    "bayes with a choice": mm.MaxMarginBayesClassifier(),
    "structure": mm.MaxMarginStructureClassifier(max_parents=1),
    "structure and parameters": mm.MaxMarginStructureClassifier(max_parents=1, parameters="cg-cl", iterations=5),
    "cmm": mm.CMMClassifier(iterations=10),
}


def rows(name: str) -> tuple[Any, Any]:
    frame = mm.load_dataset("iris" if name == "cmm" else "corral")
    return frame.drop(columns="class"), frame["class"]


@pytest.mark.parametrize("name", [pytest.param(name, id=f"C {name}") for name in CLASSIFIERS])
def test_a_fit_tells_its_steps_at_1_and_bounds_at_2(name: str, caplog: pytest.LogCaptureFixture) -> None:
    X, y = rows(name)
    told = []
    for verbose in (0, 1, 2):
        caplog.clear()
        model = clone(CLASSIFIERS[name]).set_params(verbose=verbose)
        assert model.get_params()["verbose"] == verbose
        with caplog.at_level(logging.INFO, "mmbn_opt"):
            model.fit(X, y)
        told.append([record for record in caplog.records if record.levelno == logging.INFO])
    own = [[r.getMessage() for r in records if r.name == "mmbn_opt.estimators._base"] for records in told]
    assert not own[0]
    assert own[1]
    assert "chosen" in own[1][-1] or "of the training rows right" in own[1][-1]
    assert len(own[1]) == len(own[2])
    bounds = [[r for r in records if r.name == "mmbn_opt.solving._state"] for records in told]
    assert [bool(records) for records in bounds] == [False, False, True]


@pytest.mark.parametrize("solver", ["branch_and_cut", "highs", "subset_search"])
def test_verbose_solvers_tell_their_bounds_c(solver: str, caplog: pytest.LogCaptureFixture) -> None:
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    problem = mm.DecomposableStructure(data, score="bic")
    with caplog.at_level(logging.INFO, "mmbn_opt.solving"):
        mm.solve(problem, solver)
        assert not caplog.records
        result = mm.solve(problem, solver, verbose=True)
    lines = [record.getMessage() for record in caplog.records if record.name == "mmbn_opt.solving._state"]
    assert any(f"incumbent by {record.source}" in line for record in result.trace for line in lines)
    assert all("primal=" in line for line in lines)


@pytest.mark.parametrize(
    "model",
    [
        mm.MaxMarginStructureClassifier(time_limit=0.0),
        mm.MaxMarginBayesClassifier("nb", "relaxation", time_limit=0.0),
        mm.MaxMarginBayesClassifier(iterations=50, time_limit=0.0),
        mm.CMMClassifier(time_limit=0.0),
    ],
    ids=["C structure", "C relaxation", "C cg-mm", "C cmm"],
)
def test_a_fit_that_ran_out_of_time_warns_and_is_fitted(model: Any) -> None:
    X, y = rows("cmm" if isinstance(model, mm.CMMClassifier) else "structure")
    with pytest.warns(ConvergenceWarning, match=r"ended at TIME_LIMIT .*the best model by then is kept"):
        model.fit(X, y)
    assert model.result_.termination_status is TerminationStatus.TIME_LIMIT
    assert len(model.predict(X)) == len(y)


@pytest.mark.parametrize("name", [pytest.param(name, id=f"C {name}") for name in CLASSIFIERS])
def test_a_number_of_iterations_is_a_setting_and_no_limit_to_warn_of(name: str) -> None:
    X, y = rows(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(CLASSIFIERS[name]).fit(X, y)


@pytest.mark.parametrize("wrong", [-1, 1.5, "yes", None])
def test_verbosity_is_checked_by_name_c(wrong: Any) -> None:
    for name in ("bayes", "structure", "cmm"):
        with pytest.raises(mm.InputError, match="verbose must be False, True or a whole number >= 0, got"):
            clone(CLASSIFIERS[name]).set_params(verbose=wrong).fit(*rows(name))
