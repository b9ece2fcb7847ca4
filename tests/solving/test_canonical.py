"""Of several optimal structures a proved run returns the same one, whatever it was started from."""

import numpy as np
import pytest

import mmbn_opt as mm


@pytest.mark.parametrize("seed", range(4))
def test_a_start_that_is_optimal_too_is_not_returned_in_place_of_the_canonical_structure(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (60, 4))
    X[:, 1] = X[:, 0]  # a twin: whatever hangs from one may hang from the other
    y = np.where(rng.random(60) < 0.2, rng.integers(0, 2, 60), X[:, 0] ^ X[:, 2])
    formulation = mm.SoftMarginStructure(mm.DiscreteDataset.from_arrays(X, y), gamma=mm.log_odds(0.9))
    first = mm.solve(formulation, "branch_and_cut", rel_gap=0.0, abs_gap=0.0)
    assert first.stats["ties_settled"]
    twins = {"x0": "x1", "x1": "x0"}
    names = [v.name for v in first.model.features]
    edges = [(twins.get(a, a), twins.get(b, b)) for a, b in first.model.structure.edges]
    other = mm.Structure.from_names(names, first.model.target.name, edges)
    assert formulation.evaluate(formulation.model_of(other)) == pytest.approx(first.bounds.primal_bound, rel=1e-12)
    again = mm.solve(formulation, "branch_and_cut", rel_gap=0.0, abs_gap=0.0, starts=[other])
    assert again.model.structure.edges == first.model.structure.edges
    assert again.certificate.ok
