"""Exact structure as a classifier, with parameters of any method on top."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast

from mmbn_opt._arguments import choice_of, whole
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.formulations.structure.base import StructureFormulation
from mmbn_opt.formulations.structure.by_score import SCORES, asks_for_margin, structure_formulation
from mmbn_opt.formulations.structure.objective_terms import ObjectiveTerm
from mmbn_opt.heuristics.sparse_candidates import restrict_candidates
from mmbn_opt.networks.constraints import StructureConstraint
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.result import Certificate, Check, Result
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solving.dispatch import solve
from mmbn_opt.solving.settings import SolveSettings
from mmbn_opt.tuning.calibration import COUNTED_SHARE, TRAINED_SHARE, best_start
from mmbn_opt.tuning.held_out import Learn, candidates, choose, complete
from mmbn_opt.tuning.learning_again import learn_again
from mmbn_opt.tuning.parameters import METHODS, Method, ParameterSettings, learn_parameters

from ._base import DiscreteClassifier, Learned, require_two_classes, seconds_left, tell
from ._input import seed_of

__all__ = ["MaxMarginStructureClassifier"]

PROBABILITIES = (0.6, 0.75, 0.9, 0.99)
PARENTS = (1, 2)
"""What ``p="cv"`` and ``max_parents="cv"`` choose from."""

_Learn = Callable[[DiscreteDataset, float | None], BayesianNetwork]


class MaxMarginStructureClassifier(DiscreteClassifier):
    """Bayesian network classifier whose structure is the best there is for a score, with the proof.

    Exact structure and margin-trained parameters can be had together: ``parameters="cg-mm"`` trains the parameters of
    the structure that was proved best.

    Parameters
    ----------
    criterion : {"sm", "sbm", "mdl", "bic", "bdeu", "loglik"}
        What the structure maximises: soft margin, binary soft margin, or a decomposable score. (Elsewhere in the
        package this is called `score`, which is a method of scikit-learn's classifiers.)
    max_parents : int, list of int, or "cv"
        Most parents of a node, the class counted. Of several values cross-validation chooses inside `fit` ("cv": 1, 2).
    p : float, mapping from class labels, list of these, or "cv"
        Posterior of the true class against a rival that the margin scores ask for, in (0.5, 1), of all classes or of
        each; "cv": 0.6, 0.75, 0.9, 0.99. The decomposable scores have no use for it.
    parameters : {"ml", "cg-mm", "cg-cl", "relaxation"}
        Parameters on the structure: those of the score's own definition (smoothed maximum likelihood), or trained as in
        `MaxMarginBayesClassifier`.
    lam, kappa, iterations, validation, normalization, alpha, min_prob
        Of the trained parameters, as in `MaxMarginBayesClassifier`.
    smoothing : float or Smoothing
        Pseudo-count; the margin scores need one > 0.
    ess : float
        Equivalent sample size of "bdeu".
    parent_sets : {"all", "margin"}
        For "mdl", "bic", "bdeu", "loglik": all sets of parents, the class one node among others, or those that matter
        to a margin, as Peharz & Pernkopf 2012 have it for all scores: a feature has the class among its parents, or
        none.
    acyclicity, required_edges, forbidden_edges
        As in `SoftMarginStructure`.
    constraints : list of StructureConstraint
        What the structure has to keep: `MaxEdges`, `MaxFeatures`, `FeatureBudget` and the like, by column names.
    terms : list of ObjectiveTerm
        What is added to the criterion: `EdgePenalty`, `ParameterPenalty`, `ScoreTerm`, or one's own.
    margin_weight : float or mapping from class labels
        What the margins of a class count for in a margin score, beside the weights of its rows; parameters are counted
        without it.
    candidates : int or None
        For wide data: keep that many candidate parents a feature, by `restrict_candidates` on the training rows. The
        structure is then the best of a restricted class, as the certificate says. None keeps all.
    solver : str or Solver
        For the structure.
    parameter_solver : str or Solver
    time_limit : float or None
        Seconds for everything: at most half goes to a choice by cross-validation, a fifth of the rest to trained
        parameters. None runs to proof.
    rel_gap : float or None
        Proved relative gap at which the structure search stops; None is what a configured solver says, and else 0.
    calibration : {"auto", "temperature"}, float or None
        As in `MaxMarginBayesClassifier`; "auto" for the margin scores and for trained parameters. The held-out rows are
        classified with structures that the heuristics find on the other rows, without a proof.
    warm_start : bool
        Let `fit` begin at the network of the last `fit`: its structure beside the heuristics' own, and its parameters
        where the structure stays the same.
    kinds, discretize, missing, unseen, class_weight, n_jobs, random_state, verbose
        As in `MaxMarginBayesClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, network_, preparation_, training_accuracy_, calibration_
        As in `MaxMarginBayesClassifier`.
    result_ : Result
        Of the structure search: status, both bounds, model with maximum-likelihood parameters.
    trace_ : BoundTrace
    certificate_ : Certificate
        Checks of the structure, then those of the parameters.
    parameter_result_ : Result or None
        Of the parameters; None for "ml".
    chosen_ : dict
        ``p`` and ``max_parents`` that were used, and ``lam``, ``max_iterations`` of trained parameters.
    cv_results_ : DataFrame or None
        Rate of each candidate structure setting, where there was a choice.

    References
    ----------
    Peharz & Pernkopf 2012, whose section 8 leaves the combination with margin-trained parameters to future work.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> frame = mm.load_dataset("corral")
    >>> X, y = frame.drop(columns="class"), frame["class"]
    >>> model = MaxMarginStructureClassifier(max_parents=2, p=0.9).fit(X, y)
    >>> model.result_.termination_status, round(model.result_.bounds.primal_bound, 4)
    (TerminationStatus.OPTIMAL, 261.1348)
    >>> model.score(X, y)
    1.0
    """

    def __init__(
        self,
        criterion: str = "sm",
        max_parents: Any = 2,
        p: Any = 0.9,
        *,
        parameters: Method = "ml",
        lam: Any = None,
        kappa: float = 0.1,
        iterations: int | Literal["cv"] | None = None,
        validation: float | None = None,
        normalization: Any = "hybrid",
        alpha: float = 0.03,
        min_prob: float = 1e-6,
        smoothing: Any = 1.0,
        ess: float = 1.0,
        parent_sets: Literal["all", "margin"] = "all",
        acyclicity: str = "auto",
        required_edges: Sequence[tuple[str, str]] = (),
        forbidden_edges: Sequence[tuple[str, str]] = (),
        constraints: Sequence[StructureConstraint] = (),
        terms: Sequence[ObjectiveTerm] = (),
        margin_weight: float | Mapping[Any, float] = 1.0,
        candidates: int | None = None,
        solver: str | Solver = "auto",
        parameter_solver: str | Solver = "auto",
        time_limit: float | None = None,
        rel_gap: float | None = None,
        kinds: Mapping[Any, str] | None = None,
        discretize: bool = True,
        missing: Any = "error",
        unseen: Any = "warn",
        calibration: Any = "auto",
        class_weight: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.criterion = criterion
        self.max_parents = max_parents
        self.p = p
        self.parameters = parameters
        self.lam = lam
        self.kappa = kappa
        self.iterations = iterations
        self.validation = validation
        self.normalization = normalization
        self.alpha = alpha
        self.min_prob = min_prob
        self.smoothing = smoothing
        self.ess = ess
        self.parent_sets = parent_sets
        self.acyclicity = acyclicity
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.constraints = constraints
        self.terms = terms
        self.margin_weight = margin_weight
        self.candidates = candidates
        self.solver = solver
        self.parameter_solver = parameter_solver
        self.time_limit = time_limit
        self.rel_gap = rel_gap
        self.kinds = kinds
        self.discretize = discretize
        self.missing = missing
        self.unseen = unseen
        self.calibration = calibration
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        choice_of("criterion", self.criterion, tuple(SCORES))
        choice_of("parameters", self.parameters, METHODS)
        choice_of("parent_sets", self.parent_sets, ("all", "margin"))
        if self.candidates is not None:
            whole("candidates", self.candidates, 1, expected="a whole number >= 1 or None")

    def _learn(self, data: DiscreteDataset, began: float) -> Learned:
        require_two_classes(data)
        seed = seed_of(self.random_state)
        choice = choose(
            self._grid(), data, self._candidate(seed), seed=seed, n_jobs=self.n_jobs,
            seconds=_share(seconds_left(self.time_limit, began), 0.5),
        )  # fmt: skip
        trained = self.parameters != "ml"
        share = TRAINED_SHARE if trained else COUNTED_SHARE
        left = self._seconds(began, share)
        former: BayesianNetwork | None = getattr(self, "network_", None) if self.warm_start else None
        if former is not None and former.structure.names != (*data.feature_names, data.class_name):
            former = None
        result = self._search(data, choice.settings, _share(left, 0.8) if trained else left, seed, former)
        tell(self, "structure: %s; chosen: %s", result, choice.settings)
        attributes: dict[str, Any] = {
            "chosen_": choice.settings, "cv_results_": choice.table, "parameter_result_": None
        }  # fmt: skip
        if not trained:
            again = self._again(choice.settings, None, seed)
            return Learned(result.model, result.certificate, result, attributes, again)
        graph, settings = result.model.structure, self._parameter_settings(seed)
        start = self._former(graph, data)
        learned = learn_parameters(data, graph, settings, self._seconds(began, share), start=start)
        tell(self, "parameters: %s; chosen: %s", learned.result, learned.chosen)
        checks = (*_named("structure", result.certificate), *_named("parameters", learned.certificate))
        attributes["chosen_"] = choice.settings | learned.chosen
        attributes["parameter_result_"] = learned.result
        again = self._again(choice.settings, partial(learn_again, settings, learned.chosen), seed)
        return Learned(learned.network, Certificate(checks), result, attributes, again)

    @property
    def _is_trained(self) -> bool:
        return asks_for_margin(self.criterion) or self.parameters != "ml"

    @property
    def _is_counted(self) -> bool:
        return self.parameters == "ml"

    def _again(
        self, settings: Mapping[str, Any], parameters: Callable[[Structure], _Learn] | None, seed: int
    ) -> _Learn:
        """How structure and parameters are learned from other rows, with less ado."""

        def learn(part: DiscreteDataset, seconds: float | None) -> BayesianNetwork:
            problem = self._formulation(part, settings)
            if parameters is None:
                return best_start(problem, seed=seed, seconds=seconds)
            found = best_start(problem, seed=seed, seconds=_share(seconds, 0.5))
            return parameters(found.structure)(part, _share(seconds, 0.5))

        return learn

    def _grid(self) -> dict[str, tuple[Any, ...]]:
        grid = {"max_parents": candidates("max_parents", self.max_parents, PARENTS)}
        if asks_for_margin(self.criterion):
            grid["p"] = candidates("p", self.p, PROBABILITIES)
        return grid

    def _candidate(self, seed: int) -> Learn:
        """How a candidate is learned: with maximum-likelihood parameters, which the scores are defined by."""

        def learn(part: DiscreteDataset, point: Mapping[str, Any], seconds: float | None) -> BayesianNetwork:
            return cast(BayesianNetwork, complete(self._search(part, point, seconds, seed)).model)

        return learn

    def _search(
        self,
        data: DiscreteDataset,
        settings: Mapping[str, Any],
        seconds: float | None,
        seed: int,
        start: BayesianNetwork | None = None,
    ) -> Result:
        result = solve(
            self._formulation(data, settings), self.solver, time_limit=seconds, rel_gap=self.rel_gap,
            seed=None if self.random_state is None else seed, verbose=self._tells_bounds(), starts=start,
        )  # fmt: skip
        return result if result.model is not None else result.raise_for_status()

    def _formulation(self, data: DiscreteDataset, settings: Mapping[str, Any]) -> StructureFormulation:
        shared: dict[str, Any] = {
            "max_parents": settings["max_parents"],
            "acyclicity": self.acyclicity,
            "smoothing": self.smoothing,
            "required_edges": tuple(self.required_edges),
            "forbidden_edges": tuple(self.forbidden_edges),
            "constraints": tuple(self.constraints),
            "terms": tuple(self.terms),
            "margin_weight": self.margin_weight,
            "restriction": None if self.candidates is None else restrict_candidates(data, self.candidates),
        }
        p = settings.get("p", 0.9)  # a score without a margin has none
        return structure_formulation(self.criterion, data, p=p, ess=self.ess, parent_sets=self.parent_sets, **shared)

    def _parameter_settings(self, seed: int) -> ParameterSettings:
        return ParameterSettings(
            method=self.parameters, lam=self.lam, kappa=self.kappa, iterations=self.iterations,
            validation=self.validation, normalization=self.normalization, alpha=self.alpha, min_prob=self.min_prob,
            smoothing=self.smoothing, solver=self.parameter_solver, seed=seed, n_jobs=self.n_jobs,
            call=SolveSettings(seed=None if self.random_state is None else seed, verbose=self._tells_bounds()),
        )  # fmt: skip


def _share(seconds: float | None, share: float) -> float | None:
    return None if seconds is None else seconds * share


def _named(what: str, certificate: Certificate) -> tuple[Check, ...]:
    return tuple(replace(check, name=f"{what}: {check.name}") for check in certificate.checks)
