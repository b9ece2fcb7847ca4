"""Variables of the proximal Newton method, its rounds, and Newton's method inside a round."""

import math
from collections.abc import Iterator

import numpy as np

from ..._arrays import FloatArray
from ...programs.convex import ConvexProgram
from ...programs.convex_bounds import admissible_multipliers
from ...programs.margin_kernels import add_adjoint
from ...programs.markov import MarkovProgram
from ._holders import Held, LengthHolder, RowHolder
from ._newton_by_ties import TieSystem
from ._proximal_kernels import move_multipliers, slope_of, sort_moving

__all__ = ["ProximalState"]

FIRST_STEP, FIRST_LENGTH = 0.5, 1e5
"""Proximal steps of the multipliers and of the parameters, in nats of a score and per unit of sample weight."""
FAR, MARGIN = 5e-2, 2.0
"""From a relative gap beyond, with a floor alone, steps begin smaller by as much as gamma is larger than this."""
GROWTH, EASY, HARD = 2.0, 4, 12
"""Steps grow after a round of so few Newton steps, and shrink by the root of it after one of so many."""
LONGEST = 1e9
ROUND, ACCURACY = 50, 0.05
"""Most Newton steps a round; it ends when Newton's decrement is this share of what the round has moved by."""
LARGEST = 5.0
"""Most that a log-parameter moves in a step."""
TRIALS, FLAT = 12, 0.1
"""Of a line search, which ends where the slope is this share of the first one."""
PATIENCE = 40
"""Rounds without progress before the method gives up."""


class ProximalState:
    """Proximal method of multipliers; each round is minimised by a semismooth Newton method.

    With anchors w', y' a round is ``min over w of  sum_m max over y in the simplex of n_m [ y.g_m(w) - |y - y'_m|^2 /
    (2 s n_m) ] - linear.w + |w - w'|^2 / (2 t) + what holds w``, smooth but for kinks of its gradient: the multipliers
    are projections onto simplices, and their derivative lives on the classes that share a sample's weight. So the
    Newton system is a sum over the few samples at a kink. Line searches are exact: along a step only the multipliers of
    samples at, or passing, a kink change.

    Parameters
    ----------
    program : ConvexProgram or MarkovProgram
    w : float64 array (n,)
    multipliers : float64 array (n_samples, n_classes) or None
    gap : float
        Relative, of the point and what was proved before: far from the end the hinges are looked at from further away,
        where many samples still have to change sides.

    References
    ----------
    .. [1] R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex
       programming", Mathematics of Operations Research 1 (1976).
    .. [2] X. Li, D. Sun, K.-C. Toh, "A highly efficient semismooth Newton augmented Lagrangian method for solving Lasso
       problems", SIAM Journal on Optimization 28 (2018).
    """

    def __init__(
        self,
        program: ConvexProgram | MarkovProgram,
        w: FloatArray,
        multipliers: FloatArray | None = None,
        gap: float = 0.0,
    ) -> None:
        self.program, margins = program, program.margins
        self.weight = margins.weight * (program.C if isinstance(program, MarkovProgram) else 1.0)
        rows = np.arange(margins.n_samples)
        own = np.zeros((margins.n_samples, margins.n_classes))
        own[rows, margins.labels] = self.weight
        self.y: FloatArray = own.copy()
        if multipliers is not None:
            self.y = admissible_multipliers(np.array(multipliers), margins.labels, self.weight)
            self.y[rows, margins.labels] = np.maximum(self.weight - self.y.sum(axis=1), 0.0)
        self.new_y: FloatArray = self.y.copy()
        self._trial: FloatArray = self.y.copy()
        self._ids = np.empty(margins.n_samples, dtype=np.int64)
        linear = program.linear if isinstance(program, ConvexProgram) else np.zeros(margins.n_parameters)
        self._linear = linear
        self._at_zero = linear + self._looked_up(own)
        looked_up = self._looked_up(np.broadcast_to(self.weight[:, None], own.shape).copy())
        self.metric = np.maximum(looked_up, float(self.weight.sum()) / margins.n_samples)
        self.w: FloatArray = w.copy()
        self.v: FloatArray = self._at_zero - self._looked_up(self.y)
        self.asked = 0.0
        self.gamma = 1.0
        self.holder: RowHolder | LengthHolder
        if isinstance(program, ConvexProgram):
            self.gamma = program.best_gamma(w)
            self.holder = RowHolder(program, self.v)
            self.w[~self.holder.moving] = program.log_floor
        else:
            self.holder = LengthHolder(margins.n_parameters)
        share = min(1.0, MARGIN / self.gamma) if gap > FAR and not linear.any() else 1.0
        self.step, self.length = FIRST_STEP * share, FIRST_LENGTH * share
        self.rounds = self.newton_steps = self.gradient_steps = 0
        self._best, self._best_at = math.inf, 0

    def _looked_up(self, y: FloatArray) -> FloatArray:
        """Sum of the multipliers over the samples that look an entry up."""
        margins = self.program.margins
        table = np.zeros((margins.patterns.shape[0], margins.n_classes))
        add_adjoint(margins.index, margins.start, y, table)
        return margins.scatter(table)

    def round(self) -> Iterator[None]:
        """One round, with a pause after each piece of work; then the anchors move."""
        margins = self.program.margins
        self.holder.prepare(self.step * self.metric)
        anchor = self.w.copy()
        scores = margins.scores(self.w)
        newton = 0
        while True:
            gradient, held, moved, value = self._look(scores, anchor)
            system = TieSystem(
                margins, self.new_y, self.step * self.weight, held, self.metric / self.length, self.holder
            )
            if newton == ROUND:
                break
            for _ in system.solve(-gradient):
                yield
            newton += 1
            self.gradient_steps += system.steps
            decrement = -float(gradient @ system.direction)
            if decrement <= max(ACCURACY * moved, 1e-13 * abs(value)):
                break
            change = system.direction * min(1.0, LARGEST / max(float(np.abs(system.direction).max()), 1e-300))
            turned = margins.scores(change)
            share = self._line_search(scores, turned, change, float(gradient @ change), anchor)
            self.w = self.w + share * change
            scores += share * turned
            yield
        self.newton_steps += newton
        self.y[:] = self.new_y
        self.holder.accept()
        self.rounds += 1
        factor = GROWTH if newton <= EASY else 1.0 if newton <= HARD else GROWTH**-0.5
        self.step, self.length = min(self.step * factor, LONGEST), min(self.length * factor, LONGEST)
        self.holder.strengthen(factor)
        self._move_gamma()

    def _look(self, scores: FloatArray, anchor: FloatArray) -> tuple[FloatArray, Held, float, float]:
        """Gradient of the round's function, what holds w, how far the round has moved, and the value."""
        margins = self.program.margins
        self.asked, moved, along = move_multipliers(
            scores, self.y, margins.labels, self.weight, self.program.delta, self.gamma, self.step, self.new_y
        )
        self.v = self._at_zero - self._looked_up(self.new_y)
        held = self.holder.at(self.w)
        way = self.w - anchor
        pulled = self.metric * way / self.length
        near, far = moved / (2.0 * self.step), 0.5 * float(pulled @ way)
        value = self.gamma * self.asked + along - float(self._linear @ self.w) - near + far + held.value
        gradient: FloatArray = np.where(self.holder.moving, held.gradient + pulled - self.v, 0.0)
        return gradient, held, near + far, value

    def _line_search(
        self, scores: FloatArray, turned: FloatArray, change: FloatArray, first: float, anchor: FloatArray
    ) -> float:
        """Share of the step at which the slope has nearly vanished, at most 1."""
        margins, delta = self.program.margins, self.program.delta
        move_multipliers(
            scores + turned, self.y, margins.labels, self.weight, delta, self.gamma, self.step, self._trial
        )
        count, fixed = sort_moving(self.new_y, self._trial, self.weight, margins.labels, turned, self._ids)
        ids = self._ids[:count]
        fixed -= float(self._linear @ change)

        def slope(share: float) -> float:
            point = self.w + share * change
            of_samples = slope_of(
                ids, scores, turned, share, self.y, margins.labels, self.weight, delta, self.gamma, self.step,
                self._trial,
            )  # fmt: skip
            pulled = float((self.metric * (point - anchor)) @ change) / self.length
            return float(fixed + of_samples + self.holder.slope(point, change) + pulled)

        low, low_slope, high, high_slope = 0.0, first, 1.0, slope(1.0)
        if high_slope <= FLAT * abs(first):
            return 1.0
        share, side = 1.0, 0
        for _ in range(TRIALS):  # Illinois: the false position, with the end that stays weighed down
            share = low - low_slope * (high - low) / (high_slope - low_slope)
            share = min(max(share, low + 0.05 * (high - low)), high - 0.05 * (high - low))
            here = slope(share)
            if abs(here) <= FLAT * abs(first):
                return share
            if here < 0.0:
                low, low_slope = share, here
                high_slope *= 0.5 if side < 0 else 1.0
                side = -1
            else:
                high, high_slope = share, here
                low_slope *= 0.5 if side > 0 else 1.0
                side = 1
        return low if low > 0.0 else share

    def _move_gamma(self) -> None:
        """Where it is free: towards ``gamma^3 B S = 1``."""
        program = self.program
        if isinstance(program, ConvexProgram) and program.strength is not None and self.asked > 0.0:
            wanted = (program.strength * self.asked) ** (-1 / 3)
            self.gamma *= math.exp(0.5 * float(np.clip(math.log(wanted / self.gamma), -1.0, 1.0)))

    def is_stuck(self, gap: float) -> bool:
        """Whether the gap has not fallen for many rounds."""
        if gap < 0.99 * self._best:
            self._best, self._best_at = gap, self.rounds
        return self.rounds - self._best_at > PATIENCE

    @property
    def rivals(self) -> FloatArray:
        """The multipliers, the own class emptied."""
        table = self.new_y.copy()
        table[np.arange(len(table)), self.program.margins.labels] = 0.0
        return table
