"""What solvers did when it was recorded they do today: the same answers, proofs and events, whatever the clock says."""

import json

import pytest
import recorded_runs

from mmbn_opt.solvers.registry import get_solver_class

WANDERING = (
    "conjugate gradients", "likelihood", "smoothing", "scipy cg", "penalty", "golden section", "slsqp", "trust region",
    "ipopt",
)  # fmt: skip
"""Where they are when they stop hangs on the last digits, which other processors round otherwise."""

RECORDED = json.loads(recorded_runs.RECORD.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_run_is_as_it_was_recorded(name):
    solver = recorded_runs.cases()[name][1]
    if not get_solver_class(solver).is_available():
        pytest.skip(f"{solver} is not installed")
    then, now = RECORDED[name], json.loads(json.dumps(recorded_runs.run(name), default=lambda value: value.item()))
    for key in ("status", "solution", "raw"):
        assert now[key] == then[key]
    wanders = name.startswith(WANDERING)
    for key in ("primal",) if wanders else ("primal", "dual", "norm"):
        near = pytest.approx(then[key], rel=0.25 if wanders else 1e-4, abs=1e-9) if then[key] is not None else None
        assert now[key] == near, key
    if now["dual"] is not None:
        assert now["dual"] <= now["primal"] + 1e-9 * max(1.0, abs(now["primal"]))
    assert {pair[0] for pair in now["events"]} == {pair[0] for pair in then["events"]}
    assert [pair[1] for pair in now["events"]][:1] == [pair[1] for pair in then["events"]][:1]


def test_every_kind_of_solver_is_recorded():
    assert {solver for _, solver, _ in recorded_runs.cases().values()} >= {
        "branch_and_cut", "subset_search", "highs", "scip", "cbc", "scipy", "first_order", "interior_point", "barrier",
        "clarabel", "clarabel_qp", "highs_lp", "conjugate_gradient", "lbfgs", "exterior_penalty", "slsqp", "ipopt_nlp",
    }  # fmt: skip
