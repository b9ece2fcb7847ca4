"""Parameters of a given structure as a classifier: maximum margin, conditional likelihood or maximum likelihood."""

from collections.abc import Mapping
from typing import Any, Literal

from mmbn_opt._arguments import choice_of
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.estimators._base import require_two_classes
from mmbn_opt.heuristics.named import make_structure
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solving.settings import SolveSettings
from mmbn_opt.tuning.calibration import TRAINED_SHARE
from mmbn_opt.tuning.learning_again import learn_again
from mmbn_opt.tuning.parameters import METHODS, Method, ParameterSettings, learn_parameters

from ._base import DiscreteClassifier, Learned, tell
from ._input import seed_of

__all__ = ["MaxMarginBayesClassifier"]


class MaxMarginBayesClassifier(DiscreteClassifier):
    """Bayesian network classifier of a given structure, its parameters trained to separate the classes.

    Parameters
    ----------
    structure : {"nb", "tan-cmi", "tan-cr", "omi", "omisp", "ro"}, Structure, list of (parent, child), or callable
        Naive Bayes, TAN by conditional mutual information or by classification rate, or the order-based structures of
        Pernkopf & Bilmes 2008; a `Structure`; edges by column name, the class by its own name; or a function of the
        prepared `DiscreteDataset`.
    method : {"cg-mm", "cg-cl", "relaxation", "ml"}
        Smooth margin (`SmoothMargin`), conditional likelihood (`ConditionalLikelihood`), the convex relaxation
        (`MaxMarginRelaxation`, with a certified gap), or maximum likelihood.
    lam : float, list of float, "cv" or None
        Scale of the margin for "cg-mm" and "relaxation"; of several values cross-validation chooses inside `fit`: one
        held-out fifth above 1,000 rows, 5 folds below. None is 0.1 for "relaxation", and for "cg-mm" the better of 0.05
        and 0.5 together with the iterations, or 0.05 where these are given.
    kappa : float
        Rounding of the hinge for "cg-mm".
    iterations : int, "cv" or None
        Limit of the gradient methods; the number of iterations regularises. None chooses it up to 100 on held-out rows,
        and ``lam="cv"`` and ``iterations="cv"`` choose it too, up to this number (200 for "cv"; 100 for None). What a
        configured solver says counts, and with `validation` nothing is chosen.
    validation : float or None
        Share of the rows for early stopping of the gradient methods, instead of a choice.
    normalization, alpha, min_prob
        As in `MaxMarginRelaxation`.
    smoothing : float or Smoothing
        Pseudo-count of the maximum-likelihood tables (1 is Laplace's).
    solver : str or Solver
    time_limit : float or None
        Seconds for the choice and the final fit.
    rel_gap : float or None
        Certified gap at which the relaxation stops; None is what a configured solver says, and else 1e-4.
    kinds : mapping of column name to {"categorical", "numeric"}, or None
        Overrides; else text, categories, bools and integers of at most 10 values are categorical, other numbers are cut
        by MDLP on the training rows. The columns of arrays are called x0, x1, ...
    discretize : bool
        False refuses numeric columns instead of cutting them.
    missing : {"error", "drop", "state"}
        Missing cells in training: refuse, leave the rows out, or make "missing" a state. In prediction they are summed
        out (or are that state).
    unseen : {"warn", "missing", "error"}
        Labels in prediction that training never saw: sum out with one warning that names column and label, sum out in
        silence, or refuse.
    calibration : {"auto", "temperature"}, float or None
        Make probabilities believable, decisions left as they are: a temperature on the log-odds, chosen on held-out
        rows inside `fit` (five folds; one held-out fifth above 1,000 rows). "auto" does so for the methods that train
        for decisions, all but "ml", "temperature" for all; a number is the temperature itself, None leaves
        probabilities as they come. ``calibration_`` says what was found; with fewer than 30 rows, or where `time_limit`
        left no time (a fifth of it is kept for that), there is none, and it says so.
    class_weight : mapping of label to weight, "balanced" or None
        Multiplied into the weights of the rows. Probabilities are then those of rows in these proportions; to decide by
        what mistakes cost, leave it and give `cost` to `predict`.
    warm_start : bool
        Let `fit` begin at the parameters of the last `fit`, where structure and states are the same.
    n_jobs : int or None
        Processes of the choice (joblib); that of "relaxation" is one path of warm starts and uses one.
    random_state : int, RandomState or None
        Of folds, validation rows and the order "ro"; None is 0, or what a configured solver says for its own run.
    verbose : int
        1 logs the steps of `fit` at INFO, 2 each better bound too (``logging.basicConfig(level="INFO")`` shows them).
        Independently of it, a fit that ends at its `time_limit` without a proof gives a `ConvergenceWarning`.

    Attributes
    ----------
    classes_ : array (n_classes,)
        Labels in ascending order, of the type that was given.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when X was a DataFrame with text names.
    network_ : BayesianNetwork
        Predicts by itself, saves as JSON or BIF.
    result_ : Result or None
        Of the final fit; None for "ml".
    trace_ : BoundTrace or None
    certificate_ : Certificate
        What was re-checked from the training rows.
    preparation_ : Preparation
        Kinds, states and cut points of the columns.
    training_accuracy_ : float
    calibration_ : Calibration
        ``temperature``, log loss and calibration error on the held-out rows ``before`` and ``after``, or the
        ``reason`` why there is none. ``network_`` knows nothing of it: `save` writes both, BIF and the like the network
        alone.
    chosen_ : dict
        ``lam`` and ``max_iterations`` that were used.
    cv_results_ : DataFrame or None
        Rate of each candidate, where there was a choice.

    References
    ----------
    Pernkopf, Wohlmayr & Tschiatschek 2012; Guo, Wilkinson & Schuurmans 2005.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> frame = mm.load_dataset("car")
    >>> X, y = frame.drop(columns="class"), frame["class"]
    >>> model = MaxMarginBayesClassifier("nb", "cg-mm").fit(X, y)
    >>> round(model.score(X, y), 2), round(mm.NaiveBayesClassifier().fit(X, y).score(X, y), 2)
    (0.93, 0.87)
    """

    def __init__(
        self,
        structure: Any = "nb",
        method: Method = "cg-mm",
        *,
        lam: Any = None,
        kappa: float = 0.1,
        iterations: int | Literal["cv"] | None = None,
        validation: float | None = None,
        normalization: Any = "hybrid",
        alpha: float = 0.03,
        min_prob: float = 1e-6,
        smoothing: Any = 1.0,
        solver: str | Solver = "auto",
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
        self.structure = structure
        self.method = method
        self.lam = lam
        self.kappa = kappa
        self.iterations = iterations
        self.validation = validation
        self.normalization = normalization
        self.alpha = alpha
        self.min_prob = min_prob
        self.smoothing = smoothing
        self.solver = solver
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
        choice_of("method", self.method, METHODS)

    def _learn(self, data: DiscreteDataset, began: float) -> Learned:
        require_two_classes(data)
        seed = seed_of(self.random_state)
        graph = make_structure(self.structure, data, seed=seed, smoothing=self.smoothing)
        tell(self, "structure with %d edges, parameters by %s", len(graph.edges), self.method)
        settings = ParameterSettings(
            method=self.method, lam=self.lam, kappa=self.kappa, iterations=self.iterations, validation=self.validation,
            normalization=self.normalization, alpha=self.alpha, min_prob=self.min_prob, smoothing=self.smoothing,
            solver=self.solver, seed=seed, n_jobs=self.n_jobs,
            call=SolveSettings(
                rel_gap=self.rel_gap, seed=None if self.random_state is None else seed, verbose=self._tells_bounds()
            ),
        )  # fmt: skip
        learned = learn_parameters(
            data, graph, settings, self._seconds(began, TRAINED_SHARE), start=self._former(graph, data)
        )
        tell(self, "%s; chosen: %s", learned.result, learned.chosen)
        attributes = {"chosen_": learned.chosen, "cv_results_": learned.table}
        result = None if self.method == "ml" else learned.result
        again = learn_again(settings, learned.chosen, graph)
        return Learned(learned.network, learned.certificate, result, attributes, again)

    @property
    def _is_trained(self) -> bool:
        return self.method != "ml"

    @property
    def _is_counted(self) -> bool:
        return self.method == "ml"
