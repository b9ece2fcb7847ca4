"""A structure score is registered once: by its name the command line and the classifier find the formulation."""

import re
from dataclasses import dataclass
from typing import ClassVar

import pytest

import mmbn_opt as mm
from mmbn_opt.cli import choices, options
from mmbn_opt.cli.problems import Problem
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.structure.by_score import SCORES, asks_for_margin, score_names, structure_formulation


@pytest.fixture
def data():
    return mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)


@dataclass(frozen=True, eq=False)
class HalfMargin(mm.SoftMarginStructure):
    """A new score, as a contributor would add it."""

    title: ClassVar[str] = "Half margin"

    def __post_init__(self):
        object.__setattr__(self, "gamma", self.gamma / 2)
        super().__post_init__()


def test_each_score_gets_the_settings_that_are_its_own(data):
    for name, kind in SCORES.items():
        made = structure_formulation(name, data, p=0.7, ess=3.0, parent_sets="margin", max_parents=1)
        assert type(made) is kind
        assert made.max_parents == 1
        if asks_for_margin(name):
            assert made.gamma == mm.log_odds(0.7)
        else:
            assert (made.score, made.ess, made.parent_sets) == (name, 3.0, "margin")


def test_a_score_without_a_margin_has_no_use_for_p(data):
    assert structure_formulation("bic", data, p=7.0).score == "bic"
    with pytest.raises(InputError, match=r"p must .* got 7"):
        structure_formulation("sm", data, p=7.0)


def test_an_unknown_score_is_answered_with_the_known_ones(data):
    with pytest.raises(InputError, match=r"^score must be sm, sbm, mdl, bic, bdeu or loglik, got 'aic'\.$"):
        structure_formulation("aic", data)


def test_a_line_in_the_registry_is_enough_for_command_line_and_classifier(data, monkeypatch):
    monkeypatch.setitem(SCORES, "half", HalfMargin)
    rest = {"acyclicity": choices.Acyclicity.AUTO, "parent_sets": choices.ParentSets.ALL, "require": [], "forbid": []}
    read = choices.one_of_names(choices.scores)("half")
    problem = Problem(score=read, max_parents=1, p=0.8, smoothing=1.0, ess=1.0, **rest)
    assert isinstance(problem.formulation(data), HalfMargin)
    frame = mm.load_dataset("corral")
    X, y = frame.drop(columns="class"), frame["class"]
    found = mm.MaxMarginStructureClassifier("half", 1).fit(X, y).result_
    whole = mm.DiscreteDataset.from_frame(frame, "class")
    same = mm.solve(mm.SoftMarginStructure(whole, max_parents=1, gamma=mm.log_odds(0.9) / 2))
    assert found.bounds.primal_bound == pytest.approx(same.bounds.primal_bound)


def test_the_help_of_the_command_line_names_every_score():
    (option,) = options.Score.__metadata__
    named = re.sub(r" \(.*?\)", "", option.help.removeprefix("What is maximised: "))
    assert named == f"{score_names()}."
    assert re.findall(r"\w+", named.replace(" or ", ", ")) == list(SCORES)
