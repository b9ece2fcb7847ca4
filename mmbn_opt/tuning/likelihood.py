"""Smoothed maximum likelihood: parameters in closed form, their checks, and a result like that of a search."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.counts import contingency, n_log_n
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.samples import Samples
from mmbn_opt.formulations.checks import check_acyclic, check_estimates
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.smoothing import Smoothing, as_smoothing
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.result import Certificate, Check, Result, Seconds
from mmbn_opt.results.status import Sense, SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import TraceRecorder
from mmbn_opt.solvers.ending import OBJECTIVE_TOLERANCE

__all__ = ["ClosedForm", "MaximumLikelihood", "in_closed_form", "maximum_likelihood"]


@dataclass(frozen=True)
class MaximumLikelihood:
    """Tables of a structure under which the smoothed counts are most probable.

    maximise  sum_{i,h,j} (n[i,h,j] + s_i) log theta[i,j|h]
    s.t.      sum_j theta[i,j|h] = 1

    for node i, state j and parent configuration h. The maximum is at the smoothed frequencies (Gibbs' inequality), so
    there is nothing to search; without smoothing the objective is the log-likelihood.

    Parameters
    ----------
    data : DiscreteDataset
    structure : Structure
    smoothing : float or Smoothing
        Pseudo-count s of each cell, or ``Dirichlet(ess=...)``.

    Examples
    --------
    >>> from mmbn_opt import naive_bayes
    >>> data = DiscreteDataset.from_arrays([["a"], ["a"], ["b"]], [0, 0, 1])
    >>> result = MaximumLikelihood(data, naive_bayes(data)).learn()
    >>> result.termination_status, round(result.bounds.primal_bound, 4), result.certificate.ok
    (TerminationStatus.OPTIMAL, -7.5239, True)
    """

    data: DiscreteDataset
    structure: Structure
    smoothing: float | Smoothing = 1.0

    title: ClassVar[str] = "Smoothed maximum likelihood"
    value_name: ClassVar[str] = "Smoothed log-likelihood, nats"

    @property
    def samples(self) -> Samples:
        """The data, for reports."""
        return Samples(self.data, self.data.class_name)

    def evaluate(self, model: BayesianNetwork) -> float:
        """The objective of any network of this structure, in nats."""
        tables = model.log_cpts
        # A cell without a count has no say, whatever its probability: 0 log 0 = 0.
        return float(sum(counts[counts > 0] @ t[counts > 0] for counts, t in zip(self._counts(), tables, strict=True)))

    def bound(self) -> float:
        """What no tables exceed: the entropies of the smoothed counts, from the counts alone."""
        return float(sum(n_log_n(counts) - n_log_n(counts.sum(axis=1)) for counts in self._counts()))

    def learn(self) -> Result:
        """The tables, with their checks, as a result whose gap is closed."""
        recorder = TraceRecorder(Sense.MAXIMIZE)
        network, checked = maximum_likelihood(self.data, self.structure, self.smoothing)
        return in_closed_form(self, network, checked.checks, recorder)

    def _counts(self) -> Iterator[FloatArray]:
        """Smoothed counts of each node, shape (n_configurations, n_states)."""
        prior, card = as_smoothing(self.smoothing), self.data.cardinalities
        for node, parents in enumerate(self.structure.parents):
            counts = contingency(self.data, [*sorted(parents), node]).reshape(-1, card[node])
            yield counts + prior.per_cell(card[node], len(counts))


_SOLVER = "closed form"


class ClosedForm(Protocol):
    """A problem whose best model is known by a formula, and its value by another one."""

    title: ClassVar[str]
    value_name: ClassVar[str]

    def evaluate(self, model: Any) -> float:
        """The objective of a model."""

    def bound(self) -> float:
        """What no model exceeds."""


def in_closed_form(problem: ClosedForm, model: Any, checks: tuple[Check, ...], recorder: TraceRecorder) -> Result:
    """A result like that of a search, with a check that the value of the model is the bound."""
    value, bound = problem.evaluate(model), problem.bound()
    closed = abs(value - bound) <= OBJECTIVE_TOLERANCE * max(1.0, abs(bound))
    recorder.record(primal=value, dual=value if closed else bound, event="incumbent", source=_SOLVER)
    trace = recorder.finish(source=_SOLVER)
    told = f"{value:.6f} of the tables, {bound:.6f} from the entropies of the counts, which no tables exceed"
    status = TerminationStatus.OPTIMAL if closed else TerminationStatus.NUMERICAL_ERROR
    seconds = trace.records[-1].time_sec
    return Result(
        model=model,
        certificate=Certificate((*checks, Check("objective and bound", closed, told))),
        termination_status=status,
        solution_status=SolutionStatus.FEASIBLE,
        raw_status="smoothed frequencies",
        solution=None,
        bounds=trace.bounds,
        trace=trace,
        sense=Sense.MAXIMIZE,
        formulation=problem,
        solver_name=_SOLVER,
        solver_version="",
        solver_rule="nothing has to be searched",
        seconds=Seconds(solve=seconds, total=seconds),
    )


def maximum_likelihood(
    data: DiscreteDataset, structure: Structure, smoothing: float | Smoothing
) -> tuple[BayesianNetwork, Certificate]:
    """Smoothed maximum likelihood in closed form, and its checks.

    Examples
    --------
    >>> from mmbn_opt import naive_bayes
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"]], [0, 1])
    >>> network, certificate = maximum_likelihood(data, naive_bayes(data), 1.0)
    >>> print(certificate)
    [ok] acyclic: 2 nodes, 1 edges
    [ok] CPTs normalised: largest |row sum - 1| is 0.0e+00
    [ok] parameters from the data: largest difference to a fresh estimate ... is 0.0e+00
    """
    network = BayesianNetwork.fit(structure, data, smoothing)
    return network, Certificate((check_acyclic(network), *check_estimates(network, data, as_smoothing(smoothing))))
