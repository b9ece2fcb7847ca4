"""Questions to a network: what is likely, what is most likely, and how likely is this."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt._arguments import check_arguments
from mmbn_opt.networks.asking import Asked, as_table, numbers_of, refuse_observed, tell_impossible, told
from mmbn_opt.networks.elimination import MAX_CELLS
from mmbn_opt.networks.evidence import observed_names, read_evidence

__all__ = ["NetworkQueries"]


class NetworkQueries(Asked):
    """What a `BayesianNetwork` can be asked, its class or none.

    Evidence is a mapping of node to state (or to likelihoods of its states), a Series, a list of mappings, or a table
    with a row a case and any of the nodes as columns; a missing cell is not observed. One case gives one answer, many
    cases a table with a row each. All answers but those of `estimate` are exact, by elimination.
    """

    def query(
        self,
        targets: str | Sequence[str],
        evidence: Any = None,
        *,
        likelihood: Mapping[str, Any] | None = None,
        max_cells: int = MAX_CELLS,
    ) -> Any:
        """``P(targets | evidence)``.

        Parameters
        ----------
        targets : str or list of str
            One node, or several for their joint distribution.
        evidence : mapping, Series, table, list of mappings, or None
            A value of a mapping is a state, or likelihoods ``P(finding | state)`` by state (virtual evidence). None,
            NaN and an absent node are not observed.
        likelihood : mapping of node to likelihoods, or None
            Beside cases of a table: by state, for all cases alike or in an array with a row a case.
        max_cells : int
            Most cells that the tables of elimination may have together.

        Returns
        -------
        Series or DataFrame
            Probabilities by state (several targets: by all combinations of their states); for many cases with a row
            each. A case of probability 0 has NaN there.

        Raises
        ------
        InputError
            For an unknown node or state, a target that is observed, or a single case of probability 0.
        SizeLimitError
            When the tables would be larger than `max_cells`; nothing has been allocated then.

        Examples
        --------
        >>> from mmbn_opt import BayesianNetwork, DiscreteDataset, naive_bayes
        >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"], ["y"]], ["no", "yes", "no", "no"])
        >>> network = BayesianNetwork.fit(naive_bayes(data), data)
        >>> network.query("x0", {"class": "yes"}).round(3).to_dict()
        {'x': 0.333, 'y': 0.667}
        >>> network.query("class", {"x0": {"x": 0.9, "y": 0.3}}).round(3).to_dict()
        {'no': 0.725, 'yes': 0.275}
        """
        check_arguments(NetworkQueries.query, locals())
        nodes = numbers_of(self.structure.names, targets)
        case = read_evidence(self.variables, evidence, likelihood)
        refuse_observed(case, nodes, self.variables)
        logs = self.engine.answer(nodes, case, max_cells, f"P({told(self.variables, nodes)} | evidence)")
        top = logs.max(axis=1, keepdims=True)
        possible = np.isfinite(top[:, 0])
        tell_impossible(possible, case)
        answer = np.full_like(logs, np.nan)
        answer[possible] = np.exp(logs[possible] - top[possible])
        answer /= answer.sum(axis=1, keepdims=True)
        return as_table(answer, self.states_of(nodes), case)

    def marginals(
        self,
        evidence: Any = None,
        *,
        likelihood: Mapping[str, Any] | None = None,
        max_cells: int = MAX_CELLS,
    ) -> dict[str, Any]:
        """The posterior of every node, in two passes over the network; what is observed has probability 1.

        Returns
        -------
        dict from node to Series or DataFrame
            As `query` gives them, in the order of the nodes.

        Examples
        --------
        >>> from mmbn_opt import BayesianNetwork, DiscreteDataset, naive_bayes
        >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"], ["y"]], ["no", "yes", "no", "no"])
        >>> network = BayesianNetwork.fit(naive_bayes(data), data)
        >>> {name: p.round(3).to_dict() for name, p in network.marginals({"x0": "y"}).items()}
        {'x0': {'x': 0.0, 'y': 1.0}, 'class': {'no': 0.545, 'yes': 0.455}}
        """
        check_arguments(NetworkQueries.marginals, locals())
        case = read_evidence(self.variables, evidence, likelihood)
        logs, posteriors = self.engine.marginals(case, max_cells)
        tell_impossible(np.isfinite(logs), case)
        return {
            variable.name: as_table(posteriors[:, node, : variable.cardinality], self.states_of([node]), case)
            for node, variable in enumerate(self.variables)
        }

    def map_query(
        self,
        targets: str | Sequence[str] | None = None,
        evidence: Any = None,
        *,
        likelihood: Mapping[str, Any] | None = None,
        max_cells: int = MAX_CELLS,
    ) -> Any:
        """The most probable states of the targets together, all else summed out (maximum a posteriori).

        Parameters
        ----------
        targets : str, list of str, or None
            None: all nodes that are not observed, which is the most probable explanation.
        evidence, likelihood, max_cells
            See `query`.

        Returns
        -------
        dict or DataFrame
            State by target; for many cases a row each. On a tie the first state is taken. With None a table has a
            column for every node, what is observed as it is.

        Examples
        --------
        >>> from mmbn_opt import BayesianNetwork, DiscreteDataset, naive_bayes
        >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"], ["y"]], ["no", "yes", "no", "no"])
        >>> BayesianNetwork.fit(naive_bayes(data), data).map_query(evidence={"class": "yes"})
        {'x0': 'y'}
        """
        check_arguments(NetworkQueries.map_query, locals())
        case = read_evidence(self.variables, evidence, likelihood)
        if targets is None:
            nodes = list(range(len(self.variables)))
            question = "The most probable explanation"
        else:
            nodes = numbers_of(self.structure.names, targets)
            refuse_observed(case, nodes, self.variables)
            question = f"The most probable {told(self.variables, nodes)}"
        logs, chosen = self.engine.choose(nodes, case, max_cells, question)
        possible = np.isfinite(logs)
        tell_impossible(possible, case)
        if case.index is None:
            seen = set() if targets is not None else observed_names(evidence)
            asked = (v for v in nodes if self.variables[v].name not in seen)
            return {self.variables[v].name: self.variables[v].states[chosen[0, v]] for v in asked}
        table = {}
        for v in nodes:
            labels = self.variables[v].decode(chosen[:, v])
            table[self.variables[v].name] = (
                labels if possible.all() else pd.Series(labels, dtype=object).where(possible, None).to_numpy()
            )
        return pd.DataFrame(table, index=case.index)

    def probability(
        self,
        evidence: Any,
        *,
        likelihood: Mapping[str, Any] | None = None,
        log: bool = False,
        max_cells: int = MAX_CELLS,
    ) -> Any:
        """``P(evidence)``, what is not observed summed out; 1 where nothing is.

        Parameters
        ----------
        evidence, likelihood, max_cells
            See `query`. With likelihoods it is the probability of the findings that they are of.
        log : bool
            Natural logarithms, which do not underflow.

        Returns
        -------
        float or Series

        Examples
        --------
        >>> from mmbn_opt import BayesianNetwork, DiscreteDataset, naive_bayes
        >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"], ["y"]], ["no", "yes", "no", "no"])
        >>> round(BayesianNetwork.fit(naive_bayes(data), data).probability({"x0": "x"}), 4)
        0.5111
        """
        check_arguments(NetworkQueries.probability, locals())
        case = read_evidence(self.variables, evidence, likelihood)
        logs = self.engine.answer([], case, max_cells, "P(evidence)")[:, 0]
        values = logs if log else np.exp(logs)
        if case.index is None:
            return float(values[0])
        return pd.Series(values, index=case.index, name="log_probability" if log else "probability")

    def log_likelihood(self, frame: Any, *, max_cells: int = MAX_CELLS) -> float:
        """``log P`` of all rows together, in nats; missing cells and absent columns are summed out.

        For one number a row see `probability` with ``log=True``.
        """
        check_arguments(NetworkQueries.log_likelihood, locals())
        case = read_evidence(self.variables, frame)
        return float(self.engine.answer([], case, max_cells, "The log-likelihood")[:, 0].sum())
