"""Structure formulations by the names of their scores; a new score is a line in `SCORES`."""

from dataclasses import fields
from typing import Any

from ...data.discrete import DiscreteDataset
from ...exceptions import InputError
from ...scores.predictive import log_odds
from .base import StructureFormulation
from .decomposable import DecomposableStructure
from .soft_margin import BinarySoftMarginStructure, SoftMarginStructure

__all__ = ["SCORES", "asks_for_margin", "score_names", "structure_formulation"]

SCORES: dict[str, type[StructureFormulation]] = {
    "sm": SoftMarginStructure,
    "sbm": BinarySoftMarginStructure,
    "mdl": DecomposableStructure,
    "bic": DecomposableStructure,
    "bdeu": DecomposableStructure,
    "loglik": DecomposableStructure,
}
"""What the command line and `MaxMarginStructureClassifier` know a structure formulation by."""


def score_names() -> str:
    """All names, for a message.

    Examples
    --------
    >>> score_names()
    'sm, sbm, mdl, bic, bdeu or loglik'
    """
    *most, last = SCORES
    return f"{', '.join(most)} or {last}"


def asks_for_margin(score: str) -> bool:
    """Whether the score has a desired margin, the `p` of `structure_formulation`."""
    return "gamma" in _settings(SCORES[score])


def structure_formulation(
    score: str, data: DiscreteDataset, *, p: float = 0.9, ess: float = 1.0, parent_sets: str = "all", **shared: Any
) -> StructureFormulation:
    """Formulation of the structure with the largest `score`.

    Parameters
    ----------
    score : str
        A key of `SCORES`.
    data : DiscreteDataset
    p : float
        Desired posterior of the true class against a rival, in (0.5, 1), of scores with a margin.
    ess, parent_sets
        Of decomposable scores, as in `DecomposableStructure`.
    **shared
        Settings that all structure formulations have.

    Raises
    ------
    InputError
        For an unknown score, and what the formulation refuses.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"]] * 20, [0, 1] * 20)
    >>> structure_formulation("sm", data, p=0.75, max_parents=1).gamma == log_odds(0.75)
    True
    >>> structure_formulation("bdeu", data, ess=2.0).score
    'bdeu'
    """
    if score not in SCORES:
        raise InputError(f"score must be {score_names()}, got {score!r}.")
    kind = SCORES[score]
    own: dict[str, Any] = {"score": score, "ess": ess, "parent_sets": parent_sets}
    if asks_for_margin(score):
        own["gamma"] = log_odds(p)
    return kind(data, **{name: value for name, value in own.items() if name in _settings(kind)}, **shared)


def _settings(kind: type[StructureFormulation]) -> set[str]:
    return {f.name for f in fields(kind)}
