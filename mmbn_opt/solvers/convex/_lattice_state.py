"""Variables of an interior point on a lattice of labellings, one iteration on them, and how the lattice grows."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..._arrays import FloatArray
from ...programs.chain_program import ChainProgram
from ...programs.lattice import LabellingLattice, edges_near_best
from ._corrections import Step, mehrotra_step, to_boundary
from ._lattice_holders import holder_of
from ._lattice_system import DetourBlocks, Detours, LatticeSystem

__all__ = ["LatticeState"]

CENTRING, CENTRED = 60, (0.5, 2.0)
"""Most steps towards the centre of the flows, which is reached when all products are within these shares of mu."""
WITHIN = 1.02
"""A step of the flows of a sequence stays so far from where one of them would vanish."""
CLOSE, FURTHER = 0.1, 0.3
"""Edges on labellings that are behind the best by no more than this share of gamma join; where the best is ahead of the
lattice, those between the two as well, down to this share more."""
SHORTENED = 6
"""A step is halved so often, at most."""
MIXED = 0.1
"""Share of the centred flow in that of a sequence which new edges have joined."""
CROSSED = 10.0
"""Second-order terms of a pair count up to this share of mu: beyond it is the step that is poor."""
SLOWEST = 1e-3
"""Complementarity falls by no more in a step."""


class LatticeState:
    """Primal and dual variables of the method.

    Parameters w and gamma, flows on the edges with slacks (by how much an edge is worse than the potential of its
    nodes asks), and the pairs of what holds w. Flows change along detours only, so that each iterate proves a bound.
    New edges come with slacks that are right for a point near by: what is missing closes with the rest.

    Parameters
    ----------
    program : ChainProgram
    w : float64 array (n,)
        Feasible.
    gap : float
        How far from the optimum, about.
    lattice : LabellingLattice
        The first one.
    """

    def __init__(self, program: ChainProgram, w: FloatArray, gap: float, lattice: LabellingLattice) -> None:
        self.program, self.w, self.gamma, self.lattice = program, w.copy(), program.best_gamma(w), lattice
        mu = max(5.0 * gap / program.loss_weight / len(lattice), 1e-12)
        self.flow, self.s = self._centred(self.lattice, mu)
        self.holder = holder_of(program, self.w, self._pull(), mu)
        if not self.holder.free.all():
            self.w = self.holder.start(self.w)
            self.flow, self.s = self._centred(self.lattice, mu)
        self.detours = Detours(self.lattice, self.flow)
        self.step_lengths, self.behind = 1.0, np.inf

    def _pull(self) -> FloatArray:
        return self.program.linear + self.lattice.means(self.flow)[1]

    def _centred(self, lattice: LabellingLattice, mu: float) -> tuple[FloatArray, FloatArray]:
        """Flows and slacks whose products are near `mu`, for w as it is."""
        s = lattice.slacks(lattice.scores(self.w, self.gamma), mu) + mu
        flow = lattice.flows(1.0 / s)
        detours, sequence = Detours(lattice, flow), lattice.sequence
        for _ in range(CENTRING):
            product = flow * s
            if product.min() > CENTRED[0] * mu and product.max() < CENTRED[1] * mu:
                break
            wanted = mu / flow - s
            change = detours.turns @ DetourBlocks(detours, s / flow).solve(detours.turns.T @ wanted)
            turned = wanted - s / flow * change
            furthest = np.ones(lattice.chains.n_sequences)
            np.maximum.at(furthest, sequence, WITHIN * np.maximum(-change / flow, -turned / s))
            flow = flow + change / furthest[sequence]
            s = s + turned / furthest[sequence]
        return flow, s

    @property
    def bound(self) -> float:
        """Lower bound that the flows prove."""
        missed, moved = self.lattice.means(self.flow)
        return self.program.bound_of(missed, self.program.linear + moved)

    @property
    def spread(self) -> float:
        """Sum of all complementarity products, in the unit of the losses."""
        return sum(float(slacks @ multipliers) for slacks, multipliers, _, _ in self._pairs())

    @property
    def merit(self) -> float:
        """The same, and what slacks of new edges are off by."""
        return self.spread + self.behind

    def _pairs(self) -> list[tuple[FloatArray, FloatArray, str, str]]:
        values = self.holder.values
        return [(self.s, self.flow, "s", "flow"), *((values[a], values[b], a, b) for a, b in self.holder.pairs)]

    @property
    def _mu(self) -> float:
        return self.spread / (len(self.flow) + self.holder.n_pairs)

    def iterate(self) -> None:
        """One predictor and corrector step on the same factorization."""
        program = self.program
        missed, moved = self.lattice.means(self.flow)
        held = self.holder.look(self.w)
        self._stationarity = np.where(self.holder.free, held - program.linear - moved, 0.0)
        self._slope = curvature = 0.0
        if program.strength is not None:
            self._slope = missed - self.gamma**-3.0 / program.strength
            curvature = 3.0 * self.gamma**-4.0 / program.strength
        self._missing = self.detours.turns.T @ (self.s + self.lattice.scores(self.w, self.gamma))
        self._weights = self.s / self.flow
        system = LatticeSystem(self.detours, self.holder, self._weights, curvature)
        step = mehrotra_step(
            self._pairs(),
            len(self.flow) + self.holder.n_pairs,
            partial(self._direction, system),
            self._lengths,
            slowest=SLOWEST,
            crossed_most=CROSSED,
        )
        self._move(step, *self._believed(step, *self._lengths(step)))

    def _direction(self, system: LatticeSystem, target: float, crossed: Mapping[str, FloatArray]) -> Step:
        """Newton step towards complementarity `target`, with second-order terms of an earlier step by pair."""
        wanted = (target - crossed["s"]) / self.flow - self.s
        right = self.holder.right(target, crossed) - self._stationarity
        dw, dgamma, dx = system.solve(right, -self._slope, self.detours.turns.T @ wanted + self._missing)
        change = self.detours.turns @ dx
        slacks = wanted - self._weights * change
        return {"w": dw, "gamma": np.array([dgamma]), "s": slacks, "flow": change, **self.holder.steps(dw)}

    def _lengths(self, step: Step) -> tuple[float, float]:
        """Longest steps of slacks and of multipliers that stay inside."""
        pairs = self._pairs()
        primal = min(
            1.0,
            self.holder.longest(self.w, step["w"]),
            to_boundary(np.array([self.gamma]), step["gamma"]),
            *(to_boundary(slacks, step[key]) for slacks, _, key, _ in pairs),
        )
        return primal, min(1.0, *(to_boundary(multipliers, step[partner]) for _, multipliers, _, partner in pairs))

    def _believed(self, step: Step, primal: float, dual: float) -> tuple[float, float]:
        """Lengths at which the labellings that were left out lose no more than there is to gain inside."""
        spread = self.spread
        for _ in range(SHORTENED):
            gamma = self.gamma + primal * float(step["gamma"][0])
            if float(self._ahead(self.w + primal * step["w"], gamma).sum()) <= spread:
                break
            primal, dual = 0.5 * primal, 0.5 * dual
        return primal, dual

    def _ahead(self, w: FloatArray, gamma: float) -> FloatArray:
        """By how much the best labelling of each sequence is ahead of the best one in the lattice."""
        lattice, chains = self.lattice, self.lattice.chains
        inside = lattice.potentials(lattice.scores(w, gamma))[lattice.n_nodes - chains.n_sequences :]
        ahead: FloatArray = np.maximum(chains.best(w, gamma).values - inside, 0.0)
        return ahead

    def _move(self, step: Step, primal: float, dual: float) -> None:
        self.w = self.w + primal * step["w"]
        self.gamma += primal * float(step["gamma"][0])
        self.s = self.s + primal * step["s"]
        self.flow = self.flow + dual * step["flow"]
        self.behind = (1.0 - primal) * float(np.abs(self._missing).sum())
        for slacks, multipliers in self.holder.pairs:
            self.holder.values[slacks] = self.holder.values[slacks] + primal * step[slacks]
            self.holder.values[multipliers] = self.holder.values[multipliers] + dual * step[multipliers]
        self.step_lengths = max(primal, dual)

    def grow(self) -> bool:
        """Take in the edges of labellings that are ahead of those of the lattice, or nearly so; whether it grew."""
        lattice, chains = self.lattice, self.lattice.chains
        behind = np.minimum(self._ahead(self.w, self.gamma), FURTHER * self.gamma) + CLOSE * self.gamma
        keys = edges_near_best(chains, self.w, self.gamma, behind)
        grown, old = lattice.joined(keys)
        if len(grown) == len(lattice):
            return False
        joined = np.ones(len(grown), dtype=bool)
        joined[old] = False
        touched = np.zeros(chains.n_sequences, dtype=bool)
        touched[grown.sequence[joined]] = True
        flow, s = self._centred(grown, self._mu)
        before = np.zeros(len(grown))
        before[old] = self.flow
        # To go on with the old flows alone would leave nothing on the new edges, with the new ones alone be a jump.
        self.flow = np.where(touched[grown.sequence], (1.0 - MIXED) * before + MIXED * flow, before)
        s[old] = self.s
        self.s, self.lattice = s, grown
        self.detours = Detours(grown, self.flow)
        return True
