"""Seeded runs of every kind of solver, told by what does not depend on the clock.

``python tests/solvers/recorded_runs.py FILE`` records them; `test_recorded_runs` holds today's against the record.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import mmbn_opt as mm
from mmbn_opt.formulations.mixture.constrained import ConstrainedMaximumMargin
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.solvers.registry import get_solver_class

RECORD = Path(__file__).with_suffix(".json")


def data(n_features: int = 4, n_rows: int = 60, n_classes: int = 3, seed: int = 3) -> mm.DiscreteDataset:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n_rows, n_features))
    labels = (codes[:, : n_classes - 1].sum(axis=1) + (rng.random(n_rows) < 0.2)) % n_classes
    return mm.DiscreteDataset.from_arrays(codes, labels)


def mixture() -> ConstrainedMaximumMargin:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(2.2, 1, (30, 2))])
    return ConstrainedMaximumMargin(x, [0] * 30 + [1] * 30, n_components=2)


def cases() -> dict[str, tuple[Any, str, dict[str, Any]]]:
    """Formulation, solver and its settings, by name."""
    small, wide = data(), data(6, 90, 3, seed=5)
    tree = mm.tan_cmi(wide)
    margin, bic = mm.SoftMarginStructure(wide), mm.DecomposableStructure(wide, score="bic", max_parents=3)
    hybrid = mm.MaxMarginRelaxation(wide, tree, gamma=2.0, normalization="hybrid")
    floor = mm.MaxMarginRelaxation(wide, tree, gamma=5.0, normalization="floor")
    published = mm.MaxMarginRelaxation(wide, tree, gamma=1.0, normalization="published")
    smooth = mm.SmoothMargin(wide, tree)
    return {
        "tree": (margin, "branch_and_cut", {}),
        "tree, binary": (mm.BinarySoftMarginStructure(wide), "branch_and_cut", {"rel_gap": 0.01}),
        "tree, limited": (margin, "branch_and_cut", {"options": {"node_limit": 3}}),
        "tree, linear": (bic, "branch_and_cut", {}),
        "subsets": (bic, "subset_search", {}),
        "rows, highs": (mm.SoftMarginStructure(small), "highs", {}),
        "rows, scip": (mm.SoftMarginStructure(small), "scip", {}),
        "rows, cbc": (mm.SoftMarginStructure(small), "cbc", {}),
        "rows, scipy": (mm.SoftMarginStructure(small), "scipy", {}),
        "first order": (hybrid, "first_order", {"rel_gap": 1e-3}),
        "first order, floor": (floor, "first_order", {"rel_gap": 1e-4}),
        "smoothing": (hybrid, "first_order", {"method": "smoothing", "rel_gap": 1e-1, "max_iterations": 400}),
        "interior point": (floor, "interior_point", {"warm_seconds": 0.0}),
        "interior point, hybrid": (hybrid, "interior_point", {"warm_seconds": 0.0}),
        "barrier": (floor, "barrier", {}),
        "cone": (hybrid, "clarabel", {"isolate": False}),
        "linear form": (published, "highs_lp", {}),
        "quadratic": (mm.MaxMarginMarkovNetwork(wide, tree, C=0.1), "clarabel_qp", {"isolate": False}),
        "conjugate gradients": (smooth, "conjugate_gradient", {}),
        "conjugate gradients, watched": (smooth.with_validation(0.3, seed=0), "conjugate_gradient", {}),
        "likelihood": (mm.ConditionalLikelihood(wide, tree), "lbfgs", {}),
        "scipy cg": (smooth, "scipy_cg", {"max_iterations": 20}),
        "penalty": (mixture(), "exterior_penalty", {"max_iterations": 150, "restarts": 1}),
        "golden section": (mixture(), "exterior_penalty", {"inner": "golden-section", "max_iterations": 40}),
        "slsqp": (mixture(), "slsqp", {"max_iterations": 15}),
        "trust region": (mixture(), "trust_constr", {"max_iterations": 15}),
        "ipopt": (mixture(), "ipopt_nlp", {"max_iterations": 15}),
    }


_BY_CLOCK = ("rows", "tree", "subsets")
"""Their events come as time passes too; the incumbents do not."""


def run(name: str) -> dict[str, Any]:
    """What a run did, without its times."""
    formulation, solver, settings = cases()[name]
    engine = get_solver_class(solver)(**settings)
    kind = min(formulation.emits & engine.accepts, key=str)
    start = None
    if kind in (ProgramKind.MIXED_INTEGER, ProgramKind.IMPLICIT_CONCAVE, ProgramKind.LINEAR_CHOICE):
        start = formulation.encode(formulation.trivial_start().model, kind)
    told: list[bool] = []
    answer = engine.solve(
        formulation.build(kind), callback=lambda event: told.append(event.solution is not None), start=start
    )
    events = [[r.event, r.source] for r in answer.trace]
    if name.startswith(_BY_CLOCK):
        events = [pair for pair in events if pair[0] == "incumbent"] if not name.startswith("rows") else []
    counted = ("nodes", "iterations", "children", "evaluations", "rounds", "best_iteration")
    return {
        "status": answer.termination_status.label,
        "solution": answer.solution_status.label,
        "raw": answer.raw_status,
        "primal": answer.bounds.primal_bound,
        "dual": answer.bounds.dual_bound,
        "counts": {key: answer.stats[key] for key in counted if answer.stats.get(key) is not None},
        "proof": {} if answer.proof is None else dict(answer.proof.counts),
        "events": events,
        "norm": None if answer.solution is None else float(np.linalg.norm(answer.solution)),
    }


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORD
    content = {name: run(name) for name in cases()}
    target.write_text(json.dumps(content, indent=1, default=lambda value: value.item()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
