"""A saved model, whichever kind it is."""

from pathlib import Path
from typing import Any

from mmbn_opt.interop import mixture_json
from mmbn_opt.interop._json_document import load_document
from mmbn_opt.interop.json_model import network_from_dict
from mmbn_opt.mixture import MixtureClassifier
from mmbn_opt.network import BayesianNetwork

__all__ = ["load_model"]


def load_model(path: str | Path) -> BayesianNetwork | MixtureClassifier:
    """Read a ``model.json``: a network, or a mixture classifier.

    Raises
    ------
    FormatError
        If the file is neither.
    """
    return load_document(path, _from_dict)


def _from_dict(content: Any) -> BayesianNetwork | MixtureClassifier:
    if isinstance(content, dict) and content.get("format") == mixture_json.FORMAT:
        return mixture_json.mixture_from_dict(content)
    return network_from_dict(content)
