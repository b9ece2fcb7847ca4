"""Networks as scorers of single rows: a compiled form for a service, and a Python file that needs nothing else."""

import json
import math
from pathlib import Path
from typing import Any

from mmbn_opt._arguments import choice_of
from mmbn_opt.data.unseen import UNSEEN
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.interop import scorer_runtime
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.interop.scorer_runtime import FORMAT, Scorer, text_of
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.posterior import features_that_tell
from mmbn_opt.scores.calibrated import CalibratedModel

__all__ = ["make_scorer", "write_scorer"]

Model = BayesianNetwork | CalibratedModel


def make_scorer(model: Model, *, unseen: str = "warn") -> Scorer:
    """A scorer of single rows with the decisions and probabilities of the model.

    Parameters
    ----------
    model : BayesianNetwork or CalibratedModel
    unseen : {"warn", "missing", "error"}
        As in `BayesianNetwork.predict`; a label to refuse raises ``ValueError`` here.

    Raises
    ------
    InputError
        For mixtures, and networks without a class.

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset, naive_bayes
    >>> data = DiscreteDataset.from_arrays([["x"], ["x"], ["y"], ["y"]], [0, 0, 0, 1])
    >>> scorer = make_scorer(BayesianNetwork.fit(naive_bayes(data), data))
    >>> scorer.predict({"x0": "y"}), [round(p, 3) for p in scorer.predict_proba({"x0": None})]
    (0, [0.667, 0.333])
    """
    choice_of("unseen", unseen, UNSEEN, expected='"warn", "missing" or "error"')
    scorer = Scorer(_content(model), unseen=unseen)
    scorer.classes = list(_network(model).target.states)
    return scorer


def write_scorer(model: Model, path: str | Path) -> None:
    """Write the scorer as a Python file that imports the standard library alone, whole or not at all.

    ``from model import scorer`` is all that an application needs; ``python model.py rows.jsonl`` classifies rows, one
    JSON object a line. Class labels that are neither text nor numbers are texts there.

    Raises
    ------
    InputError
        For mixtures, networks without a class, and paths that cannot be written.
    """
    source = Path(scorer_runtime.__file__).read_text(encoding="utf-8")
    # A text as a literal holds whatever names and labels hold.
    content = repr(json.dumps(_content(model), allow_nan=False))
    write_text_atomic(path, source + _TAIL.replace("CONTENT", content))


_TAIL = """

import json
import sys

scorer = Scorer(json.loads(CONTENT))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as rows:
        for line in rows:
            row = json.loads(line)
            print(json.dumps({"class": scorer.predict(row), "probabilities": scorer.predict_proba(row)}))
"""


def _network(model: Model) -> BayesianNetwork:
    network = model.model if isinstance(model, CalibratedModel) else model
    if isinstance(network, MixtureClassifier):
        raise InputError("Scorers are made of networks; a mixture classifier is saved as JSON.")
    if not network.structure.has_class:
        raise InputError("The network has no class to score; network.with_class(name) gives it one.")
    return network


def _content(model: Model) -> dict[str, Any]:
    network = _network(model)
    calibration = model.calibration if isinstance(model, CalibratedModel) else None
    return {
        "format": FORMAT,
        "version": 1,
        "classes": [_plain(state) for state in network.target.states],
        "na": list(network.na_values or ()),
        "features": [_feature(variable) for variable in network.features],
        "parents": [list(parents) for parents in network.structure.parents],
        "cardinalities": list(network.cardinalities),
        "temperature": 1.0 if calibration is None else calibration.temperature,
        "shares": [] if calibration is None else list(map(float, calibration.shares)),
        "telling": [v for v in features_that_tell(network.structure) if network.cardinalities[v] > 1],
        "tables": [[v if math.isfinite(v) else str(v) for v in t.ravel().tolist()] for t in network.log_cpts],
    }


def _feature(variable: DiscreteVariable) -> dict[str, Any]:
    missing = variable.cardinality - 1 if variable.has_missing_state else -1
    if variable.cuts is not None:
        return {"name": variable.name, "missing": missing, "cuts": list(variable.cuts)}
    texts = [text_of(state) for state in variable.states]
    return {"name": variable.name, "missing": missing, "states": list(map(_plain, variable.states)), "texts": texts}


def _plain(label: Any) -> Any:
    """The label where JSON has it, else its text."""
    if isinstance(label, (str, bool, int)) or (isinstance(label, float) and math.isfinite(label)):
        return label
    return text_of(label)
