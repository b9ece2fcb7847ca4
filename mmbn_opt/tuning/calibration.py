"""A temperature for a classifier's probabilities, chosen on rows that the models it is chosen with have not seen."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mmbn_opt._arguments import checked_number, is_number
from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt._budget import OutOfTime, leave_in_time, leaving_when, now, stop_asked, until_interrupted
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.recutting import RawNumbers
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.scores.calibration import Calibration, choose_temperature
from mmbn_opt.tuning.many_runs import ONE_PART_ABOVE, run_until_interrupted

__all__ = [
    "COUNTED_SHARE",
    "LEAST_ROWS",
    "TRAINED_SHARE",
    "HeldOutScores",
    "Scored",
    "best_start",
    "calibrate",
    "calibrate_on",
    "given_calibration",
    "some_rows",
]

LEAST_ROWS = 30
"""Fewer rows say less of a temperature than no calibration does harm."""

FOLDS = 5

TRAINED_SHARE, COUNTED_SHARE = 0.2, 0.05
"""Shares of a time limit that are kept for a calibration: where parameters are trained, and where they are counts."""

_MOST_SEEN = 20_000
"""Training rows times classes that a temperature is chosen on where no time is left to hold others out."""


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Scores of a model on rows that it was not learned from.

    Parameters
    ----------
    scores : float64 array (n_samples, n_classes)
    codes : int array (n_samples,)
    weight : float64 array (n_samples,)
    log_proba : float64 array (n_samples, n_classes) or None
        The model's own log-probabilities, where these are not the softmax of the scores.
    """

    scores: FloatArray
    codes: IntArray
    weight: FloatArray
    log_proba: FloatArray | None = None


Scored = Callable[[Any, Any, float | None], HeldOutScores | None]
"""From rows to learn from, rows held out and seconds to scores; None where time or Ctrl-C cut it off."""


def given_calibration(setting: Any, *, trained: bool) -> Calibration | None:
    """What a setting says by itself; None where a temperature is to be chosen on held-out rows.

    Parameters
    ----------
    setting : {"auto", "temperature"}, float or None
    trained : bool
        Whether the classifier is trained for its decisions, which is what "auto" calibrates.

    Raises
    ------
    InputError

    Examples
    --------
    >>> print(given_calibration(None, trained=True))
    not calibrated: calibration=None
    >>> print(given_calibration(2.5, trained=True))
    temperature 2.5
    """
    if setting is None:
        return Calibration(reason="calibration=None")
    if is_number(setting):
        expected = '"auto", "temperature", a temperature > 0 or None'
        return Calibration(checked_number("calibration", setting, open_low=True, open_high=True, expected=expected))
    if not isinstance(setting, str) or setting not in ("auto", "temperature"):
        raise InputError(f'calibration must be "auto", "temperature", a temperature > 0 or None, got {setting!r:.60}.')
    if setting == "auto" and not trained:
        return Calibration(reason='maximum likelihood is left as it is; calibration="temperature" gives it one')
    return None


def calibrate(
    data: DiscreteDataset,
    learn: Callable[[DiscreteDataset, float | None], BayesianNetwork],
    *,
    own: BayesianNetwork | None = None,
    numbers: Mapping[str, FloatArray] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    seconds: float | None = None,
) -> Calibration:
    """A temperature for a network, from networks that are learned in the same way on parts of the rows.

    One held-out fifth above 1,000 rows, else five folds; drawn by weight, so that a row of weight 2 is that row twice.

    Parameters
    ----------
    data : DiscreteDataset
    learn : callable (data, seconds) -> BayesianNetwork
    own : BayesianNetwork or None
        What is calibrated: where the limit leaves no time for any part, the temperature is that of the rows that it was
        learned from, and at least 1.
    numbers : mapping from feature to float64 array (n_samples,), or None
        Columns that were cut: each part is cut anew, so that what is held out has no say in the cut points.
    seed : int
        Of the parts.
    n_jobs : int or None
        As in ``joblib.Parallel``.
    seconds : float or None
        For all of it; parts without time left are left out.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.prepare(mm.load_dataset("iris"), "class").data
    >>> found = calibrate(data, lambda part, seconds: BayesianNetwork.fit(mm.naive_bayes(data), part))
    >>> found.rows, found.after.log_loss <= found.before.log_loss
    (150.0, True)
    """
    if len(data.observed_classes()) < 2:
        return Calibration(reason="the rows have one class only")
    if data.total_weight < LEAST_ROWS:
        return Calibration(reason=f"{data.total_weight:,.6g} rows, fewer than {LEAST_ROWS}")

    def scores_of(network: BayesianNetwork, rows: DiscreteDataset) -> HeldOutScores:
        return HeldOutScores(network.predict_log_proba(rows), rows.target_codes.astype(np.int64), rows.sample_weight)

    def scored(train: DiscreteDataset, held_out: DiscreteDataset, share: float | None) -> HeldOutScores:
        return scores_of(learn(train, share), held_out)

    def parts() -> list[tuple[DiscreteDataset, DiscreteDataset]]:
        return RawNumbers(data, numbers or {}).parts(FOLDS, one_above=ONE_PART_ABOVE, seed=seed)

    seen = None if own is None else partial(_seen, own, data, scores_of, seed)
    return calibrate_on(parts, scored, n_jobs=n_jobs, seconds=seconds, seen=seen)


def some_rows(n_rows: int, n_classes: int, seed: int) -> IntArray:
    """Numbers of the rows that stand for all, in order, where a glance has to do."""
    drawn = np.random.default_rng(seed).choice(n_rows, min(n_rows, max(1, _MOST_SEEN // n_classes)), replace=False)
    return np.sort(drawn).astype(np.int64)


def _seen(
    own: BayesianNetwork,
    data: DiscreteDataset,
    scores_of: Callable[[BayesianNetwork, DiscreteDataset], HeldOutScores],
    seed: int,
) -> HeldOutScores:
    return scores_of(own, data.subset(some_rows(data.n_samples, data.n_classes, seed)))


def best_start(problem: Formulation, *, seed: int, seconds: float | None) -> BayesianNetwork:
    """The best that a formulation's heuristics find: near enough for a temperature, and no clock decides what it is."""
    ends = None if seconds is None else now() + seconds
    best = problem.trivial_start().model
    value = problem.evaluate(best)
    for start in problem.starts(seed=seed, deadline=ends):
        if stop_asked():
            raise KeyboardInterrupt
        if (found := problem.evaluate(start.model)) > value:
            best, value = start.model, found
    network: BayesianNetwork = best
    return network


def calibrate_on(
    parts: Callable[[], Sequence[tuple[Any, Any]]],
    scored: Scored,
    *,
    n_jobs: int | None = None,
    seconds: float | None = None,
    may_bend: bool = False,
    seen: Callable[[], HeldOutScores] | None = None,
) -> Calibration:
    """The temperature of the scores on parts: rows to learn from, and rows held out.

    Parts that a time limit leaves no time for are left out. Each may take what is left, so that the models of the parts
    are learned as far as the one that is calibrated. Where no part has time, `seen` gives scores of rows that the model
    was learned from: a calibration from them is too sure still, but no probability of a margin is surer.
    """
    ends = None if seconds is None else now() + seconds

    def over() -> bool:
        return ends is not None and now() >= ends

    def chosen_on(found: Sequence[HeldOutScores], *, seen: bool) -> Calibration:
        known = [one.log_proba for one in found if one.log_proba is not None]
        return choose_temperature(
            np.concatenate([one.scores for one in found]),
            np.concatenate([one.codes for one in found]),
            np.concatenate([one.weight for one in found]),
            before=np.concatenate(known) if known else None,
            may_bend=may_bend,
            seen=seen,
        )

    with suppress(OutOfTime), leaving_when(over):
        leave_in_time()
        found = _scores_of_parts(parts(), scored, ends, n_jobs)
        if found is None:
            return Calibration(reason="no class has two rows, of which one could be held out")
        if found and not stop_asked():
            return chosen_on(found, seen=False)
    if stop_asked():
        return Calibration(reason="Ctrl-C came first")
    return Calibration(reason="the time limit left no time") if seen is None else chosen_on([seen()], seen=True)


def _scores_of_parts(
    parts: Sequence[tuple[Any, Any]], scored: Scored, ends: float | None, n_jobs: int | None
) -> list[HeldOutScores] | None:
    """Of each part that there is time for; None where there are no parts."""
    if not parts:
        return None
    least = 0.0 if ends is None else max(0.0, ends - now()) / (2 * len(parts))
    work = [(scored, train, held_out, ends, least) for train, held_out in parts]
    return run_until_interrupted(_scores, work, n_jobs)


def _scores(scored: Scored, train: Any, held_out: Any, ends: float | None, least: float) -> HeldOutScores | None:
    """The scores of one part; None where time or Ctrl-C cut it off."""
    left = None if ends is None else ends - now()
    if left is not None and left <= least:
        return None
    answer = None
    with until_interrupted() as cut, suppress(OutOfTime), leaving_when(lambda: ends is not None and now() >= ends):
        answer = scored(train, held_out, None if left is None else 0.9 * left)
    return None if cut or stop_asked() else answer
