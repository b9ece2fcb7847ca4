"""Margin rows and the score columns tau, shared by the soft margin and the binary soft margin."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..counts import refuse_large_choice
from ..exceptions import InputError, SizeLimitError
from ..heuristics.objectives import MarginLoss
from ..margins import MAX_MARGIN_CELLS, MarginTables
from ..program import ProgramKind
from ..scores import log_odds
from ..smoothing import Dirichlet, Laplace
from .implicit import DEFAULT_GROUPS, MarginTerm
from .structure_program import StructureFormulation

__all__ = ["MarginStructure"]

FloatArray = NDArray[np.float64]

_MAX_INDEX_ENTRIES = 400_000_000


@dataclass(frozen=True, eq=False)
class MarginStructure(StructureFormulation):
    """Structure programs with one tau a merged sample, cut off at gamma."""

    gamma: float = log_odds(0.9)
    max_cells: int = field(default=MAX_MARGIN_CELLS, kw_only=True)

    _binary: ClassVar[bool]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.gamma < math.inf:
            raise InputError(f"gamma must be a finite number of nats > 0 (see log_odds), got {self.gamma!r}.")
        if isinstance(self.prior, Laplace) and self.prior.pseudo_count == 0:
            raise InputError("smoothing must be > 0 here: log 0 would make margins infinite.")

    def refuse_oversized(self, kind: ProgramKind) -> None:
        """Raise `SizeLimitError` when the margin tables, a network or the row form would be over the limits."""
        self._refuse_tables()
        refuse_large_choice(self.data, self.candidates)
        super().refuse_oversized(kind)

    def _refuse_tables(self) -> None:
        MarginTables.refuse_oversized(self.merged, self.candidates, self.max_cells)

    @cached_property
    def tables(self) -> MarginTables:
        """Margin coefficients of every column and merged sample."""
        self._refuse_tables()
        entries = self.candidates.n_columns * self.merged.n_samples
        if entries > _MAX_INDEX_ENTRIES:
            raise SizeLimitError(
                f"The margin tables of {self.candidates.n_columns:,} candidate parent sets and "
                f"{self.merged.n_samples:,} samples would have {entries:,} entries; the limit is "
                f"{_MAX_INDEX_ENTRIES:,}. Lower max_parents or drop features."
            )
        return MarginTables.build(self.merged, self.candidates, self.prior, binary=self._binary)

    def _loss(self) -> MarginLoss:
        return MarginLoss(self.tables, self.gamma)

    def _score_rows(self) -> int:
        return self.merged.n_samples * (1 if self._binary else self.data.n_classes - 1)

    def _score_columns(self) -> int:
        return self.merged.n_samples

    def _score_part(self) -> tuple[sp.csr_array, FloatArray, FloatArray, FloatArray, float]:
        """``tau_m - sum_k alpha[k, m, c] eta_k <= 0``; minimise minus the weighted sum of tau."""
        tables, n_columns = self.tables, self.candidates.n_columns
        varying = np.flatnonzero(tables.index.any(axis=1))
        dense = np.empty((tables.n_rows, len(varying)))
        for place, column in enumerate(varying):
            np.negative(tables.coefficients(int(column)), out=dense[:, place])
        coefficients = sp.csr_array(dense)
        coefficients = sp.csr_array(
            (coefficients.data, varying[coefficients.indices], coefficients.indptr), shape=(tables.n_rows, n_columns)
        )
        per_sample = tables.n_rows // tables.n_samples
        sample = np.repeat(np.arange(tables.n_samples), per_sample)
        taus = sp.csr_array(
            (np.ones(tables.n_rows), (np.arange(tables.n_rows), sample)), shape=(tables.n_rows, tables.n_samples)
        )
        matrix = sp.csr_array(sp.hstack([coefficients, taus]))
        upper = np.full(tables.n_samples, self.gamma)
        return matrix, np.zeros(n_columns), -tables.weight, upper, 0.0

    def _projected_score(self) -> tuple[FloatArray, MarginTerm, float]:
        return np.zeros(self.candidates.n_columns), MarginTerm(self.tables, self.gamma, n_groups=DEFAULT_GROUPS), 0.0

    @property
    def _score_equivalent(self) -> bool:
        return isinstance(self.prior, Dirichlet)

    def _score_values(self, choice: NDArray[np.intp]) -> FloatArray:
        return np.minimum(self.tables.margins(choice), self.gamma)

    def trivial_bound(self) -> float:
        """No sample can bring more than gamma."""
        return self.gamma * self.data.total_weight
