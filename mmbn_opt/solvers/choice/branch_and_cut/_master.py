"""The root's linear program, kept hot in HiGHS while rows come and go."""

from collections.abc import Sequence

import highspy
import numpy as np
from numpy.typing import NDArray

from ...._arrays import FloatArray
from ....exceptions import SolverError
from ...mixed_integer.highs_model import fresh_scheduler, quiet_highs
from ._pool import RowPool, Slots

__all__ = ["Master"]


class Master:
    """``min c'x + sum_g s_g`` over the rows given, one column of each node, ``x, s >= 0``.

    Parameters
    ----------
    pool : RowPool
    allowed : bool array (n_columns,)
        Columns that may be above 0.
    """

    def __init__(self, pool: RowPool, allowed: NDArray[np.bool_]) -> None:
        self._pool = pool
        program = pool.program
        self._n, self._nodes = program.n_columns, program.n_nodes
        n_groups = pool.n_groups
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self._n + n_groups, self._nodes
        lp.col_cost_ = np.concatenate([program.c, np.ones(n_groups)])
        lp.col_lower_ = np.zeros(self._n + n_groups)
        lp.col_upper_ = np.concatenate([np.where(allowed, np.inf, 0.0), np.full(n_groups, np.inf)])
        lp.row_lower_ = lp.row_upper_ = np.ones(self._nodes)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = program.offsets.astype(np.int32)
        lp.a_matrix_.index_ = np.arange(self._n, dtype=np.int32)
        lp.a_matrix_.value_ = np.ones(self._n)
        fresh_scheduler()
        self._highs = quiet_highs()
        self._highs.setOptionValue("threads", 1)
        self._highs.setOptionValue("presolve", "off")
        self._highs.setOptionValue("solver", "simplex")
        self._highs.setOptionValue("simplex_strategy", 1)
        if self._highs.passModel(lp) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused the root program; its own log says more (verbose=True).")
        self.slots = np.zeros(0, dtype=np.int64)
        self._idle = np.zeros(0, dtype=np.int64)
        self.iterations = 0
        self.ray = np.zeros(0)

    def add(self, slots: Slots) -> None:
        """Add rows of the pool (already held for us)."""
        if not len(slots):
            return
        starts, index, values = [0], [], []
        for slot in slots:
            support = np.flatnonzero(self._pool.rows[slot])
            index.append(support)
            values.append(self._pool.rows[slot][support])
            if self._pool.group[slot] >= 0:
                index.append(np.array([self._n + self._pool.group[slot]]))
                values.append(np.ones(1))
            starts.append(starts[-1] + sum(len(part) for part in index[-(1 + (self._pool.group[slot] >= 0)) :]))
        self._highs.addRows(
            len(slots), self._pool.rhs[slots], np.full(len(slots), np.inf), starts[-1], np.array(starts[:-1],
            dtype=np.int32), np.concatenate(index).astype(np.int32), np.concatenate(values),
        )  # fmt: skip
        self.slots = np.concatenate([self.slots, slots])
        self._idle = np.concatenate([self._idle, np.zeros(len(slots), dtype=np.int64)])

    def solve(self, seconds: float) -> bool:
        """Run; False when no optimal basis was reached in time, or there is none: `ray` then says of which rows."""
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + min(max(seconds, 0.01), 1e9))
        self._highs.run()
        self.iterations += max(0, int(self._highs.getInfo().simplex_iteration_count))
        status = self._highs.getModelStatus()
        self.ray = np.zeros(len(self.slots))
        if status == highspy.HighsModelStatus.kInfeasible:
            _, has_ray, ray = self._highs.getDualRay()
            if has_ray:
                self.ray = np.array(ray)[self._nodes :]
        return bool(status == highspy.HighsModelStatus.kOptimal)

    def read(self) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Value, point, losses and multipliers of the rows in `slots`."""
        solution = self._highs.getSolution()
        columns = np.array(solution.col_value)
        lam = np.array(solution.row_dual)[self._nodes :]
        value = float(self._highs.getInfo().objective_function_value)
        self._idle = np.where(lam > 1e-10, 0, self._idle + 1)
        return value, np.maximum(columns[: self._n], 0.0), columns[self._n :], np.maximum(lam, 0.0)

    def purge(self, patience: int) -> None:
        """Delete rows that have not been binding for `patience` rounds; the basis stays as it is."""
        basis = self._highs.getBasis()
        status: Sequence[object] = basis.row_status[self._nodes :]
        basic = np.array([s == highspy.HighsBasisStatus.kBasic for s in status], dtype=bool)
        gone = np.flatnonzero((self._idle >= patience) & basic)
        if not len(gone):
            return
        self._highs.deleteRows(len(gone), (gone + self._nodes).astype(np.int32))
        keep = np.ones(len(self.slots), dtype=bool)
        keep[gone] = False
        self._pool.release(self.slots[gone])
        self.slots, self._idle = self.slots[keep], self._idle[keep]
