"""A5: mixtures keep their time limit, whatever takes the time, and a model always comes back."""

import math
import sys
import time
from typing import Any

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt import _budget
from mmbn_opt._budget import OutOfTime, leaving_when
from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
from mmbn_opt.mixtures.fitting import _clusters, _em, _Rows
from mmbn_opt.results.result import CheckSubject
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers.nonlinear.exterior_penalty import ExteriorPenaltySolver
from mmbn_opt.solving.parts import solve_parts

QUICK = ExteriorPenaltySolver(restarts=0)


def overlapping(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes that no program separates at once."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    return rng.normal(size=(k, d))[y] + rng.normal(scale=1.5, size=(n, d)), y


@pytest.fixture
def processor_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor's clock, which does not go on while others have the machine; kernels are compiled before."""
    CMM(iterations=2).fit(*overlapping(40, 3, 3))
    for module in _users_of_now():
        monkeypatch.setattr(module, "now", time.process_time)


def _users_of_now() -> list[Any]:
    return [m for name, m in list(sys.modules.items()) if name.startswith("mmbn_opt") and vars(m).get("now") is NOW]


NOW = _budget.now
CMM = mm.CMMClassifier


@pytest.mark.parametrize(
    ("n", "d", "k", "settings"),
    [
        pytest.param(2_000, 6, 20, {}, id="A5-many-classes"),
        pytest.param(2_000, 6, 20, {"n_components": 3, "start": "em"}, id="A5-many-classes-em"),
        pytest.param(2_000, 6, 20, {"strategy": "one-vs-rest"}, id="A5-one-vs-rest"),
        pytest.param(15_000, 10, 3, {"n_components": 5}, id="A5-many-rows"),
        pytest.param(600, 120, 6, {"n_components": 2}, id="A5-many-columns"),
        pytest.param(1_500, 6, 12, {"n_components": "cv", "tau": "cv"}, id="A5-choice"),
    ],
)
@pytest.mark.usefixtures("processor_clock")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_classifier_keeps_its_limit(n: int, d: int, k: int, settings: dict[str, Any]) -> None:
    limit = 0.3
    X, y = overlapping(n, d, k)
    before = time.process_time()
    model = CMM(time_limit=limit, **settings).fit(X, y)
    assert time.process_time() - before <= 1.02 * limit + 1.0
    assert model.termination_status_ is TerminationStatus.TIME_LIMIT
    assert {check.about for check in model.certificate_.failures} <= {CheckSubject.SAMPLES}
    assert model.score(X[:500], y[:500]) > 1.5 / k


def test_a5_what_no_time_was_left_for_is_said() -> None:
    X, y = overlapping(600, 4, 12)
    result = solve_parts(MulticlassMargin(X, y, n_components=2), QUICK, time_limit=0.0)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert {part.stats["incumbent_source"] for part in result.parts} == {"one Gaussian a class"}
    assert [part.part for part in result.parts] == [part.name for part in result.formulation.parts]
    assert result.bounds.primal_bound is None
    assert result.model.score(X, y) > 0.2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a5_without_time_for_checks_none_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    import mmbn_opt.solving._unreached
    import mmbn_opt.solving.parts

    for room in (mmbn_opt.solving._unreached, mmbn_opt.solving.parts):
        monkeypatch.setattr(room, "CHECK_GRACE_SEC", -1.0)
    X, y = overlapping(200, 4, 4)
    result = solve_parts(MulticlassMargin(X, y, n_components=1), QUICK, time_limit=0.0)
    said = {check.name: check for check in result.certificate.checks}
    for name in ("every sample beyond xi", "objective"):
        assert said[name].ok is None
        assert "time limit" in said[name].detail
    assert said["parts"].ok is None
    assert result.solution_status is SolutionStatus.NO_SOLUTION
    assert [part.bounds.primal_bound for part in result.parts] == [None] * 6
    model = CMM(time_limit=0.0)
    monkeypatch.setattr("mmbn_opt.estimators.cmm.CHECK_GRACE_SEC", -1.0)
    assert math.isnan(model.fit(X, y).training_accuracy_)
    assert "no time left" in model._repr_html_inner()
    assert len(model.parts_[0].violated) == (model.parts_[0].violated["violation"] > 1e-6).sum()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("strategy", ["one-vs-one", "one-vs-rest"])
def test_a5_shared_gaussians_are_those_of_the_part_itself(strategy: Any, missing: bool) -> None:
    """A single Gaussian a class is what k-means with one cluster finds, in whatever coordinates."""
    X, y = overlapping(300, 4, 4)
    if missing:
        X[::7, 1] = np.nan
    problem = MulticlassMargin(X, y, n_components=1, strategy=strategy, missing="marginalize")
    for index, binary in enumerate(problem.binaries):
        quick = problem.start_at_hand(index)
        assert quick.source == "one Gaussian a class"
        own = binary.trivial_start()
        assert own.source == "k-means"
        assert binary.evaluate(quick.model) == pytest.approx(binary.evaluate(own.model), rel=1e-9)
        assert problem.start_at_hand(index) is own  # what is known is not replaced


@pytest.mark.parametrize("n_components", [2, 5])
def test_a5_in_steps_k_means_and_em_come_to_the_same_to_the_last_digit(n_components: int) -> None:
    rows = _Rows(np.ascontiguousarray(overlapping(9_000, 6, 3)[0]))
    fits: list[Any] = []
    for steps in (False, True):
        _clusters.cache_clear()
        _em.cache_clear()
        if steps:
            with leaving_when(lambda: False):
                fits.append((_clusters(rows, n_components, 0), _em(rows, n_components, "diag", 1e-6, 0)))
        else:
            fits.append((_clusters(rows, n_components, 0), _em(rows, n_components, "diag", 1e-6, 0)))
    (labels, density), (labels_in_steps, density_in_steps) = fits
    assert np.array_equal(labels, labels_in_steps)
    for name in ("log_weights", "means", "covariances"):
        assert np.array_equal(getattr(density, name), getattr(density_in_steps, name))
    _clusters.cache_clear()
    with pytest.raises(OutOfTime), leaving_when(lambda: True):
        _clusters(rows, n_components, 0)


def test_a5_a_start_given_up_for_lack_of_time_is_made_when_there_is_time() -> None:
    X, y = overlapping(200, 3, 2)
    formulation = mm.ConstrainedMaximumMargin(X, y, n_components=3)
    hurried = mm.solve(formulation, QUICK, time_limit=0.0)
    assert hurried.stats["incumbent_source"] == "one Gaussian a class"
    patient = mm.solve(formulation, ExteriorPenaltySolver(restarts=0, max_iterations=0))
    assert patient.trace.records[0].source == "k-means"
