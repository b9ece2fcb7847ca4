"""Joint probabilities of very many rows, which are compiled, are those of few to the last digit."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.networks import posterior


@pytest.mark.parametrize("seed", range(6))
def test_compiled_joints_are_the_same_to_the_last_digit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    n_classes, card = int(rng.integers(2, 5)), rng.integers(1, 5, 5)
    codes = np.column_stack([rng.integers(0, size, 300) for size in card]).astype(np.int32)
    data = mm.DiscreteDataset.from_arrays(codes, rng.integers(0, n_classes, 300))
    for structure in (mm.naive_bayes(data), mm.tan_cmi(data)):
        network = mm.BayesianNetwork.fit(structure, data)
        rows = data.codes.copy()
        leaf = next(j for j in range(5) if j not in posterior.features_with_children(structure))
        rows[rng.random(len(rows)) < 0.3, leaf] = -1
        usual = network.log_joint(rows)
        with monkeypatch.context() as patch:
            patch.setattr(posterior, "MANY_ROWS", 1)
            assert (network.log_joint(rows) == usual).all()
            assert (network.log_joint(np.asfortranarray(rows)) == usual).all()


def test_margins_and_counts_in_blocks_are_those_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    data = mm.load_dataset("iris")
    data = mm.prepare(data, target="class").data
    network = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    margins = mm.scores.log_margins(network, data)
    counts = mm.data.counts.contingency(data, [0, 2, data.n_features])
    monkeypatch.setattr("mmbn_opt.scores.row_sums._BLOCK_ROWS", 7)
    monkeypatch.setattr(mm.data.counts, "BLOCK_ROWS", 7)
    monkeypatch.setattr(mm.data.block_counts, "BLOCK_ROWS", 7)
    assert (mm.scores.log_margins(network, data) == margins).all()
    assert (mm.data.counts.contingency(data, [0, 2, data.n_features]) == counts).all()
