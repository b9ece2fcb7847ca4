"""Exact separation of cluster rows where nodes have several parents (Cussens 2011): a small program in HiGHS.

With binaries y_j (node j in the cluster) and J_k (a member chooses column k, which has a parent inside),

``min  sum_j y_j - sum_k x_k J_k   s.t.  J_k <= y_owner(k),  J_k <= sum_{p in parents(k)} y_p,  sum_j y_j >= 2``

is the left side of the cluster row of y at the point x, since x gives 1 to the columns of each node: the row is
violated where the value is below 1. J_k is whole by itself once y is. Only columns with ``x_k > 0`` and only nodes on a
common cycle of these take part, each strongly connected part in a program of its own.
"""

from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray, FloatArray
from ...mixed_integer.highs_model import fresh_scheduler, quiet_highs

__all__ = ["Limits", "cyclic_parts", "inside_part", "violated_clusters"]


class Limits(NamedTuple):
    """Of a search for clusters.

    Parameters
    ----------
    most : int
        Clusters at most.
    tolerance : float
        By which a row has to be violated.
    nodes : int
        Of the tree behind each cluster.
    seconds : float
    """

    most: int
    tolerance: float
    nodes: int
    seconds: float


def cyclic_parts(arcs: FloatArray) -> list[NDArray[np.intp]]:
    """Strongly connected parts of two nodes or more; ``arcs[j, i] > 0`` is an arc from j to i."""
    from scipy.sparse.csgraph import connected_components  # deferred: all of scipy.linalg comes with it

    labels = connected_components(arcs > 1e-9, directed=True, connection="strong")[1]
    return [np.flatnonzero(labels == part) for part in np.flatnonzero(np.bincount(labels) > 1)]


def inside_part(
    support: NDArray[np.intp], owner: NDArray[np.intp], parents: BoolArray, nodes: NDArray[np.intp]
) -> tuple[NDArray[np.intp], BoolArray]:
    """Columns of a part's nodes, and which of its nodes are parents in each."""
    columns = support[np.isin(owner[support], nodes)]
    return columns, parents[np.ix_(columns, nodes)]


def violated_clusters(
    x: FloatArray,
    support: NDArray[np.intp],
    owner: NDArray[np.intp],
    parents: BoolArray,
    nodes: NDArray[np.intp],
    limits: Limits,
) -> list[BoolArray]:
    """Clusters of violated rows among `nodes`, the most violated first, then the most violated apart from those found.

    Parameters
    ----------
    x : float64 array (n_columns,)
        Sums to 1 over the columns of each node.
    support : int array
        Columns above 0.
    owner : int array (n_columns,)
    parents : bool array (n_columns, n_nodes)
    nodes : int array
        A strongly connected part.
    limits : Limits

    Returns
    -------
    list of bool array (n_nodes,)
        Empty where no row is violated, unless a limit ended the search.
    """
    place = np.full(parents.shape[1], -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    columns, inside = inside_part(support, owner, parents, nodes)
    columns, inside = columns[inside.any(axis=1)], inside[inside.any(axis=1)]
    highs = _program(x[columns], place[owner[columns]], inside, limits)
    found: list[BoolArray] = []
    while len(found) < limits.most:
        highs.run()
        if highs.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            break
        value = np.array(highs.getSolution().col_value)[: len(nodes)] > 0.5
        if highs.getInfo().objective_function_value >= 1.0 - limits.tolerance:
            break
        members = np.zeros(parents.shape[1], dtype=bool)
        members[nodes[value]] = True
        found.append(members)
        if len(nodes) - sum(int(m.sum()) for m in found) < 2:
            break
        banned = np.flatnonzero(value).astype(np.int32)
        highs.changeColsBounds(len(banned), banned, np.zeros(len(banned)), np.zeros(len(banned)))
    return found


def _program(x: FloatArray, own: NDArray[np.int64], inside: BoolArray, limits: Limits) -> Any:
    """The program of a part: `own` and `inside` number its nodes from 0."""
    n_columns, n = inside.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n + n_columns, 2 * n_columns + 1
    lp.col_cost_ = np.concatenate([np.ones(n), -x])
    lp.col_lower_, lp.col_upper_ = np.zeros(n + n_columns), np.ones(n + n_columns)
    lp.row_lower_ = np.concatenate([[2.0], np.zeros(2 * n_columns)])
    lp.row_upper_ = np.full(2 * n_columns + 1, np.inf)
    # y_owner - J >= 0, then sum of parents' y - J >= 0.
    each = np.arange(n_columns)
    at, parent = np.nonzero(inside)
    rows = np.concatenate([np.zeros(n), 1 + each, 1 + each, 1 + n_columns + each, 1 + n_columns + at]).astype(np.int64)
    cols = np.concatenate([np.arange(n), own, n + each, n + each, parent]).astype(np.int32)
    vals = np.concatenate([np.ones(n), np.ones(n_columns), -np.ones(2 * n_columns), np.ones(len(at))])
    order = np.argsort(rows, kind="stable")
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=lp.num_row_))]).astype(np.int32)
    lp.a_matrix_.index_, lp.a_matrix_.value_ = cols[order], vals[order]
    whole, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    lp.integrality_ = [whole] * n + [real] * n_columns
    fresh_scheduler()
    highs = quiet_highs()
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 1e-6)
    highs.setOptionValue("objective_bound", 1.0 - limits.tolerance)
    highs.setOptionValue("mip_max_nodes", limits.nodes)
    highs.setOptionValue("time_limit", min(limits.seconds, 1e9))
    highs.passModel(lp)
    return highs
