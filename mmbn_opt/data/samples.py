"""What a formulation learns from, in the form in which reports tell it."""

from dataclasses import dataclass

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.numeric import NumericDataset

__all__ = ["Samples"]


@dataclass(frozen=True, eq=False)
class Samples:
    """The rows behind a problem, and what they are called.

    Parameters
    ----------
    data : DiscreteDataset or NumericDataset
    class_name : str
        Name of the class column.
    merged : DiscreteDataset or None
        The same with equal rows merged; None where nobody merges them.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a"], ["a"], ["b"]], [0, 0, 1])
    >>> samples = Samples(data, data.class_name, data.aggregate())
    >>> samples.n_distinct, samples.sentence
    (2, '3 samples, 1 feature, 2 classes in column “class”')
    """

    data: DiscreteDataset | NumericDataset
    class_name: str
    merged: DiscreteDataset | None = None

    @property
    def n_distinct(self) -> int | None:
        """Rows after equal ones were merged; None where nobody merges them."""
        return None if self.merged is None else self.merged.n_samples

    @property
    def sentence(self) -> str:
        """Size of the data and name of the class column."""
        counts = ((self.data.n_samples, "sample"), (self.data.n_features, "feature"), (self.data.n_classes, "class"))
        samples, features, classes = (f"{n:,} {word}{_plural(word) if n != 1 else ''}" for n, word in counts)
        return f"{samples}, {features}, {classes} in column “{self.class_name}”"


def _plural(word: str) -> str:
    return "es" if word.endswith("s") else "s"
