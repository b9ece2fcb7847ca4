"""Proofs that searches wrote: what the verifier vouches for is the optimum, by plain counting over the whole class."""

import json
from dataclasses import replace

import numpy as np
import pytest
from enumeration import SCORES, random_problem
from stated_problems import formulation_of

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.solvers.choice.branch_and_cut import _rooting
from mmbn_opt.verification import verify

SEEDS = {"sm": range(8), "sbm": range(4), "bic": range(3), "mdl": range(3, 5), "bdeu": range(3), "loglik": range(2)}


def unweighted(seed, score):
    problem = random_problem(seed, score)
    return replace(problem, weights=(1.0,) * len(problem.rows))


def written(problem, folder):
    """The table as CSV, and the tree file of a search."""
    names = [*(f"x{j}" for j in range(len(problem.card) - 1)), "class"]
    lines = [",".join(names), *(",".join(map(str, row)) for row in problem.rows)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    result = mm.solve(formulation_of(problem), "branch_and_cut", checkpoint=folder / "run")
    return result, folder / "run" / "tree.mmbn", folder / "rows.csv"


def held_against_enumeration(problem, folder):
    _, tree, table = written(problem, folder)
    found = verify(tree, table)
    best = problem.optimum()
    scale = max(1.0, abs(best))
    assert found.bound >= best - 1e-12 * scale  # the enumeration is rounded too
    assert found.bound <= best + 1e-8 * scale
    assert found.holds
    assert found.value == pytest.approx(best, abs=1e-8 * scale)
    assert found.rounding <= 1e-9 * scale


@pytest.mark.parametrize(("score", "seed"), [(score, seed) for score in SCORES for seed in SEEDS[score]])
def test_what_is_vouched_for_is_the_optimum_of_the_class(score, seed, tmp_path):
    held_against_enumeration(unweighted(seed, score), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("score", SCORES)
def test_what_is_vouched_for_is_the_optimum_of_many_classes(score, tmp_path):
    for seed in range(20, 50):
        folder = tmp_path / str(seed)
        folder.mkdir()
        held_against_enumeration(unweighted(seed, score), folder)


@pytest.mark.parametrize("seed", range(4))
def test_trees_that_hang_from_their_smallest_node_are_verified_for_a_dirichlet_prior(seed, tmp_path):
    rng = np.random.default_rng(seed)
    rows = tuple(tuple(int(v) for v in rng.integers(0, 2, 5)) for _ in range(20))
    problem = replace(unweighted(0, "sm"), rows=rows, card=(2,) * 5, weights=(1.0,) * 20, max_parents=2, gamma=0.8)
    problem = replace(problem, prior_ess=2.0, required=(), forbidden=(), _families={})
    held_against_enumeration(problem, tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_holds_without_a_word_of_trees_that_turn_at_a_cost(seed, tmp_path, monkeypatch):
    """Under Laplace smoothing, which makes twins differ: a search without a file may leave them out at their cost."""
    monkeypatch.setattr(_rooting, "MOST_TURNING", np.inf)
    rng = np.random.default_rng(seed)
    rows = tuple(tuple(int(v) for v in rng.integers(0, 2, 5)) for _ in range(20))
    problem = replace(unweighted(0, "sm"), rows=rows, card=(2,) * 5, weights=(1.0,) * 20, max_parents=2, gamma=0.8)
    held_against_enumeration(replace(problem, required=(), forbidden=(), _families={}), tmp_path)


def test_a_start_that_meets_the_bound_of_the_formulation_is_verified_and_told(tmp_path):
    problem = unweighted(0, "bic")
    for _ in range(2):  # and once more, when the folder is gone on with
        result, tree, table = written(problem, tmp_path)
        assert result.raw_status == "solver not called"
        found = verify(tree, table)
        assert found.value == pytest.approx(problem.optimum())
        assert found.bound == pytest.approx(problem.optimum())
        said = json.loads((tree.parent / "run.json").read_text(encoding="utf-8"))
        assert said["state"] == "OPTIMAL"
        assert said["objective"] == said["bound"] == pytest.approx(-problem.optimum())


def test_weighted_rows_are_refused_with_the_cure(tmp_path):
    problem = replace(unweighted(1, "sm"), _families={})
    problem = replace(problem, weights=(2.0,) * len(problem.rows))
    _, tree, table = written(problem, tmp_path)
    with pytest.raises(InputError, match="repeat rows in place of weights"):
        verify(tree, table)


def test_a_search_that_was_cut_off_vouches_for_what_it_had(tmp_path):
    rng = np.random.default_rng(8)
    table = rng.integers(0, 3, (60, 9))
    data = mm.DiscreteDataset.from_arrays(table.astype(str), rng.integers(0, 2, 60).astype(str))
    lines = [",".join([*data.feature_names, data.class_name])]
    labels = [data.target.states[k] for k in data.target_codes]
    lines += [",".join([*map(str, row), label]) for row, label in zip(table, labels, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    formulation = mm.SoftMarginStructure(data, gamma=mm.log_odds(0.9))
    run = tmp_path / "run"
    result = mm.solve(formulation, "branch_and_cut", time_limit=1.0, checkpoint=run)
    found = verify(run / "tree.mmbn", tmp_path / "rows.csv")
    assert found.value == pytest.approx(result.bounds.primal_bound)
    assert found.bound >= result.bounds.dual_bound - 1e-6
    assert found.bound < formulation.trivial_bound()


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_the_beginning_of_a_file_is_a_proof_too(share, tmp_path):
    problem = unweighted(5, "sm")
    _, tree, table = written(problem, tmp_path)
    content = tree.read_bytes()
    for size in np.linspace(len(content) * share, len(content), 12).astype(int):
        tree.write_bytes(content[:size])
        try:
            found = verify(tree, table)
        except InputError:
            continue
        assert found.bound >= problem.optimum() - 1e-12


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: f.with_terms(mm.EdgePenalty(0.5)), "terms of their own"),
        (lambda f: replace(f, margin_weight={0: 2.0, 1: 1.0}), "margin weight of their own"),
        (lambda f: replace(f, gamma={0: 2.0, 1: 1.0}), "gamma of each class or row"),
        (lambda f: replace(f, gamma=np.linspace(1, 2, f.data.n_samples)), "gamma of each class or row"),
    ],
)
def test_objectives_that_the_verifier_does_not_know_are_refused(change, told, tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (30, 3)), rng.integers(0, 2, 30)
    plain = mm.SoftMarginStructure(mm.DiscreteDataset.from_arrays(X, y), gamma=2.0)
    mm.solve(change(plain), "branch_and_cut", checkpoint=tmp_path / "run")
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y]), "%d", ",", header="x0,x1,x2,class", comments="")
    with pytest.raises(InputError, match=told):
        verify(tmp_path / "run" / "tree.mmbn", tmp_path / "rows.csv")
