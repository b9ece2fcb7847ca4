"""Names that were public before the modules lay in rooms still work, and those that moved say where to."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import mmbn_opt
import mmbn_opt.solvers
from mmbn_opt import _lazy
from mmbn_opt.solvers import registry

BEFORE = {
    "mmbn_opt": """
        __version__ BayesianNetwork BinarySoftMarginStructure BoundTrace CMMClassifier Certificate Comparison
        ConditionalLikelihood ConstrainedMaximumMargin DecomposableStructure Dirichlet DiscreteDataset FormatError
        InputError Laplace LogLinearClassifier MDLPDiscretizer MaxMarginBayesClassifier MaxMarginMarkovNetwork
        MaxMarginRelaxation MaxMarginStructureClassifier MissingDependencyError MixtureClassifier MmbnError
        MulticlassMargin NaiveBayesClassifier ObjectiveBounds Preparation Result Run SizeLimitError SmoothMargin
        SoftMarginStructure SolutionStatus SolverError Structure TANClassifier TerminationStatus certify compare
        dataset_names distance_to_optimum fix_gauge from_edges lambda_path load_dataset load_openml log_odds naive_bayes
        order_mi prepare read_table renormalize restrict_candidates solve solve_parts solvers start tan_cmi tan_cr tune
    """,
    "mmbn_opt.formulations": """
        BinarySoftMarginStructure ConditionalLikelihood ConstrainedMaximumMargin DecomposableStructure Formulation
        MaxMarginMarkovNetwork MaxMarginRelaxation MulticlassMargin SmoothMargin SoftMarginStructure Start
    """,
    "mmbn_opt.solvers": """
        Availability BranchAndCut CbcSolver ClarabelSolver ConjugateGradientSolver ConvexChainSolver EcosSolver
        ExteriorPenaltySolver FirstOrderSolver HighsSolver InteriorPointSolver IpoptSolver LbfgsSolver LinearFormSolver
        LogBarrierSolver ScipSolver ScipyCgSolver ScipyMilpSolver ScsSolver SlsqpSolver Solver SolverCallback
        SolverEvent SolverInfo SolverResult TrustConstrSolver get_solver_class solver_names solver_table write_program
    """,
    "mmbn_opt.heuristics": """
        LocalSearch naive_bayes order_mi restrict_candidates tan_cmi tan_cr
    """,
    "mmbn_opt.estimators": """
        CMMClassifier MaxMarginBayesClassifier MaxMarginStructureClassifier NaiveBayesClassifier TANClassifier
    """,
    "mmbn_opt.interop": """
        from_edge_list from_networkx from_pgmpy from_pyagrum load_network network_from_dict network_from_networkx
        network_to_dict network_to_networkx read_bif read_jkl read_uai read_xmlbif result_to_dict save_network
        structure_from_networkx to_edge_list to_networkx to_pgmpy to_pyagrum write_bif write_jkl write_result_files
        write_uai write_xmlbif
    """,
    "mmbn_opt.comparison": """
        Comparison PerformanceProfile RunRecord compare
    """,
    "mmbn_opt.cli": """
        main
    """,
    "mmbn_opt.data": """
        DiscreteDataset
    """,
    "mmbn_opt.scores": """
        DecomposableScore bdeu bic binary_log_margins binary_soft_margin classification_rate conditional_log_likelihood
        family_score log_likelihood log_margins log_odds mdl smooth_margin soft_margin
    """,
}
"""Public names of the package and its rooms as of commit 0bf2d66, the last one before the rooms."""

TAUGHT = {
    "mmbn_opt.datasets": """
        DatasetInfo dataset_names load_dataset load_openml
    """,
    "mmbn_opt.readers": """
        NA_VALUES read_table
    """,
    "mmbn_opt.experiments": """
        Accuracy compare_accuracy holdout_rows
    """,
    "mmbn_opt.experiments.holdout": """
        holdout_rows
    """,
    "mmbn_opt.convex_certificate": """
        distance_to_optimum
    """,
    "mmbn_opt.dispatch": """
        AUTO_RULES
    """,
    "mmbn_opt.formulations.constrained_maximum_margin": """
        ConstrainedMaximumMargin
    """,
    "mmbn_opt.formulations.max_margin_relaxation": """
        MaxMarginRelaxation
    """,
    "mmbn_opt.program": """
        ConstraintTargets NonlinearProgram
    """,
    "mmbn_opt.solvers.conjugate_gradient": """
        ConjugateGradientSolver
    """,
    "mmbn_opt.solvers.cvxpy_conic": """
        ClarabelSolver
    """,
    "mmbn_opt.solvers.cvxpy_quadratic": """
        QuadraticSolver
    """,
    "mmbn_opt.solvers.exterior_penalty": """
        ExteriorPenaltySolver
    """,
    "mmbn_opt.solvers.interior_point": """
        InteriorPointSolver
    """,
    "mmbn_opt.solvers.linear_form": """
        LinearFormSolver
    """,
    "mmbn_opt.structure": """
        Structure
    """,
    "mmbn_opt.variable": """
        DiscreteVariable
    """,
}
"""Rooms that are gone, and single modules that the documentation and the examples imported from."""


@pytest.mark.parametrize("room", BEFORE)
def test_a_name_that_was_public_is_public(room):
    module = import_module(room)
    for name in BEFORE[room].split():
        assert getattr(module, name) is not None
        assert name in module.__all__


@pytest.mark.parametrize("path", TAUGHT)
def test_a_path_that_was_taught_leads_to_the_same_names_and_says_where_they_are(path):
    module = import_module(path)
    for name in TAUGHT[path].split():
        with pytest.warns(DeprecationWarning, match=rf"^{path} has moved: import {name} from (mmbn_opt\.\w+)$") as told:
            value = getattr(module, name)
        new = str(told[0].message).rpartition(" ")[2]
        assert getattr(import_module(new), name) is value


def test_an_old_path_is_gone_where_a_module_is_there_again_and_has_names_of_its_rooms_only():
    for paths in _lazy._MOVED.values():
        for path in paths:
            module = import_module(f"mmbn_opt.{path}")
            assert isinstance(module.__spec__.loader, _lazy._OldPaths), path
            assert not hasattr(module, "nonsense")
    with pytest.raises(ModuleNotFoundError, match=r"mmbn_opt\.nonsense"):
        import_module("mmbn_opt.nonsense")


@pytest.mark.parametrize("name", ["selection", "mixture", "pandas.structure"])
def test_modules_of_others_are_none_of_ours(name):
    with pytest.raises(ModuleNotFoundError):
        import_module(name)


def test_the_warning_is_of_the_line_that_imports():
    code = "import warnings\nwarnings.simplefilter('error')\nfrom mmbn_opt.structure import Structure"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert "DeprecationWarning: mmbn_opt.structure has moved: import Structure from mmbn_opt.networks" in done.stderr
    shown = "import warnings\nwarnings.simplefilter('default')\nfrom mmbn_opt.structure import Structure"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert done.stderr.startswith("<string>:3: DeprecationWarning")


def test_every_solver_can_be_imported_by_the_name_of_its_class():
    for name in registry.solver_names():
        solver = registry.get_solver_class(name)
        assert getattr(mmbn_opt.solvers, solver.__name__) is solver
        assert solver.__name__ in mmbn_opt.solvers.__all__


def test_the_registry_gives_each_class_the_type_that_it_has():
    (typed,) = (node for node in ast.parse(Path(registry.__file__).read_text()).body if isinstance(node, ast.If))
    places = [f"{line.module}:{alias.asname}" for line in typed.body for alias in line.names]
    assert sorted(places) == sorted(registry._SOLVERS.values())


@pytest.mark.parametrize(
    "stub", sorted(Path(mmbn_opt.__file__).parent.rglob("*.pyi")), ids=lambda stub: stub.parent.name
)
def test_a_stub_holds_a_name_a_line_which_is_what_the_room_hands_on(stub):
    listed = []
    for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.AnnAssign):  # the version, which the room has itself
            continue
        assert isinstance(statement, ast.ImportFrom)
        assert statement.lineno == statement.end_lineno
        (alias,) = statement.names
        assert alias.name == alias.asname
        listed.append(alias.name)
    room = import_module(".".join(["mmbn_opt", *stub.parent.relative_to(Path(mmbn_opt.__file__).parent).parts]))
    assert sorted(listed) == sorted(set(room.__all__) - {"__version__"})
