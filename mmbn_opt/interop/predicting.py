"""Rows of files classified into files, block by block: the table never is in memory as a whole."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments, choice_of
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.readers import NA_VALUES
from mmbn_opt.data.readers.in_blocks import TableBlocks
from mmbn_opt.data.unseen import UNSEEN, Unseen, UnseenCells
from mmbn_opt.interop.atomic import refuse_unwritable, write_parts_atomic
from mmbn_opt.interop.csv_text import csv_content
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.scores.calibrated import CalibratedModel, rows_in_numbers
from mmbn_opt.scores.calibration import Reliability, ReliabilitySums

__all__ = ["FilePrediction", "predict_file"]

logger = logging.getLogger(__name__)

Model = BayesianNetwork | MixtureClassifier | CalibratedModel


@dataclass(frozen=True)
class FilePrediction:
    """What `predict_file` tells of the rows that it has classified.

    Parameters
    ----------
    rows : int
    labelled : int
        Rows with a label in the class column; 0 where there is no such column.
    right : int
        Of these, the rows that were classified as labelled.
    reliability : Reliability or None
        Of the probabilities on labelled rows.
    """

    rows: int
    labelled: int = 0
    right: int = 0
    reliability: Reliability | None = None

    @property
    def accuracy(self) -> float | None:
        """The share that is right, None without labels."""
        return self.right / self.labelled if self.labelled else None


def predict_file(
    model: Model,
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    unseen: Unseen = "warn",
    na_values: Iterable[str] | str | None = None,
    ignore: Iterable[str] | str = (),
    spreadsheet: bool = False,
    progress: Callable[[int, float], Any] | None = None,
) -> FilePrediction:
    r"""Classify the rows of a file into a CSV file, in a memory that does not grow with the file.

    Delimited text (gzip too) and Parquet are read block by block, with the types that `read_table` gives the whole
    file; other files are read at once. The output is written whole or not at all: a column with the class, and one with
    the probability of each class.

    Parameters
    ----------
    model : BayesianNetwork, MixtureClassifier or CalibratedModel
    data, out : path-like
    unseen : {"warn", "missing", "error"}
        Labels never seen in training; one warning for the file.
    na_values : iterable of str or None
        Texts that mean missing; by default those that the model was learned with.
    ignore : iterable of str
        Columns to leave out.
    spreadsheet : bool
        Keep spreadsheets from running texts as formulas.
    progress : callable (rows, share) or None
        Told after every block how many rows are done, and which share of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mmbn_opt import DiscreteDataset, naive_bayes
    >>> learned = DiscreteDataset.from_arrays([["u"], ["v"], ["u"]], ["no", "yes", "no"], feature_names=["a"])
    >>> model = BayesianNetwork.fit(naive_bayes(learned), learned)
    >>> with TemporaryDirectory() as folder:
    ...     rows = Path(folder, "rows.csv")
    ...     _ = rows.write_text("a\nu\nv\n")
    ...     done = model.predict_file(rows, Path(folder, "out.csv"))
    ...     print(done.rows, Path(folder, "out.csv").read_text().splitlines()[1])
    2 no,0.7714285714285715,0.2285714285714285
    """
    check_arguments(predict_file, locals())
    choice_of("unseen", unseen, UNSEEN)
    refuse_unwritable(os.fspath(out))
    work = _Work(model, unseen, spreadsheet)
    known = work.fitted.na_values or NA_VALUES if na_values is None else na_values
    missing = (known,) if isinstance(known, str) else tuple(known)
    unwanted = frozenset(map(str, [ignore] if isinstance(ignore, str) else ignore))
    write_parts_atomic(os.fspath(out), work.parts(TableBlocks(data, missing, unwanted), progress))
    work.strange.warn()
    return work.told()


class _Work:
    """The counts of one call."""

    def __init__(self, model: Model, unseen: Unseen, spreadsheet: bool) -> None:
        self.model, self._unseen, self._spreadsheet = model, unseen, spreadsheet
        fitted = model.model if isinstance(model, CalibratedModel) else model
        self.fitted = fitted
        self.strange = UnseenCells(fitted.features if isinstance(fitted, BayesianNetwork) else ())
        if isinstance(fitted, BayesianNetwork):
            self._name, states = fitted.target.name, list(fitted.target.states)
        else:
            self._name, states = fitted.class_name, fitted.classes.tolist()
        self._states = states
        self._sums = ReliabilitySums()
        self._rows = self._labelled = self._right = 0

    def parts(self, blocks: Iterable[tuple[pd.DataFrame, float]], progress: Any) -> Iterator[bytes]:
        """The output, a block at a time."""
        header = len(self._content(np.zeros((0, len(self._states)))))
        for number, (frame, share) in enumerate(blocks):
            probabilities = self._probabilities(frame)
            self._judge(frame, probabilities)
            self._rows += len(frame)
            yield self._content(probabilities)[header if number else 0 :]
            if progress is not None:
                progress(self._rows, share)

    def _probabilities(self, frame: pd.DataFrame) -> FloatArray:
        if not isinstance(self.fitted, BayesianNetwork):
            return self.model.predict_proba(frame)
        rows = rows_in_numbers(self.fitted, frame, unseen="error" if self._unseen == "error" else "missing")
        if self._unseen == "warn":
            self.strange.add(frame, rows)
        if isinstance(self.model, CalibratedModel) and self.model.calibration.changes:
            proba: FloatArray = np.exp(self.model.log_proba_of(rows))
            return proba
        return self.fitted.posterior(self.fitted.log_joint(rows), log=False)

    def _content(self, probabilities: FloatArray) -> bytes:
        table = pd.DataFrame({self._name: self.fitted.classes[np.argmax(probabilities, axis=1)]})
        for k, label in enumerate(self._states):
            table[f"P({self._name}={label})"] = probabilities[:, k]
        return csv_content(table, spreadsheet=self._spreadsheet)

    def _judge(self, frame: pd.DataFrame, probabilities: FloatArray) -> None:
        """Hold the answers against the class column, where the file has it."""
        if self._name not in frame.columns:
            return
        labelled = frame[self._name].notna().to_numpy()
        truth = self._codes(frame[self._name])[labelled]
        own = probabilities[labelled]
        self._labelled += len(own)
        self._right += int((own.argmax(axis=1) == truth).sum())
        if len(own):
            with np.errstate(divide="ignore"):
                self._sums.add(np.log(own), truth)

    def _codes(self, labels: pd.Series) -> NDArray[np.int64]:
        if isinstance(self.fitted, BayesianNetwork):
            return self.fitted.target.encode(labels, unseen="missing").astype(np.int64)
        numbers = labels.map({label: code for code, label in enumerate(self._states)}).fillna(-1)
        return np.asarray(numbers, dtype=np.int64)

    def told(self) -> FilePrediction:
        """What there is to tell."""
        return FilePrediction(self._rows, self._labelled, self._right, self._sums.reliability())
