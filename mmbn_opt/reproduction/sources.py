"""Where an experiment's tables come from: a folder, the package itself, or scikit-learn."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt.data.datasets import dataset_names, load_dataset
from mmbn_opt.data.readers import read_table
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.reproduction.drawn import DRAWN, drawn
from mmbn_opt.reproduction.words import OCR_LETTERS, WHERE_WORDS_ARE, Words, find_words

__all__ = ["Source", "Table", "where_to_get"]

TARGET = "class"
SEQUENCE = "sequence"
_ENDINGS = (".csv.gz", ".csv", ".parquet", ".arff", ".arff.gz")
_KINDS = ("numeric", "categorical")


@dataclass(frozen=True, eq=False)
class Table:
    """Features and classes of a data set.

    Parameters
    ----------
    name : str
    X : DataFrame
        Numeric columns are float64, others hold text (or whole numbers that stand for states); a missing cell is NaN.
    y : Series of str
    kinds : dict of str to {"numeric", "categorical"}
    train_rows : int or None
        Where the data come with a split, the first so many rows are for training.
    origin : str
        Where it was found.
    sequences : array or None
        Of each row the number of the sequence that it is a position of.
    folds : array or None
        Of each row the number of its fold, where the data come with folds.
    """

    name: str
    X: pd.DataFrame
    y: "pd.Series[str]"
    kinds: Mapping[str, str]
    train_rows: int | None
    origin: str
    sequences: NDArray[np.int64] | None = None
    folds: NDArray[np.int64] | None = None

    @cached_property
    def content(self) -> tuple[Any, ...]:
        """What determines the runs on it, for their key."""
        hashes = pd.util.hash_pandas_object(self.X.assign(**{TARGET: self.y}), index=False)
        known = (hashes.to_numpy(), tuple(self.X.columns), tuple(self.kinds.items()))
        return known if self.sequences is None else (*known, self.sequences)

    def features(self, *, with_sequences: bool) -> pd.DataFrame:
        """The features, and the number of the sequence as a column of its own for methods that label sequences."""
        if self.sequences is None or not with_sequences:
            return self.X
        return self.X.assign(**{SEQUENCE: self.sequences})


class Source:
    """Finds tables by name.

    Parameters
    ----------
    folder : str, Path or None
        One file a data set, ``NAME.csv.gz``, ``.csv``, ``.parquet`` or ``.arff``, whose class column is called
        "class" (or is the last one). A ``manifest.json`` there may say more: for each set its ``name``, ``file``,
        ``feature_kinds`` and ``train_rows``. None: the sets that come with the package and with scikit-learn.

    Raises
    ------
    InputError
        If the folder is not there, or its manifest is none.

    Examples
    --------
    >>> table = Source(None).find("wine")
    >>> table.X.shape, table.y.nunique(), table.origin
    ((178, 13), 3, 'scikit-learn')
    >>> Source(None).find("letter") is None
    True
    """

    def __init__(self, folder: str | Path | None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._listed: dict[str, dict[str, Any]] = {}
        if self._folder is None:
            return
        if not self._folder.is_dir():
            raise InputError(f"data must be a folder with one file a data set; there is no folder {str(folder)!r}.")
        if not (self._folder / "manifest.json").is_file() and (self._folder / "data" / "manifest.json").is_file():
            self._folder = self._folder / "data"
        if (self._folder / "manifest.json").is_file():
            self._listed = _manifest(self._folder / "manifest.json")

    def find(self, name: str) -> Table | None:
        """The table of that name, or None where it is not to be had.

        Raises
        ------
        InputError
            If there is a file that cannot be read as a table with a class.
        """
        if name in DRAWN:
            rows = drawn(name)
            return Table(
                name, rows.X, rows.y, dict.fromkeys(map(str, rows.X), "categorical"), None, "drawn", rows.sequences
            )
        if name == OCR_LETTERS:
            words = None if self._folder is None else find_words(self._folder)
            return None if words is None else _of_words(*words)
        derived = _DERIVED.get(name)
        if derived is not None:
            base = self.find(derived[0])
            return None if base is None else replace(derived[1](base), name=name)
        if self._folder is not None:
            found = self._in_folder(self._folder, name)
            if found is not None:
                return found
        if name in dataset_names():
            frame, info = load_dataset(name, return_info=True)
            kinds = {str(column): str(kind) for column, kind in info.kinds.items()}
            return _table(name, frame, kinds, info.train_rows, "mmbn_opt")
        return _from_scikit_learn(name)

    def _in_folder(self, folder: Path, name: str) -> Table | None:
        listed = self._listed.get(name)
        if listed is not None:
            path = folder / listed["file"]
            if not path.is_file():
                raise InputError(f"The manifest names {str(path)!r} for {name!r}, and there is no such file.")
            frame = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=["", "?"])
            kinds = dict(zip(map(str, frame.columns[:-1]), listed["feature_kinds"], strict=False))
            if len(listed["feature_kinds"]) != len(frame.columns) - 1 or not set(kinds.values()) <= set(_KINDS):
                raise InputError(
                    f"The manifest lists {len(listed['feature_kinds'])} kinds for {name!r}, whose file has "
                    f"{len(frame.columns) - 1} features; each must be one of {', '.join(_KINDS)}."
                )
            return _table(name, frame, kinds, listed.get("train_rows"), str(path))
        path = next((folder / f"{name}{e}" for e in _ENDINGS if (folder / f"{name}{e}").is_file()), folder)
        if path == folder:
            return None
        try:
            frame = read_table(path)
        except FormatError as error:
            raise InputError(str(error)) from error
        return _table(name, frame, None, None, str(path))


def _table(
    name: str, frame: pd.DataFrame, kinds: Mapping[str, str] | None, train_rows: int | None, origin: str
) -> Table:
    """The last column is the class where none is called so; without kinds columns of numbers are numeric."""
    if frame.shape[1] < 2 or not len(frame):
        raise InputError(f"{origin!r} has no rows, or no features beside the class; it can't be the data set {name!r}.")
    target = TARGET if TARGET in frame.columns else frame.columns[-1]
    X = frame.drop(columns=target)
    X.columns = X.columns.map(str)
    if kinds is None:
        numbers = pd.api.types.is_numeric_dtype
        kinds = {c: "numeric" if numbers(X[c]) and X[c].dtype != bool else "categorical" for c in X.columns}
    if frame[target].isna().any():
        row = int(frame[target].isna().to_numpy().argmax()) + 1
        raise InputError(f"{origin!r} has rows without a class, the first in row {row}; it can't be {name!r}.")
    columns = {}
    for column, kind in kinds.items():
        try:
            columns[column] = (
                pd.to_numeric(X[column]).astype(float)
                if kind == "numeric"
                else X[column].where(X[column].isna(), X[column].astype(str)).astype(object)
            )
        except (ValueError, TypeError) as error:
            raise InputError(f"Column {column!r} of {origin!r} should hold numbers: {error}.") from error
    y = frame[target].astype(str).rename(TARGET)
    features = pd.DataFrame(columns).reset_index(drop=True)
    return Table(name, features, y.reset_index(drop=True), kinds, train_rows, origin)


def _manifest(path: Path) -> dict[str, dict[str, Any]]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return {str(entry["name"]): {"file": entry["file"], **entry} for entry in entries if entry["feature_kinds"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{str(path)!r} is no list of data sets, each with name, file and feature_kinds ({error}). Without a "
            "manifest the files of the folder are found by their names."
        ) from error


def _from_scikit_learn(name: str) -> Table | None:
    if name not in ("wine", "wdbc"):
        return None
    from sklearn.datasets import load_breast_cancer, load_wine

    bunch = (load_wine if name == "wine" else load_breast_cancer)(as_frame=True)
    labels = bunch.target.map(dict(enumerate(bunch.target_names)))
    frame = bunch.data.assign(**{TARGET: labels})
    return _table(name, frame, dict.fromkeys(bunch.data.columns, "numeric"), None, "scikit-learn")


def _of_words(words: Words, path: Path) -> Table:
    kinds = dict.fromkeys(map(str, words.X), "categorical")
    return Table(OCR_LETTERS, words.X, words.y, kinds, None, str(path), words.sequences, words.folds)


def _thinned(table: Table) -> Table:
    """Every second pixel of every second line of 28 x 28; by their means naive Bayes is better than in the papers."""
    values = table.X.to_numpy().reshape(-1, 28, 28)[:, ::2, ::2].reshape(-1, 196)
    names = [f"x{j}" for j in range(196)]
    return replace(table, X=pd.DataFrame(values, columns=names), kinds=dict.fromkeys(names, "numeric"))


_DERIVED: Mapping[str, tuple[str, Callable[[Table], Table]]] = {"mnist-14x14": ("mnist", _thinned)}
"""Name -> the set that it is made of, and how."""

_OPENML: Mapping[str, str] = {
    "abalone": "abalone", "adult": "adult", "australian": "Australian", "breast": "breast-w", "chess": "kr-vs-kp",
    "cleve": "cleve", "crx": "credit-approval", "diabetes": "diabetes", "flare": "solar-flare", "german": "credit-g",
    "glass": "glass", "heart": "heart-statlog", "hepatitis": "hepatitis", "letter": "letter", "lymphography": "lymph",
    "magic": "MagicTelescope", "mnist": "mnist_784", "mnist-14x14": "mnist_784", "mushroom": "mushroom",
    "nursery": "nursery", "optdigits": "optdigits", "pima": "diabetes", "satimage": "satimage", "segment": "segment",
    "segmentation": "segment", "shuttle": "shuttle", "sonar": "sonar", "soybean-large": "soybean",
    "spambase": "spambase", "usps": "USPS", "vehicle": "vehicle", "waveform-21": "waveform-5000",
    "waveform-40": "waveform-5000", "wdbc": "wdbc",
}  # fmt: skip


def where_to_get(name: str) -> str:
    """What to do about a data set that was not found.

    Examples
    --------
    >>> where_to_get("letter")
    "put letter.csv, with a column 'class', into the folder of data; openml.org has such a set as 'letter'"
    """
    if name == OCR_LETTERS:
        return WHERE_WORDS_ARE
    base = _DERIVED[name][0] if name in _DERIVED else name
    known = f"; openml.org has such a set as {_OPENML[name]!r}" if name in _OPENML else ""
    return f"put {base}.csv, with a column 'class', into the folder of data{known}"
