"""One call: a proof and the raw table in, what is proved out."""

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.relaxation_proofs import MAGIC, verified_multipliers
from mmbn_opt.rigour.cells import NA
from mmbn_opt.rigour.enclosed import Enclosed, gamma
from mmbn_opt.rigour.frames import beginning
from mmbn_opt.rigour.samples import Samples
from mmbn_opt.rigour.table import table_of
from mmbn_opt.rigour.verified import Verified
from mmbn_opt.verification.bounds import Bounds
from mmbn_opt.verification.boxes import Boxes
from mmbn_opt.verification.margins import Margins
from mmbn_opt.verification.problem import Problem
from mmbn_opt.verification.replay import Replay
from mmbn_opt.verification.tree_file import records

__all__ = ["verify"]


def verify(
    proof: Path, data: Path, *, na: Iterable[str] = NA, progress: Callable[[int, float], object] | None = None
) -> Verified:
    """Prove again what a file claims, from the raw table.

    Parameters
    ----------
    proof : Path
        The file ``tree.mmbn`` of a search, or the proof file of a relaxation.
    data : Path
        Delimited text (.gz) with the columns that were solved.
    na : iterable of str
        Cells that are missing.
    progress : callable or None
        Called now and then with the number of records that were gone through and their share of a tree file, which may
        be long: what took a search hours takes some minutes.

    Raises
    ------
    InputError
        If the table is another one, or the file is no proof that can be read.
    """
    try:
        if beginning(proof).startswith(MAGIC):
            return verified_multipliers(proof, data, frozenset(na))
        return _verified_tree(data, frozenset(na), records(proof, progress and _told_apart(progress)))
    except InputError:
        raise
    except _ProgressFailed as failed:
        raise failed.error from None
    except (StopIteration, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise FormatError(f"{proof} is no proof that can be read: {error!r}.") from error


class _ProgressFailed(Exception):
    """What the caller's function failed with, which says nothing of the file."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _told_apart(progress: Callable[[int, float], object]) -> Callable[[int, float], None]:
    def tell(number: int, share: float) -> None:
        try:
            progress(number, share)
        except Exception as error:
            raise _ProgressFailed(error) from error

    return tell


def _verified_tree(data: Path, na: Collection[str], found: Iterator[tuple[int, Any]]) -> Verified:
    header = next(found)[1]
    problem = Problem(header)
    # What structures have to keep is said by what is read of it, not by the words that stand beside.
    stated = {key: value for key, value in header["problem"].items() if key not in ("constraints", "limits")}
    samples, (first, *rest) = table_of({**header, "problem": stated}, data, na)
    statement = f"{first}; {len(problem.columns)} candidates", *problem.limits.told, *rest
    with np.errstate(all="ignore"):  # what overflows proves nothing
        return _verified(problem, samples, found, header["offset"], statement)


def _verified(problem: Problem, samples: Samples, found: Any, offset: float, statement: tuple[str, ...]) -> Verified:
    boxes = Boxes(problem)
    cost, margins, most = Enclosed(*np.zeros((2, len(problem.columns)))), None, 0.0
    if problem.by_margin:
        margins, most = Margins(samples, problem), problem.gamma * float(samples.weight.sum())
    else:
        scores = [problem.local_score(samples, *column) for column in problem.columns]
        cost = Enclosed(-np.array([s.value for s in scores]), np.array([s.error for s in scores]))
    excess = problem.uncovered(samples, cost)
    replay = Replay(boxes, Bounds(cost, boxes.offsets, boxes.owner, margins), len(samples.codes) if margins else 0)
    replay.run(found)
    choice, (value, error) = replay.incumbent, Enclosed(*np.array([-np.inf, 0.0]))
    if choice:
        inside = boxes.is_acyclic(choice) and boxes.keeps(choice)
        if not inside or any(frozenset(problem.columns[k][1]) not in problem.sets_of(v) for v, k in enumerate(choice)):
            raise FormatError("The best structure of the tree file has a cycle, or is outside of its class or limits.")
        value, error = margins.value(choice) if margins else Enclosed(-cost.value[choice], cost.error[choice]).total()
    bound = most + excess - replay.proved
    bound += gamma(4) * (abs(most) + excess + abs(replay.proved))
    claimed = most - replay.claimed if margins else -replay.claimed - offset
    return Verified(statement, bound, claimed, replay.rounding + excess, float(value), float(error), replay.records)
