"""How many rows of a table a model classifies rightly, as the commands tell it."""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer

from mmbn_opt._budget import leave_in_time

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HeldOut", "Judged", "Rate", "rate_of"]


_Answers = tuple[Any, Any, Any, list[Any]]


@dataclass(frozen=True)
class Rate:
    """Right answers among the rows that have a label; a label that was never seen in training can't be right.

    Parameters
    ----------
    name : str
        Of the model.
    right, rows : int
    """

    name: str
    right: int
    rows: int

    @property
    def accuracy(self) -> float:
        """The share that is right."""
        return self.right / self.rows

    @property
    def standard_error(self) -> float:
        """Of the share, by the binomial formula."""
        return math.sqrt(self.accuracy * (1.0 - self.accuracy) / self.rows)


def rate_of(model: Any, frame: "pd.DataFrame", probabilities: Any = None, *, name: str = "") -> Rate | None:
    """Hold a model's answers against the class column; None where that is absent or empty.

    Parameters
    ----------
    model : BayesianNetwork or MixtureClassifier
    frame : DataFrame
    probabilities : array (n_rows, n_classes) or None
        The model's, where they are known already. By default labels of features that were never seen are summed out.
    name : str
    """
    return _rate(_answers(model, frame, probabilities), name)


def _rate(answers: _Answers | None, name: str) -> Rate | None:
    if answers is None:
        return None
    truth, codes, labelled, _ = answers
    return Rate(name, int(((truth == codes) & labelled).sum()), int(labelled.sum()))


def _class_column(model: Any) -> str:
    from mmbn_opt.mixtures.classifier import MixtureClassifier

    name: str = model.class_name if isinstance(model, MixtureClassifier) else model.target.name
    return name


def _answers(model: Any, frame: "pd.DataFrame", probabilities: Any = None) -> _Answers | None:
    """Numbers of the true classes (-1: never seen) and of the answers, which rows have a label, and the classes."""
    import numpy as np

    from mmbn_opt.mixtures.classifier import MixtureClassifier

    mixture, column = isinstance(model, MixtureClassifier), _class_column(model)
    if column not in frame.columns:
        return None
    labelled = frame[column].notna().to_numpy()
    if not labelled.any():
        return None
    if probabilities is None:
        probabilities = model.predict_proba(frame) if mixture else model.predict_proba(frame, unseen="missing")
    truth: Any
    classes = model.classes.tolist() if mixture else list(model.target.states)
    if mixture:
        numbers = frame[column].map({label: code for code, label in enumerate(classes)}).fillna(-1)
        truth = numbers.to_numpy(dtype=np.intp)
    else:
        truth = model.target.encode(frame[column], unseen="missing")
    return truth, np.argmax(probabilities, axis=1), labelled, classes


class HeldOut:
    """What is told of rows that nothing was learned from.

    Parameters
    ----------
    frame : DataFrame or None
        None when no rows are held out; then nothing is told.
    where : str
        Where the rows are from.
    others : mapping from name to model
        What the answer is held against. They are tried at once, so that rows that no model can read are told before the
        search.
    """

    def __init__(self, frame: "pd.DataFrame | None", where: str, others: dict[str, Any]) -> None:
        self._frame = frame
        self._where = where
        self._last: tuple[Any, _Answers | None] | None = None
        self._others = [] if frame is None else [rate_of(model, frame, name=name) for name, model in others.items()]

    def rates(self, model: Any, name: str) -> list[Rate]:
        """The model's rate after those of the others."""
        if self._frame is None:
            return []
        return [rate for rate in [*self._others, _rate(self._of(model), name)] if rate is not None]

    def _of(self, model: Any) -> _Answers | None:
        """The answers of the model; those of the last one are kept, as rate and matrix are of the same."""
        assert self._frame is not None
        if self._last is None or self._last[0] is not model:
            self._last = (model, _answers(model, self._frame))
        return self._last[1]

    def rows_of(self, model: Any) -> tuple[Any, Any, Any] | None:
        """Table, numbers of the true classes (-1: never seen) and what the rows are called; None without a label."""
        answers = None if self._frame is None or model is None else self._of(model)
        if self._frame is None or answers is None:
            return None
        truth, _, labelled, _ = answers
        return self._frame[labelled], truth[labelled], self._frame.index[labelled]

    def confusion(self, model: Any) -> Any:
        """The `Confusion` of the model, for the report; None where no row has a label."""
        if self._frame is None or model is None:
            return None
        answers = self._of(model)
        if answers is None:
            return None
        from mmbn_opt.results.confusion import Confusion

        truth, codes, labelled, classes = answers
        labels = self._frame[_class_column(model)].to_numpy(dtype=object)
        shown = [classes[t] if t >= 0 else labels[k] for k, t in enumerate(truth)]
        rows = labelled.nonzero()[0]
        return Confusion.of([shown[k] for k in rows], [classes[codes[k]] for k in rows], classes)

    def say(self, rates: list[Rate]) -> None:
        """On stdout."""
        if self._frame is None:
            return
        if not rates:
            typer.echo(f"held-out accuracy: no row held out has a class ({self._where})")
            return
        typer.echo(f"held-out accuracy on {rates[0].rows} rows ({self._where}):")
        width = max(len(rate.name) for rate in rates)
        for rate in rates:
            typer.echo(f"  {rate.name:<{width}}  {rate.accuracy:.4f} +- {rate.standard_error:.4f}")


class Judged:
    """How a model classifies the rows that it was learned from and those that were held out, and why.

    Parameters
    ----------
    held_out : HeldOut
    n_rows : int
        Those that it was learned from.
    """

    def __init__(self, held_out: HeldOut, n_rows: int) -> None:
        self._held_out = held_out
        self._n_rows = n_rows
        self._rates: list[Rate] = []
        self._confusion: Any = None
        self._training: Any = None
        self._reliability: Any = None
        self._reasons: Any = None
        self._calibration: Any = None

    def judge(self, model: Any, data: Any, name: str, calibration: Any) -> None:
        """Classify the rows; what is not complete when the time is up stays unsaid.

        Parameters
        ----------
        model : BayesianNetwork, MixtureClassifier or None
        data : DiscreteDataset, NumericDataset or Samples
            What it was learned from.
        name : str
            Of the model, among those that it is held against.
        calibration : Calibration
        """
        from mmbn_opt.scores.confusion import confusion_on

        self._calibration = calibration
        if model is None:
            return
        self._rates, self._confusion = self._held_out.rates(model, name), self._held_out.confusion(model)
        self._training = confusion_on(model, data)
        self._explain(model, data, calibration)

    def _explain(self, model: Any, data: Any, calibration: Any) -> None:
        leave_in_time()
        from mmbn_opt.display.reasons import reasons_of
        from mmbn_opt.scores.calibrated import CalibratedModel, rows_in_numbers, training_rows
        from mmbn_opt.scores.calibration import Reliability

        calibrated, held_out = CalibratedModel(model, calibration), self._held_out.rows_of(model)
        if held_out is None:
            rows, truth = training_rows(data)
            names, where = None, "training rows"
        else:
            frame, truth, names = held_out
            rows, where = rows_in_numbers(model, frame), "held-out rows"
        log_proba = calibrated.log_proba_of(rows)
        if held_out is not None:
            self._reliability = Reliability.of(log_proba, truth.astype("int64"))
        leave_in_time()
        self._reasons = reasons_of(calibrated, rows, truth, log_proba, numbers=names, where=where)

    def say(self) -> None:
        """On stdout; the accuracy on the rows that were learned from is called what it is."""
        from mmbn_opt.cli.probabilities import say_probabilities

        self._held_out.say(self._rates)
        hint = "" if self._rates else "; no promise for new rows, see --hold-out and --test"
        told = "not computed, no time was left" if self._training is None else f"{self._training.accuracy:.4f}{hint}"
        typer.echo(f"accuracy on the {self._n_rows} training rows: {told}")
        if self._calibration is not None:
            say_probabilities(self._calibration, self._reliability)

    def for_files(self) -> dict[str, Any]:
        """What the report and ``result.json`` tell of it, as arguments of `hand_over`."""
        rates = [(r, {"accuracy": r.accuracy, "standard_error": r.standard_error}) for r in self._rates]
        accuracy = None if self._training is None else self._training.accuracy
        return {
            "training": self._training,
            "held_out": self._confusion,
            "comparison": [{"name": r.name, **shares, "n_test": r.rows} for r, shares in rates],
            "calibration": self._calibration,
            "reliability": self._reliability,
            "reasons": self._reasons,
            "accuracy": {
                "training": {"accuracy": accuracy, "rows": self._n_rows},
                "held_out": [{**asdict(r), **shares} for r, shares in rates],
            },
        }
