"""Structure formulations by the names of their scores; a new score is a line in `SCORES`."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..._arguments import is_number
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
    score: str,
    data: DiscreteDataset,
    *,
    p: float | Mapping[Any, float] = 0.9,
    margin_weight: Any = 1.0,
    ess: float = 1.0,
    parent_sets: str = "all",
    **shared: Any,
) -> StructureFormulation:
    """Formulation of the structure with the largest `score`.

    Parameters
    ----------
    score : str
        A key of `SCORES`.
    data : DiscreteDataset
    p : float or mapping from class labels
        Desired posterior of the true class against a rival, in (0.5, 1), of scores with a margin.
    margin_weight : float, mapping from class labels, or one number a row
        What the margin of a row counts for, of scores with one.
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
        own["gamma"] = {k: log_odds(v) for k, v in p.items()} if isinstance(p, Mapping) else log_odds(p)
        own["margin_weight"] = margin_weight
    elif not (is_number(margin_weight) and margin_weight == 1):
        raise InputError(f"margin_weight is that of margins, and {score!r} has none; give weights to the rows instead.")
    return kind(data, **{name: value for name, value in own.items() if name in _settings(kind)}, **shared)


def _settings(kind: type[StructureFormulation]) -> set[str]:
    return {f.name for f in fields(kind)}
