"""How large a model is that was learned: what it holds, and what of it there is to read."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["size_of"]


def size_of(model: Any) -> dict[str, float]:
    """Of a model after `fit`, those of ``parameters``, ``edges``, ``rules`` and ``support_vectors`` that it has.

    ``parameters`` are free ones of networks, coefficients, scores of bins, nodes of trees, or numbers in support
    vectors. ``edges`` join features, those from the class are not counted. ``rules`` are leaves of trees, or terms of a
    sum.

    Parameters
    ----------
    model : estimator
        A method of `METHOD_KINDS`; one that tells its size has a method ``size``.

    Examples
    --------
    >>> from mmbn_opt.reproduction.methods import Context
    >>> from mmbn_opt.reproduction.methods.registry import build
    >>> from mmbn_opt.reproduction.sources import Source
    >>> wine = Source(None).find("wine")
    >>> logistic = build("logistic-regression", Context(dict(wine.kinds), "drop", 20.0, 0), {"C": 1.0})
    >>> size_of(logistic.fit(wine.X, wine.y))  # 13 weights and a constant for each of three classes
    {'parameters': 42.0}
    """
    network = vars(model).get("network_")
    if isinstance(network, BayesianNetwork):
        inside = sum(
            parent != network.structure.class_index for parents in network.structure.parents for parent in parents
        )
        return {"parameters": float(network.n_parameters), "edges": float(inside)}
    inner = vars(model).get("estimator_")
    for each in (model, inner):
        if hasattr(each, "size"):
            return {name: float(number) for name, number in each.size().items()}
    return _of_scikit_learn(inner)


def _of_scikit_learn(model: Any) -> dict[str, float]:
    if isinstance(model, SVC):
        kept = len(model.support_)
        return {"parameters": float(kept * model.n_features_in_), "support_vectors": float(kept)}
    if isinstance(model, LogisticRegression):
        return {"parameters": float(model.coef_.size + model.intercept_.size)}
    if isinstance(model, RandomForestClassifier):
        trees = [tree.tree_ for tree in model.estimators_]
        return _of_trees((tree.node_count, tree.n_leaves) for tree in trees)
    if isinstance(model, HistGradientBoostingClassifier):
        grown = [tree for round_ in model._predictors for tree in round_]
        return _of_trees((len(tree.nodes), tree.get_n_leaf_nodes()) for tree in grown)
    if isinstance(model, OneVsRestClassifier) and hasattr(model.estimators_[0], "points_"):
        points = sum(int(np.count_nonzero(score.coef_)) for score in model.estimators_)
        return {"parameters": float(points + len(model.estimators_)), "rules": float(points)}
    return {}


def _of_trees(counts: Iterable[tuple[int, int]]) -> dict[str, float]:
    nodes, leaves = np.array(list(counts)).sum(axis=0)
    return {"parameters": float(nodes), "rules": float(leaves)}
