"""The margin operator of a data set on a parameter layout."""

import numpy as np
import scipy.sparse as sp

from ..data import DiscreteDataset
from ..margin_operator import MarginOperator
from ._factor_index import FactorIndex, ParameterLayout

__all__ = ["margin_operator"]


def margin_operator(layout: ParameterLayout, merged: DiscreteDataset) -> MarginOperator:
    """Margins of merged samples as a linear operator on the parameters of a layout."""
    index = FactorIndex.build(layout, merged)
    n_patterns = int(index.start[-1])
    widths = np.diff(index.rows_ptr) // np.maximum(np.diff(index.start), 1)
    patterns = sp.csr_array(
        (
            np.ones(len(index.rows)),
            index.rows,
            np.concatenate([[0], np.cumsum(np.repeat(widths, np.diff(index.start)))]),
        ),
        shape=(n_patterns, layout.factor_starts[-1]),
    )
    return MarginOperator(index.index, index.start, patterns, layout.gather, index.labels, index.weight)
