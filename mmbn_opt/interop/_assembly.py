"""From the families that another tool knows, in its own order, to a network of ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from mmbn_opt._arguments import listed, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.interop._bif_tokens import repeated
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.networks.tables import with_parents_ascending

__all__ = ["SUM_TOLERANCE", "Family", "assemble", "normalised_rows", "require_target", "text_states"]

SUM_TOLERANCE = 1e-2
"""How far a row of rounded numbers may be from a sum of 1."""

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Family:
    """A variable, its parents as the source orders them, and its table, shape (n_configurations, n_states).

    The last parent varies fastest.
    """

    variable: DiscreteVariable
    parents: tuple[str, ...]
    table: FloatArray


def normalised_rows(table: FloatArray, name: str) -> tuple[FloatArray, int]:
    """Rows that sum to 1, and how many of them were rounded numbers that did not.

    Raises
    ------
    InputError
        If an entry is negative or not finite, or a row is further than `SUM_TOLERANCE` from a sum of 1.

    Examples
    --------
    >>> normalised_rows(np.array([[0.333, 0.666], [0.5, 0.5]]), "a")[1]
    1
    """
    usable = np.isfinite(table) & (table >= 0)
    if not usable.all():
        bad = float(table[~usable][0])
        raise InputError(f"the probability of {shown(name)} holds {shown(bad)}; probabilities are numbers >= 0.")
    with np.errstate(over="ignore"):
        total = table.sum(axis=1, keepdims=True)
    off = np.abs(total - 1.0)
    if off.max(initial=0.0) > SUM_TOLERANCE:
        raise InputError(
            f"a row of the probability of {name!r} sums to {float(total[int(off.argmax()), 0]):.6g}; "
            f"up to {SUM_TOLERANCE} away from 1 passes as rounding."
        )
    rows: FloatArray = table / total
    return rows, int((off > _ROUNDING).sum())


def require_target(names: Sequence[str], target: str | None, source: str) -> None:
    """Raise `InputError` with the names unless the target, if there is one, is one of them."""
    if target is not None and target not in names:
        raise InputError(
            f"{source} has no variable {shown(target)} to be the class; its variables are: {listed(names)}."
        )


def assemble(families: Sequence[Family], target: str | None, source: str) -> BayesianNetwork:
    """The network of all families, the target as class; features keep the order of the families.

    Parameters
    ----------
    families : sequence of Family
        With normalised rows.
    target : str or None
        None for a network without a class.
    source : str
        What they come from, for messages.

    Raises
    ------
    InputError
        If there is no such variable, or the families do not make a network.
    """
    names = [family.variable.name for family in families]
    if again := repeated(names):
        raise InputError(f"{source} declares the variables [{listed(again)}] twice.")
    require_target(names, target, source)
    # The sort is stable: features stay in the source's order, the class comes last.
    ordered = sorted(families, key=lambda family: family.variable.name == target)
    index = {family.variable.name: k for k, family in enumerate(ordered)}
    variables = [family.variable for family in ordered]
    parents, log_cpts = [], []
    for family in ordered:
        strangers = [p for p in family.parents if p not in index]
        if strangers:
            raise InputError(
                f"{source} gives {shown(family.variable.name)} the parents [{listed(strangers)}], which it lacks."
            )
        order = [index[p] for p in family.parents]
        sizes = [variables[p].cardinality for p in order]
        shape = (prod(sizes), family.variable.cardinality)
        if family.table.shape != shape:
            raise InputError(
                f"{source} has a table of shape {family.table.shape} for {shown(family.variable.name)}; "
                f"its states and parents call for {shape}."
            )
        parents.append(tuple(order))
        with np.errstate(divide="ignore"):
            log_cpts.append(np.log(with_parents_ascending(family.table, order, sizes)))
    known = tuple(v.name for v in variables)
    structure = Structure(known[:-1], known[-1], tuple(parents), has_class=target is not None)
    return BayesianNetwork(structure, tuple(variables[:-1]), variables[-1], tuple(log_cpts))


def text_states(variable: DiscreteVariable, place: str) -> list[str]:
    """States as distinct texts, for a place that knows text only.

    Raises
    ------
    InputError
        If two states have the same text.
    """
    texts = [str(s) for s in variable.states]
    if again := repeated(texts):
        clash = [s for s in variable.states if str(s) in again]
        raise InputError(
            f"Column {shown(variable.name)} has the states [{listed(clash)}], which have the same text, "
            f"so {place} cannot tell them apart; rename them, or save the network as JSON."
        )
    return texts
