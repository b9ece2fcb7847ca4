"""Tuning: the chosen point is the best of the table, whatever the workers and the order of the rows."""

import pickle

import joblib
import numpy as np
import pytest
from strategies import dataset_of

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.parameters.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.scores.predictive import classification_rate
from mmbn_opt.solvers.nonlinear.scipy_minimize import LbfgsSolver
from mmbn_opt.tuning.grid import tune


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 240)
    codes = np.where(rng.random((240, 6)) < 0.4, labels[:, None], rng.integers(0, 3, (240, 6)))
    return dataset_of(np.column_stack([codes, labels]).tolist(), [3] * 6 + [3])


def test_the_best_row_of_the_table_is_chosen(noisy):
    formulation = SmoothMargin(noisy, mm.naive_bayes(noisy))
    chosen = tune(formulation, {"lam": [0.02, 0.2, 1.0], "kappa": [0.1, 0.5]}, max_iterations=25)
    assert len(chosen.table) == 6
    assert chosen.table.columns.tolist() == ["lam", "kappa", "iterations", "rate", "spread"]
    best = chosen.table.sort_values(["rate", "iterations"], ascending=[False, True], kind="stable").iloc[0]
    assert chosen.rate == best["rate"]
    assert chosen.settings == {"lam": best["lam"], "kappa": best["kappa"]}
    assert (chosen.formulation.lam, chosen.formulation.kappa) == (best["lam"], best["kappa"])
    assert chosen.solver.max_iterations == chosen.iterations == best["iterations"]
    assert chosen.formulation.validation is None
    assert chosen.formulation.data is noisy


def test_the_rate_is_that_of_models_learned_without_the_fold(noisy):
    """The first row of a curve is the maximum-likelihood model of the other folds."""
    chosen = tune(ConditionalLikelihood(noisy, mm.naive_bayes(noisy)), folds=3, max_iterations=0)
    from mmbn_opt.data.folds import stratified_folds

    fold = stratified_folds(noisy, 3)
    rates, sizes = [], []
    for k in range(3):
        train, test = noisy.subset(fold != k), noisy.subset(fold == k)
        rates.append(classification_rate(mm.BayesianNetwork.fit(mm.naive_bayes(noisy), train), test))
        sizes.append(test.n_samples)
    assert chosen.iterations == 0
    assert chosen.rate == pytest.approx(np.average(rates, weights=sizes), abs=1e-6)
    assert chosen.settings == {}


def test_tuned_settings_are_learned_on_all_data(noisy):
    chosen = tune(SmoothMargin(noisy, mm.naive_bayes(noisy)), {"lam": [0.1]}, max_iterations=10)
    result = chosen.solver.solve(chosen.formulation.build(ProgramKind.NONLINEAR))
    assert result.stats["iterations"] == chosen.iterations
    assert chosen.formulation.recover(result.solution).structure == mm.naive_bayes(noisy)


def test_workers_and_the_order_of_the_rows_change_nothing(noisy):
    grid = {"lam": [0.05, 0.5]}
    formulation = SmoothMargin(noisy, mm.naive_bayes(noisy))
    one = tune(formulation, grid, max_iterations=8)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        two = tune(formulation, grid, max_iterations=8)
    shuffled = noisy.subset(np.random.default_rng(1).permutation(noisy.n_samples))
    third = tune(SmoothMargin(shuffled, mm.naive_bayes(noisy)), grid, max_iterations=8)
    assert one.table.equals(two.table)
    assert one.table.equals(third.table)


def test_formulations_travel_to_other_processes(noisy):
    formulation = SmoothMargin(noisy, mm.naive_bayes(noisy)).with_validation(0.2)
    formulation.build(ProgramKind.NONLINEAR)
    again = pickle.loads(pickle.dumps(formulation))
    value = formulation.build(ProgramKind.NONLINEAR).value(formulation.encode(formulation.maximum_likelihood))
    assert again.build(ProgramKind.NONLINEAR).value(again.encode(again.maximum_likelihood)) == value


def test_other_descent_methods_can_be_tuned(noisy):
    chosen = tune(
        SmoothMargin(noisy, mm.naive_bayes(noisy)), {"lam": [0.1]}, solver=LbfgsSolver(memory=5), max_iterations=5
    )
    assert isinstance(chosen.solver, LbfgsSolver)
    assert chosen.solver.memory == 5


def test_one_part_is_held_out_of_large_data_and_all_folds_of_small():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (1200, 3))
    data = dataset_of(table.tolist(), [2, 2, 2])
    large = tune(SmoothMargin(data, mm.naive_bayes(data)), {"lam": [0.1]}, max_iterations=2)
    assert large.table["spread"].tolist() == [0.0]


def test_a_class_with_one_sample_stays_in_the_training_part():
    data = dataset_of([[0, 0]] * 5 + [[1, 0]] * 5 + [[1, 1]], [2, 2])
    chosen = tune(SmoothMargin(data, mm.naive_bayes(data)), {"lam": [0.1]}, max_iterations=3)
    assert chosen.rate >= 0.5


def test_wrong_requests_are_refused(noisy):
    formulation = SmoothMargin(noisy, mm.naive_bayes(noisy))
    with pytest.raises(InputError, match="no setting 'gamma' to tune"):
        tune(formulation, {"gamma": [1.0]})
    with pytest.raises(InputError, match="lists no values for 'lam'"):
        tune(formulation, {"lam": []})
    with pytest.raises(InputError, match="lam must be a number"):
        tune(formulation, {"lam": [0.1, -1.0]})
    with pytest.raises(InputError, match="folds must be a whole number from 2"):
        tune(formulation, {"lam": [0.1]}, folds=1)
    with pytest.raises(InputError, match="descent method"):
        tune(formulation, {"lam": [0.1]}, solver="highs")
    lonely = dataset_of([[0, 0], [1, 1]], [2, 2])
    with pytest.raises(InputError, match="at least two rows"):
        tune(SmoothMargin(lonely, mm.naive_bayes(lonely)), {"lam": [0.1]})
