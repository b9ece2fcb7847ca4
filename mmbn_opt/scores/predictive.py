"""Every score, defined once: what an optimizer claims is checked against these functions."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import is_number
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.block_passes import block_sums, cells_of
from mmbn_opt.data.counts import MAX_TABLE_CELLS, contingency, counts_seen, joint_codes, n_log_n
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.mapped import MappedDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.smoothing import Laplace, Smoothing, as_smoothing
from mmbn_opt.networks.structure import Structure
from mmbn_opt.scores.row_sums import RowNumbers, ScoresRows, cut_off, margins_of, of_rows, summed

__all__ = [
    "DecomposableScore",
    "bdeu",
    "bic",
    "binary_log_margins",
    "binary_soft_margin",
    "classification_rate",
    "conditional_log_likelihood",
    "family_score",
    "log_likelihood",
    "log_margins",
    "log_odds",
    "mdl",
    "smooth_margin",
    "soft_margin",
]

DecomposableScore = Literal["loglik", "bic", "mdl", "bdeu"]


def log_odds(p: float) -> float:
    """``log(p / (1 - p))``: the margin gamma that asks for posterior odds p : (1 - p).

    Examples
    --------
    >>> round(log_odds(0.9), 4)
    2.1972
    """
    if not is_number(p) or not 0.5 < p < 1:
        raise InputError(f"p must lie in (0.5, 1), got {p!r}.")
    return float(np.log(p) - np.log1p(-p))


def log_margins(network: ScoresRows, data: DiscreteDataset) -> FloatArray:
    """``log P(c_m, x_m) - max_{c != c_m} log P(c, x_m)``, shape (n_samples,) (Peharz & Pernkopf 2012, eq. 8)."""
    return of_rows(network, data, lambda joint, labels, rows: margins_of(joint, labels))


def soft_margin(
    network: BayesianNetwork,
    data: DiscreteDataset,
    gamma: float | FloatArray | RowNumbers,
    margin_weight: float | FloatArray | RowNumbers = 1.0,
) -> float:
    """``sum_m v_m n_m min(log d_m, gamma_m)`` in nats (Peharz & Pernkopf 2012, eq. 9, where v = 1).

    `gamma` and the weight v of the margin are one number for all rows, or one a row.
    """
    return summed(network, data, partial(_cut_margins, gamma=gamma, margin_weight=margin_weight))


def _cut_margins(
    joint: FloatArray,
    labels: NDArray[np.integer[Any]],
    rows: slice,
    *,
    gamma: float | FloatArray | RowNumbers,
    margin_weight: float | FloatArray | RowNumbers,
) -> FloatArray:
    return cut_off(margins_of(joint, labels), labels, rows, gamma, margin_weight)


def smooth_margin(
    network: BayesianNetwork, data: DiscreteDataset, lam: float = 0.05, kappa: float = 0.1, eta: float = 10.0
) -> float:
    """``sum_m n_m h(lam log d_m)`` with a soft maximum over the rivals and a hinge with a rounded corner.

    Pernkopf, Wohlmayr & Tschiatschek 2012, eq. 4-6:
    ``log d_m = log P(c_m, x_m) - log(sum_{c != c_m} P(c, x_m)^eta) / eta``, and ``h(y)`` is ``y + kappa`` up to
    ``1 - 2 kappa``, then ``1 - (y - 1)^2 / (4 kappa)``, and 1 from ``y = 1`` on. With ``eta=inf`` the maximum itself,
    with ``kappa=0`` the hinge ``min(1, y)`` itself.
    """
    return summed(network, data, partial(_smooth_hinges, lam=lam, kappa=kappa, eta=eta))


def _smooth_hinges(
    joint: FloatArray, labels: NDArray[np.integer[Any]], rows: slice, *, lam: float, kappa: float, eta: float
) -> FloatArray:
    every = np.arange(len(labels))
    own = joint[every, labels]
    joint[every, labels] = -np.inf
    rival = joint.max(axis=1) if np.isinf(eta) else np.logaddexp.reduce(eta * joint, axis=1) / eta
    y = lam * (own - rival)
    hinge: FloatArray = np.minimum(y + kappa, 1.0)
    corner = (y > 1 - 2 * kappa) & (y < 1)
    hinge[corner] = 1 - (y[corner] - 1) ** 2 / (4 * kappa) if kappa > 0 else hinge[corner]
    return hinge


def binary_log_margins(structure: Structure, data: DiscreteDataset, smoothing: float | Smoothing = 1.0) -> FloatArray:
    """Log margin of each sample's class against all others merged and re-counted, shape (n_samples,).

    Peharz & Pernkopf 2012, eq. 20-21. The merged class has, in the class node, the pseudo-count of all the classes
    that it merges, so that two classes give exactly `log_margins`.
    """
    margins = np.zeros(data.n_samples)
    for features, table in _against_rest(structure, data, as_smoothing(smoothing)):
        margins += table[joint_codes(data, features), data.target_codes]
    return margins


def _against_rest(
    structure: Structure, data: DiscreteDataset, prior: Smoothing
) -> Iterator[tuple[list[int], FloatArray]]:
    """Features of each factor that tells classes apart, and what a state of theirs adds to the margin of each class."""
    c = structure.class_index
    for node, parents in enumerate(structure.parents):
        own, rest = one_against_rest_log_cpt(data, node, parents, prior)
        if own is not None and rest is not None:
            others = [p for p in parents if p != c]
            yield others if node == c else [*others, node], own - rest


def one_against_rest_log_cpt(
    data: DiscreteDataset,
    node: int,
    parents: Sequence[int],
    smoothing: Smoothing,
    count: Callable[[Sequence[int]], FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray] | tuple[None, None]:
    """Log CPT entries for each class as itself and as "the rest", both (n_configurations, n_classes).

    Configurations are the joint states of the node's parents without the class, then (for a feature) its own state.
    (None, None) for a feature without the class among its parents: its factor is the same for every class. `count` is
    asked for counts in place of `contingency`.
    """
    count = partial(contingency, data) if count is None else count
    c = data.n_features
    n_classes = data.n_classes
    others = [p for p in sorted(parents) if p != c]
    if node == c:
        counts = count([*others, c]).reshape(-1, n_classes)
        pseudo = smoothing.per_cell(n_classes, counts.shape[0])
        total = counts.sum(axis=1, keepdims=True)
        own, rest = counts + pseudo, total - counts + pseudo * (n_classes - 1)
        denominator = total + pseudo * n_classes
        return _log_ratio(own, denominator), _log_ratio(rest, denominator)
    if c not in parents:
        return None, None
    n_states = data.cardinalities[node]
    cube = count([*others, node, c]).reshape(-1, n_states, n_classes)
    # Each of the two merged classes gets its own pseudo-count per state: the recount has two classes.
    pseudo = smoothing.per_cell(n_states, cube.shape[0] * n_classes)
    merged = cube.sum(axis=2, keepdims=True) - cube
    own = _log_ratio(cube + pseudo, cube.sum(axis=1, keepdims=True) + pseudo * n_states)
    rest_pseudo = pseudo if isinstance(smoothing, Laplace) else pseudo * (n_classes - 1)
    rest = _log_ratio(merged + rest_pseudo, merged.sum(axis=1, keepdims=True) + rest_pseudo * n_states)
    return own.reshape(-1, n_classes), rest.reshape(-1, n_classes)


def _log_ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        ratio: FloatArray = np.log(numerator) - np.log(denominator)
    return ratio


def binary_soft_margin(
    structure: Structure,
    data: DiscreteDataset,
    gamma: float | FloatArray | RowNumbers,
    smoothing: float | Smoothing = 1.0,
    margin_weight: float | FloatArray | RowNumbers = 1.0,
) -> float:
    """``sum_m v_m n_m min(log of the binary margin, gamma_m)`` in nats (Peharz & Pernkopf 2012, section 5).

    `gamma` and the weight v of the margin are one number for all rows, or one a row.
    """
    if isinstance(data, MappedDataset):
        tables = list(_against_rest(structure, data, as_smoothing(smoothing)))
        cut = partial(cut_off, gamma=gamma, margin_weight=margin_weight)
        work = partial(_binary_sum_of_block, tables=tables, card=data.cardinalities, cut=cut)
        return float(block_sums(data, work)[0])
    margins = binary_log_margins(structure, data, smoothing)
    return float(data.sample_weight @ cut_off(margins, data.target_codes, slice(None), gamma, margin_weight))


def _binary_sum_of_block(
    columns: NDArray[np.unsignedinteger[Any]],
    start: int,
    *,
    tables: Sequence[tuple[list[int], FloatArray]],
    card: Sequence[int],
    cut: Callable[[FloatArray, NDArray[np.integer[Any]], slice], FloatArray],
) -> list[FloatArray]:
    labels = columns[-1].astype(np.intp)
    margins = np.zeros(len(labels))
    for features, table in tables:
        margins += table[cells_of(columns, features, card), labels]
    return [np.asarray(cut(margins, labels, slice(start, start + len(labels))).sum())]


def conditional_log_likelihood(network: BayesianNetwork, data: DiscreteDataset) -> float:
    """``sum_m n_m log P(c_m | x_m)`` in nats."""
    return summed(network, data, _log_posteriors)


def _log_posteriors(joint: FloatArray, labels: NDArray[np.integer[Any]], rows: slice) -> FloatArray:
    own = joint[np.arange(len(labels)), labels]
    found: FloatArray = own - np.logaddexp.reduce(joint, axis=1)
    return found


def classification_rate(network: BayesianNetwork, data: DiscreteDataset) -> float:
    """Weighted share of samples whose most probable class is their own; the first class wins a tie."""
    return summed(network, data, _hits) / data.total_weight


def _hits(joint: FloatArray, labels: NDArray[np.integer[Any]], rows: slice) -> FloatArray:
    return np.asarray(np.argmax(joint, axis=1) == labels, dtype=np.float64)


def log_likelihood(network: BayesianNetwork, data: DiscreteDataset) -> float:
    """``sum_m n_m log P(c_m, x_m)`` in nats."""
    return summed(network, data, _log_joints)


def _log_joints(joint: FloatArray, labels: NDArray[np.integer[Any]], rows: slice) -> FloatArray:
    own: FloatArray = joint[np.arange(len(labels)), labels]
    return own


def family_score(
    data: DiscreteDataset, node: int, parents: Sequence[int], score: DecomposableScore, ess: float = 1.0
) -> float:
    """Contribution of one node with its parents to a decomposable score (to be maximised, in nats).

    * ``loglik``: maximised log-likelihood ``sum n[h,j] log(n[h,j] / n[h])``;
    * ``bic`` and ``mdl``: loglik minus ``log(M)/2`` per free parameter (Suzuki 1993; MDL is minus the length);
    * ``bdeu``: log marginal likelihood under the uniform Dirichlet prior of total weight `ess` (Heckerman et al. 1995).
    """
    n_states, configurations = data.cardinalities[node], prod(data.cardinalities[p] for p in parents)
    if configurations * n_states <= MAX_TABLE_CELLS:
        counts = contingency(data, [*sorted(parents), node]).reshape(-1, n_states)
    else:
        counts = counts_seen(data, sorted(parents), node)
    total = counts.sum(axis=1)
    if score == "bdeu":
        from scipy.special import (
            gammaln,  # deferred: it loads for a quarter of a second, and every command imports this
        )

        cell = ess / (configurations * n_states)
        row = ess / configurations
        return float((gammaln(row) - gammaln(total + row)).sum() + (gammaln(counts + cell) - gammaln(cell)).sum())
    likelihood = n_log_n(counts) - n_log_n(total)
    if score == "loglik":
        return likelihood
    if score in ("bic", "mdl"):
        return likelihood - 0.5 * math.log(data.total_weight) * configurations * (n_states - 1)
    raise InputError(f"score must be one of 'loglik', 'bic', 'mdl', 'bdeu', got {score!r}.")


def structure_score(structure: Structure, data: DiscreteDataset, score: DecomposableScore, ess: float = 1.0) -> float:
    """Sum of `family_score` over all nodes."""
    return sum(family_score(data, node, parents, score, ess) for node, parents in enumerate(structure.parents))


def bic(structure: Structure, data: DiscreteDataset) -> float:
    """Bayesian information criterion in nats, to be maximised."""
    return structure_score(structure, data, "bic")


def mdl(structure: Structure, data: DiscreteDataset) -> float:
    """Minus the description length in nats, to be maximised; equal to `bic`."""
    return structure_score(structure, data, "mdl")


def bdeu(structure: Structure, data: DiscreteDataset, ess: float = 1.0) -> float:
    """Log marginal likelihood under the BDeu prior, to be maximised."""
    return structure_score(structure, data, "bdeu", ess)
