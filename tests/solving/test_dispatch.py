"""One call, one budget: whatever a solver says, the answer is recomputed, and nothing found is lost."""

import contextlib
import dataclasses
import signal
import time
from itertools import combinations

import numpy as np
import pytest
from strategies import dataset_of

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError, MissingDependencyError
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.status import Sense, SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import BoundTrace
from mmbn_opt.solvers.base import Availability, Solver, SolverEvent, SolverResult, program_bounds
from mmbn_opt.solvers.choice.scip_cuts import ScipCutsSolver
from mmbn_opt.solving import dispatch
from mmbn_opt.solving.dispatch import choose_solver


@pytest.fixture
def form():
    rng = np.random.default_rng(2)
    data = dataset_of(rng.integers(0, 3, (80, 5)).tolist(), [3, 3, 3, 3, 3])
    return mm.SoftMarginStructure(data)


@dataclasses.dataclass(frozen=True)
class FakeSolver(Solver):
    """A solver whose answer is written down in advance."""

    name = "fake"
    title = "Fake"
    licence = "none"
    accepts = frozenset({ProgramKind.MIXED_INTEGER})
    status: TerminationStatus = TerminationStatus.OPTIMAL
    dual: float | None = None
    act: object = None

    @classmethod
    def availability(cls):
        return Availability(True, "0")

    def solve(self, program, callback=None, start=None):
        solution = start
        if self.act is not None:
            solution = self.act(program, callback, start)
        primal = None if solution is None else program.value(solution)
        status = SolutionStatus.NO_SOLUTION if solution is None else SolutionStatus.FEASIBLE
        bounds = program_bounds(primal, self.dual)
        return SolverResult(self.status, status, "as told", solution, bounds, BoundTrace(Sense.MINIMIZE), {})


@pytest.fixture
def fake(monkeypatch):
    known = dispatch.get_solver_class
    monkeypatch.setattr(dispatch, "get_solver_class", lambda name: FakeSolver if name == "fake" else known(name))
    return FakeSolver


def test_a_solver_that_lies_about_optimality_is_caught(form, fake):
    result = mm.solve(form, fake(dual=-1e9))
    assert result.termination_status is TerminationStatus.SLOW_PROGRESS
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert result.bounds.primal_bound == pytest.approx(form.evaluate(result.model))


def test_a_bound_below_the_incumbent_fails_the_certificate(form, fake):
    result = mm.solve(form, fake(dual=0.0))  # claims that no structure has a positive margin
    assert result.bounds.primal_bound > 1.0
    assert not result.certificate.ok
    assert "bound on the right side" in [check.name for check in result.certificate.failures]
    with pytest.raises(mm.SolverError, match="bound on the right side"):
        result.raise_for_status()


def test_incumbents_of_a_failing_solver_and_the_starts_are_kept(form, fake):
    best = mm.solve(form, starts=[]).bounds.primal_bound

    def lose_it(program, callback, start):
        optimum = form.encode(mm.solve(form).model)
        callback(SolverEvent(0.1, primal_bound=-1e12, solution=optimum))  # a wrong figure beside a right vector

    result = mm.solve(form, fake(status=TerminationStatus.SOLVER_ERROR, act=lose_it), starts=[])
    assert result.termination_status is TerminationStatus.SOLVER_ERROR
    assert result.bounds.primal_bound == pytest.approx(best, abs=1e-9)
    result = mm.solve(form, fake(status=TerminationStatus.SOLVER_ERROR, act=lambda *a: None))
    assert result.model is not None
    assert result.bounds.primal_bound >= form.evaluate(form.model_of(mm.tan_cmi(form.merged)))


def test_keyboard_interrupt_returns_what_there_is(form, fake):
    def interrupted(program, callback, start):
        raise KeyboardInterrupt

    result = mm.solve(form, fake(act=interrupted))
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.certificate.ok
    assert result.bounds.dual_bound == pytest.approx(form.trivial_bound())


def test_a_callback_can_stop_the_run(form):
    seen = []

    def stop_at_once(record):
        seen.append(record)
        return True

    result = mm.solve(form, callback=stop_at_once)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.model is not None
    assert len(result.trace) == len(seen)


def test_no_time_at_all_is_an_honest_answer(form):
    result = mm.solve(form, time_limit=0.0)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.model.structure.edges == []
    assert result.bounds.dual_bound == form.trivial_bound()
    assert result.certificate.ok
    first = result.trace.records[0]
    assert (first.time_sec, first.event, first.source) == (0.0, "start", "empty graph")


def test_the_budget_covers_everything(form):
    before = time.perf_counter()
    result = mm.solve(form, time_limit=1.0, solver="highs")
    assert time.perf_counter() - before < 10  # far above 1 s, so that a busy machine does not fail it
    assert result.seconds.total >= result.seconds.build + result.seconds.heuristics + result.seconds.solve - 1e-6


def test_gap_limits_stop_early_and_are_optimal_to_that_gap(form):
    result = mm.solve(form, rel_gap=0.9)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.bounds.gap_rel <= 0.9
    assert result.certificate.ok


def test_equal_calls_give_equal_answers(form):
    one, two = (mm.solve(form, seed=3) for _ in range(2))
    assert one.model.structure == two.model.structure
    assert one.bounds.primal_bound == two.bounds.primal_bound
    # Bounds are heard when the clock allows, and the tightest of those heard may differ in the last digit.
    assert one.bounds.dual_bound == pytest.approx(two.bounds.dual_bound, rel=1e-12)
    incumbents = [[(r.primal_bound, r.source) for r in run.trace if r.event != "bound"] for run in (one, two)]
    assert incumbents[0] == incumbents[1]


def test_given_starts_are_used_and_checked(form):
    best = mm.solve(form)
    again = mm.solve(form, starts=[best.model])
    assert again.bounds.primal_bound == best.bounds.primal_bound
    assert "given start" in [r.source for r in again.trace]
    wide = form.model_of(mm.from_edges(form.data, [("x0", "x1"), ("x2", "x1"), ("class", "x1")]))
    moved = mm.solve(form, starts=[wide])
    assert moved.bounds.primal_bound == best.bounds.primal_bound


def test_wrong_calls_are_refused(form, fake, monkeypatch):
    with pytest.raises(InputError, match="unknown solver 'hihgs'"):
        mm.solve(form, "hihgs")
    with pytest.raises(InputError, match="time_limit must be"):
        mm.solve(form, time_limit=-1)
    with pytest.raises(InputError, match="rel_gap must be"):
        mm.solve(form, rel_gap=float("nan"))
    monkeypatch.setattr(fake, "accepts", frozenset())
    with pytest.raises(InputError, match="SoftMarginStructure emits"):
        mm.solve(form, fake())
    monkeypatch.setattr(fake, "accepts", frozenset({ProgramKind.MIXED_INTEGER}))
    monkeypatch.setattr(fake, "availability", classmethod(lambda cls: Availability(False, None, "pip install it")))
    with pytest.raises(MissingDependencyError, match="pip install it"):
        mm.solve(form, fake())


def test_a_configured_solver_keeps_its_options_and_limit(form):
    from mmbn_opt.solvers import HighsSolver

    result = mm.solve(form, HighsSolver(time_limit=30.0, options={"presolve": "off"}))
    assert result.settings["time_limit"] == 30.0
    assert result.settings["options"] == {"presolve": "off"}
    assert result.termination_status is TerminationStatus.OPTIMAL


def test_the_repr_says_it_all(form):
    text = repr(mm.solve(form))
    for part in ("SoftMarginStructure", "OPTIMAL", "gap=0.000%", "certificate ok"):
        assert part in text


@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is not signal.default_int_handler, reason="SIGINT is ignored where this runs"
)
def test_an_interrupt_that_a_library_swallows_still_ends_the_run() -> None:
    """KeyboardInterrupt is lost in a C library's callback; the run has taken note of it all the same."""
    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
    swallowed = []

    def callback(record) -> None:
        if not swallowed:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            swallowed.append(record)

    before = signal.getsignal(signal.SIGINT)
    result = mm.solve(mm.SoftMarginStructure(data), callback=callback)
    assert result.termination_status is mm.TerminationStatus.INTERRUPTED
    assert result.certificate.ok
    assert signal.getsignal(signal.SIGINT) is before


def scored(n_nodes: int, n_sets: int) -> mm.LocalScoreStructure:
    """Local scores of so many sets a node, none of which another dominates."""
    names = [f"v{i}" for i in range(n_nodes)]
    pairs = list(combinations(range(n_nodes), 2))
    scores: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
    for node, name in enumerate(names):
        sets = [(names[a], names[b]) for a, b in pairs if node not in (a, b)][: n_sets - 1]
        scores[name] = [(-3.0, ()), *((-2.0 + k / 1000, s) for k, s in enumerate(sets))]
    return mm.LocalScoreStructure(scores)


@pytest.mark.parametrize(
    ("n_nodes", "n_sets", "with_scip", "without"),
    [
        (25, 100, "subset_search", "subset_search"),
        (26, 100, "scip_cuts", "branch_and_cut"),
        (37, 17, "scip_cuts", "branch_and_cut"),  # as alarm with 100 rows
        (37, 540, "scip_cuts", "branch_and_cut"),  # as alarm with ess 100
        (40, 640, "subset_search", "subset_search"),  # as mildew
        (41, 630, "scip_cuts", "branch_and_cut"),
    ],
)
def test_auto_chooses_for_local_scores_by_nodes_and_sets_a_node(n_nodes, n_sets, with_scip, without, monkeypatch):
    form = scored(n_nodes, n_sets)
    assert form.candidates.n_columns == n_nodes * n_sets
    if ScipCutsSolver.availability().available:
        chosen, kind, rule = choose_solver(form, "auto")
        assert (chosen.name, kind) == (with_scip, ProgramKind.LINEAR_CHOICE)
        assert rule.startswith("auto: ")
    monkeypatch.setattr(ScipCutsSolver, "availability", classmethod(lambda cls: Availability(False, None, "absent")))
    assert choose_solver(form, "auto")[0].name == without


def test_classes_of_ones_own_that_say_too_little_are_told_what_is_missing() -> None:
    problem = scored(3, 2)

    class Silent(type(problem)):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> object:
            if name in ("sense", "bound_kind"):
                raise AttributeError(name)
            return super().__getattribute__(name)

    with pytest.raises(InputError, match=r"Silent has to say \['sense', 'bound_kind'\] as class attributes"):
        mm.solve(Silent(problem.local_scores), "highs")

    @dataclasses.dataclass(frozen=True)
    class Nameless(Solver):
        title, accepts = "nameless", frozenset({ProgramKind.MIXED_INTEGER})
        availability = classmethod(lambda cls: Availability(True, "1"))  # type: ignore[assignment]

        def solve(self, program: object, callback: object = None, start: object = None) -> SolverResult:
            raise NotImplementedError

    with pytest.raises(InputError, match=r"Nameless has to say \['name', 'licence'\] as class attributes"):
        mm.solve(problem, Nameless())
