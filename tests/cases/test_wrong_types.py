"""B9: wrong types at the door of every public function, formulation, solver and classifier.

What is wrong is refused by `InputError` with the name of the argument and what was expected; never by an AttributeError
or a TypeError from within. scikit-learn's own ValueErrors about X and y of classifiers are its words, and stand.
"""

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import mmbn_opt as mm
from mmbn_opt import solvers
from mmbn_opt._arguments import check_arguments, check_fields
from mmbn_opt.exceptions import MmbnError
from mmbn_opt.solvers.base import Solver

FRAME = pd.DataFrame({"a": list("uvuv") * 5, "b": list("xxyy") * 5, "class": [0, 1, 1, 0] * 5})
FEATURES, LABELS = FRAME[["a", "b"]], FRAME["class"]
DATA = mm.DiscreteDataset.from_frame(FRAME, "class")
TREE = mm.naive_bayes(DATA)
NETWORK = mm.BayesianNetwork.fit(TREE, DATA)
FACTORS = mm.LogLinearClassifier(TREE, DATA.features, DATA.target, NETWORK.log_cpts)
X, Y = np.array([[0.0], [1.0], [0.5], [4.0], [4.5], [5.0]]), list("aaabbb")
SEARCH = mm.SoftMarginStructure(DATA, max_parents=1)
SMOOTH = mm.SmoothMargin(DATA, TREE)
RELAXED = mm.MaxMarginRelaxation(DATA, TREE, gamma=1.0)
MIXTURES = mm.MulticlassMargin(X, Y, 1)
WORDS, TAGS = ["ab", "b"], ["XY", "Y"]
SEQUENCES = mm.SequenceDataset.from_lists(WORDS, TAGS)
HIDDEN = mm.HiddenMarkovClassifier.fit(SEQUENCES)
LONG = pd.DataFrame({"word": [1, 1, 2], "place": [0, 1, 0], "seen": list("abb"), "label": list("XYY")})

WRONG: dict[str, Any] = {
    "text": "a", "edge": "a>b", "bytes": b"x", "number": 2.5, "negative": -1, "nan": float("nan"), "complex": 1j,
    "True": True, "None": None, "list": [1], "texts": ["a"], "nested": [["a", "b", "c"]], "dict": {"a": 1},
    "object": object(), "class": int, "vector": np.zeros(3), "cube": np.zeros((2, 2, 2)), "frame": FRAME,
    "series": LABELS, "data": DATA, "structure": TREE, "network": NETWORK, "formulation": SEARCH,
    "solver": solvers.HighsSolver(), "empty": [],
}  # fmt: skip

Call = tuple[Callable[..., Any], dict[str, Any]]

DATA_AND_TREE = {"data": DATA, "structure": TREE}
CALLS: dict[str, Call] = {
    "SoftMarginStructure": (mm.SoftMarginStructure, {"data": DATA}),
    "BinarySoftMarginStructure": (mm.BinarySoftMarginStructure, {"data": DATA}),
    "DecomposableStructure": (mm.DecomposableStructure, {"data": DATA}),
    "LocalScoreStructure": (
        mm.LocalScoreStructure, {"local_scores": {"a": [(0.0, ())], "b": [(0.0, ()), (1.0, ("a",))]}},
    ),
    "SmoothMargin": (mm.SmoothMargin, DATA_AND_TREE),
    "ConditionalLikelihood": (mm.ConditionalLikelihood, DATA_AND_TREE),
    "MaxMarginRelaxation": (mm.MaxMarginRelaxation, DATA_AND_TREE | {"gamma": 1.0}),
    "MaxMarginMarkovNetwork": (mm.MaxMarginMarkovNetwork, DATA_AND_TREE),
    "ConstrainedMaximumMargin": (mm.ConstrainedMaximumMargin, {"X": X, "y": Y, "n_components": 1}),
    "MulticlassMargin": (mm.MulticlassMargin, {"X": X, "y": Y, "n_components": 1}),
    "naive_bayes": (mm.naive_bayes, {"data": DATA}),
    "tan_cmi": (mm.tan_cmi, {"data": DATA}),
    "tan_cr": (mm.tan_cr, {"data": DATA}),
    "order_mi": (mm.order_mi, {"data": DATA}),
    "from_independence_tests": (mm.from_independence_tests, {"data": DATA}),
    "restrict_candidates": (mm.restrict_candidates, {"data": DATA}),
    "from_edges": (mm.from_edges, {"data": DATA, "edges": [("class", "a")]}),
    "prepare": (mm.prepare, {"frame": FRAME, "target": "class"}),
    "Preparation.apply": (mm.prepare(FRAME, "class").apply, {"frame": FRAME}),
    "DiscreteDataset": (mm.DiscreteDataset, {
        "codes": DATA.codes, "target_codes": DATA.target_codes, "features": DATA.features, "target": DATA.target,
        "sample_weight": DATA.sample_weight,
    }),
    "DiscreteDataset.from_frame": (mm.DiscreteDataset.from_frame, {"frame": FRAME, "target": "class"}),
    "DiscreteDataset.from_arrays": (mm.DiscreteDataset.from_arrays, {"X": FEATURES.to_numpy(), "y": LABELS}),
    "DiscreteDataset.from_variables": (
        mm.DiscreteDataset.from_variables, {"frame": FRAME, "features": DATA.features, "target": DATA.target},
    ),
    "Structure": (mm.Structure, {"feature_names": ("a", "b"), "class_name": "class", "parents": ((2,), (2,), ())}),
    "Structure.from_names": (
        mm.Structure.from_names, {"feature_names": ["a", "b"], "class_name": "class", "edges": [("class", "a")]},
    ),
    "BayesianNetwork": (mm.BayesianNetwork, {
        "structure": TREE, "features": DATA.features, "target": DATA.target, "log_cpts": NETWORK.log_cpts,
    }),
    "LogLinearClassifier": (mm.LogLinearClassifier, {
        "structure": TREE, "features": DATA.features, "target": DATA.target, "log_factors": NETWORK.log_cpts,
    }),
    "BayesianNetwork.fit": (mm.BayesianNetwork.fit, {"structure": TREE, "data": DATA}),
    "BayesianNetwork.cpt": (NETWORK.cpt, {"name": "a"}),
    "BayesianNetwork.predict": (NETWORK.predict, {"X": FEATURES}),
    "BayesianNetwork.predict_proba": (NETWORK.predict_proba, {"X": FEATURES}),
    "BayesianNetwork.query": (NETWORK.query, {"targets": "a"}),
    "BayesianNetwork.map_query": (NETWORK.map_query, {}),
    "BayesianNetwork.marginals": (NETWORK.marginals, {}),
    "BayesianNetwork.probability": (NETWORK.probability, {"evidence": {"a": DATA.features[0].states[0]}}),
    "BayesianNetwork.log_likelihood": (NETWORK.log_likelihood, {"frame": FEATURES}),
    "BayesianNetwork.sample": (NETWORK.sample, {"n": 2}),
    "BayesianNetwork.estimate": (NETWORK.estimate, {"targets": "a"}),
    "Structure.markov_blanket": (TREE.markov_blanket, {"node": "a"}),
    "Structure.ancestors": (TREE.ancestors, {"node": "a"}),
    "Structure.is_d_separated": (TREE.is_d_separated, {"first": "a", "second": "b"}),
    "LogLinearClassifier.predict": (FACTORS.predict, {"X": FEATURES}),
    "solve": (mm.solve, {"formulation": SEARCH, "solver": "highs"}),
    "start": (lambda **given: mm.start(**given).result(), {"formulation": SEARCH, "solver": "highs"}),
    "trade_off": (
        mm.trade_off, {"formulation": SEARCH, "limit": mm.MaxEdges, "values": [1], "solver": "highs"},
    ),
    "solve_parts": (mm.solve_parts, {"problem": MIXTURES, "time_limit": 0.2}),
    "certify": (mm.certify, {"model": NETWORK, "formulation": SEARCH}),
    "distance_to_optimum": (mm.distance_to_optimum, {"model": NETWORK, "formulation": RELAXED}),
    "tune": (mm.tune, {"formulation": SMOOTH, "grid": {"lam": [0.1]}, "folds": 2, "max_iterations": 2}),
    "lambda_path": (mm.lambda_path, {"relaxation": RELAXED, "lambdas": (0.1,), "folds": 2}),
    "fix_gauge": (mm.fix_gauge, {"model": NETWORK, "reference": NETWORK}),
    "renormalize": (mm.renormalize, {"model": NETWORK}),
    "log_odds": (mm.log_odds, {"p": 0.9}),
    "MaxEdges": (mm.MaxEdges, {"most": 2}),
    "MaxParameters": (mm.MaxParameters, {"most": 2}),
    "MaxFeatures": (mm.MaxFeatures, {"most": 2}),
    "FeatureBudget": (mm.FeatureBudget, {"costs": {"a": 1.0}, "budget": 2.0}),
    "AllOrNone": (mm.AllOrNone, {"members": ["a", "b"]}),
    "AtMostOne": (mm.AtMostOne, {"members": ["a", "b"]}),
    "DegreeLimit": (mm.DegreeLimit, {"nodes": "a", "max_in": 1}),
    "Tiers": (mm.Tiers, {"tiers": [["a"], ["b"]]}),
    "Ancestor": (mm.Ancestor, {"above": "a", "below": "b"}),
    "NotAncestor": (mm.NotAncestor, {"above": "a", "below": "b"}),
    "EdgePenalty": (mm.EdgePenalty, {"price": 1.0}),
    "ParameterPenalty": (mm.ParameterPenalty, {"price": 1.0}),
    "ScoreTerm": (mm.ScoreTerm, {"score": "bic", "weight": 0.5, "ess": 2.0}),
    "SoftMarginStructure.with_terms": (lambda first: SEARCH.with_terms(first), {"first": mm.EdgePenalty(2.0)}),
    "EntryBounds": (mm.EntryBounds, {"node": "a", "given": {"class": "x"}, "lower": 0.5}),
    "MonotoneEntries": (mm.MonotoneEntries, {"node": "a", "given": {}, "increasing": True}),
    "TiedTables": (mm.TiedTables, {"nodes": ("a", "b")}),
    "ParameterRow": (mm.ParameterRow, {"coefficient": lambda *_: 1.0, "lower": 0.5, "label": "one"}),
    "MaxMarginRelaxation.with_constraints": (
        lambda first: mm.MaxMarginRelaxation(DATA, TREE).with_constraints(first),
        {"first": mm.EntryBounds("a", lower=1e-3)},
    ),
    "LinearRow": (mm.LinearRow, {"terms": {("a", "b"): 1.0}, "upper": 1.0}),
    "SoftMarginStructure.with_constraints": (
        lambda first: SEARCH.with_constraints(first), {"first": mm.MaxEdges(2)},
    ),
    "Laplace": (mm.Laplace, {}),
    "Dirichlet": (mm.Dirichlet, {}),
    "load_dataset": (mm.load_dataset, {"name": "corral"}),
    "Calibration": (mm.Calibration, {}),
    "CalibratedModel": (mm.CalibratedModel, {"model": NETWORK, "calibration": mm.Calibration()}),
    "load_run": (mm.load_run, {"path": Path(__file__).parent / "none"}),
    "predict_file": (mm.predict_file, {
        "model": NETWORK, "data": Path(__file__).parent / "none.csv", "out": Path(__file__).parent / "none-out.csv",
    }),
    "load_model": (mm.load_model, {"path": Path(__file__).parent / "none.json"}),
    "read_table": (mm.read_table, {"path": Path(__file__).parent / "none.csv"}),
    "SequenceDataset": (mm.SequenceDataset, {
        "codes": SEQUENCES.codes, "label_codes": SEQUENCES.label_codes, "starts": SEQUENCES.starts,
        "features": SEQUENCES.features, "target": SEQUENCES.target,
    }),
    "SequenceDataset.from_lists": (mm.SequenceDataset.from_lists, {"X": WORDS, "y": TAGS}),
    "SequenceDataset.from_frame": (
        mm.SequenceDataset.from_frame, {"frame": LONG, "target": "label", "group": "word", "order": "place"},
    ),
    "SequenceDataset.with_window": (SEQUENCES.with_window, {"before": 1, "after": 1}),
    "HiddenMarkovClassifier": (mm.HiddenMarkovClassifier, {
        "features": HIDDEN.features, "target": HIDDEN.target, "log_initial": HIDDEN.log_initial,
        "log_transition": HIDDEN.log_transition, "log_emissions": HIDDEN.log_emissions,
    }),
    "HiddenMarkovClassifier.fit": (mm.HiddenMarkovClassifier.fit, {"data": SEQUENCES}),
    "HiddenMarkovClassifier.predict": (HIDDEN.predict, {"X": WORDS}),
    "HiddenMarkovClassifier.predict_proba": (HIDDEN.predict_proba, {"X": WORDS}),
    "HiddenMarkovClassifier.log_joint": (HIDDEN.log_joint, {"X": WORDS, "y": TAGS}),
    "HiddenMarkovClassifier.sample": (HIDDEN.sample, {"n": 2, "length": 2}),
    "HiddenMarkovClassifier.normalize": (HIDDEN.normalize, {}),
    "SequenceMaxMargin": (mm.SequenceMaxMargin, {"data": SEQUENCES}),
    "SequenceMarkovNetwork": (mm.SequenceMarkovNetwork, {"data": SEQUENCES}),
    "SequenceConditionalLikelihood": (mm.SequenceConditionalLikelihood, {"data": SEQUENCES}),
    "SequenceSmoothMargin": (mm.SequenceSmoothMargin, {"data": SEQUENCES}),
    "SequenceClassifier": (
        lambda **given: mm.SequenceClassifier(**{"time_limit": 2.0} | given).fit(WORDS, TAGS), {},
    ),
    "SequenceClassifier.fit": (mm.SequenceClassifier("ml").fit, {"X": WORDS, "y": TAGS}),
    "SequenceClassifier.predict": (mm.SequenceClassifier("ml").fit(WORDS, TAGS).predict, {"X": WORDS}),
    "SequenceClassifier.score": (mm.SequenceClassifier("ml").fit(WORDS, TAGS).score, {"X": WORDS, "y": TAGS}),
    "MixtureClassifier.predict": (mm.CMMClassifier(iterations=0).fit(X, Y).model_.predict, {"X": X}),
}  # fmt: skip
for name in solvers.__all__:
    kind = getattr(solvers, name)
    if inspect.isclass(kind) and issubclass(kind, Solver) and not inspect.isabstract(kind):
        CALLS[name] = (kind, {})

ELSEWHERE = {
    "compare": "each run is a process of its own; its settings are those of `solve` (B15)",
    "load_openml": "asks the network",
    "counting_on": "takes the client of a cluster: tests/data/test_passes_on_dask.py",
    "passes_on": "takes the client of a cluster: tests/data/test_passes_on_dask.py",
    "Comparison": "made by compare",
    "TradeOff": "made by trade_off",
    "TradeOffPoint": "made by trade_off",
    "ObjectiveTerm": "what terms derive from; each of them is here",
    "ParameterConstraint": "what limits on tables derive from; each of them is here",
    "StructureConstraint": "what constraints derive from; each of them is here",
    "Preparation": "made by prepare",
    "Result": "made by solve",
    "Certificate": "made by certify",
    "ObjectiveBounds": "made by solvers",
    "BoundTrace": "made by solvers",
    "Run": "made by start",
    "Explanation": "made by explain",
    "IndependenceStructure": "made by from_independence_tests",
    "Flip": "made by flip",
    "MixtureClassifier": "made by CMM",
    "dataset_names": "takes nothing",
    "solvers": "takes nothing",
}
"""Public names that are not called by users, and why."""

NOT_HERE = {
    ("start", "starts"), ("solve", "starts"),  # B8
    # A class can be called, and fails by itself.
    ("solve", "callback"), ("start", "callback"), ("solve_parts", "callback"),
    ("solve_parts", "time_limit"), ("tune", "n_jobs"),
}  # fmt: skip


def parameters(function: Callable[..., Any], name: str) -> Iterator[str]:
    shown = {"start": mm.start, "SequenceClassifier": mm.SequenceClassifier}.get(name, function)
    for parameter in inspect.signature(shown).parameters.values():
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) and parameter.name != "self":
            yield parameter.name


def refused_or_taken(call: Callable[..., Any], given: dict[str, Any], wrong: tuple[type[Exception], ...]) -> None:
    """Nothing but an error of ours may come out, and it names something that was given."""
    try:
        call(**given)
    except wrong as error:
        told = str(error)
    else:
        told = "taken as it is: what looks right is right"
    assert len(told) > 20
    assert "object has no attribute" not in told


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_b9_errors_are_ours_whatever_is_given(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a text may be the path of a checkpoint
    call, base = CALLS[name]
    if name not in ("read_table", "load_model", "load_run", "predict_file"):  # there is no such file
        call(**base)
    for parameter in parameters(call, name):
        if (name, parameter) not in NOT_HERE:
            for value in WRONG.values():
                refused_or_taken(call, base | {parameter: value}, (MmbnError,))


ESTIMATORS = {
    mm.NaiveBayesClassifier: (FEATURES, LABELS, {}),
    mm.TANClassifier: (FEATURES, LABELS, {}),
    mm.MaxMarginBayesClassifier: (FEATURES, LABELS, {"iterations": 2}),
    mm.MaxMarginStructureClassifier: (FEATURES, LABELS, {"max_parents": 1}),
    mm.CMMClassifier: (X, Y, {"iterations": 1}),
    mm.MDLPDiscretizer: (X, Y, {}),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_b9_settings_of_estimators(kind: Any) -> None:
    samples, labels, base = ESTIMATORS[kind]
    for parameter in parameters(kind, kind.__name__):
        if parameter in ("n_jobs", "time_limit"):
            continue
        for what, value in WRONG.items():
            if (parameter, what) in {("structure", "class"), ("iterations", "None")}:
                continue  # a class is a function of the data like any other; None goes on to the end
            refused_or_taken(
                lambda **given: kind(**given).fit(samples, labels), base | {parameter: value}, (MmbnError,)
            )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_b9_samples_labels_and_weights_of_estimators(kind: Any) -> None:
    samples, labels, base = ESTIMATORS[kind]
    right = {"X": samples, "y": labels, "sample_weight": None}
    for parameter in right:
        for value in WRONG.values():
            refused_or_taken(kind(**base).fit, right | {parameter: value}, (ValueError,))
    fitted = kind(**base).fit(samples, labels)
    ask = fitted.transform if kind is mm.MDLPDiscretizer else fitted.predict_proba
    for value in WRONG.values():
        refused_or_taken(ask, {"X": value}, (ValueError,))


@pytest.mark.parametrize(("call", "told"), [
    (lambda: mm.SoftMarginStructure(FRAME), r"^data must be a DiscreteDataset, got a DataFrame\. Make one with"),
    (lambda: mm.SoftMarginStructure(None), r"^data must be a DiscreteDataset, got None"),
    (lambda: mm.SoftMarginStructure(DATA, gamma="a"), r"^gamma must be a number or a mapping .*, got 'a'"),
    (lambda: mm.SoftMarginStructure(DATA, required_edges="a>b"), r"^required_edges must be a list of pairs of texts"),
    (lambda: mm.SoftMarginStructure(DATA, required_edges=["a>b"]), r"^required_edges.*stands for the edge from"),
    (lambda: mm.SmoothMargin(DATA, NETWORK), r"^structure must be a Structure, got a Bay.*network\.structure"),
    (lambda: mm.SmoothMargin(TREE, DATA), r"^data must be a DiscreteDataset, got a Structure"),
    (lambda: mm.solve(FRAME), r"^formulation must be a Formulation or .* got a DataFrame\. Make one of the data first"),
    (lambda: mm.solve(DATA), r"^formulation must be a Formulation or .* got a DiscreteDataset"),
    (lambda: mm.solve(SEARCH, solver=["highs"]), r"^solver must be a text or a Solver, got \['highs'\]"),
    (lambda: mm.naive_bayes(FRAME), r"^data must be a DiscreteDataset, got a DataFrame"),
    (lambda: mm.DiscreteDataset.from_frame(FRAME.to_numpy(), "class"), r"^frame must be a table with named columns"),
    (lambda: mm.Structure.from_names("ab", "class", []), r"^feature_names must be a list of texts, got 'ab'"),
    (lambda: mm.certify("network", SEARCH), r"^model must be a classifier that SoftMarginStructure can learn"),
    (lambda: mm.prepare(FRAME, "class", kinds=["numeric"]), r"^kinds must be a mapping \(dict\) or None, got \['nu"),
    (
        lambda: mm.DiscreteDataset.from_frame(FRAME.assign(a=[[1, 2]] * 20), "class"),
        r"^Column 'a' holds a list in row 0: \[1, 2\]\. A cell must be one label or number",
    ),
    (
        lambda: mm.NaiveBayesClassifier().fit(FEATURES.assign(a=[{"k": 1}] * 20), LABELS),
        r"^Column 'a' holds a dict in row 0",
    ),
    (
        lambda: NETWORK.predict(FEATURES.assign(a=[["u"]] * 20)),
        r"^Column 'a' holds a list in row 0",
    ),
    (
        lambda: mm.MaxMarginStructureClassifier(required_edges="a>b").fit(FEATURES, LABELS),
        r"^required_edges must be a list of pairs of texts, got 'a>b'",
    ),
])  # fmt: skip
def test_b9_what_was_expected_is_said(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(mm.InputError, match=told):
        call()


def test_b9_no_public_name_is_left_out() -> None:
    walked = {name.split(".")[0] for name in CALLS} | {kind.__name__ for kind in ESTIMATORS} | set(ELSEWHERE)
    for name in mm.__all__:
        value = getattr(mm, name)
        if inspect.isclass(value) and issubclass(value, (Exception, Enum)):
            continue
        if inspect.isclass(value) and issubclass(value, BaseEstimator):
            assert value in ESTIMATORS or name in walked
        elif callable(value):
            assert name in walked, f"{name} is public: give it a line in CALLS"


def test_b9_right_types_are_taken_whatever_their_dress() -> None:
    """Numbers of NumPy, lists for tuples, arrays of pairs, numbers as names, generators."""
    for edges in ([["class", "a"]], np.array([["class", "a"]]), {("class", "a")}, (e for e in [("class", "a")])):
        assert mm.from_edges(DATA, edges).edges == [("class", "a")]
    assert mm.SoftMarginStructure(DATA, max_parents=np.int64(1), gamma=np.float32(1.5)).gamma == 1.5
    assert mm.SmoothMargin(DATA, TREE, lam=1).lam == 1


def test_b9_the_mechanism_reads_declarations() -> None:
    def f(a: int, b: "unknown" = 1, c: Any = 2, d=3, *e: int, **g: int) -> None:  # type: ignore[name-defined] # noqa: F821
        check_arguments(f, locals())

    f(1, object(), object(), object())
    with pytest.raises(mm.InputError, match=r"^a must be a whole number, got an object"):
        f(object())
    check_fields(mm.Laplace(1.0))
