"""The brief choice behind the defaults of the gradient methods."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data.folds import weighed_parts
from mmbn_opt.solvers import ConjugateGradientSolver
from mmbn_opt.solvers.nonlinear.scipy_minimize import LbfgsSolver
from mmbn_opt.tuning.brief import FOLDS, brief_choice
from mmbn_opt.tuning.defaults import BRIEF_LAMBDAS, ITERATIONS, LAMBDA
from mmbn_opt.tuning.parameters import Learning, ParameterSettings, learn_parameters


@st.composite
def weighed_data(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of two features, classes, and whole weights."""
    n = draw(st.integers(4, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    classes = rng.integers(0, 3, n)
    classes[:2] = 0, 1
    return rng.integers(0, 3, (n, 2)), classes, rng.integers(1, 5, n)


def dataset(codes: np.ndarray, classes: np.ndarray, weight: np.ndarray) -> mm.DiscreteDataset:
    return mm.DiscreteDataset.from_arrays(codes, classes, sample_weight=weight.astype(float)).aggregate()


def contents(parts: list[tuple[mm.DiscreteDataset, mm.DiscreteDataset]]) -> list[np.ndarray]:
    return [
        np.column_stack([part.codes, part.target_codes, part.sample_weight / scale])
        for pair in parts
        for scale in [sum(p.total_weight for p in pair)]
        for part in pair
    ]


@settings(max_examples=50, deadline=None)
@given(weighed_data(), st.integers(0, 3), st.sampled_from([1.0, 1 / 150, 7.3]))
def test_weights_repeated_rows_their_order_and_the_unit_of_weight_give_the_same_parts(given_data, seed, unit) -> None:
    codes, classes, weight = given_data
    repeated = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(classes)), weight))
    ways = [
        dataset(codes, classes, weight),
        dataset(codes[repeated], classes[repeated], np.ones(len(repeated))),
        dataset(codes, classes, weight * unit),
    ]
    first, *others = [contents(weighed_parts(way, 5, one_above=1000, seed=seed)) for way in ways]
    for other in others:
        assert len(other) == len(first)
        for a, b in zip(first, other, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(weighed_data(), st.integers(0, 3))
def test_the_parts_share_all_weight_out_and_every_class_is_learned_from(given_data, seed) -> None:
    data = dataset(*given_data)
    parts = weighed_parts(data, 5, one_above=1000, seed=seed)
    for train, held in parts:
        assert train.total_weight + held.total_weight == pytest.approx(data.total_weight)
        assert train.observed_classes() == data.observed_classes()
    # Ends of pieces are rounded to a millionth of one.
    assert sum(held.total_weight for _, held in parts) <= data.total_weight + 1e-5 * data.sample_weight.max()


def test_many_rows_are_held_out_once_and_a_fifth_of_them() -> None:
    codes = np.arange(3000)
    data = dataset(np.column_stack([codes // 50, codes % 50]), codes % 2, np.ones(3000))
    ((train, held),) = weighed_parts(data, 5, one_above=1000, seed=0)
    assert (train.n_samples, held.n_samples) == (2400, 600)
    assert abs(int(held.target_codes.sum()) - 300) <= 1


def test_nothing_is_chosen_where_no_class_has_two_rows() -> None:
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"], ["c"]], [0, 1, 2])
    problem = mm.SmoothMargin(data, mm.naive_bayes(data))
    assert brief_choice(problem, BRIEF_LAMBDAS, ConjugateGradientSolver()) is None
    learned = learn_parameters(data, mm.naive_bayes(data), ParameterSettings())
    assert learned.chosen == {"lam": LAMBDA["cg-mm"], "max_iterations": ITERATIONS}
    assert learned.table is None


def test_many_rows_choose_among_two_scales_and_few_rows_only_the_iterations() -> None:
    data = mm.prepare(mm.load_dataset("car"), "class").data
    structure = mm.naive_bayes(data)
    many = learn_parameters(data, structure, ParameterSettings())
    assert tuple(many.table["lam"]) == BRIEF_LAMBDAS
    best = many.table.sort_values(["rate", "iterations"], ascending=[False, True], kind="stable").iloc[0]
    assert many.chosen == {"lam": best["lam"], "max_iterations": best["iterations"]}
    few = learn_parameters(data.subset(slice(0, None, 4)), structure, ParameterSettings())
    assert few.table["lam"].tolist() == [LAMBDA["cg-mm"]]
    assert few.chosen["max_iterations"] <= ITERATIONS
    assert FOLDS == 5


@pytest.mark.parametrize(
    ("settings_", "brief"),
    [
        (ParameterSettings(), True),
        (ParameterSettings("cg-cl"), True),
        (ParameterSettings(lam=0.2), True),
        (ParameterSettings(solver=LbfgsSolver(memory=3)), True),
        (ParameterSettings(iterations=100), False),
        (ParameterSettings(validation=0.2), False),
        (ParameterSettings(lam=[0.1, 0.2]), False),
        (ParameterSettings(solver="exterior_penalty"), False),
        (ParameterSettings(solver=LbfgsSolver(max_iterations=7)), False),
        (ParameterSettings(solver=LbfgsSolver(options={"max_iterations": 7})), False),
        (ParameterSettings("relaxation"), False),
        (ParameterSettings("ml"), False),
    ],
)
def test_only_what_the_caller_leaves_open_is_chosen(settings_: ParameterSettings, brief: bool) -> None:
    data = mm.prepare(mm.load_dataset("iris"), "class").data
    learning = Learning.of(data, mm.naive_bayes(data), settings_)
    assert learning.brief == brief
    if isinstance(settings_.solver, LbfgsSolver) and not brief:
        assert learning.chosen["max_iterations"] == 7  # a configured solver keeps what it says
    if brief and settings_.lam is not None:
        chosen = learning.choose(None)
        assert chosen.chosen["lam"] == settings_.lam
        assert chosen.as_usual().chosen == {"lam": settings_.lam, "max_iterations": ITERATIONS}


def test_the_default_classifier_takes_a_weight_for_repeated_rows() -> None:
    frame = mm.load_dataset("vote").iloc[:150]
    X, y = frame.drop(columns="class"), frame["class"]
    weight = np.arange(len(y)) % 3
    by_weight = mm.MaxMarginBayesClassifier(missing="state").fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight)
    by_rows = mm.MaxMarginBayesClassifier(missing="state").fit(X.iloc[rows[::-1]], y.iloc[rows[::-1]])
    assert by_weight.chosen_ == by_rows.chosen_
    np.testing.assert_allclose(by_weight.predict_proba(X), by_rows.predict_proba(X), atol=1e-9)
