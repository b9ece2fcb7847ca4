"""Which factors have a Bayesian network with the same posterior: the host test, by the structure alone.

A factor ``f(x, z)`` becomes a CPT by dividing each row by ``rho(z) = sum_x f(x, z)``. The posterior stays if that goes
into another factor that contains all of ``z``, the *host*. A host that is not a parent of the child only passes ``rho``
on to its own host, so that the question has one answer a child: the topologically last parent, which must have all
other parents as its own.

Source: Guo, Wilkinson & Schuurmans 2005, Proposition 2 (parents of each child of the class pairwise adjacent:
sufficient); Wettig et al. 2003. With feature parents of the class the host rule is the weaker, exact condition.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

__all__ = [
    "Renormalizability",
    "Renormalization",
    "Violation",
    "last_of",
    "moralized",
    "positions_of",
    "renormalizability",
]


@dataclass(frozen=True)
class Violation:
    """A child of the class and two of its parents that no factor holds together.

    Parameters
    ----------
    child : str
    parents : (str, str)
    """

    child: str
    parents: tuple[str, str]

    def __str__(self) -> str:
        first, second = self.parents
        return f"{self.child!r} has the parents {first!r} and {second!r}, which are not adjacent"


@dataclass(frozen=True)
class Renormalizability:
    """Whether all factors on a structure can be normalised without a change of ``P(c | x)``; true or false as it is.

    Parameters
    ----------
    violations : tuple of Violation
        One a child without a host; empty when there is none.
    """

    violations: tuple[Violation, ...] = ()

    def __bool__(self) -> bool:
        return not self.violations

    def __str__(self) -> str:
        return "renormalizable" if self else "not renormalizable: " + "; ".join(map(str, self.violations))


@dataclass(frozen=True, eq=False)
class Renormalization:
    """A normalised network and how far its posterior is from that of the factors.

    Parameters
    ----------
    network : BayesianNetwork
    allowed : Renormalizability
        What the structure says; where it says no, `network` is a best effort.
    difference : float
        Largest ``|P(c | x)| `` before minus after, over all joint states of the features around the class (over 100,000
        random ones when there are more).
    empty_rows : int
        Rows without any mass, which were set to the uniform distribution.
    """

    network: BayesianNetwork
    allowed: Renormalizability
    difference: float
    empty_rows: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether the posterior is the same up to rounding."""
        return self.difference <= 1e-9


def renormalizability(structure: Structure) -> Renormalizability:
    """The host test.

    Examples
    --------
    Figure 2 of Guo et al. 2005: y and z are not adjacent.

    >>> figure_2 = Structure.from_names(["x", "z"], "y", [("y", "x"), ("z", "x")])
    >>> print(renormalizability(figure_2))
    not renormalizable: 'x' has the parents 'y' and 'z', which are not adjacent

    Two parents of the class need not be adjacent, since the factor of the class holds them both:

    >>> edges = [("a", "y"), ("b", "y"), ("a", "x"), ("b", "x"), ("y", "x")]
    >>> bool(renormalizability(Structure.from_names(["x", "a", "b"], "y", edges)))
    True
    """
    position = positions_of(structure)
    violations = []
    for child in structure.children(structure.class_index):
        host = last_of(structure.parents[child], position)
        apart = [p for p in structure.parents[child] if p != host and p not in structure.parents[host]]
        if apart:
            # The class is named where it is one of the two, as in the paper's figure.
            other = structure.class_index if structure.class_index in apart else apart[0]
            first, second = sorted((other, host), key=position.__getitem__)
            violations.append(Violation(structure.names[child], (structure.names[first], structure.names[second])))
    return Renormalizability(tuple(violations))


def moralized(structure: Structure) -> Structure:
    """The structure with the edges added that make it renormalizable; itself where it is.

    The topologically last parent of each child of the class gets the other parents as its own. All of them come before
    it, so that no cycle arises.

    Examples
    --------
    >>> figure_2 = Structure.from_names(["x", "z"], "y", [("y", "x"), ("z", "x")])
    >>> moralized(figure_2).edges
    [('z', 'x'), ('y', 'x'), ('y', 'z')]
    """
    position = positions_of(structure)
    parents = [set(ps) for ps in structure.parents]
    # From the last node on: a host that gets parents is, as a child of the class, looked at after that.
    for child in sorted(position, key=position.__getitem__, reverse=True):
        if structure.class_index not in parents[child]:
            continue
        host = max(parents[child], key=position.__getitem__)
        parents[host] |= parents[child] - {host}
    if parents == [set(ps) for ps in structure.parents]:
        return structure
    return Structure(structure.feature_names, structure.class_name, tuple(tuple(sorted(ps)) for ps in parents))


def positions_of(structure: Structure) -> dict[int, int]:
    """Place of each node in the topological order."""
    return {node: k for k, node in enumerate(structure.topological_order())}


def last_of(nodes: Sequence[int], position: dict[int, int]) -> int:
    """The topologically last of some nodes."""
    return max(nodes, key=position.__getitem__)
