"""What counts as a number, a whole number or a choice, and that everyone who asks for one means the same."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt._arguments import checked_number, choice_of, is_number, is_whole, whole
from mmbn_opt.data.folds import draw_rows
from mmbn_opt.data.numeric import check_components
from mmbn_opt.estimators._input import seed_of
from mmbn_opt.heuristics import restrict_candidates
from mmbn_opt.networks.smoothing import Dirichlet, Laplace, as_smoothing
from mmbn_opt.scores.predictive import log_odds
from mmbn_opt.solvers import (
    ConjugateGradientSolver,
    ExteriorPenaltySolver,
    FirstOrderSolver,
    HighsSolver,
    LbfgsSolver,
    SlsqpSolver,
)

NO_NUMBERS = [True, np.True_, math.nan, np.float64("nan"), "2", None, [2], np.array([1.0, 2.0]), 1j]
NOT_WHOLE = [*NO_NUMBERS, 2.5, 2.0, np.float64(2.0), Fraction(2)]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_these_are_no_numbers(value: Any) -> None:
    assert not is_number(value)
    assert not is_whole(value)
    with pytest.raises(mm.InputError, match=r"^x must be a number"):
        checked_number("x", value)


@pytest.mark.parametrize("value", [2, 2.5, np.int8(2), np.float32(2.5), math.inf, Fraction(5, 2), 10**400], ids=repr)
def test_these_are_numbers(value: Any) -> None:
    assert is_number(value)
    assert checked_number("x", value) == value


@pytest.mark.parametrize(
    ("ends", "inside", "outside"),
    [
        ({"low": 0.0, "high": 1.0}, (0, 0.5, 1), (-0.1, 1.1)),
        ({"low": 0.0, "high": 1.0, "open_low": True, "open_high": True}, (0.1, 0.9), (0, 1)),
        ({"open_high": True}, (0.0, 1e300), (math.inf, -1)),
        ({"low": -math.inf}, (-1e300, -math.inf, 5), ()),
    ],
)
def test_the_ends_of_an_interval(ends: dict[str, Any], inside: Any, outside: Any) -> None:
    for value in inside:
        assert checked_number("x", value, **ends) == value
    for value in outside:
        with pytest.raises(mm.InputError, match=r"^x must be a number in"):
            checked_number("x", value, **ends)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)], ids=repr)
def test_whole_numbers_come_back_as_pythons_own(value: Any) -> None:
    assert type(whole("x", value)) is int
    assert whole("x", value, 3, 3) == 3
    for low, high in ((4, None), (0, 2)):
        with pytest.raises(mm.InputError, match=r"^x must be a whole number"):
            whole("x", value, low, high)


def test_a_choice_is_none_by_looking_alike() -> None:
    for value in (1, 0, np.True_, np.array(["a", "b"]), ["a"]):
        with pytest.raises(mm.InputError, match=r"^x must be one of 'a', True, got"):
            choice_of("x", value, ("a", True))
    choice_of("x", np.str_("a"), ("a", True))


# -- everyone who asks --------------------------------------------------------------------------------------------

DATA = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
NB = mm.naive_bayes(DATA)
X, Y = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]

WHOLE = {
    "max_parents": lambda v: mm.SoftMarginStructure(DATA, max_parents=v),
    "k": lambda v: restrict_candidates(DATA, v),
    "n_components": check_components,
    "max_iterations": lambda v: LbfgsSolver(max_iterations=v),
    "memory": lambda v: LbfgsSolver(memory=v),
    "max_outer": lambda v: ExteriorPenaltySolver(max_outer=v),
    "restarts": lambda v: ExteriorPenaltySolver(restarts=v),
    "max_cells": lambda v: SlsqpSolver(max_cells=v),
    "threads": lambda v: mm.SmoothMargin(DATA, NB, threads=v),
    "seed": lambda v: HighsSolver(seed=v),
    "folds": lambda v: mm.order_mi(DATA, folds=v),
    "candidates": lambda v: mm.MaxMarginStructureClassifier(candidates=v)._check_settings(),
    "random_state": seed_of,
}
"""Those that ask for a whole number."""

NUMBER = {
    "lam": lambda v: mm.SmoothMargin(DATA, NB, lam=v),
    "gamma": lambda v: mm.SoftMarginStructure(DATA, gamma=v),
    "alpha": lambda v: mm.MaxMarginRelaxation(DATA, NB, alpha=v),
    "min_prob": lambda v: mm.MaxMarginRelaxation(DATA, NB, min_prob=v / 10 if is_number(v) else v),
    "C": lambda v: mm.MaxMarginMarkovNetwork(DATA, NB, C=v),
    "ess": lambda v: mm.DecomposableStructure(DATA, score="bdeu", ess=v),
    "xi": lambda v: mm.ConstrainedMaximumMargin(X, Y, 1, xi=v),
    "smoothing": as_smoothing,
    "smoothing ": Laplace,
    "ess ": Dirichlet,
    "p": lambda v: log_odds(v / 3 if is_number(v) else v),
    "validation": lambda v: draw_rows(DATA, v / 4 if is_number(v) else v, 0),
    "tau": lambda v: FirstOrderSolver(tau=v),
    "c2": lambda v: ConjugateGradientSolver(c2=v / 4 if is_number(v) else v),
    "penalty": lambda v: ExteriorPenaltySolver(penalty=v),
    "rel_change": lambda v: LbfgsSolver(rel_change=v),
    "feasibility_tol": lambda v: HighsSolver(feasibility_tol=v / 4 if is_number(v) else v),
}
"""Those that ask for a number; 2 and 2.5 suit all of them."""

NONE_IS_A_WORD = {"folds", "candidates", "random_state", "c2", "gamma"}
"""Where None says something."""


@pytest.mark.parametrize("name", WHOLE)
def test_whoever_asks_for_a_whole_number_means_the_same(name: str) -> None:
    for value in (2, np.int64(2), np.uint8(2)):
        WHOLE[name](value)
    for value in NOT_WHOLE:
        if value is not None or name not in NONE_IS_A_WORD:
            with pytest.raises(mm.InputError, match=f"^{name} must be "):
                WHOLE[name](value)


@pytest.mark.parametrize("name", NUMBER)
def test_whoever_asks_for_a_number_means_the_same(name: str) -> None:
    for value in (2, 2.5, np.float32(2.5), np.int64(2)):
        NUMBER[name](value)
    for value in NO_NUMBERS:
        if value is not None or name not in NONE_IS_A_WORD:
            with pytest.raises(mm.InputError, match=f"{name.strip()}"):
                NUMBER[name](value)
