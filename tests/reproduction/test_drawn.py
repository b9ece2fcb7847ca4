"""Tables that are drawn: the same ones each time, with the skewness and the preferences that they are made of."""

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.networks.renormalizability import renormalizability
from mmbn_opt.reproduction.drawn import AMINO_ACIDS, DRAWN, FIGURE_3, drawn
from mmbn_opt.reproduction.sources import Source


@pytest.mark.parametrize("name", ["skewed-top-0.90", "skewed-bottom-0.60", "chains", "protein-like"])
def test_a_drawn_table_is_the_same_each_time_and_has_texts_and_no_gaps(name):
    first, second = drawn(name), drawn(name)
    pd.testing.assert_frame_equal(first.X, second.X)
    table = Source(None).find(name)
    assert set(table.kinds.values()) == {"categorical"}
    assert not table.X.isna().to_numpy().any()
    assert table.origin == "drawn"
    assert (table.sequences is None) == name.startswith("skewed")


@pytest.mark.parametrize("beta", ["0.90", "0.60"])
@pytest.mark.parametrize("network", ["top", "bottom"])
def test_each_child_follows_its_parents_in_a_share_beta_of_the_rows(network, beta):
    table = drawn(f"skewed-{network}-{beta}")
    frame = table.X.assign(**{"class": table.y})
    edges = [edge.split(">") for edge in FIGURE_3[network].split()]
    for child in {c for _, c in edges}:
        parents = [p for p, c in edges if c == child]
        shares = frame.groupby(parents)[child].agg(lambda v: v.value_counts(normalize=True).max())
        weights = frame.groupby(parents).size() / len(frame)
        assert float((shares * weights).sum()) == pytest.approx(float(beta), abs=0.03)


def test_the_first_network_is_renormalizable_and_the_second_is_not():
    found = {
        name: bool(
            renormalizability(
                mm.Structure.from_names(["x1", "x2", "x3", "x4", "x5"], "class", [e.split(">") for e in edges.split()])
            )
        )
        for name, edges in FIGURE_3.items()
    }
    assert found == {"top": True, "bottom": False}


def test_chains_have_labels_that_follow_each_other_and_children_that_follow_their_label():
    table = drawn("chains")
    y = table.y.to_numpy().reshape(-1, 5)
    assert max((y[:, 1:] == y[:, :-1]).mean(), (y[:, 1:] != y[:, :-1]).mean()) == pytest.approx(0.85, abs=0.02)
    for column in table.X:
        same = (table.X[column].to_numpy() == table.y.to_numpy()).mean()
        assert max(same, 1 - same) == pytest.approx(0.85, abs=0.02)


def test_residues_are_where_they_like_to_be_and_segments_are_no_shorter_than_they_can_be():
    table = drawn("protein-like")
    residues, labels = table.X["residue"].to_numpy(), table.y.to_numpy()
    assert set(residues) == set(AMINO_ACIDS)
    shares = pd.crosstab(residues, labels, normalize="columns")
    for letter, where in (("A", "H"), ("E", "H"), ("V", "E"), ("I", "E"), ("G", "C"), ("P", "C")):
        assert shares.loc[letter].idxmax() == where
    for label, least in (("H", 5), ("E", 3), ("C", 2)):
        for chain in np.split(labels, np.flatnonzero(np.diff(table.sequences)) + 1):
            ends = np.flatnonzero(chain[1:] != chain[:-1]) + 1
            inner = np.split(chain, ends)[1:-1]
            assert all(len(part) >= least for part in inner if part[0] == label)


def test_every_drawn_table_that_a_declaration_names_is_there():
    from mmbn_opt.reproduction import experiment_names, load_experiment

    named = {s for n in experiment_names() if n.startswith("guo2005") for s in load_experiment(n).sets}
    assert set(DRAWN) == {s for s in named if s.startswith(("skewed-", "chains", "protein-like"))}
