"""One set of choices everywhere: column kinds, cut points from the training rows, missing cells."""

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.data.preparation import column_kinds
from mmbn_opt.data.variable import MISSING_LABEL
from mmbn_opt.exceptions import InputError


def frame_of_kinds():
    return pd.DataFrame(
        {
            "text": list("abab") * 5,
            "flag": [True, False] * 10,
            "few": list(range(10)) * 2,
            "many": range(20),
            "real": np.linspace(0, 1, 20),
            "gappy": [1.0, np.nan, 2.0, 3.0] * 5,
            "class": ["n"] * 10 + ["p"] * 10,
        }
    )


def test_kinds_follow_the_published_rule():
    kinds = column_kinds(frame_of_kinds(), "class")
    assert kinds == {
        "text": "categorical", "flag": "categorical", "few": "categorical", "many": "numeric",
        "real": "numeric", "gappy": "categorical",
    }  # fmt: skip
    overridden = column_kinds(frame_of_kinds(), "class", {"few": "numeric", "many": "categorical"})
    assert (overridden["few"], overridden["many"]) == ("numeric", "categorical")
    with pytest.raises(InputError, match="unknown column 'zzz'"):
        column_kinds(frame_of_kinds(), "class", {"zzz": "numeric"})
    with pytest.raises(InputError, match='must be "categorical" or "numeric", got \'ordinal\''):
        column_kinds(frame_of_kinds(), "class", {"few": "ordinal"})


def test_cuts_come_from_the_training_rows_and_apply_elsewhere():
    train = frame_of_kinds().drop(columns="gappy")
    preparation = mm.prepare(train, "class")
    many = preparation.data.features[3]
    assert many.cuts == (9.5,)
    assert preparation.describe()[3] == "many: numeric, MDLP cuts 9.5"
    test = train.assign(many=[9.5, 9.6] * 10)
    assert preparation.apply(test).codes[:2, 3].tolist() == [0, 1]
    assert preparation.apply(train).codes.tolist() == preparation.data.codes.tolist()


def test_numeric_text_is_read_and_other_text_is_named():
    train = frame_of_kinds()[["many", "class"]].astype({"many": str})
    assert mm.prepare(train, "class", kinds={"many": "numeric"}).data.features[0].cuts == (9.5,)
    train.loc[3, "many"] = "three"
    with pytest.raises(InputError, match="Column 'many' is numeric, but row 3 holds 'three'"):
        mm.prepare(train, "class", kinds={"many": "numeric"})
    with pytest.raises(InputError, match="Column 'real' holds inf at position 2"):
        mm.prepare(pd.DataFrame({"real": [0.1, 0.2, np.inf, 0.4], "class": [0, 1, 0, 1]}), "class")


def test_discretization_can_be_refused():
    with pytest.raises(InputError, match=r"Columns \['many', 'real'\] are numeric and discretization is off"):
        mm.prepare(frame_of_kinds().drop(columns="gappy"), "class", discretize=False)


def test_missing_policies_reach_numeric_columns():
    train = frame_of_kinds()[["many", "class"]].astype({"many": float})
    train.loc[[0, 19], "many"] = np.nan
    with pytest.raises(InputError, match=r"Missing cells in 'many' \(2 cells\)"):
        mm.prepare(train, "class")
    dropped = mm.prepare(train, "class", missing="drop")
    assert (dropped.data.n_samples, dropped.data.n_dropped) == (18, 2)
    state = mm.prepare(train, "class", missing="state").data
    assert state.features[0].states[-1] == MISSING_LABEL
    assert state.codes[[0, 19], 0].tolist() == [2, 2]


def test_no_row_left_is_said():
    train = pd.DataFrame({"a": ["x", None], "b": [None, "y"], "class": [0, 1]})
    with pytest.raises(InputError, match="No row is left: all 2 have a missing cell"):
        mm.prepare(train, "class", missing="drop")


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_a_column_without_any_value_is_an_error_or_constant(kind):
    train = pd.DataFrame({"a": [np.nan, np.nan], "b": [1, 2], "class": [0, 1]})
    with pytest.raises(InputError, match=r"'a' has no states: every cell is missing|Missing cells in 'a' \(2 cells\)"):
        mm.prepare(train, "class", kinds={"a": kind})
    data = mm.prepare(train, "class", kinds={"a": kind}, missing="state").data
    assert data.constant_features() == [0]
    assert data.features[0].decode(data.codes[:, 0]).tolist() == [MISSING_LABEL] * 2


def test_constant_columns_stay_and_bring_no_candidates():
    train = pd.DataFrame({"a": ["x", "y"] * 5, "same": ["k"] * 10, "flat": [0.5] * 10, "class": ["n", "p"] * 5})
    data = mm.prepare(train, "class").data
    assert data.feature_names == ("a", "same", "flat")
    form = mm.SoftMarginStructure(data)
    assert [len(s) for s in form.candidates.sets] == [2, 1, 1, 2]
