"""Linear programs of boxes and their children, each solved in two ways in one run.

    python benchmarks/structure/children.py --data ../shared/data --sets heart,vehicle,segment

Runs the search for some boxes. A box's own program is solved on a tableau that is brought up to date after pivots on
32 of its rows, and on a copy where it is after every one, so that all of it moves for nearly each pivot. A child's
program is solved by pivots that are noted on top of its parent's tableau, and on a copy of that. Prints processor
microseconds a pivot, the child's copy with making it, and the largest difference between objectives of programs that
were solved to the end.
"""

import argparse
import time
from copy import deepcopy
from pathlib import Path

import numpy as np
from grid import load, make

from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut
from mmbn_opt.solvers.choice.branch_and_cut import _simplex as simplex
from mmbn_opt.solvers.choice.branch_and_cut._tableau import Tableau, Workspace

LATE = simplex.ROWS_TO_SETTLE


class Timed:
    """Seconds and pivots of one way."""

    def __init__(self) -> None:
        self.seconds, self.pivots, self.programs, self.height, self.width = 0.0, 0, 0, 0, 0

    def add(self, begin: float, pivots: int, tableau: Tableau, programs: int = 1) -> None:
        """Since `begin`."""
        self.seconds += time.process_time() - begin
        self.pivots += pivots
        self.programs += programs
        self.height += programs * tableau.height
        self.width += programs * tableau.width

    @property
    def each(self) -> float:
        """Microseconds a pivot."""
        return 1e6 * self.seconds / max(1, self.pivots)


class Watch:
    """Stands in for what solves programs, and does its work twice."""

    def __init__(self) -> None:
        self.box, self.slow_box, self.child, self.slow_child = Timed(), Timed(), Timed(), Timed()
        self.difference = 0.0
        self._optimise, self._solve = Tableau.optimise, Workspace.solve_children

    def __enter__(self) -> "Watch":
        Tableau.optimise = lambda *given: self.optimise(*given)  # type: ignore[method-assign]
        Workspace.solve_children = lambda *given: self.solve_children(*given)  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        Tableau.optimise, Workspace.solve_children = self._optimise, self._solve  # type: ignore[method-assign]

    def optimise(self, tableau, allowed, cutoff, max_pivots):  # type: ignore[no-untyped-def]
        """A box's program: a copy that moves for each pivot, then the tableau itself."""
        twin, before = deepcopy(tableau), tableau.pivots
        simplex.ROWS_TO_SETTLE = 1
        begin = time.process_time()
        ended = self._optimise(twin, allowed, cutoff, max_pivots)
        self.slow_box.add(begin, twin.pivots - before, twin)
        simplex.ROWS_TO_SETTLE = LATE
        begin = time.process_time()
        status = self._optimise(tableau, allowed, cutoff, max_pivots)
        self.box.add(begin, tableau.pivots - before, tableau)
        if status == ended == simplex.OPTIMAL:
            self.difference = max(self.difference, abs(tableau.z - twin.z))
        return status

    def solve_children(  # type: ignore[no-untyped-def]
        self, workspace, tableau, allowed, cutoff, max_pivots, first, work_limit, slots, lam, values, bases
    ):
        """Programs of children: on top of the parent's tableau, then each on a copy."""
        begin = time.process_time()
        last, pivots = self._solve(
            workspace, tableau, allowed, cutoff, max_pivots, first, work_limit, slots, lam, values, bases
        )
        self.child.add(begin, pivots, tableau, last - first)
        begin, objectives, total = time.process_time(), [], 0
        for child in range(first, last):
            twin = tableau.copy_for(allowed[child])
            status = self._optimise(twin, allowed[child], cutoff, max_pivots)
            twin.multipliers(slots, cutoff)
            objectives.append(twin.z if status == simplex.OPTIMAL else np.nan)
            total += twin.pivots
        self.slow_child.add(begin, total, tableau, last - first)
        both = np.array(objectives) - values[first:last]
        self.difference = max(self.difference, float(np.nanmax(np.abs(both), initial=0.0)))
        return last, pivots


def cells(ours: Timed, other: Timed) -> list[str]:
    """Of one kind of programs."""
    n = max(ours.programs, 1)
    shape = f"{ours.height / n:.0f} x {ours.width / n:.0f}"
    return [f"{n:,}", shape, f"{ours.pivots / n:.0f}", f"{other.each:.1f}", f"{ours.each:.1f}"]


def main() -> None:
    """One line a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default="heart,vehicle,segment,adult,waveform-21,soybean-large,chess,satimage")
    parser.add_argument("--p", type=float, default=0.9)
    parser.add_argument("--boxes", type=int, default=20)
    given = parser.parse_args()
    kind = ["height x width", "pivots each"]
    heads = ["set", "runs of a box", *kind, "moved each time, us", "after 32 rows, us"]
    heads += ["children", *kind, "on a copy, us", "on top, us", "largest difference"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for name in given.sets.split(","):
        formulation = make(load(given.data, name), "sm", given.p, 2)
        program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
        start = None
        for found in formulation.starts(seed=0):
            start = formulation.encode(found.model, ProgramKind.IMPLICIT_CONCAVE)
        for boxes in (1, given.boxes):  # the first run compiles
            with Watch() as watch:
                BranchAndCut(options={"node_limit": boxes}).solve(program, start=start)
        line = [name, *cells(watch.box, watch.slow_box), *cells(watch.child, watch.slow_child)]
        print("| " + " | ".join([*line, f"{watch.difference:.0e}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
