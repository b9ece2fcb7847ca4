"""Margins over sequences: optima against the program over all labellings, and what an answer says of itself."""

import labellings
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data import DiscreteVariable
from mmbn_opt.programs import ProgramKind

CARDS = (3, 2)


def tiny(seed, n_labels=2, n=4, missing=True):
    """A small data set, and its observations and labels as lists."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 4, n)
    X = [rng.integers(-1 if missing else 0, CARDS, size=(length, 2)).tolist() for length in lengths]
    Y = [rng.integers(0, n_labels, length).tolist() for length in lengths]
    Y[0][0], Y[1][0] = 0, 1
    data = mm.SequenceDataset(
        np.concatenate(X).astype(np.int32),
        np.concatenate(Y).astype(np.int32),
        np.concatenate([[0], np.cumsum(lengths)]),
        tuple(DiscreteVariable(f"x{j}", tuple(range(s))) for j, s in enumerate(CARDS)),
        DiscreteVariable("label", tuple(range(n_labels))),
    )
    return data, X, Y


FORMS = [
    {"gamma": 2.0},
    {"B": 0.5},
    {"gamma": 2.0, "normalization": "floor"},
    {"B": 5.0, "normalization": "floor"},
    {"gamma": 1.0, "normalization": "published"},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(2, 3), n=st.integers(2, 8), missing=st.booleans())
def test_default_method_constraint_generation_and_all_labellings_agree_to_six_digits(form, seed, n_labels, n, missing):
    data, X, Y = tiny(seed, n_labels, n, missing)
    problem = mm.SequenceMaxMargin(data, min_prob=0.01, **form)
    published = problem.normalization == "published"
    expected = labellings.optimum(
        n_labels, CARDS, X, Y, gamma=problem.gamma, B=problem.B, linear=problem.linear,
        min_prob=None if published else 0.01,
    )  # fmt: skip
    for solver in ("auto", "constraint_generation"):
        result = mm.solve(problem, solver, rel_gap=1e-7)
        assert result.certificate.ok, str(result.certificate)
        assert result.bounds.primal_bound == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert result.bounds.dual_bound == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert result.bounds.dual_bound <= expected + 1e-6 * max(1.0, abs(expected))


def test_where_the_interior_point_gives_up_constraint_generation_ends_small_programs():
    # Nearly separable: any wide margin will do, and the optimum is near 0.
    data, X, Y = tiny(1173253412, 3, 3, missing=False)
    problem = mm.SequenceMaxMargin(data, min_prob=0.01, B=5.0, normalization="floor")
    expected = labellings.optimum(3, CARDS, X, Y, B=5.0, linear=problem.linear, min_prob=0.01)
    result = mm.solve(problem, rel_gap=1e-7, time_limit=60.0)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL, result.raw_status
    assert result.bounds.primal_bound == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("form", [FORMS[0], FORMS[2], FORMS[4]], ids=str)
def test_first_order_steps_find_the_same_optimum(form):
    for seed in (1, 2):
        data, X, Y = tiny(seed, missing=False)
        problem = mm.SequenceMaxMargin(data, min_prob=0.01, **form)
        published = problem.normalization == "published"
        expected = labellings.optimum(
            2, CARDS, X, Y, gamma=problem.gamma, linear=problem.linear, min_prob=None if published else 0.01
        )
        result = mm.solve(problem, "first_order", rel_gap=1e-3)
        assert result.termination_status is mm.TerminationStatus.OPTIMAL
        assert result.bounds.primal_bound == pytest.approx(expected, rel=1e-3, abs=1e-6)
        assert result.bounds.dual_bound <= expected + 1e-6
        assert result.bounds.dual_bound >= expected - 1e-3 * max(1.0, abs(expected))


def test_the_published_optimum_follows_from_that_of_a_linear_program_and_B_chooses_nothing():
    data, X, Y = tiny(1)
    H = labellings.optimum(2, CARDS, X, Y, gamma=1.0)
    assert H > 0.1
    answers = {}
    for B in (0.1, 1.0, 30.0):
        result = mm.solve(mm.SequenceMaxMargin(data, B=B, normalization="published"))
        assert result.solver_name == "constraint_generation"
        assert result.termination_status is mm.TerminationStatus.OPTIMAL
        assert result.bounds.primal_bound == pytest.approx(1.5 * (B * H) ** (2 / 3), rel=1e-6)
        answers[B] = result
    # Scaled by gamma, the answer for one B is the answer for another.
    other = mm.SequenceMaxMargin(data, B=30.0, normalization="published")
    w = answers[0.1].model.vector * (0.1 / 30.0) ** (1 / 3)
    shifted = other.recover(w - max(0.0, np.logaddexp.reduceat(w, other.chains.row_ptr[:-1]).max()))
    assert other.evaluate(shifted) == pytest.approx(answers[30.0].bounds.primal_bound, rel=1e-6)


def test_separable_data_have_no_published_optimum_and_are_never_optimal():
    data = mm.SequenceDataset.from_lists(["aab", "abb"], ["XXY", "XYY"])
    result = mm.solve(mm.SequenceMaxMargin(data, B=1.0, normalization="published"))
    assert result.termination_status is not mm.TerminationStatus.OPTIMAL
    assert "the data are separable: the infimum is 0 and not attained" in result.raw_status
    assert result.certificate.ok
    (check,) = [c for c in result.certificate.checks if c.name == "degeneracy"]
    assert "separates the data" in check.detail
    floor = mm.solve(mm.SequenceMaxMargin(data, B=1.0, normalization="floor"))
    assert floor.termination_status is mm.TerminationStatus.OPTIMAL


@pytest.mark.parametrize(("seed", "n_labels"), [(3, 3), (30, 2), (39, 2)])
def test_a_start_that_violates_nothing_at_its_own_best_margin_is_not_taken_for_the_optimum(seed, n_labels):
    data, X, Y = tiny(seed, n_labels)
    problem = mm.SequenceMaxMargin(data, B=5.0, normalization="floor", min_prob=0.01)
    expected = labellings.optimum(n_labels, CARDS, X, Y, B=5.0, linear=problem.linear, min_prob=0.01)
    result = mm.solve(problem, "constraint_generation", rel_gap=1e-6)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(expected, rel=1e-5)


def test_a_likelihood_term_with_other_pseudo_counts_moves_a_start_that_violates_nothing():
    data = mm.SequenceDataset.from_lists(["ab", "ab", "ba"] * 20, ["XY", "XY", "YX"] * 20)
    problem = mm.SequenceMaxMargin(data, gamma=1e-3, smoothing=7.0)
    result = mm.solve(problem, "constraint_generation", rel_gap=1e-7)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL


def test_sequences_of_one_position_are_the_program_of_one_class_variable():
    rng = np.random.default_rng(4)
    rows = rng.integers(0, (2, 3), size=(30, 2))
    y = rng.integers(0, 3, 30)
    alone = mm.solve(
        mm.MaxMarginRelaxation(
            table := mm.DiscreteDataset.from_arrays(rows, y), mm.naive_bayes(table), gamma=2.0, alpha=0.2, min_prob=0.01
        ),
        "clarabel",
    )
    data = mm.SequenceDataset.from_lists([[row.tolist()] for row in rows], [[label] for label in y])
    chain = mm.SequenceMaxMargin(data, gamma=2.0, alpha=0.2, min_prob=0.01)
    result = mm.solve(chain, rel_gap=1e-7)
    # The tables of transitions play no part but by the pseudo-counts of the likelihood term: uniform rows.
    unused = 0.2 * 9 * np.log(3)
    assert result.bounds.primal_bound - unused == pytest.approx(alone.bounds.primal_bound, rel=1e-5)


def test_order_of_sequences_and_names_of_labels_change_nothing():
    X, y = ["aab", "abb", "bba", "bab"], ["XXY", "XYY", "YXX", "YYX"]
    value = mm.solve(mm.SequenceMaxMargin(mm.SequenceDataset.from_lists(X, y)), rel_gap=1e-7).bounds.primal_bound
    other = mm.SequenceDataset.from_lists(X[::-1], [[{"X": 7, "Y": 3}[c] for c in s] for s in y[::-1]])
    assert mm.solve(mm.SequenceMaxMargin(other), rel_gap=1e-7).bounds.primal_bound == pytest.approx(value, rel=1e-6)


def test_the_value_of_an_encoded_model_is_the_one_that_is_recomputed():
    data, _, _ = tiny(7, 3)
    problem = mm.SequenceMaxMargin(data, gamma=1.5)
    w = problem.program.project(np.random.default_rng(1).normal(-1, 1, problem.n_parameters))
    model = problem.recover(w)
    assert problem.encode(model).tolist() == w.tolist()
    assert problem.evaluate(model) == pytest.approx(problem.program.value(w))
    assert problem.trivial_bound() <= problem.evaluate(problem.trivial_start().model)
    size = problem.estimate_size(ProgramKind.SEQUENCE)
    assert size == problem.build().size
    assert size.columns == problem.n_parameters == 3 + 9 + 15


def test_every_record_of_a_run_holds_the_optimum_between_its_bounds():
    data, _, _ = tiny(11, 3)
    problem = mm.SequenceMaxMargin(data)
    optimum = mm.solve(problem, "constraint_generation", rel_gap=1e-8).bounds.primal_bound
    for solver in ("first_order", "constraint_generation"):
        for record in mm.solve(problem, solver, rel_gap=1e-3).trace.records:
            assert record.primal_bound is None or record.primal_bound >= optimum - 1e-6
            assert record.dual_bound is None or record.dual_bound <= optimum + 1e-6


@pytest.mark.parametrize("solver", ["first_order", "constraint_generation"])
def test_the_bound_is_proved_again_from_the_data(solver):
    data, _, _ = tiny(12, 3)
    problem = mm.SequenceMaxMargin(data)
    result = mm.solve(problem, solver, rel_gap=1e-3)
    assert problem.prove_bound(result.multipliers) == pytest.approx(result.bounds.dual_bound, rel=1e-9)
    (check,) = [c for c in result.certificate.checks if c.name == "bound proved"]
    assert check.ok is True


def test_a_limit_of_time_ends_with_a_model_and_a_bound():
    rng = np.random.default_rng(0)
    X = [rng.integers(0, 5, size=(12, 40)) for _ in range(300)]
    y = [rng.integers(0, 8, 12) for _ in range(300)]
    data = mm.SequenceDataset.from_lists(X, y)
    result = mm.solve(mm.SequenceMaxMargin(data, gamma=0.5, alpha=1e-3), time_limit=1.0)
    assert result.termination_status is mm.TerminationStatus.TIME_LIMIT
    assert result.seconds.total < 2.5
    assert result.certificate.ok, str(result.certificate)
    assert result.bounds.dual_bound is not None


@pytest.mark.parametrize("solver", ["first_order", "constraint_generation"])
def test_a_callback_that_says_stop_ends_with_what_was_found(solver):
    data, _, _ = tiny(13, 3, n=12)
    result = mm.solve(mm.SequenceMaxMargin(data), solver, callback=lambda record: record.event == "bound")
    assert result.termination_status is mm.TerminationStatus.INTERRUPTED
    assert result.model is not None
    assert result.certificate.ok


WRONG = {
    "both": ({"gamma": 1.0, "B": 1.0}, "Give gamma or B, not both"),
    "no margin": ({"gamma": 0.0}, "gamma must be a number"),
    "a floor too high": ({"min_prob": 0.5}, "min_prob must be a number in .*, since a row of 3 entries"),
    "another form": ({"normalization": "soft"}, "normalization must be one of"),
    "no weight": ({"alpha": -1.0}, "alpha must be a number"),
    "no pseudo-count": ({"smoothing": 0.0}, "smoothing must be a number"),
    "too many": ({"max_parameters": 10}, "would have 16 parameters for 2 labels and 2 observations"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings_are_refused_by_name(case):
    given, message = WRONG[case]
    with pytest.raises(mm.InputError, match=message):
        mm.SequenceMaxMargin(tiny(1)[0], **given)


def test_other_data_and_other_models_are_refused():
    table = mm.DiscreteDataset.from_arrays([["a"], ["b"]], [0, 1])
    with pytest.raises(mm.InputError, match=r"got a DiscreteDataset. SequenceDataset.from_lists\(X, y\) makes one"):
        mm.SequenceMaxMargin(table)
    data, _, _ = tiny(1)
    other = mm.HiddenMarkovClassifier.fit(mm.SequenceDataset.from_lists(["ab"], ["XY"]))
    with pytest.raises(mm.InputError, match="features, labels and window of the data"):
        mm.SequenceMaxMargin(data).evaluate(other)
    with pytest.raises(mm.InputError, match="emits"):
        mm.solve(mm.SequenceMaxMargin(data), "clarabel")


def test_the_default_floor_leaves_room_for_long_rows():
    X = [[str(n) for n in range(5000)]]
    y = [["X", "Y"] * 2500]
    assert mm.SequenceMaxMargin(mm.SequenceDataset.from_lists(X, y)).min_prob == pytest.approx(0.1 / 5000)
