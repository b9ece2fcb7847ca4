"""The binary programs of a mixture classifier, with labels and rows of the training data."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
from mmbn_opt.results.result import Check, Result

__all__ = ["CMMPart", "parts_of"]


@dataclass(frozen=True, eq=False)
class CMMPart:
    """One binary program of a classifier, with the labels that it tells apart.

    Parameters
    ----------
    positive : label
    negative : label or None
        None stands for all other classes.
    result : Result
        Of the program by itself, over standardised samples.

    Attributes
    ----------
    margin : float
        Soft margin of the answer, recomputed when it is first asked for, in nats.
    violated : DataFrame
        Samples that miss xi, found when they are first asked for: row of the training data, label, log-odds, violation.
    """

    positive: Any
    negative: Any
    result: Result
    _whole: Result = field(repr=False)
    _index: int = field(repr=False)

    @cached_property
    def margin(self) -> float:
        """Soft margin of the answer, in nats."""
        margin: float = self._whole.formulation.margin_in(self._whole.model, self._index)
        return margin

    @cached_property
    def violated(self) -> pd.DataFrame:
        """The samples that miss xi, the worst first."""
        table: pd.DataFrame = self._whole.formulation.violated_in(self._whole.model, self._index)
        return table

    @property
    def feasible(self) -> bool:
        """Whether every sample has log-odds of at least xi."""
        return self.violated.empty

    @property
    def checks(self) -> tuple[Check, ...]:
        """What was looked at again, rows counted within the part."""
        return self.result.certificate.checks

    @property
    def name(self) -> str:
        """The two sides in words."""
        return self.result.part


def parts_of(problem: MulticlassMargin, result: Result) -> tuple[CMMPart, ...]:
    """The results of the parts, with labels and rows of the training data."""
    labels = problem.data.classes
    return tuple(
        CMMPart(
            labels[part.positive],
            None if part.negative is None else labels[part.negative],
            result.parts[k],
            result,
            k,
        )
        for k, part in enumerate(problem.parts)
    )
