"""The margins of all merged samples as a linear operator on log-parameters, by index tables."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.programs.margin_kernels import add_adjoint, smooth_hinge, sum_scores

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["MarginOperator"]


@dataclass(frozen=True, eq=False)
class MarginOperator:
    """All margins ``Delta w`` of merged samples, by index tables instead of a matrix.

    The vector w is seen as a table (factor row, class) by `gather`; `patterns` sums factor rows into the rows of
    groups;
    sample m takes row ``start[g] + index[g, m]`` of each group g, and the sum over the groups is its score for each
    class. The margin of a rival is the score of the sample's own class minus the rival's.

    Parameters
    ----------
    index : unsigned integer array (n_groups, n_samples)
    start : int64 array (n_groups + 1,)
    patterns : CSR array (n_patterns, n_factor_rows)
        Of ones.
    gather : integer array (n_factor_rows, n_classes)
        A permutation of the entries of w.
    labels : int32 array (n_samples,)
    weight : float64 array (n_samples,)
    """

    index: NDArray[np.unsignedinteger]
    start: IntArray
    patterns: "sp.csr_array"
    gather: NDArray[np.intp]
    labels: NDArray[np.int32]
    weight: FloatArray

    @property
    def n_samples(self) -> int:
        """Number of merged samples."""
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.gather.shape[1])

    @property
    def n_parameters(self) -> int:
        """Length of w."""
        return int(self.gather.size)

    @cached_property
    def n_factors(self) -> int:
        """Factors that a sample sums over."""
        widths = np.diff(self.patterns.indptr)
        return int(sum(widths[low] for low in self.start[:-1]))

    @cached_property
    def frequency(self) -> FloatArray:
        """Share of the sample weight that looks up each entry of w, for any class."""
        counts = np.zeros((self.patterns.shape[0], 1))
        add_adjoint(self.index, self.start, np.ascontiguousarray(self.weight[:, None] / self.weight.sum()), counts)
        return self.scatter(np.repeat(counts, self.n_classes, axis=1))

    @cached_property
    def own(self) -> FloatArray:
        """Weight of the samples that look up each entry of w for their own class."""
        table = np.zeros((self.n_samples, self.n_classes))
        table[np.arange(self.n_samples), self.labels] = self.weight
        return self.lookups(table)

    @cached_property
    def factor_rows(self) -> NDArray[np.int32]:
        """Factor row of each sample in each factor, shape (n_samples, n_factors)."""
        columns = []
        for g, low in enumerate(self.start[:-1]):
            first = self.patterns.indptr[low + self.index[g].astype(np.intp)]
            width = int(self.patterns.indptr[low + 1] - self.patterns.indptr[low])
            columns += [self.patterns.indices[first + k] for k in range(width)]
        return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int32)

    def table(self, w: FloatArray) -> FloatArray:
        """Rows of the groups at `w`, shape (n_patterns, n_classes)."""
        return np.ascontiguousarray(self.patterns @ w[self.gather])

    def scores(self, w: FloatArray) -> FloatArray:
        """Score of every class, shape (n_samples, n_classes)."""
        out = np.empty((self.n_samples, self.n_classes))
        sum_scores(self.index, self.start, self.table(w), out)
        return out

    def margins(self, w: FloatArray) -> FloatArray:
        """Margin over every rival; +inf for the own class, shape (n_samples, n_classes)."""
        scores = self.scores(w)
        rows = np.arange(self.n_samples)
        margins: FloatArray = scores[rows, self.labels][:, None] - scores
        margins[rows, self.labels] = np.inf
        return margins

    def scatter(self, table: FloatArray) -> FloatArray:
        """Adjoint of `table`."""
        v = np.empty(self.n_parameters)
        v[self.gather] = self.patterns.T @ table
        return v

    def lookups(self, table: FloatArray) -> FloatArray:
        """Adjoint of `scores`: sum of a table (n_samples, n_classes) over the samples that look up each entry of w."""
        rows = np.zeros((self.patterns.shape[0], self.n_classes))
        add_adjoint(self.index, self.start, np.ascontiguousarray(table), rows)
        return self.scatter(rows)

    def adjoint(self, y: FloatArray) -> FloatArray:
        """``Delta' y`` for multipliers of shape (n_samples, n_classes), zero in the own class."""
        signed = -np.ascontiguousarray(y)
        rows = np.arange(self.n_samples)
        signed[rows, self.labels] -= signed.sum(axis=1)
        return self.lookups(signed)

    def smooth_hinge(
        self, w: FloatArray, delta: FloatArray, gamma: float, tau: float
    ) -> tuple[float, float, float, FloatArray]:
        """Smoothed hinge sum, hinge sum, ``gamma sum delta y`` and ``Delta' y`` of its multipliers y, in one pass."""
        gradient = np.zeros((self.patterns.shape[0], self.n_classes))
        totals = smooth_hinge(
            self.index, self.start, self.table(w), self.labels, self.weight, delta, gamma, tau, gradient, True
        )
        return float(totals[0]), float(totals[1]), float(totals[2]), -self.scatter(gradient)

    def matrix(self, max_nonzeros: int) -> "tuple[sp.csr_array, NDArray[np.intp], NDArray[np.intp]]":
        """Delta as a matrix with a row a sample and rival, and the sample and rival of each row.

        Raises
        ------
        SizeLimitError
            When it could have more than `max_nonzeros` entries.
        """
        import scipy.sparse as sp

        n_rows = self.n_samples * (self.n_classes - 1)
        bound = 2 * n_rows * self.n_factors
        if bound > max_nonzeros:
            raise SizeLimitError(
                f"The margin matrix would have {n_rows:,} rows and up to {bound:,} non-zeros; the limit is "
                f'max_nonzeros={max_nonzeros:,}. Use the matrix-free solver "first_order".'
            )
        sample, rival = np.nonzero(np.arange(self.n_classes) != self.labels[:, None])
        looked_up = self.factor_rows[sample]
        own = self.gather[looked_up, self.labels[sample][:, None]]
        other = self.gather[looked_up, rival[:, None]]
        columns = np.hstack([own, other])
        values = np.hstack([np.ones(own.shape), np.full(other.shape, -1.0)])
        pointers = np.arange(n_rows + 1) * columns.shape[1]
        matrix = sp.csr_array((values.ravel(), columns.ravel(), pointers), shape=(n_rows, self.n_parameters))
        matrix.sum_duplicates()
        return matrix, sample, rival
