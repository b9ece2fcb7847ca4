"""A saved model, whichever kind it is."""

from pathlib import Path
from typing import Any

from mmbn_opt._arguments import check_arguments
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.interop import mixture_json, sequence_json
from mmbn_opt.interop._json_document import load_document
from mmbn_opt.interop.calibrated_json import KEY, calibration_from_dict
from mmbn_opt.interop.json_model import network_from_dict
from mmbn_opt.interop.run_folder import UNFINISHED, finish_publishing
from mmbn_opt.interop.run_manifest import Manifest, read_manifest
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.hidden_markov import HiddenMarkovClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.scores.calibrated import CalibratedModel

__all__ = ["find_model", "load_model"]


def find_model(path: Path) -> tuple[Path, str]:
    """The model file of a folder that a run wrote, or of the path itself; and what its reader has to know of it.

    Raises
    ------
    InputError
        If the folder has the model of an unfinished run only, or none.
    """
    folder = path if path.is_dir() else path.parent
    finish_publishing(folder)
    mine, best = _manifest(folder), _manifest(folder / UNFINISHED)
    notice = ""
    if mine is not None and mine.state == "unfinished":
        notice = f"note: {str(folder)!r} holds the best of a run that did not finish ({_which(mine)})"
    if not path.is_dir():
        return path, notice
    found = folder / "model.json"
    if best is not None and "model.json" in best.files:
        kept = f"{str(folder / UNFINISHED)!r} holds the best model of one that did not finish ({_which(best)})"
        if not found.exists():
            raise InputError(f"{str(folder)!r} holds no finished run. {kept}; give that folder to use it.")
        notice = f"note: the finished run in {str(folder)!r} is used. {kept}."
    return found, notice


def _manifest(folder: Path) -> Manifest | None:
    try:
        return read_manifest(folder)
    except FormatError:
        return None  # told when a file is held against it


def _which(manifest: Manifest) -> str:
    return f"{manifest.command or 'mmbn_opt'}, {manifest.written}"


def load_model(path: str | Path) -> BayesianNetwork | MixtureClassifier | CalibratedModel | HiddenMarkovClassifier:
    """Read a saved model: a network, a mixture classifier, either of them with a calibration, or one of sequences.

    Parameters
    ----------
    path : str or Path
        A model file, or the folder of a run.

    Raises
    ------
    FormatError
        If the file is none of these.

    Examples
    --------
    >>> import mmbn_opt as mm, tempfile
    >>> frame = mm.load_dataset("iris")
    >>> model = mm.MaxMarginBayesClassifier(iterations=20).fit(frame.drop(columns="class"), frame["class"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/iris.json")
    ...     loaded = mm.load_model(f"{folder}/iris.json")
    >>> loaded.calibration == model.calibration_
    True
    """
    check_arguments(load_model, locals())
    path = Path(path)
    return load_document(find_model(path)[0] if path.is_dir() else path, _from_dict)


def _from_dict(content: Any) -> BayesianNetwork | MixtureClassifier | CalibratedModel | HiddenMarkovClassifier:
    if isinstance(content, dict) and content.get("format") == sequence_json.FORMAT:
        return sequence_json.sequence_model_from_dict(content)
    mixture = isinstance(content, dict) and content.get("format") == mixture_json.FORMAT
    model = mixture_json.mixture_from_dict(content) if mixture else network_from_dict(content)
    if KEY not in content:
        return model
    try:
        return CalibratedModel(model, calibration_from_dict(content[KEY]))
    except InputError as error:
        raise FormatError(str(error)) from error
