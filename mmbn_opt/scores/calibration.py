"""How far probabilities can be believed: log loss, calibration error, and the temperature that makes them so."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray, log_softmax
from mmbn_opt._budget import leave_in_time
from mmbn_opt.scores.bends import Bends, bent, choose_bends

__all__ = ["Calibration", "Reliability", "calibration_error", "choose_temperature", "log_loss"]

LEAST_LOG = float(np.log(np.finfo(np.float64).eps))
"""Logarithm of the least probability that a log loss counts, as in scikit-learn: a single row must not make it inf."""

_BINS = 15
_SHARPEST, _FLATTEST = 1e-4, 1e8
_STEPS = 200
_IMPOSSIBLE = 1e4
"""Nats that stand for an infinite distance between two classes while a temperature is chosen."""
_WORTH_A_BEND = 1e-3
"""Nats of log loss that bends have to save."""


@dataclass(frozen=True)
class Reliability:
    """Log loss and calibration error of some probabilities on rows with labels.

    Parameters
    ----------
    log_loss : float
        Mean of ``-log P(own class)``, in nats.
    calibration_error : float
        See `calibration_error`.

    Examples
    --------
    >>> print(Reliability(0.25, 0.031))
    log loss 0.2500, calibration error 0.0310
    """

    log_loss: float
    calibration_error: float

    @classmethod
    def of(cls, log_proba: FloatArray, codes: IntArray, weight: FloatArray | None = None) -> Self:
        """Of log-probabilities (n_samples, n_classes) and the number of each row's class."""
        return cls(log_loss(log_proba, codes, weight), calibration_error(np.exp(log_proba), codes, weight))

    def __str__(self) -> str:
        return f"log loss {self.log_loss:.4f}, calibration error {self.calibration_error:.4f}"


@dataclass(frozen=True)
class Calibration:
    """What turns a classifier's scores into probabilities: softmax of the scores over a temperature.

    The scores are ``log P(c, x)`` of a network, the log-odds or votes of mixtures. The map is monotone, so that the
    order of the classes, and each decision, stay as they are.

    Parameters
    ----------
    temperature : float
        Above 1 probabilities become less sure. 1 leaves them as they are.
    bends : sequence of (distance, log-odds)
        Of mixtures, whose log-odds grow with the square of the distance: how far a class lies behind the best one
        counts as the map through these points and (0, 0) says, which is level after the last.
    rows : float
        Held-out rows that it was chosen on; 0 where nothing was chosen.
    before, after : Reliability or None
        On these rows, for models that had not seen them.
    reason : str
        Why there is no calibration; empty where there is one.
    seen : bool
        Whether the rows are those that the model was learned from, since no time was left for others.
    shares : tuple of float
        Of the classes among the rows: what is to be believed of a row that says nothing, whatever the model's own
        P(class) became when it was trained for margins. Empty where nothing was chosen.

    Examples
    --------
    >>> Calibration(2.0).log_proba(np.log([[0.9, 0.1]])).round(4).tolist()
    [[-0.2877, -1.3863]]
    >>> print(Calibration(reason="12 rows, fewer than 30"))
    not calibrated: 12 rows, fewer than 30
    """

    temperature: float = 1.0
    rows: float = 0.0
    before: Reliability | None = None
    after: Reliability | None = None
    reason: str = ""
    bends: Bends = ()
    seen: bool = False
    shares: tuple[float, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether probabilities are others than the model's own."""
        return self.temperature != 1.0 or bool(self.bends)

    def log_proba(self, scores: FloatArray) -> FloatArray:
        """Log-probabilities of scores (n_samples, n_classes) that are finite, or -inf for a class that cannot be."""
        behind = scores - scores.max(axis=1, keepdims=True)
        if self.bends:
            behind = -bent(-behind, self.bends)
        answer: FloatArray = log_softmax(behind / self.temperature)
        return answer

    def of_silence(self, decided: int) -> FloatArray:
        """Log-probabilities of a row that says nothing: the nearest to `shares` whose largest is that of `decided`.

        Classes more frequent than the one that the model decides for share what they have with it.

        Examples
        --------
        >>> np.exp(Calibration(2.0, shares=(0.5, 0.3, 0.2)).of_silence(1)).round(3).tolist()
        [0.4, 0.4, 0.2]
        """
        proba = np.array(self.shares)
        pooled = [decided]
        for other in np.argsort(-proba, kind="stable").tolist():
            if other != decided and proba[other] > proba[pooled].mean():
                pooled.append(other)
        proba[pooled] = proba[pooled].mean()
        logs: FloatArray = np.log(proba)
        return logs

    def __str__(self) -> str:
        if self.reason:
            return f"not calibrated: {self.reason}"
        told = f"temperature {self.temperature:.4g}"
        if self.bends:
            told = f"monotone map, at most {self.bends[-1][1] / self.temperature:.4g} nats between two classes"
        if self.before is None or self.after is None:
            return told
        rows = "training rows (no time was left to hold any out)" if self.seen else "held-out rows"
        return (
            f"{told}, chosen on {self.rows:,.6g} {rows}: log loss {self.before.log_loss:.4f} -> "
            f"{self.after.log_loss:.4f}, calibration error {self.before.calibration_error:.4f} -> "
            f"{self.after.calibration_error:.4f}"
        )


def _least(slopes: Callable[[float], tuple[float, float, float]], low: float, high: float) -> tuple[float, float]:
    """Where a convex function of a positive number is least, and its value there.

    Newton's steps on value, slope and curvature; one that leaves what is left of the interval halves that, in
    logarithms, instead.
    """
    place = min(1.0, high)
    value, slope, curvature = slopes(place)
    for _ in range(_STEPS):
        low, high = (place, high) if slope < 0.0 else (low, place)
        step = place - slope / curvature if curvature > 0.0 else np.inf
        new = step if low < step < high else float(np.sqrt(low * high))
        done = abs(new - place) <= 1e-8 * place
        place = new
        value, slope, curvature = slopes(place)
        if done:
            break
    return place, value


def choose_temperature(
    scores: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    *,
    before: FloatArray | None = None,
    may_bend: bool = False,
    seen: bool = False,
) -> Calibration:
    """The temperature with the least log loss on held-out rows.

    The log loss is convex in 1 / temperature. Half a row more, whose label is spread over all classes, keeps it bounded
    where every row is classified rightly (Platt 1999 corrects his targets for the same reason).

    Parameters
    ----------
    scores : float64 array (n_samples, n_classes)
        Of models that had not seen the rows.
    codes : int array (n_samples,)
    weight : float64 array (n_samples,)
    before : float64 array (n_samples, n_classes) or None
        Log-probabilities without a calibration, where these are not the softmax of the scores.
    may_bend : bool
        Whether a map with bends is taken where that gives less log loss.
    seen : bool
        Whether the model was learned from the rows, which it therefore classifies better than others:
        log-probabilities get no surer, and for scores that are none the square root of the rows' number, instead of
        half a row, is spread over all classes.

    Examples
    --------
    >>> scores = np.array([[40.0, 0.0]] * 9 + [[0.0, 40.0]])
    >>> found = choose_temperature(scores, np.zeros(10, dtype=np.int64), np.ones(10))
    >>> np.exp(found.log_proba(scores[:1])).round(3).tolist()
    [[0.881, 0.119]]
    """
    rows = np.arange(len(codes))
    own = np.isfinite(scores[rows, codes])  # what a model says cannot be costs the same at any temperature
    if not own.any():
        return Calibration(reason="the model holds the classes of all held-out rows for impossible")
    behind = scores.max(axis=1, keepdims=True) - scores
    behind = np.where(np.isfinite(behind), behind, _IMPOSSIBLE)
    share = weight * own / (weight * own).sum()
    more = 0.5 if before is None or not seen else float(np.sqrt(weight.sum()))
    spread = more / (more + float(weight.sum()))

    wanted = (1.0 - spread) * behind[rows, codes] + spread * behind.mean(axis=1)

    def slopes(inverse: float) -> tuple[float, float, float]:
        leave_in_time()
        log_proba = log_softmax(-behind * inverse)
        proba = np.exp(log_proba)
        mean = (proba * behind).sum(axis=1)
        variance = (proba * (behind - mean[:, None]) ** 2).sum(axis=1)
        each = (1.0 - spread) * log_proba[rows, codes] + spread * log_proba.mean(axis=1)
        return -float(share @ each), float(share @ (wanted - mean)), float(share @ variance)

    inverse, least_loss = _least(slopes, 1.0 / _FLATTEST, 1.0 if seen and before is None else 1.0 / _SHARPEST)
    best = Calibration(float(f"{1.0 / inverse:.6g}"))
    if may_bend and not seen and (behind > 0.0).any():
        bends, least = choose_bends(behind, codes, weight * own, spread)
        if least < least_loss - _WORTH_A_BEND and bends[-1][1] > 0.0:
            best = Calibration(bends=bends)
    plain = Calibration().log_proba(scores) if before is None else before
    counts = np.bincount(codes, weights=weight, minlength=scores.shape[1]) + 0.5 / scores.shape[1]
    return replace(
        best,
        rows=float(weight.sum()),
        before=Reliability.of(plain, codes, weight),
        after=Reliability.of(best.log_proba(scores), codes, weight),
        seen=seen,
        shares=tuple(float(f"{share:.6g}") for share in counts / counts.sum()),
    )


def log_loss(log_proba: FloatArray, codes: IntArray, weight: FloatArray | None = None) -> float:
    """Mean of ``-log P(own class)`` in nats; a probability below the rounding of doubles counts as that.

    Parameters
    ----------
    log_proba : float64 array (n_samples, n_classes)
    codes : int array (n_samples,)
        Number of each row's class; -1, for a class that the model does not know, counts as impossible.
    weight : float64 array (n_samples,) or None

    Examples
    --------
    >>> round(log_loss(np.log([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 1])), 4)
    0.4904
    """
    own = np.where(codes >= 0, log_proba[np.arange(len(codes)), codes], -np.inf)
    return -float(np.average(np.maximum(own, LEAST_LOG), weights=weight))


def calibration_error(
    proba: FloatArray, codes: NDArray[np.integer], weight: FloatArray | None = None, *, bins: int = _BINS
) -> float:
    """Expected calibration error of the predicted class (Guo, Pleiss, Sun & Weinberger 2017).

    Rows are put in bins of equal width by the probability of their most probable class; the gap between mean
    probability and accuracy of each bin is averaged by its rows.

    Examples
    --------
    >>> round(calibration_error(np.array([[0.9, 0.1]] * 4), np.array([0, 0, 0, 1])), 4)
    0.15
    """
    if not len(codes):
        return float("nan")
    weight = np.ones(len(codes)) if weight is None else weight
    return float(np.abs(_gaps(proba, codes, weight, bins)).sum() / weight.sum())


def _gaps(proba: FloatArray, codes: NDArray[np.integer], weight: FloatArray, bins: int) -> FloatArray:
    """What probabilities exceed right answers by in each bin."""
    sure, right = proba.max(axis=1), proba.argmax(axis=1) == codes
    bin_of = np.minimum((sure * bins).astype(np.intp), bins - 1)
    return np.asarray(np.bincount(bin_of, weights=weight * (sure - right), minlength=bins), dtype=np.float64)


class ReliabilitySums:
    """The `Reliability` of rows that come in blocks.

    Examples
    --------
    >>> sums, rows = ReliabilitySums(), np.log([[0.5, 0.5], [0.25, 0.75]])
    >>> sums.add(rows[:1], np.array([0]))
    >>> sums.add(rows[1:], np.array([0]))
    >>> print(sums.reliability())
    log loss 1.0397, calibration error 0.6250
    """

    def __init__(self) -> None:
        self._rows, self._loss, self._gaps = 0, 0.0, np.zeros(_BINS)

    def add(self, log_proba: FloatArray, codes: IntArray) -> None:
        """Take rows with the numbers of their classes, as `log_loss` takes them."""
        self._rows += len(codes)
        self._loss += len(codes) * log_loss(log_proba, codes)
        self._gaps += _gaps(np.exp(log_proba), codes, np.ones(len(codes)), _BINS)

    def reliability(self) -> Reliability | None:
        """Of all rows; None without any."""
        if not self._rows:
            return None
        return Reliability(self._loss / self._rows, float(np.abs(self._gaps).sum()) / self._rows)
