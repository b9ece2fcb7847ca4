"""The Bayesian network with the same posterior as given factors, or the nearest that can be had.

Going through the children of the class from the last to the first, each row sum goes to the host (`renormalizability`),
which is still to be normalised when it receives something. The factor of the class comes last, where what is left over
is a constant or a function of the features and cancels in ``P(c | x)``.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments, listed
from mmbn_opt._arrays import FloatArray, log_softmax
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.log_linear import LogLinearClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.renormalizability import Renormalization, last_of, positions_of, renormalizability
from mmbn_opt.networks.structure import Structure

__all__ = ["posterior_difference", "renormalize"]

MAX_CHECKED_CELLS = 100_000
"""The difference of the posteriors is taken over all joint states of the blanket up to this many, else over a
sample of so many, or fewer where there are many features and classes."""

_SAMPLE_WORK, _LEAST_SAMPLE = 2e7, 2_000
"""Look-ups that a sample may cost: a fraction of a second; and its least size."""


def renormalize(model: LogLinearClassifier | BayesianNetwork) -> Renormalization:
    """Turn factors into CPTs that give the same posterior, by hosts, in logs.

    Where a child has no host, the mean of ``log rho`` over the parents that the best factor does not hold goes to that
    factor: a best effort, whose difference is reported.

    Examples
    --------
    >>> import numpy as np
    >>> from mmbn_opt import DiscreteDataset, tan_cmi
    >>> rng = np.random.default_rng(0)
    >>> data = DiscreteDataset.from_arrays(rng.integers(0, 3, (50, 4)), rng.integers(0, 2, 50))
    >>> network = BayesianNetwork.fit(tan_cmi(data), data)
    >>> factors = tuple(rng.normal(size=table.shape) for table in network.log_cpts)
    >>> outcome = renormalize(LogLinearClassifier(network.structure, data.features, data.target, factors))
    >>> bool(outcome.allowed), outcome.difference < 1e-12
    (True, True)
    """
    check_arguments(renormalize, locals())
    factors = model if isinstance(model, LogLinearClassifier) else LogLinearClassifier.of_network(model)
    structure = factors.structure
    cards = tuple(v.cardinality for v in (*factors.features, factors.target))
    tables, empty_rows = normalized_tables(structure, cards, factors.log_factors)
    network = BayesianNetwork(structure, factors.features, factors.target, tuple(tables))
    difference = posterior_difference(factors, network)
    return Renormalization(network, renormalizability(structure), difference, empty_rows)


def normalized_tables(
    structure: Structure, cards: Sequence[int], log_factors: Sequence[FloatArray]
) -> tuple[list[FloatArray], int]:
    """The tables of `renormalize`, and the number of rows without mass."""
    position = positions_of(structure)
    tables = [np.array(table) for table in log_factors]
    c = structure.class_index
    children = structure.children(c)
    empty_rows = 0
    for node in sorted(range(c + 1), key=position.__getitem__, reverse=True):
        if node == c:
            continue
        rho, empty = _normalize_rows(tables[node])
        empty_rows += empty
        if node in children:  # the sums of any other factor are functions of the features and cancel
            _give(rho, structure.parents[node], _host_of(structure, node, children, position), tables, structure, cards)
    empty_rows += _normalize_rows(tables[c])[1]
    return tables, empty_rows


def _normalize_rows(table: FloatArray) -> tuple[FloatArray, int]:
    """Normalise in place; returns the logs of the row sums and the number of rows without mass."""
    rho: FloatArray = np.logaddexp.reduce(table, axis=1)
    empty = np.isneginf(rho)
    table[~empty] -= rho[~empty, None]
    table[empty] = -np.log(table.shape[1])
    # One more pass takes the rounding error of large log-factors out of the row sums.
    table -= np.logaddexp.reduce(table, axis=1, keepdims=True)
    return rho, int(empty.sum())


def _host_of(structure: Structure, node: int, children: Sequence[int], position: dict[int, int]) -> int:
    """The last parent if it holds all others, else the earlier factor around the class that holds most of them."""
    parents = set(structure.parents[node])
    earlier = [f for f in (structure.class_index, *children) if position[f] < position[node]]
    held = {f: len(parents & {f, *structure.parents[f]}) for f in earlier}
    last = last_of(structure.parents[node], position)
    return max(earlier, key=lambda f: (held[f], f == last, position[f]))


def _give(
    rho: FloatArray,
    parents: Sequence[int],
    host: int,
    tables: list[FloatArray],
    structure: Structure,
    cards: Sequence[int],
) -> None:
    """Add ``rho``, a function of `parents`, to the host's table (in logs)."""
    family = (*structure.parents[host], host)
    cube = rho.reshape([cards[p] for p in parents])
    outside = tuple(axis for axis, p in enumerate(parents) if p not in family)
    if outside:
        cube = cube.mean(axis=outside)
    inside = [p for p in parents if p in family]
    # numpy broadcasts over axes in the host's order: its parents ascending, then the host itself.
    cube = np.transpose(cube, np.argsort([family.index(p) for p in inside]))
    shape = [cards[v] if v in inside else 1 for v in family]
    full = tables[host].reshape([cards[v] for v in family])
    full += cube.reshape(shape)


def posterior_difference(
    before: LogLinearClassifier | BayesianNetwork, after: LogLinearClassifier | BayesianNetwork, codes: object = None
) -> float:
    """Largest ``|P(c | x)|`` difference of two models.

    Parameters
    ----------
    codes : int array (n_samples, n_features) or None
        Where to compare; None: all joint states of the features that share a factor with the class, or a random
        sample of them: 100,000, fewer (2,000 at least) with many features and classes.

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset, naive_bayes
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"]], [0, 1, 1])
    >>> network = BayesianNetwork.fit(naive_bayes(data), data)
    >>> posterior_difference(network, network)
    0.0
    """
    if before.structure.names != after.structure.names:
        raise InputError(
            f"The models have different nodes: [{listed(before.structure.names)}] and "
            f"[{listed(after.structure.names)}]."
        )
    points = _blanket_states(before) if codes is None else np.asarray(codes, dtype=np.int32)
    if not len(points):
        return 0.0
    pair = [np.exp(log_softmax(_finite(model.log_joint(points)))) for model in (before, after)]
    return float(np.abs(pair[0] - pair[1]).max())


def _finite(joint: FloatArray) -> FloatArray:
    joint[np.isneginf(joint).all(axis=1)] = 0.0
    return joint


def _blanket_states(model: LogLinearClassifier | BayesianNetwork) -> NDArray[np.int32]:
    blanket = sorted(model.structure.markov_blanket(model.structure.class_index))
    cards = [model.features[v].cardinality for v in blanket]
    total = float(np.prod([float(r) for r in cards]))
    rng = np.random.default_rng(0)
    if total <= MAX_CHECKED_CELLS:
        states = np.stack(np.unravel_index(np.arange(int(total)), cards or (1,)), axis=1)[:, : len(blanket)]
    else:
        look_ups = len(model.features) * model.target.cardinality
        size = int(np.clip(_SAMPLE_WORK / look_ups, _LEAST_SAMPLE, MAX_CHECKED_CELLS))
        states = (rng.random((size, len(blanket))) * cards).astype(np.int32)  # whole numbers take ten times as long
    codes = np.zeros((len(states), len(model.features)), dtype=np.int32)
    codes[:, blanket] = states
    return codes
