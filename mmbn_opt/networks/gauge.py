"""The choice among networks with the same posterior: the one that is closest to a reference network.

Adding to a child's log-factor any function of itself and of its parents other than the class leaves ``P(c | x)`` as it
is, but moves ``P(c | part of x)``, and with it every prediction from incomplete rows. Among the networks that
`renormalize` makes of all these shifts, the gauge takes the one with the least Kullback-Leibler divergence from a
reference (the maximum-likelihood network): ``max over shifts s of E_ref[sum s] - log Z(s)``, a convex problem whose
gradient is a difference of family marginals. Factors without the class do not matter to ``P(c | x)``; they are taken
from the reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmbn_opt._arguments import check_arguments
from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.log_linear import LogLinearClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.renormalizability import renormalizability
from mmbn_opt.networks.renormalization import normalized_tables, posterior_difference
from mmbn_opt.networks.structure import Structure

__all__ = ["Gauge", "fix_gauge"]


@dataclass(frozen=True, eq=False)
class Gauge:
    """A network with the posterior of a model, closest to a reference.

    Parameters
    ----------
    network : BayesianNetwork
    divergence_before, divergence : float
        Kullback-Leibler divergence of the reference from the plainly renormalised network and from this one, over the
        class and its children, in nats.
    difference : float
        Largest ``|P(c | x)|`` difference to the model.
    """

    network: BayesianNetwork
    divergence_before: float
    divergence: float
    difference: float

    def __str__(self) -> str:
        return (
            "renormalised by hosts, then the shifts closest to the reference: divergence "
            f"{self.divergence_before:.4g} -> {self.divergence:.4g} nats, "
            f"largest change of P(c | x) {self.difference:.1e}"
        )


def fix_gauge(model: LogLinearClassifier | BayesianNetwork, reference: BayesianNetwork) -> Gauge:
    """Normalise a model as close to `reference` as its posterior allows.

    Parameters
    ----------
    reference : BayesianNetwork
        On the same structure, with positive CPTs; the smoothed maximum-likelihood network.

    Raises
    ------
    InputError
        When the structure cannot be renormalised, or the class has parents (its rows are then functions of the
        features, and the shifts have no such simple form).

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset, naive_bayes
    >>> data = DiscreteDataset.from_arrays([["x", "u"], ["y", "v"], ["x", "v"], ["y", "u"]], [0, 1, 1, 0])
    >>> reference = BayesianNetwork.fit(naive_bayes(data), data)
    >>> shifted = LogLinearClassifier.of_network(reference)
    >>> shifted.log_factors[0][:, 0] += 2.0  # the first state of x0, for both classes
    >>> gauge = fix_gauge(shifted, BayesianNetwork.fit(naive_bayes(data), data))
    >>> gauge.divergence_before > 0.1, gauge.divergence < 1e-6, gauge.difference < 1e-9
    (True, True, True)
    """
    from scipy.optimize import minimize  # deferred: it loads for a fifth of a second, and every network imports this

    check_arguments(fix_gauge, locals())
    structure = model.structure
    allowed = renormalizability(structure)
    if not allowed:
        raise InputError(f"The gauge needs a network with the same posterior, but the structure is {allowed}.")
    if structure.parents[structure.class_index]:
        raise InputError(
            f"The gauge is defined for a class without parents; {structure.class_name!r} has "
            f"{structure.parent_names[structure.class_name]}. Use `renormalize`."
        )
    if reference.structure.parents != structure.parents or reference.features != model.features:
        raise InputError("The reference has another structure or other variables than the model.")
    problem = _Problem(model, reference)
    start = np.zeros(problem.size)
    before = problem.divergence(start)
    found = minimize(
        problem.divergence_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9},
    )
    shifts = found.x if found.fun < before else start
    network = problem.network(shifts)
    return Gauge(network, before, problem.divergence(shifts), posterior_difference(model, network))


class _Problem:
    """Divergence of the reference from the renormalised model as a function of the shifts."""

    def __init__(self, model: LogLinearClassifier | BayesianNetwork, reference: BayesianNetwork) -> None:
        self.structure, self.reference = model.structure, reference
        factors = model if isinstance(model, LogLinearClassifier) else LogLinearClassifier.of_network(model)
        c = self.structure.class_index
        self.cards = reference.cardinalities
        self.children = self.structure.children(c)
        self.base = [
            np.array(factors.log_factors[v] if v == c or v in self.children else reference.log_cpts[v])
            for v in range(c + 1)
        ]
        self.features, self.target = reference.features, reference.target
        self.shapes = {v: [self.cards[p] for p in self.structure.parents[v]] + [self.cards[v]] for v in self.children}
        self.class_axis = {v: self.structure.parents[v].index(c) for v in self.children}
        self.goal = self._shift_marginals(reference.log_cpts)
        self.size = int(sum(part.size for part in self.goal))
        marginals = family_marginals(self.structure, self.cards, reference.log_cpts)
        self.entropy = sum(float((marginals[v].ravel() * reference.log_cpts[v].ravel()).sum()) for v in marginals)
        self.weights = marginals

    def _shift_marginals(self, tables: Sequence[FloatArray]) -> list[FloatArray]:
        marginals = family_marginals(self.structure, self.cards, tables)
        return [marginals[v].sum(axis=self.class_axis[v]) for v in self.children]

    def _tables(self, shifts: FloatArray) -> list[FloatArray]:
        tables = [table.copy() for table in self.base]
        cuts = np.cumsum([part.size for part in self.goal])[:-1]
        for v, part, goal in zip(self.children, np.split(shifts, cuts), self.goal, strict=True):
            shift = np.expand_dims(part.reshape(goal.shape), self.class_axis[v])
            tables[v] = (tables[v].reshape(self.shapes[v]) + shift).reshape(tables[v].shape)
        return normalized_tables(self.structure, self.cards, tables)[0]

    def divergence(self, shifts: FloatArray) -> float:
        return self.divergence_and_gradient(shifts)[0]

    def divergence_and_gradient(self, shifts: FloatArray) -> tuple[float, FloatArray]:
        tables = self._tables(shifts)
        cross = sum(float((self.weights[v].ravel() * tables[v].ravel()).sum()) for v in self.weights)
        now = self._shift_marginals(tables)
        gradient = np.concatenate([(a - b).ravel() for a, b in zip(now, self.goal, strict=True)])
        return self.entropy - cross, gradient

    def network(self, shifts: FloatArray) -> BayesianNetwork:
        return BayesianNetwork(self.structure, self.features, self.target, tuple(self._tables(shifts)))


def family_marginals(structure: Structure, cards: Sequence[int], tables: Sequence[FloatArray]) -> dict[int, FloatArray]:
    """Joint distribution of each child of a parentless class with its parents, and that of the class.

    Every family but the class's finds its parents together in the family of its last parent; axes are the parents in
    ascending order, then the node.
    """
    c = structure.class_index
    marginals: dict[int, FloatArray] = {c: np.exp(tables[c][0])}
    order = structure.topological_order()
    children = set(structure.children(c))
    for node in order:
        if node not in children:
            continue
        parents = structure.parents[node]
        last = max(parents, key=order.index)
        family = (*structure.parents[last], last)
        joint = marginals[last].sum(axis=tuple(k for k, v in enumerate(family) if v not in parents))
        kept = [v for v in family if v in parents]
        joint = np.transpose(joint, [kept.index(p) for p in parents])
        marginals[node] = joint[..., None] * np.exp(tables[node]).reshape([*(cards[p] for p in parents), cards[node]])
    return marginals
