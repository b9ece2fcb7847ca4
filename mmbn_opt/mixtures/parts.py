"""Many classes from binary parts: which samples each part separates, and the classifier that the parts make."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.data.numeric import NumericDataset, plain
from mmbn_opt.exceptions import InputError
from mmbn_opt.mixtures.classifier import DecisionRule, MixtureClassifier, MixturePart
from mmbn_opt.mixtures.density import MixtureDensity

__all__ = ["BinaryPart", "binary_parts", "join_parts", "part_model"]

RULES = {str(rule): rule for rule in (DecisionRule.MAX_WINS, DecisionRule.ONE_VS_REST)}


@dataclass(frozen=True, eq=False)
class BinaryPart:
    """Two groups of samples that one program separates.

    Parameters
    ----------
    positive : int
        Class code.
    negative : int or None
        Class code; None stands for all other classes.
    name : str
        The two groups by their labels.
    rows : int array
        Samples of either group, in an order of their values and not of the file: sums over them are then the same to
        the last digit whatever the order of the file, and so is what a long run makes of such digits.
    labels : int array
        0 for samples of the positive group, 1 for the others.
    """

    positive: int
    negative: int | None
    name: str
    rows: NDArray[np.intp] = field(repr=False)
    labels: NDArray[np.int_] = field(repr=False)

    def groups(self, n_classes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Class codes of either group."""
        if self.negative is not None:
            return (self.positive,), (self.negative,)
        return (self.positive,), tuple(c for c in range(n_classes) if c != self.positive)


def binary_parts(data: NumericDataset, strategy: str) -> tuple[BinaryPart, ...]:
    """A part for every pair of classes, or for every class against the rest; two classes are one part.

    Parameters
    ----------
    data : NumericDataset
    strategy : {"one-vs-one", "one-vs-rest"}

    Examples
    --------
    >>> data = NumericDataset.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", "c"])
    >>> [part.name for part in binary_parts(data, "one-vs-one")]
    ['a against b', 'a against c', 'b against c']
    >>> [part.name for part in binary_parts(data, "one-vs-rest")]
    ['a against the rest', 'b against the rest', 'c against the rest']
    """
    if strategy not in RULES:
        raise InputError(f"strategy must be one of {', '.join(RULES)}, got {strategy!r}.")
    codes = range(data.n_classes)
    pairs: list[tuple[int, int | None]] = list(combinations(codes, 2))
    if strategy == str(DecisionRule.ONE_VS_REST) and data.n_classes > 2:
        pairs = [(c, None) for c in codes]
    ordered = np.lexsort(data.z.T[::-1])
    by_class = ordered[np.argsort(data.codes[ordered], kind="stable")]
    members = np.split(by_class, np.cumsum(data.counts())[:-1])
    parts = []
    for positive, negative in pairs:
        rivals = ordered[data.codes[ordered] != positive] if negative is None else members[negative]
        rows = np.concatenate([members[positive], rivals])
        rival = "the rest" if negative is None else str(plain(data.classes[negative]))
        name = f"{plain(data.classes[positive])} against {rival}"
        labels = np.repeat([0, 1], [len(members[positive]), len(rivals)])
        parts.append(BinaryPart(positive, negative, name, rows, labels))
    return tuple(parts)


def join_parts(
    data: NumericDataset,
    strategy: str,
    parts: Sequence[BinaryPart],
    models: Sequence[MixtureClassifier],
    *,
    class_name: str = "class",
) -> MixtureClassifier:
    """One classifier of the binary ones, each learned from the standardised samples ``data.z[part.rows]``."""
    rescaled: dict[tuple[int, int, int], MixtureDensity] = {}

    def over_whole(model: MixtureClassifier, density: MixtureDensity) -> MixtureDensity:
        """The density over the samples of all parts; one that several parts share stays one object."""
        key = id(density), id(model.location), id(model.scale)
        if key not in rescaled:
            rescaled[key] = density.rescaled(model.location, model.scale)
        return rescaled[key]

    joined = tuple(
        MixturePart(
            part.groups(data.n_classes),
            model.parts[0].log_prior,
            tuple(over_whole(model, density) for density in model.parts[0].densities),
        )
        for part, model in zip(parts, models, strict=True)
    )
    return MixtureClassifier(
        data.classes, data.feature_names, RULES[strategy], joined, data.location, data.scale, class_name
    )


def part_model(model: MixtureClassifier, index: int, feature_names: tuple[str, ...]) -> MixtureClassifier:
    """A part of a classifier as the binary classifier that `join_parts` took, over standardised samples."""
    part = model.parts[index]
    alone = MixturePart(((0,), (1,)), part.log_prior, part.densities)
    n: Any = len(feature_names)
    return MixtureClassifier(
        np.array([0, 1]), feature_names, DecisionRule.MAX_WINS, (alone,), np.zeros(n), np.ones(n), model.class_name
    )
