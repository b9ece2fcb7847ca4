"""Questions to a network: what is likely, what is most likely, how likely is this, and draw me some."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments, listed, shown, whole
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.elimination import MAX_CELLS
from mmbn_opt.networks.engine import Engine
from mmbn_opt.networks.evidence import Evidence, node_number, observed_names, read_evidence
from mmbn_opt.networks.sampling import draw, weigh
from mmbn_opt.networks.structure import Structure
from mmbn_opt.networks.tables import FactorTables

__all__ = ["NetworkQueries"]

logger = logging.getLogger(__name__)

RandomState = int | np.random.Generator | np.random.RandomState | None


class NetworkQueries(ABC):
    """What a `BayesianNetwork` can be asked, its class or none.

    Evidence is a mapping of node to state (or to likelihoods of its states), a Series, a list of mappings, or a table
    with a row a case and any of the nodes as columns; a missing cell is not observed. One case gives one answer, many
    cases a table with a row each. All answers but those of `estimate` are exact, by elimination.
    """

    structure: Structure

    @property
    @abstractmethod
    def variables(self) -> tuple[DiscreteVariable, ...]:
        """All variables by the numbers of their nodes."""

    @property
    @abstractmethod
    def tables(self) -> FactorTables:
        """The tables by the numbers of the nodes."""

    @cached_property
    def engine(self) -> Engine:
        """Plans of elimination that questions share."""
        return Engine(self.tables)

    @cached_property
    def _indexes(self) -> dict[tuple[int, ...], pd.Index]:
        """Those of answers, which take longer to make than many an answer."""
        return {}

    def _states(self, nodes: Sequence[int]) -> pd.Index:
        key = tuple(nodes)
        if key not in self._indexes:
            self._indexes[key] = _index_of([self.variables[v] for v in nodes])
        return self._indexes[key]

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
        {'no': 0.724, 'yes': 0.276}
        """
        check_arguments(NetworkQueries.query, locals())
        nodes = _targets(self.structure.names, targets)
        case = read_evidence(self.variables, evidence, likelihood)
        _refuse_observed(case, nodes, self.variables)
        logs = self.engine.answer(nodes, case, max_cells, f"P({_told(self.variables, nodes)} | evidence)")
        top = logs.max(axis=1, keepdims=True)
        possible = np.isfinite(top[:, 0])
        _tell_impossible(possible, case)
        answer = np.full_like(logs, np.nan)
        answer[possible] = np.exp(logs[possible] - top[possible])
        answer /= answer.sum(axis=1, keepdims=True)
        return _as_table(answer, self._states(nodes), case)

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
        _tell_impossible(np.isfinite(logs), case)
        return {
            variable.name: _as_table(posteriors[:, node, : variable.cardinality], self._states([node]), case)
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
            told = "The most probable explanation"
        else:
            nodes = _targets(self.structure.names, targets)
            _refuse_observed(case, nodes, self.variables)
            told = f"The most probable {_told(self.variables, nodes)}"
        logs, chosen = self.engine.choose(nodes, case, max_cells, told)
        possible = np.isfinite(logs)
        _tell_impossible(possible, case)
        if case.index is None:
            seen = set() if targets is not None else observed_names(evidence)
            asked = (v for v in nodes if self.variables[v].name not in seen)
            return {self.variables[v].name: self.variables[v].states[chosen[0, v]] for v in asked}
        table = {}
        for v in nodes:
            labels = self.variables[v].decode(chosen[:, v])
            table[self.variables[v].name] = labels if possible.all() else np.where(possible, labels, None)
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
        case = read_evidence(self.variables, frame)
        return float(self.engine.answer([], case, max_cells, "The log-likelihood")[:, 0].sum())

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
        check_arguments(NetworkQueries.sample, locals())
        n = whole("n", n)
        case = read_evidence(self.variables, evidence, likelihood)
        rng = np.random.default_rng(random_state)  # type: ignore[arg-type]
        codes = draw(self.engine, case, n, rng, max_cells)
        if case.index is None:
            index: pd.Index = pd.RangeIndex(n)
        else:
            index = pd.MultiIndex.from_product([case.index, range(n)], names=[case.index.name, "draw"])
        return pd.DataFrame({v.name: v.decode(codes[:, j]) for j, v in enumerate(self.variables)}, index=index)

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
        check_arguments(NetworkQueries.estimate, locals())
        n_samples = whole("n_samples", n_samples, 1)
        nodes = _targets(self.structure.names, targets)
        case = read_evidence(self.variables, evidence, likelihood)
        if case.index is not None:
            raise InputError("estimate takes one case of evidence, not a table; call it for each row.")
        _refuse_observed(case, nodes, self.variables)
        rng = np.random.default_rng(random_state)  # type: ignore[arg-type]
        share, error, effective = weigh(self.tables, case, nodes, n_samples, rng)
        answer = pd.DataFrame({"probability": share, "standard_error": error}, index=self._states(nodes))
        answer.attrs["effective_samples"] = effective
        return answer


def _targets(names: Sequence[str], targets: Any) -> list[int]:
    asked = [targets] if isinstance(targets, (str, int, np.integer)) else list(targets)
    nodes = [node_number(names, name) for name in asked]
    if not nodes:
        raise InputError(f"targets is empty; name one of the nodes [{listed(names)}].")
    if len(set(nodes)) < len(nodes):
        raise InputError(f"targets names a node twice: [{listed(asked)}].")
    return nodes


def _told(variables: Sequence[DiscreteVariable], nodes: Sequence[int]) -> str:
    return listed((variables[v].name for v in nodes), 3, str)


def _refuse_observed(case: Evidence, nodes: Sequence[int], variables: Sequence[DiscreteVariable]) -> None:
    """A target with a state in some case would be answered by the question; one with one state is no secret."""
    for v in nodes:
        seen = case.codes[:, v] >= 0
        if variables[v].cardinality > 1 and seen.any():
            state = variables[v].states[case.codes[int(seen.argmax()), v]]
            raise InputError(
                f"Target {shown(variables[v].name)} is in the evidence itself ({shown(state)}); take it out of the "
                "evidence, or out of the targets."
            )


def _tell_impossible(possible: NDArray[np.bool_], case: Evidence) -> None:
    if possible.all():
        return
    if case.index is None:
        raise InputError(
            "This evidence has probability 0 in the network, so that nothing follows from it. Leave findings out, or "
            "learn the tables with a pseudo-count (smoothing)."
        )
    rows = case.index[~possible]
    logger.warning(
        "%d of %d cases have probability 0 in the network; their answers are missing (rows %s)",
        len(rows),
        len(possible),
        listed(rows, 5),
    )


def _index_of(variables: Sequence[DiscreteVariable]) -> pd.Index:
    if len(variables) == 1:
        return pd.Index(list(variables[0].states), name=variables[0].name)
    return pd.MultiIndex.from_product([list(v.states) for v in variables], names=[v.name for v in variables])


def _as_table(answer: FloatArray, states: pd.Index, case: Evidence) -> Any:
    if case.index is None:
        return pd.Series(answer[0], index=states, name="probability")
    return pd.DataFrame(answer, index=case.index, columns=states)
