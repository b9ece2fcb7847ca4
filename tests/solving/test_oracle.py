"""Optima that were found by enumeration elsewhere are found again, by every formulation and by two solvers."""

import pytest

import mmbn_opt as mm
from mmbn_opt.results.status import TerminationStatus

pytestmark = pytest.mark.shared


def formulation(case, data, acyclicity):
    if case["score"] in ("bic", "bdeu"):
        ess = case["ess"] or 1.0
        return mm.DecomposableStructure(
            data, score=case["score"], ess=ess, max_parents=case["max_parents"], acyclicity=acyclicity
        )
    make = {"sm": mm.SoftMarginStructure, "sbm": mm.BinarySoftMarginStructure}[case["score"]]
    return make(data, max_parents=case["max_parents"], gamma=mm.log_odds(case["p"]), acyclicity=acyclicity)


@pytest.mark.parametrize("kind", ["soft_margin", "binary_soft_margin", "generative"])
@pytest.mark.parametrize(
    ("solver", "acyclicity"),
    [
        ("highs", "order"),
        pytest.param("highs", "order-printed", marks=pytest.mark.slow),
        ("highs", "cluster"),
        pytest.param("scip", "order", marks=pytest.mark.slow),
        ("branch_and_cut", "auto"),
    ],
)
def test_every_optimum_of_the_oracle(shared_optima, shared_table, kind, solver, acyclicity):
    table = mm.solvers().set_index("name")
    if not table.loc[solver, "available"]:
        pytest.skip(f"{solver}: {table.loc[solver, 'reason']}")
    assert shared_optima[kind]
    for case in shared_optima[kind]:
        frame, _ = shared_table(case["dataset"])
        frame = frame.dropna()
        frame = frame if case["cols"] is None else frame[[*case["cols"], "class"]]
        data = mm.DiscreteDataset.from_frame(frame, "class")
        # No start heuristics: the program itself has to find the optimum.
        result = mm.solve(formulation(case, data, acyclicity), solver, starts=[])
        assert result.termination_status is TerminationStatus.OPTIMAL
        assert result.certificate.ok, str(result.certificate)
        assert result.bounds.primal_bound == pytest.approx(case["optimum"], abs=1e-6)
        assert result.bounds.dual_bound == pytest.approx(case["optimum"], rel=1e-8, abs=1e-6)
        for record in result.trace:
            assert record.dual_bound >= case["optimum"] - 1e-6 * max(1.0, abs(case["optimum"]))
            assert record.primal_bound <= case["optimum"] + 1e-6
