"""Children's linear programs: the revised simplex on the parent's tableau against the dense one on a copy of it.

    python benchmarks/structure/children.py --data ../shared/data --sets heart,vehicle,segment

Runs the search for some boxes and solves every child that it evaluates both ways, one after the other. Prints processor
time of both, their ratio, and the largest difference between the objectives of programs that both solved to the end.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from grid import load, make

from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut
from mmbn_opt.solvers.choice.branch_and_cut import _simplex as simplex
from mmbn_opt.solvers.choice.branch_and_cut._tableau import Workspace


class Watch:
    """Stands in for `Workspace.solve_children` and does its work twice."""

    def __init__(self) -> None:
        self.revised = self.dense = self.difference = 0.0
        self.children = self.pivots = self.height = self.width = 0
        self._solve = Workspace.solve_children

    def __call__(self, workspace, tableau, allowed, cutoff, max_pivots, first, work_limit, slots, lam, values, bases):  # type: ignore[no-untyped-def]
        """Both ways; what the search sees is the revised simplex's."""
        begin = time.process_time()
        last, pivots = self._solve(
            workspace, tableau, allowed, cutoff, max_pivots, first, work_limit, slots, lam, values, bases
        )
        middle = time.process_time()
        objectives = []
        for child in range(first, last):
            twin = tableau.copy_for(allowed[child])
            status = twin.optimise(allowed[child], cutoff, max_pivots)
            twin.multipliers(slots, cutoff)
            objectives.append(twin.z if status == simplex.OPTIMAL else np.nan)
        self.dense += time.process_time() - middle
        self.revised += middle - begin
        both = np.array(objectives) - values[first:last]
        self.difference = max(self.difference, float(np.nanmax(np.abs(both), initial=0.0)))
        self.children += last - first
        self.pivots += pivots
        self.height += tableau.height * (last - first)
        self.width += tableau.width * (last - first)
        return last, pivots


def main() -> None:
    """One line a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default="heart,vehicle,segment,soybean-large,satimage,spambase")
    parser.add_argument("--p", type=float, default=0.9)
    parser.add_argument("--boxes", type=int, default=20)
    given = parser.parse_args()
    print("| set | children | height x width | pivots a child | dense, s | revised, s | ratio | largest difference |")
    print("|---|---|---|---|---|---|---|---|")
    for name in given.sets.split(","):
        formulation = make(load(given.data, name), "sm", given.p, 2)
        program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
        start = None
        for found in formulation.starts(seed=0):
            start = formulation.encode(found.model, ProgramKind.IMPLICIT_CONCAVE)
        for boxes in (1, given.boxes):  # the first run compiles
            watch = Watch()
            Workspace.solve_children = lambda workspace, *rest, watch=watch: watch(workspace, *rest)  # type: ignore[method-assign]
            try:
                BranchAndCut(options={"node_limit": boxes}).solve(program, start=start)
            finally:
                Workspace.solve_children = watch._solve  # type: ignore[method-assign]
        n = max(watch.children, 1)
        cells = (
            name, f"{watch.children:,}", f"{watch.height / n:.0f} x {watch.width / n:.0f}", f"{watch.pivots / n:.0f}",
            f"{watch.dense:.2f}", f"{watch.revised:.2f}", f"{watch.dense / watch.revised:.1f}",
            f"{watch.difference:.0e}",
        )  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
