"""Problems of `enumeration`, as a user states them."""

import numpy as np
import pytest
from enumeration import MARGINS, Problem

import mmbn_opt as mm
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.networks.smoothing import Dirichlet, Laplace
from mmbn_opt.results.status import TerminationStatus


def formulation_of(problem: Problem):
    """The problem as a user states it."""
    names = [*(f"x{j}" for j in range(len(problem.card) - 1)), "class"]
    table = np.array(problem.rows, dtype=np.int32)
    data = DiscreteDataset(
        np.asfortranarray(table[:, :-1]),
        table[:, -1].copy(),
        tuple(DiscreteVariable(name, tuple(range(r))) for name, r in zip(names[:-1], problem.card, strict=False)),
        DiscreteVariable("class", tuple(range(problem.card[-1]))),
        np.array(problem.weights),
    )
    shared = {
        "max_parents": problem.max_parents,
        "required_edges": tuple((names[a], names[b]) for a, b in problem.required),
        "forbidden_edges": tuple((names[a], names[b]) for a, b in problem.forbidden),
    }
    if problem.score in MARGINS:
        make = mm.SoftMarginStructure if problem.score == "sm" else mm.BinarySoftMarginStructure
        smoothing = Laplace(problem.pseudo) if problem.prior_ess is None else Dirichlet(problem.prior_ess)
        return make(data, gamma=problem.gamma, smoothing=smoothing, **shared)
    return mm.DecomposableStructure(data, score=problem.score, ess=problem.ess, **shared)


def assert_optimal(result, values, members, told):
    """The result is the best of `members`, worth `values`, with a certificate and no bound that passes it."""
    best, scale = float(values.max()), max(1.0, float(np.abs(values).max()))
    assert result.termination_status is TerminationStatus.OPTIMAL, told
    assert result.certificate.ok, told
    assert result.bounds.primal_bound == pytest.approx(best, rel=1e-6, abs=1e-8 * scale), told
    found = members.index(result.model.structure.parents)
    assert values[found] == pytest.approx(best, rel=1e-6, abs=1e-8 * scale), told
    assert all(r.dual_bound is None or r.dual_bound >= best - 1e-8 * scale for r in result.trace), told
