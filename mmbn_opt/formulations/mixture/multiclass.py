"""Constrained maximum margin with more than two classes: a family of binary programs, and what they make together."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..._arguments import check_fields, listed
from ..._budget import leave_in_time
from ...data.folds import take_rows
from ...data.frames import as_pandas
from ...data.numeric import NumericDataset, check_components, repeated_rows
from ...data.samples import Samples
from ...exceptions import InputError
from ...mixtures.classifier import MixtureClassifier
from ...mixtures.parts import BinaryPart, binary_parts, join_parts, part_model
from ...results.result import Check
from ...results.status import BoundKind, Sense
from ..base import Start
from ._checks import check_samples
from ._gaussians import ClassGaussians
from .constrained import ConstrainedMaximumMargin

__all__ = ["MulticlassMargin"]


@dataclass(frozen=True, eq=False)
class MulticlassMargin:
    """One `ConstrainedMaximumMargin` for each pair of classes, or for each class against the rest.

    The programs share nothing, so the sum of their margins has its maximum where each has its own; `solve_parts` solves
    them one after the other.   Source: Guo, Liu, Guo, Li, Geng 2018, section 2.3.

    Parameters
    ----------
    X : DataFrame or array (n_samples, n_features)
    y : array (n_samples,)
        Two classes or more.
    n_components, h, xi, tau, penalty, xi_growth, missing, start, seed
        As in `ConstrainedMaximumMargin`.
    fewer_components : bool
        Let a program with less than `n_components` samples on one side have as many components as that; otherwise a
        class with so few samples is an error.
    sample_weight : array (n_samples,) or None
        Whole numbers: weight 2 is the row twice, weight 0 the row removed.
    strategy : {"one-vs-one", "one-vs-rest"}
    class_name : str
        What the labels are called in files.
    n_dropped : int
        Rows that were left out before; for the report.
    tells : bool
        False where what is odd about the table was logged before.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]], ["a", "a", "b", "b", "c", "c"]
    >>> problem = MulticlassMargin(X, y, n_components=1)
    >>> [part.name for part in problem.parts], problem.binary(2).data.n_samples
    (['a against b', 'a against c', 'b against c'], 4)
    """

    X: Any = field(repr=False)
    y: Any = field(repr=False)
    n_components: int = 3
    h: float = 10.0
    xi: float = 2.6
    tau: float = 0.0025
    penalty: Literal["exterior", "printed"] = "exterior"
    strategy: Literal["one-vs-one", "one-vs-rest"] = field(default="one-vs-one", kw_only=True)
    xi_growth: float = field(default=10.0, kw_only=True)
    missing: Literal["error", "marginalize"] = field(default="error", kw_only=True)
    start: Literal["best", "k-means", "em"] = field(default="best", kw_only=True)
    fewer_components: bool = field(default=False, kw_only=True)
    sample_weight: Any = field(default=None, kw_only=True, repr=False)
    seed: int = field(default=0, kw_only=True)
    class_name: str = field(default="class", kw_only=True)
    n_dropped: int = field(default=0, kw_only=True, repr=False)
    tells: bool = field(default=True, kw_only=True, repr=False, metadata={"content": False})

    title: ClassVar[str] = "Constrained maximum margin"
    value_name: ClassVar[str] = "Soft margin of all programs, nats"
    sense: ClassVar[Sense] = Sense.MAXIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.HEURISTIC

    def __post_init__(self) -> None:
        check_fields(self)
        check_components(self.n_components)
        if not self.fewer_components:
            self.data.require_members(self.n_components)
        self.binary(0)  # its checks of the settings are those of all parts

    @property
    def samples(self) -> Samples:
        """The data, for reports."""
        return Samples(self.data, self.class_name)

    @cached_property
    def data(self) -> NumericDataset:
        """The samples as often as they count, checked and standardised."""
        X, y = as_pandas(self.X), as_pandas(self.y)
        if self.sample_weight is not None and len(X) == len(y):  # unequal lengths are told by `from_arrays`
            X, y = take_rows(X, y, self.rows)
        return NumericDataset.from_arrays(
            X, y, missing=self.missing, n_dropped=self.n_dropped, class_name=str(self.class_name), tells=self.tells
        )

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Row of `X` of each sample of `data`."""
        if self.sample_weight is None:
            return np.arange(self.data.n_samples)
        return repeated_rows(self.sample_weight, len(self.y))

    @cached_property
    def parts(self) -> tuple[BinaryPart, ...]:
        """Which samples each program separates."""
        return binary_parts(self.data, self.strategy)

    def binary(self, index: int) -> ConstrainedMaximumMargin:
        """The formulation of a part, over the standardised samples; label 0 stands for its positive class."""
        part = self.parts[index]
        return ConstrainedMaximumMargin(
            self.data.z[part.rows], part.labels, self._components(part), self.h, self.xi, self.tau, self.penalty,
            xi_growth=self.xi_growth, missing="marginalize", start=self.start, seed=self.seed, tells=False,
        )  # fmt: skip

    def _components(self, part: BinaryPart) -> int:
        if not self.fewer_components:
            return self.n_components
        one = int(self._members[part.positive])
        other = len(part.rows) - one
        return min(self.n_components, one, other)

    @cached_property
    def _members(self) -> NDArray[Any]:
        return self.data.counts()

    @cached_property
    def binaries(self) -> tuple[ConstrainedMaximumMargin, ...]:
        """The formulations of all parts; each takes up its samples when they are first looked at."""
        first, data = self.binary(0), self.data
        if not data.has_missing:
            settings = _settings_of(first)
            return (first, *(self._checked_binary(index, settings) for index in range(1, len(self.parts))))
        empty = np.isnan(data.z)
        seen = np.array([~empty[data.codes == c].all(axis=0) for c in range(data.n_classes)])
        made, settings = [first], _settings_of(first)
        for index, part in enumerate(self.parts[1:], 1):
            groups = part.groups(data.n_classes)
            if seen[[*groups[0], *groups[1]]].any(axis=0).all():
                made.append(self._checked_binary(index, settings))
            else:
                made.append(self.binary(index))  # says which feature has no value
        return tuple(made)

    def _checked_binary(self, index: int, settings: dict[str, Any]) -> ConstrainedMaximumMargin:
        """What `binary` returns, without a check: the settings are the first part's, the samples those of `data`."""
        part = self.parts[index]
        own = {"X": self.data.z[part.rows], "y": part.labels, "n_components": self._components(part)}
        made = object.__new__(ConstrainedMaximumMargin)
        made.__dict__.update(settings | own)
        return made

    def start_at_hand(self, index: int) -> Start:
        """The start of a part, or one Gaussian a class where it would have to be computed first."""
        known = self.binaries[index].known_start()
        part = self.parts[index]
        return known or self._gaussians.start(part.groups(self.data.n_classes), self._components(part))

    @cached_property
    def _gaussians(self) -> ClassGaussians:
        return ClassGaussians(self.data, self.tau)

    def fits(self, model: MixtureClassifier) -> bool:
        """Whether a classifier has the classes, features, programs and Gaussians of this problem."""
        data = self.data
        return (
            model.classes.tolist() == data.classes.tolist()
            and model.feature_names == data.feature_names
            and tuple(part.groups for part in model.parts) == tuple(p.groups(data.n_classes) for p in self.parts)
            and all(
                density.is_diagonal and density.n_components == self._components(own)
                for part, own in zip(model.parts, self.parts, strict=True)
                for density in part.densities
            )
        )

    def start_parts(self, model: MixtureClassifier) -> list[MixtureClassifier]:
        """The parts of a classifier that was learned before, over these standardised samples, each by itself.

        Raises
        ------
        InputError
            For a classifier that does not fit.
        """
        data = self.data
        if not self.fits(model):
            raise InputError(
                f"starts is a classifier of the classes [{listed(model.classes.tolist())}] and the features "
                f"[{listed(model.feature_names)}], by {model.rule}; this problem has the classes "
                f"[{listed(data.classes.tolist())}] and the features [{listed(data.feature_names)}], by "
                f"{self.strategy}, with {self.n_components} diagonal Gaussians a class."
            )
        shift, stretch = (model.location - data.location) / data.scale, model.scale / data.scale
        names = self.binaries[0].data.feature_names
        parts = [part_model(model, k, names) for k in range(len(self.parts))]
        return [replace(part, location=shift, scale=stretch) for part in parts]

    def join(self, models: list[MixtureClassifier]) -> MixtureClassifier:
        """The classifier that the parts' models make."""
        return join_parts(self.data, self.strategy, self.parts, models, class_name=str(self.class_name))

    def evaluate(self, model: MixtureClassifier) -> float:
        """Sum of the parts' soft margins, recomputed from the data, in nats."""
        return float(sum(self.margins(model)))

    def margins(self, model: MixtureClassifier) -> list[float]:
        """Soft margin of each part."""
        return [self.margin_in(model, k) for k in range(len(self.parts))]

    def margin_in(self, model: MixtureClassifier, index: int) -> float:
        """Soft margin of one part."""
        return self._binary_in_time(index).evaluate(self._alone(model, index))

    def infeasibility(self, model: MixtureClassifier) -> float:
        """Euclidean norm of all violations; 0 where every sample meets its target in every part."""
        missed = (self._binary_in_time(k).infeasibility(self._alone(model, k)) for k in range(len(self.parts)))
        return float(sum(norm**2 for norm in missed) ** 0.5)

    def violated_samples(self, model: MixtureClassifier) -> pd.DataFrame:
        """The samples that miss xi, part by part, the worst first: part, row of the data, label, log-odds, miss."""
        tables = [self.violated_in(model, k) for k in range(len(self.parts))]
        for table, part in zip(tables, self.parts, strict=True):
            table.insert(0, "part", part.name)
        return pd.concat([t for t in tables if len(t)] or tables[:1], ignore_index=True)

    def violated_in(self, model: MixtureClassifier, index: int) -> pd.DataFrame:
        """The samples of one part that miss xi, the worst first: row of `X`, label, log-odds, violation."""
        table = self._binary_in_time(index).violated_samples(self._alone(model, index))
        rows = self.parts[index].rows[table["row"]]
        return table.assign(row=self.rows[rows], label=self.data.classes[self.data.codes[rows]])

    def check(self, model: MixtureClassifier) -> tuple[Check, ...]:
        """For each part whether every sample is beyond xi, or how many are not, which, and by how much."""
        return tuple(self._check_part(k, model) for k in range(len(self.parts)))

    def _check_part(self, k: int, model: MixtureClassifier) -> Check:
        part, least = self.parts[k], float(self.binaries[k].log_odds(self._alone(model, k)).min())
        return check_samples(self.violated_in(model, k), len(part.rows), least, self.xi, part=part.name)

    def _alone(self, model: MixtureClassifier, k: int) -> MixtureClassifier:
        """The part as a classifier by itself, the same object for the same classifier."""
        if self._taken_apart.get(-1) is not model:
            self._taken_apart.clear()
            self._taken_apart[-1] = model
        if k not in self._taken_apart:
            self._taken_apart[k] = part_model(model, k, self.binaries[k].data.feature_names)
        return self._taken_apart[k]

    @cached_property
    def _taken_apart(self) -> dict[int, MixtureClassifier]:
        """Parts of the classifier that was looked at last, which is number -1."""
        return {}

    def _binary_in_time(self, index: int) -> ConstrainedMaximumMargin:
        leave_in_time()
        return self.binaries[index]


def _settings_of(binary: ConstrainedMaximumMargin) -> dict[str, Any]:
    return {f.name: getattr(binary, f.name) for f in fields(binary)}
