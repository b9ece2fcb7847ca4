"""One call: a tree file and the raw table in, what is proved out."""

import zlib
from base64 import b64decode
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.verification.bounds import Bounds
from mmbn_opt.verification.boxes import Boxes
from mmbn_opt.verification.cells import NA, Column, read_codes
from mmbn_opt.verification.enclosed import Enclosed, gamma
from mmbn_opt.verification.margins import Margins
from mmbn_opt.verification.problem import Problem, Samples
from mmbn_opt.verification.replay import Replay
from mmbn_opt.verification.tree_file import records

__all__ = ["Verified", "verify"]


class Verified(NamedTuple):
    """What was proved again, of an objective that is a maximum.

    Parameters
    ----------
    statement : tuple of str
        The problem that it is about, and how the columns of the table are read.
    bound, claimed : float
        No structure of the class is worth more; and what the file says.
    rounding : float
        At most by so much `bound` is above what the same multipliers give if nothing is rounded.
    value, value_error : float
        What the best structure of the file is worth, from the data, and how far that may be off; -inf if it has none.
    records : int
    """

    statement: tuple[str, ...]
    bound: float
    claimed: float
    rounding: float
    value: float
    value_error: float
    records: int

    @property
    def holds(self) -> bool:
        """Whether the bound is as strong as the file says, up to a billionth."""
        return self.bound <= self.claimed + 1e-9 * max(1.0, abs(self.claimed))


def verify(tree: Path, data: Path, *, na: Iterable[str] = NA) -> Verified:
    """Prove again what a tree file claims, from the raw table.

    Parameters
    ----------
    tree : Path
        The file ``tree.mmbn`` of a run.
    data : Path
        Delimited text (.gz) with the columns that were solved.
    na : iterable of str
        Cells that are missing.

    Raises
    ------
    InputError
        If the table is another one, or the file is no proof that can be read.
    """
    found = records(tree)
    try:
        header = next(found)[1]
        problem, said = Problem(header), header["data"]
        nodes = header["nodes"]
        columns = [Column(v["name"], tuple(map(str, v["states"])), v["cuts"], v["has_missing_state"]) for v in nodes]
        rows = read_codes(data, columns, frozenset(na), drop=said["dropped"] > 0)
        checksums = np.frombuffer(b64decode(said["row_crc32"] or ""), "<u4").tolist()
        for (line, row), checksum in zip(rows.items(), checksums, strict=False):
            if zlib.crc32(np.array(row, dtype="<i4").tobytes()) != checksum:
                raise InputError(
                    f"{data}: line {line} differs from the data of the proof. Give the table that was solved."
                )
        if not len(rows) == said["rows"] == said["total_weight"]:
            told = f"{data} has {len(rows)} rows, the proof is about {said['rows']} that weigh {said['total_weight']:g}"
            raise InputError(f"{told}. Give the table that was solved, and repeat rows in place of weights.")
        samples = Samples.of(np.array(list(rows.values())), tuple(len(column.states) for column in columns))
        about = [f"table: {data.name}, {len(rows)} rows; {len(problem.columns)} candidates"]
        about += [f"{key}: {value}" for key, value in header["problem"].items() if value not in (None, [])]
        about += [f"{column.name}: {column.cuts or column.states}" for column in columns]
        with np.errstate(all="ignore"):  # what overflows proves nothing
            return _verified(problem, samples, found, header["offset"], tuple(about))
    except InputError:
        raise
    except (StopIteration, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise FormatError(f"{tree} is no proof that can be read: {error!r}.") from error


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
        inside = boxes.is_acyclic(choice)
        if not inside or any(frozenset(problem.columns[k][1]) not in problem.sets_of(v) for v, k in enumerate(choice)):
            raise FormatError("The best structure of the tree file has a cycle, or is outside of its class.")
        value, error = margins.value(choice) if margins else Enclosed(-cost.value[choice], cost.error[choice]).total()
    bound = most + excess - replay.proved
    bound += gamma(4) * (abs(most) + excess + abs(replay.proved))
    claimed = most - replay.claimed if margins else -replay.claimed - offset
    return Verified(statement, bound, claimed, replay.rounding + excess, float(value), float(error), replay.records)
