"""Why a classifier says what it says: the log-odds of two classes, split into one term a node that add up to them."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import listed, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt._lazy import delegate
from mmbn_opt.data.cells import as_state
from mmbn_opt.exceptions import InputError
from mmbn_opt.mixtures.classifier import DecisionRule, MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.scores.calibrated import says_nothing
from mmbn_opt.scores.calibration import Calibration

__all__ = ["Explanation", "explain_mixture", "explain_network"]

MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Explanation:
    """The log-odds of a class against another for one row, as a sum over the nodes.

    The terms are those of the chain rule, nodes taken in an order with parents before children. Where nothing is
    missing, the term of a node is the logarithm of the ratio of its two table entries, whatever the order; the class's
    own term is its prior. A missing feature is summed out and has the term 0; a feature that depends on it has the term
    ``log P(x_i | c, features before it) - log P(x_i | c', features before it)``, so that what several features tell of
    a missing parent is credited to them in that order.

    Parameters
    ----------
    names : tuple of str
        The class, then the features in the order of the chain rule.
    values : tuple of str
        What is known of each; "missing" where nothing is.
    classes : tuple of labels
    odds : float64 array (n_names, n_classes, n_classes)
        Term of each name for each pair of classes.
    proba : float64 array (n_classes,)
    first, second : int
        The pair that is looked at: by default the class that is predicted against the next most probable one.
    of : str
        What the log-odds are of.
    """

    names: tuple[str, ...]
    values: tuple[str, ...]
    classes: tuple[Hashable, ...]
    odds: FloatArray = field(repr=False)
    proba: FloatArray
    first: int
    second: int
    of: str = "log-odds of the calibrated probabilities"

    @property
    def label(self) -> Hashable:
        """The class that the terms speak for."""
        return self.classes[self.first]

    @property
    def rival(self) -> Hashable:
        """The class that they speak against."""
        return self.classes[self.second]

    @property
    def terms(self) -> FloatArray:
        """One number a name, in nats; positive where it speaks for `label`."""
        terms: FloatArray = self.odds[:, self.first, self.second]
        return terms

    @property
    def log_odds(self) -> float:
        """Their sum: log-odds of `label` against `rival`."""
        return math.fsum(self.terms.tolist())

    def against(self, rival: Any, label: Any = None) -> "Explanation":
        """The same row for another pair of classes.

        Parameters
        ----------
        rival : label
        label : label or None
            None keeps the class that the terms speak for.

        Raises
        ------
        InputError
            For a class that there is not, or a row that is impossible under both.
        """
        first = self.first if label is None else self._number(label)
        return _checked(replace(self, first=first, second=self._number(rival)))

    def to_frame(self) -> pd.DataFrame:
        """A row a node, those that say most first: its value, its term, and the factor by which it changes the odds."""
        order = np.argsort(-np.abs(self.terms), kind="stable")
        with np.errstate(over="ignore"):
            frame = pd.DataFrame(
                {
                    "node": [self.names[k] for k in order],
                    "value": [self.values[k] for k in order],
                    "log_odds": self.terms[order],
                    "factor": np.exp(self.terms[order]),
                }
            )
        return frame.set_index("node")

    def to_svg(self, *, narrow: bool = False) -> str:
        """A waterfall from the first term to the log-odds, as a self-contained SVG."""
        svg: str = delegate("waterfall_svg")(self, narrow=narrow)
        return svg

    def plot(self, ax: Any = None) -> Any:
        """The waterfall with matplotlib (extra ``plot``)."""
        return delegate("plot_waterfall")(self, ax=ax)

    def __str__(self) -> str:
        lines = [f"{self.label!s} against {self.rival!s}: {self.log_odds:+.4f} nats, {self.of}"]
        for name, row in self.to_frame().iterrows():
            told = f"{name!s}" if row["value"] == "" else f"{name!s} = {row['value']}"
            lines.append(f"{row['log_odds']:+9.4f}  {told}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        html: str = delegate("explanation_html")(self)
        return html

    def _number(self, label: Any) -> int:
        for k, known in enumerate(self.classes):
            if known == as_state(label) and isinstance(known, bool) == isinstance(as_state(label), bool):
                return k
        raise InputError(f"There is no class {shown(label)}; the classes are [{listed(self.classes)}].")


def explain_network(
    network: BayesianNetwork, codes: NDArray[np.integer], calibration: Calibration | None = None
) -> Explanation:
    """The explanation of one row of a network.

    Parameters
    ----------
    network : BayesianNetwork
        Of any structure; the class may have parents.
    codes : int array (n_features,)
        From `BayesianNetwork.encode`; -1 marks a missing cell.
    calibration : Calibration or None
        See `CalibratedModel` for a row that says nothing.

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset, naive_bayes
    >>> data = DiscreteDataset.from_arrays([["a", "u"], ["b", "v"], ["b", "u"], ["b", "v"]], [0, 1, 0, 1])
    >>> network = BayesianNetwork.fit(naive_bayes(data), data)
    >>> print(explain_network(network, network.encode([["a", None]])[0]))
    0 against 1: +0.6931 nats, log-odds of the network
      +0.6931  x0 = a
      +0.0000  class
      +0.0000  x1 = missing
    """
    codes = np.array(codes, dtype=np.int32)
    joint = network.log_joint(codes[None, :])
    if np.isneginf(joint).all():
        raise InputError(
            "The row is impossible under every class, so that they have no odds: prediction gives the class prior. "
            "Learn with smoothing > 0."
        )
    silent = bool(says_nothing(network, codes[None, :])[0])
    order = network.structure.topological_order()
    by_class = _factors(network, codes) if (codes >= 0).all() else _chain(network, codes, order)
    top = network.structure.class_index
    places = [top, *(v for v in order if v != top)]
    states = [str(network.features[v].states[codes[v]]) if codes[v] >= 0 else MISSING for v in places[1:]]
    return _explained(
        tuple(network.structure.names[v] for v in places), ("", *states), tuple(network.target.states),
        _by_pairs(by_class[places]), network.posterior(joint, log=True), calibration, "the network", silent,
    )  # fmt: skip


def explain_mixture(model: MixtureClassifier, x: FloatArray, calibration: Calibration | None = None) -> Explanation:
    """The explanation of one row of a classifier of mixtures, features in the order of the columns.

    With more than two classes, a classifier by votes has log-odds for each duel: those of the program that tells the
    two classes apart.

    Parameters
    ----------
    model : MixtureClassifier
    x : float64 array (n_features,)
        NaN marks a missing value.
    calibration : Calibration or None
    """
    n, n_classes = model.n_features, model.n_classes
    known = np.tril(np.ones((n + 1, n), dtype=np.bool_), -1)
    rows = np.where(known, np.asarray(x, dtype=np.float64), np.nan)
    z = (rows - model.location) / model.scale
    shares = np.zeros((n + 1, n_classes, n_classes))
    votes = model.rule is DecisionRule.MAX_WINS and n_classes > 2
    for part in model.parts:
        joint = part.log_joint(z)
        if votes:
            (a,), (b,) = part.groups
            shares[:, a, b], shares[:, b, a] = joint[:, 0] - joint[:, 1], joint[:, 1] - joint[:, 0]
        elif model.rule is DecisionRule.ONE_VS_REST and n_classes > 2:
            (c,) = part.groups[0]
            shares[:, c, :] += (joint[:, 0] - joint[:, 1])[:, None]
            shares[:, :, c] -= (joint[:, 0] - joint[:, 1])[:, None]
        else:
            shares = joint[:, :, None] - joint[:, None, :]
    terms = np.concatenate([shares[:1], np.diff(shares, axis=0)])
    values = ("", *(MISSING if math.isnan(value) else f"{value:.6g}" for value in np.asarray(x, dtype=np.float64)))
    row = np.asarray(x, dtype=np.float64)[None, :]
    scores = model.decision_values(row)
    silent = bool(says_nothing(model, row)[0])
    names = (model.class_name, *model.feature_names)
    classes = tuple(as_state(label) for label in model.classes)
    if not votes:
        return _explained(names, values, classes, terms, scores, calibration, "the mixtures", silent)
    with np.errstate(divide="ignore"):
        own = np.log(model.proba_of(scores))[0]
    if calibration is not None and calibration.changes:
        own = _calibrated(scores, calibration, silent)
    return _ranked(names, values, classes, terms, scores[0], own, "log-odds of the pair's own program")


def _explained(
    names: tuple[str, ...],
    values: tuple[str, ...],
    classes: tuple[Hashable, ...],
    odds: FloatArray,
    scores: FloatArray,
    calibration: Calibration | None,
    what: str,
    silent: bool,
) -> Explanation:
    of = f"log-odds of {what}"
    if calibration is None or not calibration.changes:
        return _ranked(names, values, classes, odds, scores[0], Calibration().log_proba(scores)[0], of)
    own = _calibrated(scores, calibration, silent)
    of += f", calibrated: {replace(calibration, before=None, after=None)}"
    between = own[:, None] - own[None, :]
    if silent and calibration.shares:
        odds = np.zeros_like(odds)
        odds[0] = between
        of = "log-odds of the classes' shares, since the row says nothing"
    elif not calibration.bends:
        odds = odds / calibration.temperature
    else:  # one factor a pair, so that the terms keep their proportions and add up to the calibrated log-odds
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = between / (scores[0][:, None] - scores[0][None, :])
        odds = odds * np.where(np.isfinite(factor), factor, 1.0 / calibration.temperature)
    return _ranked(names, values, classes, odds, scores[0], own, of)


def _calibrated(scores: FloatArray, calibration: Calibration, silent: bool) -> FloatArray:
    """Log-probabilities of one row, as `CalibratedModel` has them."""
    if silent and calibration.shares:
        return calibration.of_silence(int(scores[0].argmax()))
    own: FloatArray = calibration.log_proba(scores)[0]
    return own


def _ranked(
    names: tuple[str, ...],
    values: tuple[str, ...],
    classes: tuple[Hashable, ...],
    odds: FloatArray,
    scores: FloatArray,
    own: FloatArray,
    of: str,
) -> Explanation:
    """The class that is predicted against the next one."""
    ranked = np.argsort(-scores, kind="stable")
    first, second = int(ranked[0]), int(ranked[min(1, len(ranked) - 1)])
    return _checked(Explanation(names, values, classes, odds, np.exp(own), first, second, of))


def _checked(explanation: Explanation) -> Explanation:
    if math.isnan(float(np.sum(explanation.terms))):
        raise InputError(
            f"The row is impossible under {shown(explanation.label)} and under {shown(explanation.rival)}, so that "
            "they have no odds. Learn with smoothing > 0, or ask for another pair."
        )
    return explanation


def _factors(network: BayesianNetwork, codes: NDArray[np.integer]) -> FloatArray:
    """Table entry of each node under each class, in logs, shape (n_nodes, n_classes); all features are known."""
    tables, c = network.tables, network.structure.class_index
    n_classes = tables.cardinalities[c]
    entries = np.zeros((c + 1, n_classes))
    for node, (parents, table) in enumerate(zip(network.structure.parents, tables.log_tables, strict=True)):
        if node != c and c not in parents:
            continue  # the same under every class
        row = 0
        for parent in parents:
            row = row * tables.cardinalities[parent] + (0 if parent == c else int(codes[parent]))
        entries[node] = table[row] if node == c else table[row : row + n_classes, codes[node]]
    return entries


def _chain(network: BayesianNetwork, codes: NDArray[np.integer], order: Sequence[int]) -> FloatArray:
    """What each node adds to ``log P(c, features so far)``, in an order; before the class it adds nothing."""
    top = network.structure.class_index
    known = [v for v in order if v != top and codes[v] >= 0]
    rows = np.full((len(known) + 1, len(codes)), -1, dtype=np.int32)
    for k, v in enumerate(known):
        rows[k + 1 :, v] = codes[v]
    joint = network.log_joint(rows)
    entries = np.zeros((top + 1, joint.shape[1]))
    before = sum(1 for v in known if order.index(v) < order.index(top))
    entries[top] = joint[before]
    with np.errstate(invalid="ignore"):
        for k, v in enumerate(known[before:], before):
            # A class that was ruled out before stays so, whatever else is known.
            entries[v] = np.where(np.isneginf(joint[k]), 0.0, joint[k + 1] - joint[k])
    return entries


def _by_pairs(by_class: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        odds: FloatArray = by_class[:, :, None] - by_class[:, None, :]
    return odds
