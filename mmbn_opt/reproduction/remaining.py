"""How long what is left will take, from what has been timed so far, and what cannot be judged yet."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from mmbn_opt.reproduction.trial import PlannedTrial, TrialRecord

__all__ = ["Remaining", "remaining"]

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


@dataclass(frozen=True)
class Remaining:
    """An estimate of the time that is left.

    Parameters
    ----------
    seconds : float
        Of the runs that can be judged, at the given number of runs at the same time.
    unknown : tuple of str
        Methods of which no run has ended yet; theirs are not in `seconds`.
    runs_unknown : int

    Examples
    --------
    >>> print(Remaining(200.0, (), 0))
    about 3 min left
    >>> print(Remaining(20.0, ("SM", "SBM"), 12))
    about 20 s left, without 12 runs of SM, SBM, of which none has ended yet
    """

    seconds: float
    unknown: tuple[str, ...]
    runs_unknown: int

    def __str__(self) -> str:
        told = f"about {_duration(self.seconds)} left"
        if not self.unknown:
            return told
        return f"{told}, without {self.runs_unknown} runs of {', '.join(self.unknown)}, of which none has ended yet"


def remaining(pending: Iterable[PlannedTrial], done: Iterable[TrialRecord], n_jobs: int = 1) -> Remaining:
    """Judge each run by those of the same method on the same set, else by the method's time a training row elsewhere.

    Parameters
    ----------
    pending : runs that are not done
    done : runs that are
    n_jobs : int
        Runs at the same time.
    """
    same: dict[tuple[str, str], list[float]] = defaultdict(list)
    a_row: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for record in done:
        same[record.method, record.dataset].append(record.seconds)
        a_row[record.method].append((record.seconds, record.n_train))
    total, unknown = 0.0, dict[str, int]()
    for trial in pending:
        if (trial.method, trial.dataset) in same:
            total += fmean(same[trial.method, trial.dataset])
        elif trial.method in a_row:
            total += _by_rows(a_row[trial.method], len(trial.rows[0]), trial.context.time_limit)
        else:
            unknown[trial.method] = unknown.get(trial.method, 0) + 1
    return Remaining(total / max(n_jobs, 1), tuple(unknown), sum(unknown.values()))


def _by_rows(known: list[tuple[float, int]], rows: int, limit: float) -> float:
    """No less than the quickest run so far, for a process has to start; no more than limits and experience allow."""
    least, longest = min(seconds for seconds, _ in known), max(seconds for seconds, _ in known)
    by_row = rows * sum(seconds for seconds, _ in known) / sum(n for _, n in known)
    return max(least, min(by_row, max(longest, 2.0 * limit)))


def _duration(seconds: float) -> str:
    """A length of time in one or two words.

    Examples
    --------
    >>> _duration(12), _duration(100), _duration(8000), _duration(200000)
    ('12 s', '2 min', '2.2 h', '2.3 days')
    """
    if seconds < 1.5 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 1.5 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < 2 * _DAY else f"{seconds / _DAY:.1f} days"
