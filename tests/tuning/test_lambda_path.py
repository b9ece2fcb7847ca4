"""The path of lambda: what it chooses, that each step is certified, and what it refuses."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.convex.first_order import FirstOrderSolver
from mmbn_opt.tuning.grid import held_out_parts


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 4))
    y = np.where(rng.random(200) < 0.1, rng.integers(0, 3, 200), X[:, 0])
    return mm.DiscreteDataset.from_arrays(X, y)


@pytest.mark.parametrize("normalization", ["hybrid", "floor"])
def test_the_path_chooses_what_separate_runs_choose(data, normalization):
    relaxation = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), normalization=normalization)
    lambdas = [0.05, 0.5, 2.0]
    chosen = mm.lambda_path(relaxation, lambdas, folds=3, selection_gap=1e-5, rel_gap=1e-4)
    assert chosen.table["lam"].tolist() == sorted(lambdas, reverse=True)
    assert (chosen.table["gap_rel"] <= 1e-5).all()
    for lam, rate in zip(chosen.table["lam"], chosen.table["rate"], strict=True):
        right = 0
        for train, held in held_out_parts(data, 3, 0):
            part = mm.MaxMarginRelaxation(
                data.subset(train), relaxation.structure, gamma=1 / lam, normalization=normalization
            )
            model = part.recover(FirstOrderSolver(rel_gap=1e-5).solve(part.build()).solution)
            test = data.subset(held)
            right += (model.log_joint(test.codes).argmax(axis=1) == test.target_codes).sum()
        assert rate == pytest.approx(right / data.n_samples, abs=0.03)  # optima need not be unique
    best = chosen.table["rate"].max()
    assert chosen.rate == best
    assert chosen.lam == chosen.table.loc[chosen.table["rate"] == best, "lam"].max()
    assert chosen.formulation.gamma == pytest.approx(1 / chosen.lam)
    assert chosen.result.termination_status is TerminationStatus.OPTIMAL
    assert chosen.result.bounds.gap_rel <= 1e-4
    assert chosen.result.certificate.ok


def test_wrong_paths_are_refused(data):
    graph = mm.naive_bayes(data)
    with pytest.raises(InputError, match="only rescales the published problem"):
        mm.lambda_path(mm.MaxMarginRelaxation(data, graph, normalization="published"))
    with pytest.raises(InputError, match="without B"):
        mm.lambda_path(mm.MaxMarginRelaxation(data, graph, B=1.0))
    with pytest.raises(InputError, match="lists no values"):
        mm.lambda_path(mm.MaxMarginRelaxation(data, graph), [])
    for wrong in (0.0, -0.5, float("nan")):
        with pytest.raises(InputError, match="gamma must be"):
            mm.lambda_path(mm.MaxMarginRelaxation(data, graph), [0.1, wrong])


def test_known_multipliers_and_point_are_a_start_of_small_gap(data):
    program = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=5.0).build()
    first = FirstOrderSolver(rel_gap=1e-4).solve(program)
    again = FirstOrderSolver(rel_gap=1e-4, multipliers=first.multipliers).solve(program, start=first.solution)
    assert again.stats["iterations"] < first.stats["iterations"]
