"""Optimization problems as plain values, and what can be proved of them without solving."""

from typing import TYPE_CHECKING

from mmbn_opt._lazy import names_on_demand

if TYPE_CHECKING:
    from mmbn_opt.programs.as_cvxpy import CvxpyModel as CvxpyModel
    from mmbn_opt.programs.as_pyomo import PyomoModel as PyomoModel
    from mmbn_opt.programs.base import PrimalHeuristic as PrimalHeuristic
    from mmbn_opt.programs.base import Program as Program
    from mmbn_opt.programs.base import ProgramKind as ProgramKind
    from mmbn_opt.programs.base import ProgramSize as ProgramSize
    from mmbn_opt.programs.choice import ChoiceProgram as ChoiceProgram
    from mmbn_opt.programs.choice import ConcaveTerm as ConcaveTerm
    from mmbn_opt.programs.choice import GroupCuts as GroupCuts
    from mmbn_opt.programs.convex import ConvexProgram as ConvexProgram
    from mmbn_opt.programs.margin_operator import MarginOperator as MarginOperator
    from mmbn_opt.programs.margin_program import MarginProgram as MarginProgram
    from mmbn_opt.programs.markov import MarkovProgram as MarkovProgram
    from mmbn_opt.programs.mixed_integer import MixedIntegerProgram as MixedIntegerProgram
    from mmbn_opt.programs.nonlinear import AlgebraicModel as AlgebraicModel
    from mmbn_opt.programs.nonlinear import ConstraintTargets as ConstraintTargets
    from mmbn_opt.programs.nonlinear import NonlinearProgram as NonlinearProgram
    from mmbn_opt.programs.nonlinear import PointEvaluation as PointEvaluation
    from mmbn_opt.programs.tree_proof import Children as Children
    from mmbn_opt.programs.tree_proof import TreeProof as TreeProof

_HOMES = {
    "AlgebraicModel": "nonlinear",
    "Children": "tree_proof",
    "ChoiceProgram": "choice",
    "ConcaveTerm": "choice",
    "ConstraintTargets": "nonlinear",
    "ConvexProgram": "convex",
    "CvxpyModel": "as_cvxpy",
    "GroupCuts": "choice",
    "MarginOperator": "margin_operator",
    "MarginProgram": "margin_program",
    "MarkovProgram": "markov",
    "MixedIntegerProgram": "mixed_integer",
    "NonlinearProgram": "nonlinear",
    "PointEvaluation": "nonlinear",
    "PrimalHeuristic": "base",
    "Program": "base",
    "ProgramKind": "base",
    "ProgramSize": "base",
    "PyomoModel": "as_pyomo",
    "TreeProof": "tree_proof",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = names_on_demand(__name__, _HOMES)
