"""The proof file of a convex relaxation: when there is one, and why there is none."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.verification import verify

ROWS = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5
LABELS = [0, 1, 1, 1] * 4 + [1, 0, 0, 1]


@pytest.fixture
def data():
    return mm.DiscreteDataset.from_arrays(ROWS, LABELS)


@pytest.fixture
def table(tmp_path):
    rows = [",".join(map(str, [*row, label])) for row, label in zip(ROWS, LABELS, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["x0,x1,class", *rows]))
    return tmp_path / "rows.csv"


def relaxation(data, **options):
    return mm.MaxMarginRelaxation(data, mm.naive_bayes(data), **{"gamma": 2.0, "normalization": "floor"} | options)


@pytest.mark.parametrize("solver", ["auto", "first_order", "interior_point", "proximal_newton", "clarabel"])
def test_every_solver_leaves_a_proof(solver, data, table, tmp_path):
    result = mm.solve(relaxation(data), solver, rel_gap=1e-4)
    found = verify(result.save_proof(tmp_path / "proof.mmbn"), table)
    assert found.holds
    assert found.bound > 1.0
    assert found.bound == pytest.approx(result.bounds.dual_bound, rel=1e-9)
    assert found.value == pytest.approx(result.bounds.primal_bound, rel=1e-9)


def test_the_published_problem_is_verified_over_what_its_bound_is_stated_for(data, table, tmp_path):
    result = mm.solve(relaxation(data, normalization="published"), "first_order", rel_gap=1e-4)
    found = verify(result.save_proof(tmp_path / "proof.mmbn"), table)
    assert found.holds
    assert found.bound > 1.0
    assert "bound over logarithms of at least -1000" in found.statement


@pytest.mark.parametrize("normalization", ["floor", "published", "hybrid"])
def test_a_bound_that_takes_no_multipliers_is_proved_without(normalization, tmp_path):
    labels = [0, 1, 1, 1] * 5  # separable
    problem = relaxation(mm.DiscreteDataset.from_arrays(ROWS, labels), normalization=normalization, gamma=0.1)
    result = mm.solve(problem, rel_gap=1e-4)
    rows = [",".join(map(str, [*row, label])) for row, label in zip(ROWS, labels, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["x0,x1,class", *rows]))
    found = verify(result.save_proof(tmp_path / "proof.mmbn"), tmp_path / "rows.csv")
    assert found.holds
    assert found.bound == pytest.approx(result.bounds.dual_bound, rel=1e-9, abs=1e-9)


def test_saving_a_result_saves_its_proof(data, tmp_path):
    result = mm.solve(relaxation(data), rel_gap=1e-4)
    assert tmp_path / "run" / "proof.mmbn" in result.save(tmp_path / "run")
    again = mm.solve(mm.SoftMarginStructure(data, gamma=1.0), "branch_and_cut")
    again.save(tmp_path / "run")
    assert not (tmp_path / "run" / "proof.mmbn").exists()  # that of an earlier run goes


def test_what_has_no_proof_file_is_told_by_name(data, tmp_path):
    weighted = mm.DiscreteDataset.from_arrays(ROWS, LABELS, sample_weight=np.full(20, 0.5))
    limited = relaxation(data).with_constraints(mm.EntryBounds("class", 0, upper=0.2))
    labels = np.array([b"no" if label else b"yes" for label in LABELS], dtype=object)
    octets = mm.DiscreteDataset.from_arrays(ROWS, labels)
    linear = mm.solve(relaxation(data, normalization="published"), "highs_lp")
    cases = [
        (
            mm.solve(mm.SoftMarginStructure(data, gamma=1.0), "branch_and_cut"),
            "one of SoftMarginStructure.*checkpoint=",
        ),
        (mm.solve(relaxation(weighted)), "the rows have weights"),
        (mm.solve(limited), "constraints on the tables are not verified"),
        (linear, "highs_lp left no multipliers"),
        (mm.solve(relaxation(octets)), "which a model file cannot hold"),
    ]
    for result, told in cases:
        with pytest.raises(InputError, match=told):
            result.save_proof(tmp_path / "proof.mmbn")
        assert not (tmp_path / "proof.mmbn").exists()
        result.save(tmp_path / "run")
        assert not (tmp_path / "run" / "proof.mmbn").exists()


def test_a_place_that_cannot_be_written_is_told(data, tmp_path):
    result = mm.solve(relaxation(data))
    with pytest.raises(InputError, match="does not exist"):
        result.save_proof(tmp_path / "nowhere" / "proof.mmbn")
