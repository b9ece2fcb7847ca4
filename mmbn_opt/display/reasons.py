"""Why a model says what it says, for a report: a few rows with their terms, and what each feature is worth."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.display._pictures import Picture
from mmbn_opt.display._text import number
from mmbn_opt.display.waterfall import waterfall_picture
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.scores.calibrated import CalibratedModel
from mmbn_opt.scores.explanation import Explanation, explain_mixture, explain_network
from mmbn_opt.scores.flips import smallest_flip
from mmbn_opt.scores.importance import margins_lost

__all__ = ["Reason", "Reasons", "reasons_of"]

_MOST_CELLS = 300_000
"""Rows times features that the worth of features is computed from; as many rows as that makes."""

_MOST_TRIED = 20_000
"""Rows that are tried for a change that flips a decision."""

_MOST_FEATURES = 15


@dataclass(frozen=True)
class Reason:
    """One row.

    Parameters
    ----------
    title : str
    picture : Picture
        The waterfall of its terms.
    flip : str
        What would give another decision; empty for mixtures.
    """

    title: str
    picture: Picture
    flip: str


@dataclass(frozen=True)
class Reasons:
    """What a report tells of reasons.

    Parameters
    ----------
    rows : tuple of Reason
    features : list of (name, margin lost, accuracy lost)
    caption : str
    """

    rows: tuple[Reason, ...]
    features: list[tuple[str, str, str]]
    caption: str


def reasons_of(
    model: CalibratedModel,
    rows: NDArray[Any],
    codes: NDArray[np.integer],
    log_proba: FloatArray,
    numbers: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    where: str = "held-out rows",
) -> Reasons:
    """The surest right row, the surest wrong one and the least sure one, and the worth of the features.

    Parameters
    ----------
    model : CalibratedModel
    rows : int array of codes, or float array, (n_samples, n_features)
    codes : int array (n_samples,)
        Classes of the rows; -1 for a class that the model does not know.
    log_proba : float64 array (n_samples, n_classes)
        Of the model, calibrated.
    numbers : sequence or None
        What each row is called; by default its position.
    names : sequence of str or None
        Of the features, where they are others than the model's.
    where : str
        What the rows are.
    """
    bare = model.model
    told = []
    for kind, row in _telling(log_proba, codes):
        with suppress(InputError):  # a row that is impossible under every class has no odds
            found = _explained(model, rows[row])
            if names is not None and not isinstance(bare, BayesianNetwork):
                found = replace(found, names=(found.names[0], *names))
            known = codes[row] >= 0
            truth = f"true class {bare.classes[codes[row]]}" if known else "its class was never seen in training"
            title = (
                f"{kind}: row {row if numbers is None else numbers[row]}, {truth}, taken for {found.label} with "
                f"probability {np.exp(log_proba[row].max()):.4f}"
            )
            flip = ""
            if isinstance(bare, BayesianNetwork):
                flip = str(smallest_flip(bare, rows[row], max_tried=_MOST_TRIED))
            told.append(Reason(title, waterfall_picture(found), flip))
    labelled = np.flatnonzero(codes >= 0)
    most = max(20, _MOST_CELLS // max(1, rows.shape[1]))
    if len(labelled) > most:
        labelled = labelled[np.linspace(0, len(labelled) - 1, most).round().astype(int)]
    table = margins_lost(bare, rows[labelled], codes[labelled], temperature=model.calibration.temperature)
    if names is not None and not isinstance(bare, BayesianNetwork):
        table = table.rename(index=dict(zip(bare.feature_names, names, strict=True)))
    return Reasons(tuple(told), _feature_rows(table), _caption(len(labelled), where, len(table)))


def _telling(log_proba: FloatArray, codes: NDArray[np.integer]) -> Iterator[tuple[str, int]]:
    sure, right = log_proba.max(axis=1), log_proba.argmax(axis=1) == codes
    taken: set[int] = set()
    for kind, among, key in (
        ("Right and surest", right, sure),
        ("Wrong and surest", ~right, sure),
        ("Least sure", np.ones(len(codes), dtype=np.bool_), -sure),
    ):
        if among.any():
            row = int(np.where(among, key, -np.inf).argmax())
            if row not in taken:
                taken.add(row)
                yield kind, row


def _explained(model: CalibratedModel, row: NDArray[Any]) -> Explanation:
    if isinstance(model.model, BayesianNetwork):
        return explain_network(model.model, row, model.calibration)
    return explain_mixture(model.model, row, model.calibration)


def _feature_rows(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    shown = table.head(_MOST_FEATURES)
    return [
        (str(name), number(float(row["margin_lost"]), 4), f"{100 * row['accuracy_lost']:+.2f} %".replace("-", "−"))
        for name, row in shown.iterrows()
    ]


def _caption(n_rows: int, where: str, n_features: int) -> str:
    rest = f" The {_MOST_FEATURES} of {n_features} features that lose most." if n_features > _MOST_FEATURES else ""
    return f"Means over {n_rows:,} {where}; what two features tell alike is lost by neither alone.{rest}"
