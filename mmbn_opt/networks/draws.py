"""Rows drawn from a network, and answers estimated from weighted ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt._arguments import check_arguments, whole
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.asking import Asked, numbers_of, refuse_observed
from mmbn_opt.networks.elimination import MAX_CELLS
from mmbn_opt.networks.evidence import read_evidence
from mmbn_opt.networks.sampling import draw, weigh

__all__ = ["NetworkDraws", "RandomState", "generator_of"]

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator_of(random_state: RandomState) -> np.random.Generator:
    """The generator itself, or one made of a seed."""
    if random_state is None or isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return np.random.default_rng(random_state)
    expected = "a whole number >= 0, None, a Generator or a RandomState"
    return np.random.default_rng(whole("random_state", random_state, expected=expected))


class NetworkDraws(Asked):
    """What can be drawn from a `BayesianNetwork`; evidence comes as for `query`."""

    def sample(
        self,
        n: int,
        evidence: Any = None,
        *,
        likelihood: Mapping[str, Any] | None = None,
        random_state: RandomState = None,
        max_cells: int = MAX_CELLS,
    ) -> pd.DataFrame:
        """Draw `n` independent rows of all nodes given the evidence; exact, none is rejected.

        Parameters
        ----------
        n : int
        evidence, likelihood, max_cells
            See `query`. Many cases give `n` rows each, in an index of (case, draw).
        random_state : int, Generator, RandomState or None

        Examples
        --------
        >>> from mmbn_opt import BayesianNetwork, DiscreteDataset, naive_bayes
        >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"], ["y"]], ["no", "yes", "no", "no"])
        >>> network = BayesianNetwork.fit(naive_bayes(data), data)
        >>> network.sample(1000, {"x0": "y"}, random_state=0)["class"].value_counts(normalize=True).round(2).to_dict()
        {'no': 0.55, 'yes': 0.45}
        """
        check_arguments(NetworkDraws.sample, locals())
        n = whole("n", n)
        case = read_evidence(self.variables, evidence, likelihood)
        rng = generator_of(random_state)
        codes = draw(self.engine, case, n, rng, max_cells)
        if case.index is None:
            index: pd.Index = pd.RangeIndex(n)
        else:
            index = pd.MultiIndex.from_product([case.index, range(n)], names=[case.index.name, "draw"])
        drawn = {v.name: self.states_of([j]).take(codes[:, j]) for j, v in enumerate(self.variables)}
        return pd.DataFrame({name: pd.Series(labels, index, dtype=labels.dtype) for name, labels in drawn.items()})

    def estimate(
        self,
        targets: str | Sequence[str],
        evidence: Any = None,
        *,
        likelihood: Mapping[str, Any] | None = None,
        n_samples: int = 10_000,
        random_state: RandomState = None,
    ) -> pd.DataFrame:
        """``P(targets | evidence)`` by likelihood weighting (Fung & Chang 1990), for networks too large for `query`.

        Every node is drawn given its parents, what is observed stays as it is, and each draw counts with the
        probability of the observed states given their parents. The standard error is that of the ratio of two means;
        it is honest when many draws count, so ``answer.attrs["effective_samples"]`` has ``(sum w)^2 / sum w^2``.

        Parameters
        ----------
        targets, evidence, likelihood
            See `query`; one case.
        n_samples : int
        random_state : int, Generator, RandomState or None

        Returns
        -------
        DataFrame
            Columns ``probability`` and ``standard_error``, a row a state (a combination of states).

        Raises
        ------
        InputError
            When no draw agrees with the evidence.

        Examples
        --------
        >>> from mmbn_opt import BayesianNetwork, DiscreteDataset, naive_bayes
        >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"], ["y"]], ["no", "yes", "no", "no"])
        >>> network = BayesianNetwork.fit(naive_bayes(data), data)
        >>> network.estimate("class", {"x0": "y"}, random_state=0).round(2).loc["yes"].to_dict()
        {'probability': 0.46, 'standard_error': 0.01}
        """
        check_arguments(NetworkDraws.estimate, locals())
        n_samples = whole("n_samples", n_samples, 1)
        nodes = numbers_of(self.structure.names, targets)
        case = read_evidence(self.variables, evidence, likelihood)
        if case.index is not None:
            raise InputError("estimate takes one case of evidence, not a table; call it for each row.")
        refuse_observed(case, nodes, self.variables)
        rng = generator_of(random_state)
        share, error, effective = weigh(self.tables, case, nodes, n_samples, rng)
        answer = pd.DataFrame({"probability": share, "standard_error": error}, index=self.states_of(nodes))
        answer.attrs["effective_samples"] = effective
        return answer
