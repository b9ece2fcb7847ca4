"""Constraints in the classifier: kept by the structure, in every fold, and told by name where they can't be."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import mmbn_opt as mm


@pytest.fixture(scope="module")
def corral():
    frame = mm.load_dataset("corral")
    return frame.drop(columns="class"), frame["class"]


@pytest.mark.parametrize("criterion", ["sm", "sbm", "bic"])
def test_the_structure_keeps_them_and_the_certificate_says_so(corral, criterion):
    limits = [mm.MaxEdges(4), mm.FeatureBudget({"A0": 1.0, "A1": 2.0, "Correlated": 9.0}, 3.0)]
    model = mm.MaxMarginStructureClassifier(criterion, constraints=limits).fit(*corral)
    structure = model.network_.structure
    assert len(structure.edges) <= 4
    assert "Correlated" not in structure.markov_blanket("class")
    assert any("keeping at most 4 edges" in check.detail for check in model.certificate_.checks)
    assert clone(model).constraints == limits


@pytest.mark.slow
def test_they_hold_where_parameters_are_chosen_by_cross_validation_too(corral):
    model = mm.MaxMarginStructureClassifier(p=[0.75, 0.9], parameters="cg-mm", constraints=[mm.MaxFeatures(2)])
    model.fit(*corral)
    assert len(model.network_.structure.markov_blanket("class")) <= 2
    rates = cross_val_score(clone(model).set_params(p=0.9, parameters="ml"), *corral, cv=3, error_score="raise")
    assert rates.mean() > 0.6


def test_an_unknown_column_and_a_contradiction_are_told(corral):
    with pytest.raises(mm.InputError, match="names the unknown node 'Q'"):
        mm.MaxMarginStructureClassifier(constraints=[mm.Ancestor("Q", "A0")]).fit(*corral)
    limits = [mm.MaxEdges(0), mm.Ancestor("A0", "A1")]
    with pytest.raises(mm.InfeasibleError, match="No structure keeps these 2 constraints"):
        mm.MaxMarginStructureClassifier(constraints=limits).fit(*corral)
    with pytest.raises(mm.InputError, match="constraints must be a list of StructureConstraints"):
        mm.MaxMarginStructureClassifier(constraints=["7 edges"]).fit(*corral)


def test_terms_and_what_is_asked_of_each_class_are_part_of_the_classifiers_problem(corral):
    X, y = corral
    model = mm.MaxMarginStructureClassifier(
        p={"0": 0.9, "1": 0.99}, terms=[mm.EdgePenalty(2.0)], margin_weight={"0": 1.0, "1": 3.0}
    ).fit(X, y)
    problem = model.result_.formulation
    assert problem.gamma == {"0": mm.log_odds(0.9), "1": mm.log_odds(0.99)}
    assert problem.margin_weight == {"0": 1.0, "1": 3.0}
    margins = mm.scores.log_margins(model.result_.model, problem.data)
    asked = np.array([mm.log_odds(0.9), mm.log_odds(0.99)])[problem.data.target_codes]
    counts = np.array([1.0, 3.0])[problem.data.target_codes]
    by_hand = counts @ np.minimum(margins, asked) - 2.0 * len(model.result_.model.structure.edges)
    assert model.result_.bounds.primal_bound == pytest.approx(by_hand)
    assert model.certificate_.ok
    assert clone(model).get_params()["terms"] == [mm.EdgePenalty(2.0)]


def test_weights_of_margins_need_a_score_that_has_some(corral):
    with pytest.raises(mm.InputError, match="margin_weight is that of margins, and 'bic' has none"):
        mm.MaxMarginStructureClassifier("bic", margin_weight={"0": 1.0, "1": 3.0}).fit(*corral)
