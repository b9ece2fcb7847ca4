"""Structures from tests of conditional independence, oriented into classifiers: section 7 of Guo et al. 2005."""

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mmbn_opt._arguments import check_arguments, checked_number, choice_of, whole
from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import MissingDependencyError
from mmbn_opt.networks.renormalizability import Renormalizability, moralized, renormalizability
from mmbn_opt.networks.structure import Structure

logger = logging.getLogger(__name__)

__all__ = ["IndependenceStructure", "from_independence_tests", "independence_p_value"]

IndependenceTest = Literal["g", "chi_square", "permutation"]
TESTS = ("g", "chi_square", "permutation")
SHUFFLES = 999


@dataclass(frozen=True, eq=False)
class IndependenceStructure:
    """A structure that tests of conditional independence gave, and what it takes to be normalised.

    Parameters
    ----------
    structure : Structure
        All edges oriented.
    renormalizability : Renormalizability
        Whether parameters on it can be normalised without a change of ``P(c | x)`` (Proposition 2 of the paper).
    repaired : Structure
        The structure with edges between parents of the class's children where that is needed; the same where not.
    directed, undirected : tuple of (str, str)
        What the tests decided; the others could be oriented in either direction.
    n_tests : int
    level : float
        A pair is taken for independent where the p-value is above it.
    """

    structure: Structure
    renormalizability: Renormalizability
    repaired: Structure
    directed: tuple[tuple[str, str], ...]
    undirected: tuple[tuple[str, str], ...]
    n_tests: int
    level: float

    @property
    def added(self) -> tuple[tuple[str, str], ...]:
        """The edges that the repair adds."""
        return tuple(sorted(set(self.repaired.edges) - set(self.structure.edges)))

    @property
    def augmented(self) -> Structure:
        """The edges between features, with the class as a parent of them all: no feature is lost to few rows.

        Parents of a feature that are not adjacent are joined (`moralized`), so that parameters can be normalised.
        """
        found = self.structure
        parents = [
            (*(p for p in own if p != found.class_index), found.class_index)
            for own in found.parents[: found.class_index]
        ]
        return moralized(Structure(found.feature_names, found.class_name, (*parents, ())))

    def __str__(self) -> str:
        return (
            f"{len(self.structure.edges)} edges by {self.n_tests} tests at level {self.level:g}; "
            f"{self.renormalizability}; repaired by {len(self.added)} more edges"
        )


def from_independence_tests(
    data: DiscreteDataset,
    method: Literal["pc"] = "pc",
    *,
    test: IndependenceTest = "g",
    level: float = 0.05,
    max_given: int = 3,
    seed: int = 0,
) -> IndependenceStructure:
    """A structure from tests of conditional independence, by the PC algorithm of pgmpy.

    The paper has structures of "PowerConstructor" (Cheng & Greiner 1999), which is not kept any more; PC (Spirtes,
    Glymour & Scheines 2001) answers the same question by the same kind of test. Edges that the tests leave undirected
    are oriented so that neither a cycle nor a new collider arises, where that is possible.

    Parameters
    ----------
    data : DiscreteDataset
    method : {"pc"}
    test : {"g", "chi_square", "permutation"}
        The likelihood-ratio or Pearson's statistic against its limit, degrees of freedom counted from the states that
        occur in each stratum; or the first against 999 permutations within the strata, for small samples.
    level : float
        Of each test, in (0, 1).
    max_given : int
        Most nodes that are conditioned on.
    seed : int
        Of the permutations.

    Returns
    -------
    IndependenceStructure

    Raises
    ------
    MissingDependencyError
        If pgmpy is not installed (extra "interop").

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> a, b = (np.where(rng.random(500) < 0.8, y, 1 - y) for _ in range(2))
    >>> data = mm.DiscreteDataset.from_arrays(np.column_stack([a, b]), y)
    >>> found = from_independence_tests(data)
    >>> sorted(tuple(sorted(edge)) for edge in found.structure.edges), bool(found.renormalizability)
    ([('class', 'x0'), ('class', 'x1')], True)
    """
    check_arguments(from_independence_tests, locals())
    choice_of("method", method, ("pc",))
    choice_of("test", test, TESTS)
    checked_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
    whole("max_given", max_given)
    whole("seed", seed)
    data.require_learnable()
    names = (*data.feature_names, data.class_name)
    tested = _Tests(data, test, float(level), seed)
    directed, undirected = _pc(data, names, tested, float(level), max_given)
    structure = Structure.from_names(data.feature_names, data.class_name, _oriented(names, directed, undirected))
    if not structure.parents[structure.class_index] and not structure.children(structure.class_index):
        logger.warning(
            "the tests leave the class %r without an edge, so that it predicts by the class frequencies alone; "
            "raise level, lower max_given, or take .augmented, which links the class to all features",
            data.class_name,
        )
    return IndependenceStructure(
        structure, renormalizability(structure), moralized(structure), directed, undirected, tested.count, float(level)
    )


class _Tests:
    """The tests of a run, each pair under each condition once."""

    def __init__(self, data: DiscreteDataset, test: IndependenceTest, level: float, seed: int) -> None:
        self.codes = np.column_stack([data.codes, data.target_codes])
        self.weight = data.sample_weight
        self.test, self.level, self.seed = test, level, seed
        self.known: dict[tuple[int, int, tuple[int, ...]], float] = {}

    @property
    def count(self) -> int:
        return len(self.known)

    def __call__(self, first: int, second: int, given: Any, *rest: Any, **settings: Any) -> bool:
        """Whether two nodes are independent given others; in the form in which pgmpy asks."""
        leave_in_time()
        a, b = sorted((int(first), int(second)))
        key = a, b, tuple(sorted(map(int, given)))
        if key not in self.known:
            columns = self.codes[:, list(key[2])]
            p = independence_p_value(
                self.codes[:, a], self.codes[:, b], columns, self.test, weight=self.weight, seed=self.seed
            )
            self.known[key] = p
        return self.known[key] > self.level


def independence_p_value(
    x: Any, y: Any, given: Any, test: IndependenceTest = "g", *, weight: FloatArray | None = None, seed: int = 0
) -> float:
    """The p-value of the hypothesis that two columns of codes are independent given others.

    Parameters
    ----------
    x, y : int arrays (n,)
    given : int array (n, m)
    test : {"g", "chi_square", "permutation"}
    weight : float64 array (n,) or None
        Numbers of samples; "permutation" shuffles rows and takes each for one.
    seed : int

    Examples
    --------
    >>> x = np.array([0, 0, 1, 1] * 10)
    >>> round(independence_p_value(x, np.array([0, 1, 0, 1] * 10), np.empty((40, 0), dtype=int)), 6)
    1.0
    >>> independence_p_value(x, x, np.empty((40, 0), dtype=int)) < 1e-9
    True
    """
    x, y = (np.unique(column, return_inverse=True)[1] for column in (x, y))
    given = np.asarray(given)
    stratum = (
        np.unique(given, axis=0, return_inverse=True)[1].ravel() if given.shape[1] else np.zeros(len(x), dtype=int)
    )
    if test != "permutation":
        statistic, freedom = _statistic(x, y, stratum, np.ones(len(x)) if weight is None else weight, test)
        from scipy.special import chdtrc  # deferred, as `scipy.stats` would take a second of every command

        return float(chdtrc(freedom, statistic)) if freedom else 1.0
    rng, ones = np.random.default_rng(seed), np.ones(len(x))
    seen = _statistic(x, y, stratum, ones, "g")[0]
    order = np.argsort(stratum, kind="stable")
    beyond = 0
    for _ in range(SHUFFLES):
        # Rows in random order within each stratum: those of the first column keep their places.
        shuffled = y.copy()
        shuffled[order] = y[np.lexsort([rng.random(len(y)), stratum])]
        beyond += _statistic(x, shuffled, stratum, ones, "g")[0] >= seen - 1e-9
    return (1 + beyond) / (1 + SHUFFLES)


def _statistic(x: Any, y: Any, stratum: Any, weight: FloatArray, test: IndependenceTest) -> tuple[float, int]:
    """Statistic and degrees of freedom, summed over the strata."""
    shape = int(stratum.max()) + 1, int(x.max()) + 1, int(y.max()) + 1
    cell = (stratum * shape[1] + x) * shape[2] + y
    table = np.bincount(cell, weights=weight, minlength=shape[0] * shape[1] * shape[2]).reshape(shape)
    rows, columns = table.sum(axis=2), table.sum(axis=1)
    total = table.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = rows[:, :, None] * columns[:, None, :] / total[:, None, None]
        if test == "chi_square":
            terms = np.where(expected > 0, (table - expected) ** 2 / expected, 0.0)
        else:
            terms = np.where(table > 0, 2.0 * table * np.log(table / expected), 0.0)
    freedom = np.maximum((rows > 0).sum(axis=1) - 1, 0) * np.maximum((columns > 0).sum(axis=1) - 1, 0)
    return float(terms.sum()), int(freedom.sum())


Edges = tuple[tuple[str, str], ...]


def _pc(
    data: DiscreteDataset, names: Sequence[str], tested: _Tests, level: float, max_given: int
) -> tuple[Edges, Edges]:
    """Directed and undirected edges of pgmpy's PC algorithm."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a package says of its own parts is not our caller's affair
        try:
            from pgmpy.causal_discovery import PC
        except ImportError as error:
            raise MissingDependencyError(
                "Structures from independence tests need the package pgmpy; install it with: pip install "
                "'mmbn-opt[interop]'"
            ) from error
        # Nodes are numbers: sets of texts come in another order in each process, and so would the directions.
        frame = pd.DataFrame(tested.codes, columns=range(len(names)))
        search = PC(
            variant="stable", ci_test=tested, significance_level=level, max_cond_vars=max_given, n_jobs=1,
            show_progress=False,
        )  # fmt: skip
        graph = search.fit(frame).causal_graph_
    directed = sorted((names[a], names[b]) for a, b in graph.directed_edges)
    undirected = sorted(tuple(sorted((names[a], names[b]))) for a, b in graph.undirected_edges)
    return tuple(directed), tuple((a, b) for a, b in undirected)


def _oriented(names: Sequence[str], directed: Edges, undirected: Edges) -> list[tuple[str, str]]:
    """All edges with a direction, without a cycle; without a new collider too, where there is such an order.

    Dor & Tarsi (1992): a node with no outgoing edge, whose undirected neighbours see all its other neighbours, can be
    the last. Tests of few rows may give a graph that has no such node, or a cycle; then any node of the fewest outgoing
    edges is the last, and its edges point at it.
    """
    into = {frozenset(edge): edge for edge in directed}
    adjacent = {name: set[str]() for name in names}
    for a, b in (*directed, *undirected):
        adjacent[a].add(b)
        adjacent[b].add(a)
    left, edges = set(names), []

    def points_out(name: str) -> int:
        return sum(into.get(frozenset((name, other))) == (name, other) for other in adjacent[name] & left)

    def is_last(name: str) -> bool:
        near = adjacent[name] & left
        free = [other for other in near if frozenset((name, other)) not in into]
        return points_out(name) == 0 and all(near - {other} <= adjacent[other] for other in free)

    while left:
        ordered = [name for name in names if name in left]
        last = next((name for name in ordered if is_last(name)), None) or min(ordered, key=points_out)
        edges += [(other, last) for other in sorted(adjacent[last] & left)]
        left.remove(last)
    return edges
