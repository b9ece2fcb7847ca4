"""Parts of prepared rows whose numbers are cut anew: a part that is held out must have no say in the cut points."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.cutting import cut_variable
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.folds import weighed_parts
from mmbn_opt.data.variable import DiscreteVariable

__all__ = ["RawNumbers"]


@dataclass(frozen=True, eq=False)
class RawNumbers:
    """Prepared rows together with the numbers that were cut.

    Parameters
    ----------
    data : DiscreteDataset
    numbers : mapping from feature to float64 array (n_samples,)
        NaN where a cell is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from mmbn_opt import prepare
    >>> frame = pd.DataFrame({"size": [1.0, 1.5, 2.0, 7.5, 8.0, 9.5] * 6, "class": list("aaabbb") * 6})
    >>> preparation = prepare(frame, "class")
    >>> raw = RawNumbers(preparation.data, preparation.numbers)
    >>> [train.features[0].states for train, held_out in raw.parts(2, one_above=100, seed=0)]
    [('(-inf, 4.25]', '(4.25, inf)'), ('(-inf, 5.0]', '(5.0, inf)')]
    """

    data: DiscreteDataset
    numbers: Mapping[str, FloatArray] = field(repr=False)

    @cached_property
    def _ranks(self) -> dict[int, FloatArray]:
        """The different values of each feature that was cut, in ascending order."""
        names = self.data.feature_names
        found = {names.index(name): values for name, values in self.numbers.items()}
        return {j: np.unique(values[~np.isnan(values)]) for j, values in found.items()}

    def parts(self, n_folds: int, *, one_above: float, seed: int) -> list[tuple[DiscreteDataset, DiscreteDataset]]:
        """As `weighed_parts` has them, each cut on the rows that are learned from.

        Rows that differ in a number only are told apart, so that the parts do not depend on any cuts.
        """
        codes, features = self.data.codes.copy(), list(self.data.features)
        for j, ranks in self._ranks.items():
            leave_in_time()
            values = self.numbers[features[j].name]
            codes[:, j] = np.where(np.isnan(values), -1, np.searchsorted(ranks, values))
            features[j] = DiscreteVariable(features[j].name, tuple(range(max(1, len(ranks)))))
        fine = replace(self.data, codes=codes, features=tuple(features))
        return [self._cut(*part) for part in weighed_parts(fine.aggregate(), n_folds, one_above=one_above, seed=seed)]

    def _cut(self, train: DiscreteDataset, held_out: DiscreteDataset) -> tuple[DiscreteDataset, DiscreteDataset]:
        variables = list(self.data.features)
        columns = [train.codes.copy(), held_out.codes.copy()]
        for j, ranks in self._ranks.items():
            leave_in_time()
            values = [_numbers_of(codes[:, j], ranks) for codes in columns]
            variables[j] = cut_variable(
                variables[j].name, values[0], train.target_codes, train.n_classes, train.sample_weight,
                has_missing=variables[j].has_missing_state,
            )  # fmt: skip
            for codes, numbers in zip(columns, values, strict=True):
                codes[:, j] = variables[j].encode(numbers)
        made = [
            replace(part, codes=np.asfortranarray(codes), features=tuple(variables))
            for part, codes in zip((train, held_out), columns, strict=True)
        ]
        return made[0], made[1]


def _numbers_of(codes: NDArray[np.int32], ranks: FloatArray) -> FloatArray:
    """The numbers that codes stand for, NaN where there is none."""
    numbers = np.full(len(codes), np.nan)
    numbers[codes >= 0] = ranks[codes[codes >= 0]]
    return numbers
