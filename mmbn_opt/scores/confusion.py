"""Which classes a model takes for which, on the rows of a data set."""

import numpy as np

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.data.samples import Samples
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.log_linear import LogLinearClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.results.confusion import Confusion

__all__ = ["confusion_on"]


def confusion_on(
    model: BayesianNetwork | LogLinearClassifier | MixtureClassifier, data: DiscreteDataset | NumericDataset | Samples
) -> Confusion | None:
    """Confusion matrix of a model on rows with labels; None where the model is not over the data's variables.

    Parameters
    ----------
    model : BayesianNetwork, LogLinearClassifier or MixtureClassifier
    data : DiscreteDataset, NumericDataset or Samples
        Equal rows of `Samples` are looked at once.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"]], [0, 1, 1])
    >>> confusion_on(mm.BayesianNetwork.fit(mm.naive_bayes(data), data), data).counts.tolist()
    [[0.0, 1.0], [0.0, 2.0]]
    """
    if isinstance(data, Samples):
        data = data.data if data.merged is None else data.merged
    if isinstance(data, DiscreteDataset) and isinstance(model, (BayesianNetwork, LogLinearClassifier)):
        if model.features != data.features or model.target != data.target:
            return None
        predicted = np.argmax(model.log_joint(model.encode(data)), axis=1)
        codes = range(data.n_classes)
        found = Confusion.of(data.target_codes.tolist(), predicted.tolist(), codes, weight=data.sample_weight)
        return Confusion(tuple(model.target.states), found.counts)
    if isinstance(data, NumericDataset) and isinstance(model, MixtureClassifier):
        labels = data.classes[data.codes]
        return Confusion.of(
            labels.tolist(), model.predict(data.z * data.scale + data.location).tolist(), model.classes.tolist()
        )
    return None
