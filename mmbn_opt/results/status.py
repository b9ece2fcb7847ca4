"""Why a solver stopped, and what its vector holds: two questions, two enums, a sentence for each answer."""

from enum import Enum

__all__ = ["BoundKind", "Sense", "SolutionStatus", "TerminationStatus"]


class _Described(Enum):
    """An enum whose members carry the sentence that a user reads."""

    def __init__(self, label: str, sentence: str) -> None:
        self.label = label
        self.sentence = sentence

    def __str__(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class TerminationStatus(_Described):
    """Why the solver stopped.

    Examples
    --------
    >>> from mmbn_opt import TerminationStatus
    >>> TerminationStatus.TIME_LIMIT.sentence
    'The time limit was reached; the best model and the bound so far are returned.'
    """

    OPTIMAL = ("OPTIMAL", "The gap between incumbent and bound was closed to the requested tolerance.")
    LOCALLY_OPTIMAL = ("LOCALLY_OPTIMAL", "A local optimum was reached; nothing is claimed about the global one.")
    TIME_LIMIT = ("TIME_LIMIT", "The time limit was reached; the best model and the bound so far are returned.")
    ITERATION_LIMIT = ("ITERATION_LIMIT", "The iteration limit was reached before the stopping tolerance.")
    NODE_LIMIT = ("NODE_LIMIT", "The limit on branch-and-bound nodes was reached before the gap closed.")
    INTERRUPTED = ("INTERRUPTED", "The run was interrupted; the best model and the bound so far are returned.")
    INFEASIBLE = ("INFEASIBLE", "No structure satisfies all constraints.")
    UNBOUNDED = ("UNBOUNDED", "The objective has no finite optimum.")
    SLOW_PROGRESS = ("SLOW_PROGRESS", "The solver stopped because it no longer made progress.")
    NUMERICAL_ERROR = ("NUMERICAL_ERROR", "The solver stopped because of numerical trouble.")
    SOLVER_ERROR = ("SOLVER_ERROR", "The solver failed; see the raw status.")

    @property
    def is_limit(self) -> bool:
        """Whether a limit or an interruption, rather than a proof or an error, ended the run."""
        return self in _LIMITS


_LIMITS = frozenset(
    {
        TerminationStatus.TIME_LIMIT,
        TerminationStatus.ITERATION_LIMIT,
        TerminationStatus.NODE_LIMIT,
        TerminationStatus.INTERRUPTED,
    }
)


class SolutionStatus(_Described):
    """What the solution vector holds.

    Examples
    --------
    >>> from mmbn_opt import SolutionStatus
    >>> SolutionStatus.NO_SOLUTION.sentence
    'There is no solution vector.'
    """

    NO_SOLUTION = ("NO_SOLUTION", "There is no solution vector.")
    FEASIBLE = ("FEASIBLE", "The solution satisfies every constraint within the feasibility tolerance.")
    NEARLY_FEASIBLE = ("NEARLY_FEASIBLE", "The solution violates some constraint by slightly more than the tolerance.")
    INFEASIBLE = ("INFEASIBLE", "The vector violates the constraints.")


class Sense(Enum):
    """Direction of an objective."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"

    @property
    def sign(self) -> float:
        """+1 for a minimum, -1 for a maximum: multiply by it to minimise."""
        return 1.0 if self is Sense.MINIMIZE else -1.0

    def __str__(self) -> str:
        return self.value


class BoundKind(_Described):
    """What the dual bound of a formulation says about the user's problem."""

    EXACT = ("EXACT", "The program has the same optimum as the learning problem.")
    RELAXATION = ("RELAXATION", "The program's optimum bounds the learning problem's optimum.")
    HEURISTIC = ("HEURISTIC", "No bound on the learning problem is claimed.")
