"""MDLPDiscretizer against hand arithmetic, an independent plain-Python version, and scikit-learn's own checks."""

import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from mmbn_opt.data.datasets import load_dataset
from mmbn_opt.data.discretize import MDLPDiscretizer, interval_labels, mdlp_cut_points
from mmbn_opt.data.weights import as_counts
from mmbn_opt.exceptions import InputError


def entropy(counts):
    total = sum(counts.values())
    return -sum(float(c / total) * math.log2(c / total) for c in counts.values())


def plain_mdlp(rows, undecided):
    """Fayyad & Irani as printed, over (value, label, weight) rows; differences too small to trust go to `undecided`."""
    groups = sorted({x for x, _, _ in rows})
    total = sum(w for _, _, w in rows)
    if len(groups) < 2 or total <= 1:
        return []
    candidates = []
    for low, high in pairwise(groups):
        if len({y for x, y, _ in rows if x in (low, high)}) < 2:
            continue
        sides = ([r for r in rows if r[0] <= low], [r for r in rows if r[0] > low])
        counts = [Counter() for _ in sides]
        for side, count in zip(sides, counts, strict=True):
            for _, y, w in side:
                count[y] += w
        expected = sum(float(sum(c.values()) / total) * entropy(c) for c in counts)
        candidates.append((expected, float(low + high) / 2, sides, counts))
    if not candidates:
        return []
    least = min(c[0] for c in candidates)
    undecided.extend(abs(c[0] - least) for c in candidates if c[0] - least > 1e-14)
    _, cut, sides, counts = min((c for c in candidates if c[0] - least < 1e-12), key=lambda c: c[1])
    parent = counts[0] + counts[1]
    k, k1, k2 = len(parent), len(counts[0]), len(counts[1])
    delta = math.log2(3**k - 2) - (k * entropy(parent) - k1 * entropy(counts[0]) - k2 * entropy(counts[1]))
    gain = entropy(parent) - sum(float(sum(c.values()) / total) * entropy(c) for c in counts)
    threshold = (math.log2(max(total - 1, 1)) + delta) / float(total)
    undecided.append(abs(gain - threshold))
    if gain <= threshold:
        return []
    return [*plain_mdlp(sides[0], undecided), cut, *plain_mdlp(sides[1], undecided)]


# --- hand-computed -------------------------------------------------------------------------------------------------


def test_two_pure_halves_are_cut_by_the_printed_arithmetic():
    # Ent(S) = 1, E = 0, gain 1 > (log2 5 + log2 7 - 2) / 6 = (2.32193 + 2.80735 - 2) / 6 = 0.52155.
    assert mdlp_cut_points([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1], 2).tolist() == [3.5]


def test_alternating_classes_are_not_cut():
    # Best cut 1.5 (tied with 3.5): E = 3/4 * 0.918296, gain 0.311278;
    # threshold (log2 3 + log2 7 - (2*1 - 1*0 - 2*0.918296)) / 4 = (1.584963 + 2.807355 - 0.163408) / 4 = 1.057227.
    assert mdlp_cut_points([1, 2, 3, 4], [0, 1, 0, 1], 2).tolist() == []


def test_one_row_of_another_class_at_the_end_pays_up_to_six_rows():
    # n rows, the last of class b: both sides of the last gap are pure, so gain = Ent(1/n) and the threshold is
    # (log2(n-1) + log2 7 - 2 Ent(1/n)) / n.
    # n = 6: 0.650022 > (2.321928 + 2.807355 - 1.300045) / 6 = 0.638206.
    assert mdlp_cut_points(np.arange(6), [0] * 5 + [1], 2).tolist() == [4.5]
    # n = 7: 0.591673 < (2.584963 + 2.807355 - 1.183345) / 7 = 0.601282.
    assert mdlp_cut_points(np.arange(7), [0] * 6 + [1], 2).tolist() == []
    # Two of class b among six: 0.918296 > (2.321928 + 2.807355 - 1.836592) / 6 = 0.548782.
    assert mdlp_cut_points(np.arange(6), [0] * 4 + [1] * 2, 2).tolist() == [3.5]


def test_three_classes_are_cut_twice():
    # First cut 4.5 (tied with 8.5, the smaller wins): Ent(S) = log2 3, E = 2/3, gain 0.918296 > (log2 11 + log2 25
    # - (3*1.584963 - 0 - 2*1)) / 12 = (3.459432 + 4.643856 - 2.754888) / 12 = 0.445700. Then the right eight rows:
    # gain 1 > (log2 7 + log2 7 - 2) / 8 = 0.451839.
    assert mdlp_cut_points(range(1, 13), [0] * 4 + [1] * 4 + [2] * 4, 3).tolist() == [4.5, 8.5]


def test_iris_has_the_published_cuts():
    frame = load_dataset("iris")
    X, y = frame.drop(columns="class"), frame["class"]
    disc = MDLPDiscretizer().fit(X, y)
    # Petal cuts as reported for all of iris wherever Fayyad-Irani is tabulated; sepal ones by plain_mdlp below.
    cuts = dict(zip(disc.feature_names_in_, disc.cut_points_, strict=True))
    np.testing.assert_allclose(cuts["petal_length"], [2.45, 4.75], rtol=1e-15)
    np.testing.assert_allclose(cuts["petal_width"], [0.8, 1.75], rtol=1e-15)
    for name in X:
        rows = [(x, label, 1) for x, label in zip(X[name], y, strict=True)]
        np.testing.assert_allclose(cuts[name], plain_mdlp(rows, []), rtol=1e-15)
    assert disc.n_states_.tolist() == [3, 3, 3, 3]
    assert disc.n_features_in_ == 4


# --- the compiled version agrees with the plain one ----------------------------------------------------------------

cell = st.one_of(st.integers(-6, 6).map(float), st.just(math.nan))


# Classes that follow the value, bar a few: random ones are hardly ever worth a cut.
ordered_rows = st.lists(
    st.tuples(cell, st.integers(0, 3), st.integers(0, 12), st.integers(0, 9)).map(
        lambda r: (r[0], r[1] if r[3] == 0 or math.isnan(r[0]) else int(r[0] + 6) // 4, r[2])
    ),
    min_size=20,
    max_size=60,
)
random_rows = st.lists(st.tuples(cell, st.integers(0, 3), st.integers(0, 12)), min_size=1, max_size=40)


@given(st.one_of(ordered_rows, random_rows))
def test_kernel_agrees_with_plain_python(rows):
    x, y, w = (list(column) for column in zip(*rows, strict=True))
    counts = as_counts(np.array([n for v, _, n in rows if not math.isnan(v)]) / 4)
    present = [(v, c) for v, c, _ in rows if not math.isnan(v)]
    kept = [(v, c, Fraction(n)) for (v, c), n in zip(present, counts.tolist(), strict=True) if n]
    undecided = []
    expected = plain_mdlp(kept, undecided)
    assume(all(difference > 1e-9 for difference in undecided))
    event(f"{len(expected)} cuts")
    assert mdlp_cut_points(x, y, 4, np.array(w) / 4).tolist() == expected


@given(ordered_rows, st.data())
def test_rows_may_be_permuted_relabelled_and_merged(rows, data):
    x, y, w = (np.array(column) for column in zip(*rows, strict=True))
    cuts = mdlp_cut_points(x, y, 4, w).tolist()
    assert mdlp_cut_points(np.repeat(x, w), np.repeat(y, w), 4).tolist() == cuts
    order = data.draw(st.permutations(range(len(x))))
    rename = np.array(data.draw(st.permutations(range(4))))
    assert mdlp_cut_points(x[order], rename[y][order], 4, w[order]).tolist() == cuts


@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.booleans()), min_size=2, max_size=30))
def test_cuts_separate_neighbouring_values_of_any_size(rows):
    x, y = (np.array(column) for column in zip(*rows, strict=True))
    cuts = mdlp_cut_points(x, y.astype(int), 2)
    values = np.unique(x)
    assert np.isfinite(cuts).all()
    assert (np.diff(cuts) > 0).all()
    for cut in cuts:
        below, above = values[values <= cut].max(), values[values > cut].min()
        assert below <= cut < above


# --- midpoints at the edge of the number line ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "cut"),
    [
        (1e308, 1.5e308, 1.25e308),
        (-1.7e308, 1.7e308, 0.0),
        (1.0, np.nextafter(1.0, 2.0), 1.0),
        (np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 0.0)),
        (0.0, 5e-324, 0.0),
        (5e-324, 1.5e-323, 1e-323),
        (-5e-324, 0.0, -5e-324),
    ],
)
def test_midpoints_of_extreme_neighbours(low, high, cut):
    cuts = mdlp_cut_points([low] * 5 + [high] * 5, [0] * 5 + [1] * 5, 2)
    assert cuts.tolist() == [cut]
    assert MDLPDiscretizer().fit([[low]] * 5 + [[high]] * 5, [0] * 5 + [1] * 5).transform([[low], [high]]).tolist() == [
        [0],
        [1],
    ]


def test_negative_zero_is_zero():
    assert mdlp_cut_points([0.0, -0.0] * 10, [0, 1] * 10, 2).tolist() == []


# --- columns without a cut -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "codes"),
    [([3.0] * 6, [0, 1] * 3), ([math.nan] * 4, [0, 1] * 2), ([1, 2, 3, 4], [0] * 4), ([5.0], [0]), ([], [])],
    ids=["constant", "all missing", "one class", "one row", "no row"],
)
def test_columns_that_have_no_cut(values, codes):
    assert mdlp_cut_points(values, codes, 2).tolist() == []


def test_missing_cells_are_left_out_and_stay_missing():
    frame = pd.DataFrame(
        {
            "float": [1.0, 2.0, np.nan, 3.0, 7.0, 8.0, 9.0, np.nan],
            "nullable": pd.array([1, 2, 3, None, 7, 8, 9, 9], dtype="Int64"),
            "objects": [1, 2, 3, 3, 7, 8, 9.0, None],
            "never": [np.nan] * 8,
            "flag": [True, True, True, True, False, False, False, False],
        }
    )
    y = ["a"] * 4 + ["b"] * 4
    disc = MDLPDiscretizer().fit(frame, y)
    assert [cuts.tolist() for cuts in disc.cut_points_] == [[5.0], [5.0], [5.0], [], [0.5]]
    codes = disc.transform(frame)
    assert codes.dtype == np.int32
    assert codes[:, 0].tolist() == [0, 0, -1, 0, 1, 1, 1, -1]
    assert codes[:, 1].tolist() == [0, 0, 0, -1, 1, 1, 1, 1]
    assert codes[:, 3].tolist() == [-1] * 8
    labels = MDLPDiscretizer(output="labels").fit(frame, y).transform(frame)
    assert labels[:, 0].tolist() == ["(-inf, 5.0]", "(-inf, 5.0]", None, "(-inf, 5.0]", *["(5.0, inf)"] * 3, None]
    assert labels[0, 4] == "(0.5, inf)"


def test_a_value_on_the_cut_goes_left():
    disc = MDLPDiscretizer().fit([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 0, 0, 1, 1, 1])
    assert disc.transform([[3.5], [np.nextafter(3.5, 4)], [-1e300], [1e300]]).ravel().tolist() == [0, 1, 0, 1]


# --- interval labels -----------------------------------------------------------------------------------------------


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True, max_size=8).map(sorted))
def test_interval_labels_are_unique_and_read_back_exactly(cuts):
    labels = interval_labels(cuts)
    assert len(set(labels)) == len(labels) == len(cuts) + 1
    edges = [label.strip("([])").split(", ") for label in labels]
    assert [float(left) for left, _ in edges] == [-math.inf, *cuts]
    assert [float(right) for _, right in edges] == [*cuts, math.inf]


def test_interval_labels_tell_close_cuts_apart():
    close = np.nextafter(0.3, 1)
    assert interval_labels([0.3, close]) == (
        "(-inf, 0.3]",
        "(0.3, 0.30000000000000004]",
        "(0.30000000000000004, inf)",
    )


# --- the transformer -----------------------------------------------------------------------------------------------


@parametrize_with_checks([MDLPDiscretizer()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b"],
        [7, 2],
        [True, False],
        [1.0, 3.0],
        pd.Categorical(["x", "y"], categories=["z", "y", "x"]),
        [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")],
    ],
)
def test_any_kind_of_label(labels):
    y = labels.repeat(4) if isinstance(labels, pd.Categorical) else [label for label in labels for _ in range(4)]
    X = np.arange(8.0)[:, None]
    assert MDLPDiscretizer().fit(X, y).cut_points_[0].tolist() == [3.5]
    assert MDLPDiscretizer().fit(X, pd.Series(y, index=range(8, 16))).cut_points_[0].tolist() == [3.5]


def test_set_output_and_feature_names():
    frame = pd.DataFrame({"a": [1, 2, 8, 9], "b": [1.0, np.nan, 1.0, 1.0]}, index=list("wxyz"))
    disc = MDLPDiscretizer().set_output(transform="pandas").fit(frame, [0, 0, 1, 1])
    out = disc.transform(frame)
    assert out.to_dict("list") == {"a": [0, 0, 1, 1], "b": [0, -1, 0, 0]}
    assert list(out.index) == list("wxyz")
    assert (out.dtypes == np.int32).all()
    assert disc.get_feature_names_out().tolist() == ["a", "b"]
    labels = MDLPDiscretizer("labels").set_output(transform="pandas").fit_transform(frame, [0, 0, 1, 1])
    assert labels["a"].tolist() == ["(-inf, 5.0]", "(-inf, 5.0]", "(5.0, inf)", "(5.0, inf)"]
    assert labels["b"].isna().tolist() == [False, True, False, False]


def test_read_only_input_is_left_alone():
    X = np.arange(12.0).reshape(6, 2)
    y = np.array([0, 0, 0, 1, 1, 1])
    w = np.ones(6)
    for array in (X, y, w):
        array.setflags(write=False)
    assert MDLPDiscretizer().fit(X, y, sample_weight=w).transform(X)[:, 1].tolist() == [0, 0, 0, 1, 1, 1]


def test_numba_loads_only_when_a_column_is_cut():
    code = "import sys, mmbn_opt.data.discretize; sys.exit('numba' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, env={"PYTHONPATH": ":".join(sys.path)}).returncode
        == 0
    )


# --- refusals ------------------------------------------------------------------------------------------------------

y4 = ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("X", "y", "weights", "told"),
    [
        (
            pd.DataFrame({"age": [1, 2, np.inf, -np.inf], "ok": [1, 2, 3, 4]}),
            y4,
            None,
            r"column 'age' \(2 cells\).*Replace it by NaN",
        ),
        (np.array([[1.0], [np.inf], [2.0], [3.0]]), y4, None, r"column 0 \(1 cells\).*finite limit"),
        (
            pd.DataFrame({"age": [1, 2, 3, 4], "job": ["x", "y", "x", "y"]}),
            y4,
            None,
            r"not numeric: 'job' \((str|object)\)\. Pass only numeric columns",
        ),
        (pd.DataFrame({"job": pd.Categorical([1, 2, 1, 2])}), y4, None, r"not numeric: 'job' \(category\)"),
        (pd.DataFrame({"mix": [1, "2", 3, 4]}, dtype=object), y4, None, r"not numeric: 'mix' \(object\)"),
        (np.array([["1"], ["2"], ["3"], ["4"]]), y4, None, r"not numeric: 0 \(holds '1'\).*pandas.to_numeric"),
        ([[1, "x"], [2, "y"], [3, "z"], [4, "u"]], y4, None, r"not numeric: 1 \(holds 'x'\)"),
        (pd.DataFrame({"a": []}, dtype=float), [], None, r"0 sample\(s\) and 1 feature\(s\)"),
        (pd.DataFrame(index=range(4)), y4, None, r"4 sample\(s\) and 0 feature\(s\)"),
        (np.ones((4, 1)), ["a", None, "b", np.nan], None, "2 of 4 labels in y are missing. Drop those rows"),
        (np.ones((4, 1)), [0.5, 1.0, 2.0, 2.5], None, "not classes, for example 0.5.*pass class labels"),
        (np.ones((4, 1)), ["a", "b"], None, r"one label a row, shape \(4,\), got shape \(2,\)"),
        (np.ones((4, 1)), None, None, "requires y to be passed"),
        (np.ones((4, 1)), y4, [1, 1, -2, 1], r">= 0; row 2 has -2.0 \(1 such rows\). Use 0"),
        (np.ones((4, 1)), y4, [1, np.nan, 1, 1], "row 1 has nan"),
        (np.ones((4, 1)), y4, [1, 1], r"shape \(2,\); it needs one number for each of the 4 rows"),
        (np.ones((4, 1)), y4, [0, 0, 0, 0], "zero in every row"),
    ],
)
def test_bad_input_is_refused_by_name(X, y, weights, told):
    with pytest.raises(InputError, match=told):
        MDLPDiscretizer().fit(X, y, sample_weight=weights)


def test_infinite_cells_are_refused_at_transform_too():
    disc = MDLPDiscretizer().fit(pd.DataFrame({"age": [1, 2, 3, 4]}), y4)
    with pytest.raises(InputError, match="column 'age'"):
        disc.transform(pd.DataFrame({"age": [np.inf]}))


def test_unknown_output_is_refused():
    with pytest.raises(InputError, match="output must be one of 'codes', 'labels', got 'onehot'"):
        MDLPDiscretizer(output="onehot").fit(np.ones((4, 1)), y4)


@pytest.mark.parametrize(
    ("values", "codes", "weights", "told"),
    [
        ([1.0, 2.0], [0], None, "need one length"),
        ([1.0, np.inf], [0, 1], None, "1 infinite values"),
        ([1.0, 2.0], [0, 2], None, r"must lie in 0\.\.1, got 0\.\.2"),
        ([1.0, 2.0], [0, -1], None, r"got -1\.\.0"),
        ([1.0, 2.0], [0, 1], [1.0, -1.0], ">= 0; row 1 has"),
    ],
)
def test_mdlp_cut_points_refuses(values, codes, weights, told):
    with pytest.raises(InputError, match=told):
        mdlp_cut_points(values, codes, 2, weights)
