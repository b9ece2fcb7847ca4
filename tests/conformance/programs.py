"""Small programs whose answers are known by hand or by enumeration: every solver runs every one of them."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import reference
import scipy.sparse as sp
from strategies import dataset_of

import mmbn_opt as mm
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram
from mmbn_opt.results.status import TerminationStatus

INF = math.inf


@dataclass(frozen=True, eq=False)
class Case:
    """A program with its answer.

    Parameters
    ----------
    name : str
    program : MixedIntegerProgram
    status : TerminationStatus
    optimum : float or None
        For OPTIMAL only.
    """

    name: str
    program: MixedIntegerProgram
    status: TerminationStatus
    optimum: float | None = None


def make_program(
    c: Sequence[float],
    rows: Sequence[Sequence[float]],
    row_lower: Sequence[float],
    row_upper: Sequence[float],
    col_lower: Sequence[float],
    col_upper: Sequence[float],
    integers: Sequence[int],
    offset: float = 0.0,
) -> MixedIntegerProgram:
    """A program from lists; `integers` are the positions of the integer columns."""
    integrality = np.zeros(len(c), dtype=bool)
    integrality[list(integers)] = True
    return MixedIntegerProgram(
        c=np.array(c, dtype=float),
        A=sp.csr_array(np.array(rows, dtype=float).reshape(len(row_lower), len(c))),
        row_lower=np.array(row_lower, dtype=float),
        row_upper=np.array(row_upper, dtype=float),
        col_lower=np.array(col_lower, dtype=float),
        col_upper=np.array(col_upper, dtype=float),
        integrality=integrality,
        offset=offset,
    )


def soft_margin_program(seed: int, samples: int, groups: int, choices: int, rivals: int) -> MixedIntegerProgram:
    """The shape of the soft-margin program: ``max sum n tau, tau <= alpha . eta, tau <= 1``, one choice a group."""
    random = np.random.default_rng(seed)
    columns = groups * choices
    alpha = random.normal(0.05, 0.5, (samples * rivals, columns)) / math.sqrt(groups)
    tau = sp.kron(sp.eye_array(samples), np.ones((rivals, 1)))
    choice = sp.kron(sp.eye_array(groups), np.ones((1, choices)))
    matrix = sp.vstack(
        [sp.hstack([sp.csr_array(-alpha), tau]), sp.hstack([choice, sp.csr_array((groups, samples))])], format="csr"
    )
    weights = random.integers(1, 4, samples).astype(float)
    return MixedIntegerProgram(
        c=np.concatenate([np.zeros(columns), -weights]),
        A=sp.csr_array(matrix),
        row_lower=np.concatenate([np.full(samples * rivals, -INF), np.ones(groups)]),
        row_upper=np.concatenate([np.zeros(samples * rivals), np.ones(groups)]),
        col_lower=np.concatenate([np.zeros(columns), np.full(samples, -INF)]),
        col_upper=np.ones(columns + samples),
        integrality=np.arange(columns + samples) < columns,
        choice_groups=tuple(np.arange(g * choices, (g + 1) * choices) for g in range(groups)),
    )


def complete_choice(program: MixedIntegerProgram, choice: Sequence[int]) -> np.ndarray:
    """The best vector of a soft-margin program for one column of each choice group."""
    x = np.zeros(program.c.size)
    x[list(choice)] = 1.0
    columns = int(program.integrality.sum())
    samples = x.size - columns
    rows = program.A.shape[0] - len(program.choice_groups)
    margins = -(program.A[:rows, :columns] @ x[:columns]).reshape(samples, -1)
    x[columns:] = np.minimum(margins.min(axis=1), 1.0)
    return x


def _soft_margin_by_enumeration() -> Case:
    program = soft_margin_program(seed=3, samples=12, groups=3, choices=4, rivals=2)
    values = [program.value(complete_choice(program, choice)) for choice in itertools.product(*program.choice_groups)]
    return Case("soft_margin", program, TerminationStatus.OPTIMAL, min(values))


def _near_ties_by_enumeration() -> Case:
    """Objectives differ by 1e-5 and less: a solver that only looks for improvements of 1e-4 stops at a wrong one."""
    random = np.random.default_rng(5)
    weights = random.integers(20, 60, 12).astype(float)
    profits = weights + 1e-5 * random.random(12)
    capacity = float(weights.sum() // 2)
    best = max(
        profits @ chosen
        for bits in itertools.product((0.0, 1.0), repeat=12)
        if weights @ (chosen := np.array(bits)) <= capacity
    )
    program = make_program(-profits, [weights], [-INF], [capacity], [0] * 12, [1] * 12, range(12))
    return Case("near_ties", program, TerminationStatus.OPTIMAL, -float(best))


def _with_duplicate_entries() -> MixedIntegerProgram:
    """``min -x  s.t.  x + x <= 5``, the coefficient stored in two entries of one cell."""
    program = make_program([-1], [[1]], [-INF], [5], [0], [9], [0])
    doubled = sp.csr_array((np.ones(2), np.zeros(2, dtype=np.int32), np.array([0, 2], dtype=np.int32)), shape=(1, 1))
    return replace(program, A=doubled)


def _all_cases() -> list[Case]:
    optimal = TerminationStatus.OPTIMAL
    knapsack = make_program([-5, -4, -3], [[2, 3, 1]], [-INF], [5], [0] * 3, [1] * 3, range(3))
    assignment_rows = np.vstack([np.kron(np.eye(3), np.ones(3)), np.kron(np.ones(3), np.eye(3))])
    two = ([0, 0], [9, 9])
    return [
        # {a, b} fills the 5 exactly and is worth 9; {a, c} is worth 8.
        Case("knapsack", knapsack, optimal, -9.0),
        Case("offset", replace(knapsack, offset=2 / 3), optimal, -9.0 + 2 / 3),
        # Worker 0 does task 1 (1), worker 1 task 0 (2), worker 2 task 2 (2).
        Case(
            "assignment",
            make_program([4, 1, 3, 2, 0, 5, 3, 2, 2], assignment_rows, [1] * 6, [1] * 6, [0] * 9, [1] * 9, range(9)),
            optimal,
            5.0,
        ),
        Case("equality", make_program([1, 2], [[1, 1]], [4], [4], [0, 0], [3, 9], [0, 1]), optimal, 5.0),
        Case("range_below", make_program([1, 1], [[2, 3]], [4], [7], *two, [0, 1]), optimal, 2.0),
        Case("range_above", make_program([-1, -1], [[2, 3]], [4], [7], *two, [0, 1]), optimal, -3.0),
        Case("free_variable", make_program([1], [[1]], [-7.25], [INF], [-INF], [INF], []), optimal, -7.25),
        Case("free_integer", make_program([1], [[2]], [-7.5], [INF], [-INF], [INF], [0]), optimal, -3.0),
        Case(
            "negative_lower_bounds",
            make_program([1, 1], [[1, 1]], [-6.5], [INF], [-5, -3], [5, -1], [0]),
            optimal,
            -6.5,
        ),
        Case("negative_upper_bound", make_program([1], [[1]], [-10], [INF], [-INF], [-2.5], []), optimal, -10.0),
        Case("negative_upper_maximised", make_program([-1], [[1]], [-10], [INF], [-INF], [-2.5], [0]), optimal, 3.0),
        # 1234567.8 is where the row ends.
        Case("big_integer", make_program([-1], [[3]], [-INF], [3703703.4], [0], [1e9], [0]), optimal, -1234567.0),
        # An odd number is no sum of twos: the relaxation says 0 until nearly all columns are fixed.
        Case(
            "weak_bound",
            make_program([0] * 9 + [1], [[2] * 9 + [1]], [9], [9], [0] * 10, [1] * 9 + [9], range(10)),
            optimal,
            1.0,
        ),
        Case("lp", make_program([-1, -1], [[1, 2]], [-INF], [3], [0, 0], [2, INF], []), optimal, -2.5),
        Case("lp_with_offset", make_program([1, 0], [[3, 1]], [1], [INF], *two, [], offset=2 / 3), optimal, 2 / 3),
        # 1/3 has more digits than a text file of eight would keep.
        Case("many_digits", make_program([7, 1], [[3, 0], [0, 2]], [1, 3], [INF, INF], *two, [1]), optimal, 7 / 3 + 2),
        Case("fixed_column", make_program([2, 1], [[1, 1]], [3.5], [INF], [2.5, 0], [2.5, 9], [1]), optimal, 6.0),
        Case("zero_objective", make_program([0, 0], [[2, 3]], [4], [7], *two, [0, 1]), optimal, 0.0),
        Case("zero_rows", make_program([-1, 1], [], [], [], [0, -3.5], [4.5, 2], [0, 1]), optimal, -7.0),
        Case("empty_row", make_program([-1], [[0], [1]], [-1, -INF], [1, 2.5], [0], [9], [0]), optimal, -2.0),
        Case("free_row", make_program([-1], [[1], [1]], [-INF, -INF], [INF, 2.5], [0], [9], [0]), optimal, -2.0),
        Case(
            "empty_column", make_program([-1, 0, 2], [[1, 0, 1]], [1], [2.5], [0] * 3, [9] * 3, [0, 1]), optimal, -2.0
        ),
        Case("duplicate_entries", _with_duplicate_entries(), optimal, -2.0),
        Case("zero_columns", make_program([], [[]], [-1], [1], [], [], [], offset=1.5), optimal, 1.5),
        _soft_margin_by_enumeration(),
        _near_ties_by_enumeration(),
        *_infeasible_cases(),
        *_unbounded_cases(),
    ]


def _infeasible_cases() -> list[Case]:
    programs = {
        "infeasible_lp": make_program([1, 1], [[1, 1]], [3], [INF], [0, 0], [1, 1], []),
        "infeasible_relaxation": make_program([1, 1], [[1, 1]], [3], [INF], [0, 0], [1, 1], [0, 1]),
        "infeasible_integers": make_program([1, 1], [[2, 2]], [1], [1], [0, 0], [1, 1], [0, 1]),
        "infeasible_empty_row": make_program([1], [[0]], [1], [INF], [0], [1], [0]),
        "infeasible_zero_columns": make_program([], [[]], [1], [INF], [], [], []),
        # The relaxation is unbounded, yet no integral point satisfies 2 y = 1.
        "infeasible_with_a_ray": make_program([-1, 0], [[0, 2]], [1], [1], [0, 0], [INF, 9], [1]),
    }
    return [Case(name, program, TerminationStatus.INFEASIBLE) for name, program in programs.items()]


def _unbounded_cases() -> list[Case]:
    programs = {
        "unbounded_lp": make_program([-1, 0], [[1, -1]], [-INF], [3], [0, 0], [INF, INF], []),
        "unbounded_integers": make_program([-1, 0], [[1, -1]], [-INF], [3], [0, 0], [INF, INF], [0, 1]),
        "unbounded_below": make_program([1, 0], [[1, -1]], [-INF], [3], [-INF, 0], [INF, INF], [1]),
    }
    return [Case(name, program, TerminationStatus.UNBOUNDED) for name, program in programs.items()]


def structure_programs() -> list[Case]:
    """Programs of structure formulations, with optima found by enumeration over all graphs."""
    rng = np.random.default_rng(11)
    cases = []
    for card in ([2, 3, 2, 3], [2, 2, 2, 2]):
        rows = [[int(rng.integers(r)) for r in card] for _ in range(14)]
        rows[0][-1], rows[1][-1] = 0, 1
        data, weights = dataset_of(rows, card), [1.0] * len(rows)
        for form in ("order", "order-printed", "cluster"):
            margin = mm.SoftMarginStructure(data, max_parents=2, gamma=2.0, acyclicity=form)
            binary = mm.BinarySoftMarginStructure(data, max_parents=2, gamma=2.0, acyclicity=form)
            score = mm.DecomposableStructure(data, max_parents=2, score="bdeu", acyclicity=form)
            best = {
                margin: reference.best_margin(rows, weights, card, 2, 2.0),
                binary: reference.best_margin(rows, weights, card, 2, 2.0, binary=True),
                score: reference.best_decomposable(rows, weights, card, 2, "bdeu"),
            }
            cases += [
                Case(
                    f"{type(problem).__name__} {form} {card[-1]} classes",
                    problem.build(ProgramKind.MIXED_INTEGER),
                    TerminationStatus.OPTIMAL,
                    -value,
                )
                for problem, value in best.items()
            ]
    return cases


def local_score_programs() -> list[Case]:
    """Programs of given local scores, with optima found by all orders of the variables."""
    cases = []
    for seed, form in enumerate(("order", "order-printed", "cluster")):
        rng, names = np.random.default_rng(seed), "abcd"
        scores = {
            node: [
                (float(np.round(rng.normal(-9.0, 3.0), 3)), parents)
                for size in range(4)
                for parents in itertools.combinations(names.replace(node, ""), size)
            ]
            for node in names
        }
        best = max(
            sum(
                max(s for s, parents in scores[node] if set(parents) <= set(order[:place]))
                for place, node in enumerate(order)
            )
            for order in itertools.permutations(names)
        )
        problem = mm.LocalScoreStructure(scores, acyclicity=form)
        built = problem.build(ProgramKind.MIXED_INTEGER)
        cases.append(Case(f"LocalScoreStructure {form}", built, TerminationStatus.OPTIMAL, -best))
    return cases


PROGRAMS: list[Case] = [*_all_cases(), *structure_programs(), *local_score_programs()]
