"""What a solver's result says by fields, and what it shows."""

from mmbn_opt.results.proof import Proof
from mmbn_opt.results.status import Sense, SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import BoundTrace
from mmbn_opt.solvers.base import SolverResult, program_bounds


def answer(**more):
    return SolverResult(
        TerminationStatus.OPTIMAL, SolutionStatus.NO_SOLUTION, "done", None, program_bounds(None, 1.0),
        BoundTrace(Sense.MINIMIZE), **more,
    )  # fmt: skip


def test_what_is_in_the_fields_alone_is_shown():
    told = answer(stats={"groups": 2}, nodes=0, iterations=9, seconds=0.5, proof=Proof(1.0, {"bounds": 7}))
    assert told.figures == {
        "groups": 2, "nodes": 0, "iterations": 9, "solve_sec": 0.5, "bound_reproved": 1.0, "proof": {"bounds": 7},
    }  # fmt: skip


def test_a_field_goes_before_what_stats_say():
    assert answer(stats={"nodes": 3}, nodes=4).figures["nodes"] == 4
    assert answer().proof is None
