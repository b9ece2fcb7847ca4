"""A5: a time limit is kept whatever is at work when it is reached, and a model comes back.

Where the time is up is tried at every place where a run looks at the clock; how long the long ways took is measured on
the processor's clock, which does not go on while others have the machine.
"""

import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt import _budget
from mmbn_opt._budget import Budget, OutOfTime, leave_in_time, leaving_when
from mmbn_opt.data.counts import sums_over_cells
from mmbn_opt.results.result import CheckSubject
from mmbn_opt.results.status import TerminationStatus

SLACK_SEC = 1.0


def random_data(rows: int, columns: int, states: int, classes: int, seed: int = 0) -> mm.DiscreteDataset:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    codes = (y[:, None] * rng.integers(0, 2, columns) + rng.integers(0, states, (rows, columns))) % states
    return mm.DiscreteDataset.from_arrays(codes, np.where(rng.random(rows) < 0.2, rng.integers(0, classes, rows), y))


SMALL = random_data(40, 4, 3, 3)

FORMULATIONS: dict[str, Callable[[], Any]] = {
    "soft margin": lambda: mm.SoftMarginStructure(SMALL, gamma=1.0),
    "binary soft margin": lambda: mm.BinarySoftMarginStructure(SMALL, gamma=1.0),
    "bdeu": lambda: mm.DecomposableStructure(SMALL, score="bdeu"),
    "mdl with required edges": lambda: mm.DecomposableStructure(
        SMALL, score="mdl", parent_sets="margin", required_edges=(("class", "x0"), ("x0", "x1"), ("class", "x1"))
    ),
    "relaxation": lambda: mm.MaxMarginRelaxation(SMALL, mm.tan_cmi(SMALL), gamma=2.0),
    "published relaxation": lambda: mm.MaxMarginRelaxation(
        SMALL, mm.naive_bayes(SMALL), gamma=2.0, normalization="published"
    ),
    "smooth margin": lambda: mm.SmoothMargin(SMALL, mm.naive_bayes(SMALL)),
    "mixtures": lambda: mm.ConstrainedMaximumMargin(
        np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2, n_components=2
    ),
}


@pytest.mark.parametrize(
    ("name", "solver"), [*((name, "auto") for name in FORMULATIONS), ("soft margin", "highs"), ("bdeu", "highs")]
)
def test_a5_wherever_the_time_is_up_a_model_comes_back(name: str, solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    formulation = FORMULATIONS[name]()
    usual = mm.solve(FORMULATIONS[name](), solver, time_limit=60.0)
    for looks in (*range(8), 12, 25, 60):
        seen = count()
        monkeypatch.setattr(Budget, "over", lambda self, grace=0.0, seen=seen, looks=looks: next(seen) >= looks)
        result = mm.solve(FORMULATIONS[name](), solver, time_limit=60.0)
        assert result.model is not None
        assert all(check.about is not CheckSubject.ANSWER for check in result.certificate.failures)
        assert result.termination_status in (TerminationStatus.TIME_LIMIT, usual.termination_status), looks
        assert np.isfinite(formulation.evaluate(result.model))


def test_a5_checks_that_the_limit_leaves_no_time_for_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "over", lambda self, grace=0.0: True)
    result = mm.solve(mm.SoftMarginStructure(SMALL), time_limit=60.0)
    left_out = [check for check in result.certificate.checks if check.detail.startswith("left out: the time limit")]
    assert [check.name for check in left_out] == ["candidates cover the class", "parameters from the data"]
    assert all(check.ok is None for check in left_out)
    assert result.certificate.ok


def test_leaving_blocks_hold_inside_of_one_another_and_only_there() -> None:
    leave_in_time()
    with leaving_when(lambda: False):
        leave_in_time()
        with leaving_when(lambda: True), pytest.raises(OutOfTime):
            leave_in_time()
        leave_in_time()
    with leaving_when(lambda: True), leaving_when(lambda: False), pytest.raises(OutOfTime):
        leave_in_time()
    leave_in_time()


def test_counting_in_blocks_gives_what_one_pass_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    data = random_data(300, 6, 3, 3)
    first, second = np.triu_indices(7, k=1)
    sets = np.column_stack([np.full(len(first), -1), first, second]).astype(np.int32)
    for ess in (None, 2.0):
        whole = sums_over_cells(data, sets, ess)
        monkeypatch.setattr("mmbn_opt.data.counts._BLOCK_STEPS", 4000.0)
        assert (sums_over_cells(data, sets, ess) == whole).all()
        monkeypatch.undo()


@pytest.fixture
def processor_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """Budgets on the clock of the processor."""
    monkeypatch.setattr(_budget, "now", time.process_time)
    monkeypatch.setattr(Budget, "__init__", _init)
    return time.process_time


def _init(self: Budget, limit: float | None = None, origin: float | None = None) -> None:
    object.__setattr__(self, "limit", limit)
    object.__setattr__(self, "origin", time.process_time() if origin is None else origin)


LONG: dict[str, Callable[[], Any]] = {
    # Columns whose list of parent sets alone took seconds to hold against the class.
    "many columns": lambda: mm.SoftMarginStructure(random_data(300, 130, 3, 3), gamma=1.0),
    # Rows whose counting for all scores takes seconds.
    "many rows": lambda: mm.DecomposableStructure(random_data(50_000, 45, 4, 3), score="bdeu"),
    # Features and classes whose network was compared with the factors for six seconds.
    "many factors": lambda: mm.MaxMarginRelaxation(data := random_data(500, 150, 3, 8), mm.tan_cmi(data), gamma=5.0),
    # Parameters whose pseudo-inverse takes seconds.
    "published": lambda: mm.MaxMarginRelaxation(
        data := random_data(4000, 60, 4, 8), mm.naive_bayes(data), gamma=5.0, normalization="published"
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_a5_what_took_seconds_ends_at_the_limit(name: str, processor_clock: Callable[[], float]) -> None:
    limit = 0.3
    formulation = LONG[name]()
    small = FORMULATIONS["relaxation" if name in ("many factors", "published") else "soft margin"]()
    mm.solve(small, time_limit=1.0)  # loads the kernels
    began = processor_clock()
    solver = "first_order" if name == "published" else "auto"
    result = mm.solve(formulation, solver, time_limit=limit, rel_gap=0.0)  # so that no processor is quick enough
    assert processor_clock() - began <= 1.02 * limit + SLACK_SEC
    assert result.model is not None
    assert result.termination_status is TerminationStatus.TIME_LIMIT
