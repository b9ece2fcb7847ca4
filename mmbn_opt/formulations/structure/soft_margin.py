"""The soft margin and the binary soft margin of a structure as mixed-integer programs."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ..._arguments import checked_number, is_number
from ..._arrays import FloatArray
from ...data.counts import CountedSets
from ...data.discrete import DiscreteDataset
from ...data.mapped import MappedDataset
from ...exceptions import InputError
from ...heuristics.local_search import LocalSearch
from ...heuristics.objectives import MarginLoss
from ...networks.candidates import refuse_large_choice
from ...networks.network import BayesianNetwork
from ...networks.smoothing import Dirichlet, Laplace
from ...programs.base import ProgramKind
from ...scores.margin_counts import MAX_MARGIN_CELLS, count_margin_tables, refuse_oversized
from ...scores.margins import MarginTables
from ...scores.predictive import binary_soft_margin, log_odds, soft_margin
from ...scores.row_sums import RowNumbers
from ...scores.turning import cells_by_class, turning_cost
from ..base import Start
from ._term_in_blocks import TermInBlocks
from .acyclicity import Turning
from .base import StructureFormulation
from .margin_term import DEFAULT_GROUPS, MarginTerm
from .row_values import Merged, RowValues, row_numbers

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["BinarySoftMarginStructure", "MarginStructure", "SoftMarginStructure"]

DEFAULT_GAMMA: float = log_odds(0.9)
"""Posterior odds of 9 : 1."""

MANY_SAMPLES = 131_072
"""Merged samples above which searches without proof look at half as many."""

MOST_TURNING_STEPS = 50_000_000
"""Steps above which it is not looked at what turning trees costs: tables so large have cells of hardly any samples."""

VERY_MANY_SAMPLES = 3_000_000
"""Above, a descent over all of them takes longer than the bound, and gains less."""


@dataclass(frozen=True, eq=False)
class MarginStructure(StructureFormulation):
    """Structure programs with one tau a merged sample, cut off at gamma."""

    gamma: RowValues = DEFAULT_GAMMA
    margin_weight: RowValues = field(default=1.0, kw_only=True)
    max_cells: int = field(default=MAX_MARGIN_CELLS, kw_only=True)

    _binary: ClassVar[bool]

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_number(self.gamma):
            nats = "a finite number of nats > 0 (see log_odds)"
            checked_number("gamma", self.gamma, open_low=True, open_high=True, expected=nats)
        _ = self._gamma_numbers
        if not self._any_counts():
            raise InputError("margin_weight leaves no row that counts; one of positive weight needs a number > 0.")
        if isinstance(self.prior, Laplace) and self.prior.pseudo_count == 0:
            raise InputError("smoothing must be > 0 here: log 0 would make margins infinite.")

    @cached_property
    def _gamma_numbers(self) -> RowNumbers:
        """Gamma of the rows."""
        return row_numbers("gamma", self.gamma, self.data, zero=False)

    @cached_property
    def _weight_numbers(self) -> RowNumbers:
        """What the margins of the rows count for, beside the rows' weights."""
        return row_numbers("margin_weight", self.margin_weight, self.data, zero=True)

    def _any_counts(self) -> bool:
        """Whether the margin of some row of positive weight does."""
        numbers = self._weight_numbers
        if numbers.how == "class" and isinstance(self.data, MappedDataset):
            return bool(numbers.values[self.data.observed_classes()].any())
        share = numbers.of(self.data.target_codes, slice(None))
        return share > 0 if isinstance(share, float) else bool((share * self.data.sample_weight).any())

    @cached_property
    def _merging(self) -> Merged:
        gamma = self._gamma_numbers.of(self.data.target_codes, slice(None))
        return Merged(self.data, np.full(self.data.n_samples, gamma, dtype=np.float64))

    @cached_property
    def merged(self) -> DiscreteDataset:
        """The data with equal rows of the same gamma merged; data in a file as they are."""
        mapped = isinstance(self.data, MappedDataset)
        return self.data.aggregate() if mapped or is_number(self.gamma) else self._merging.data

    @property
    def _gammas(self) -> float | FloatArray:
        """Gamma of all merged rows, or of each; for data in a file of those that are drawn."""
        if is_number(self.gamma):
            return float(cast(float, self.gamma))
        return self._drawn[1] if isinstance(self.data, MappedDataset) else self._merging.gamma

    @property
    def kinds(self) -> frozenset[ProgramKind]:
        """The projected program alone for data in a file, whose rows are none of a program."""
        own = super().kinds
        return own - {ProgramKind.MIXED_INTEGER} if isinstance(self.data, MappedDataset) else own

    @property
    def _default_kind(self) -> ProgramKind:
        return ProgramKind.IMPLICIT_CONCAVE if isinstance(self.data, MappedDataset) else super()._default_kind

    def refuse_oversized(self, kind: ProgramKind) -> None:
        """Raise `SizeLimitError` when the margin tables, a network or the row form would be over the limits."""
        self._refuse_tables()
        refuse_large_choice(self.data, self.candidates)
        super().refuse_oversized(kind)

    def _refuse_tables(self) -> None:
        refuse_oversized(self.merged, self.candidates, self.max_cells)

    @cached_property
    def tables(self) -> MarginTables:
        """Margin coefficients of every column and merged sample; of data in a file for rows that are drawn evenly."""
        if isinstance(self.data, MappedDataset):
            return self._drawn[0]
        self._refuse_tables()
        tables = count_margin_tables(self.merged, self.candidates, self.prior, binary=self._binary)
        if is_number(self.margin_weight) and self.margin_weight == 1:
            return tables
        share = self._weight_numbers.of(self.data.target_codes, slice(None))
        return replace(tables, weight=self._merging.summed(self.data.sample_weight * share))

    @cached_property
    def _drawn(self) -> tuple[MarginTables, float | FloatArray]:
        """For searches without proof in a file: tables of all rows as some rows look them up, and gamma of these."""
        assert isinstance(self.data, MappedDataset)
        self._refuse_tables()
        numbers, rows = self.data.drawn(MANY_SAMPLES // 2)
        labels = rows.target_codes
        # In the order of the classes, as merged rows are: what is drawn of these once more is in proportion.
        order = np.argsort(labels, kind="stable")
        numbers, rows, labels = numbers[order], rows.subset(order), labels[order]
        gamma, share = (n.of(labels, numbers) for n in (self._gamma_numbers, self._weight_numbers))
        rows = replace(rows, sample_weight=rows.sample_weight * share)
        tables = count_margin_tables(self.data, self.candidates, self.prior, binary=self._binary, samples=rows)
        return tables, gamma

    def _loss(self) -> MarginLoss:
        """What searches without proof minimise: over many samples a part of them says where to look."""
        tables, gamma = self.tables, self._gammas
        if tables.n_samples > MANY_SAMPLES:
            tables, gamma = tables.sampled(MANY_SAMPLES // 2, gamma)
        return MarginLoss(tables, gamma, self._term_costs[0])

    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """Those of every structure formulation, and over some millions of samples a last descent over all of them."""
        last: Start | None = None
        for last in super().starts(seed=seed, deadline=deadline):
            yield last
        several = MANY_SAMPLES < self.tables.n_samples <= VERY_MANY_SAMPLES
        if last is None or not several or self.broken(last.model.structure) is not None:
            return
        whole = MarginLoss(self.tables, self._gammas, self._term_costs[0])
        search = LocalSearch(self.candidates, whole, seed=seed, max_kicks=0, deadline=deadline, side=self.side)
        for choice, _ in search.run(self.choice_of(last.model.structure)):
            yield Start(self.model_of(self.structure_of(choice)), "local_search")

    @cached_property
    def _row_labels(self) -> list[str]:
        """Of each merged sample the number of the first row that is it, from 0."""
        return [f"row {number}" for number in self._merging.first.tolist()]

    def _score_column_names(self, count: int) -> list[str]:
        # The projected program has no such columns, and finding the first of equal rows takes long.
        return [f"tau[{label}]" for label in self._row_labels[:count]] if count else []

    def _score_row_names(self) -> list[str]:
        if self._binary:
            return [f"margin[{label}]" for label in self._row_labels]
        states = [str(state) for state in self.data.target.states]
        pairs = zip(self._row_labels, self.tables.labels.tolist(), self.tables.rivals.tolist(), strict=True)
        return [f"margin[{row}, {states[own]} vs {states[k]}]" for row, own, rivals in pairs for k in rivals]

    def _score_rows(self) -> int:
        return self.merged.n_samples * (1 if self._binary else self.data.n_classes - 1)

    def _score_columns(self) -> int:
        return self.merged.n_samples

    def _score_part(self) -> "tuple[sp.csr_array, FloatArray, FloatArray, FloatArray, float]":
        """``tau_m - sum_k alpha[k, m, c] eta_k <= 0``; minimise minus the weighted sum of tau."""
        import scipy.sparse as sp

        tables, n_columns = self.tables, self.candidates.n_columns
        varying = np.flatnonzero(tables.lookup.first_row)
        dense = np.empty((tables.n_rows, len(varying)))
        for place, column in enumerate(varying):
            np.negative(tables.coefficients(int(column)), out=dense[:, place])
        coefficients = sp.csr_array(dense)
        coefficients = sp.csr_array(
            (coefficients.data, varying[coefficients.indices], coefficients.indptr), shape=(tables.n_rows, n_columns)
        )
        per_sample = tables.n_rows // tables.n_samples
        sample = np.repeat(np.arange(tables.n_samples), per_sample)
        taus = sp.csr_array(
            (np.ones(tables.n_rows), (np.arange(tables.n_rows), sample)), shape=(tables.n_rows, tables.n_samples)
        )
        matrix = sp.csr_array(sp.hstack([coefficients, taus]))
        upper = np.full(tables.n_samples, self._gammas, dtype=np.float64)
        cost, offset = self._term_costs
        return matrix, cost, -tables.weight, upper, offset

    def _projected_score(self) -> tuple[FloatArray, MarginTerm | TermInBlocks, float]:
        cost, offset = self._term_costs
        if isinstance(self.data, MappedDataset):
            numbers = (self._gamma_numbers, self._weight_numbers)
            return cost, TermInBlocks(self.data, self.tables, self._gammas, *numbers, DEFAULT_GROUPS), offset
        return cost, MarginTerm(self.tables, self._gammas, n_groups=DEFAULT_GROUPS), offset

    def _turning(self, roots: NDArray[np.intp]) -> Turning | None:
        features = np.flatnonzero(roots >= 0)
        if len(features) < 2 or not all(term.turns for term in self.terms):
            return None
        if isinstance(self.prior, Dirichlet):
            return Turning(None, False, 0.0)  # of equal structures one with parents of the class may be canonical
        states = np.array(self.data.cardinalities)[features]
        if len(np.unique(states)) * int(states.sum()) * self.data.n_classes**2 > MOST_TURNING_STEPS:
            return None
        counts, weights = self._cells_by_class(features)
        # Terms and constraints may tell parents of the class from its children.
        alone = not self.terms and self.side is None and (self.data.n_classes == 2 or not self._binary)
        which, cost = turning_cost(counts, weights, self.prior.pseudo_count, binary=self._binary, alone=alone)
        ranks = np.ones(len(roots), dtype=np.intp)
        ranks[features[which]] = 0
        return Turning(ranks, alone, cost)

    def _cells_by_class(self, features: NDArray[np.intp]) -> tuple[list[FloatArray], list[FloatArray]]:
        """Of some features the counts of states and classes, and what the margins of samples count for in these."""
        if not isinstance(self.data, MappedDataset):
            merged = cells_by_class(self.tables, features, self.merged.sample_weight)
            same = self.tables.weight is self.merged.sample_weight
            return merged, merged if same else cells_by_class(self.tables, features, self.tables.weight)
        count = CountedSets(self.data, [(int(u), self.data.n_features) for u in features])
        counts = [count((int(u), self.data.n_features)) for u in features]
        return counts, [table * self._weight_numbers.values.max() for table in counts]

    def _score_values(self, choice: NDArray[np.intp]) -> FloatArray:
        return np.minimum(self.tables.margins(choice), self._gammas)

    def trivial_bound(self) -> float:
        """No sample can bring more than its gamma, and no node more than its best set."""
        gamma, share = self._gamma_numbers, self._weight_numbers
        if gamma.how == share.how == "all":
            most = float(gamma.values[0] * share.values[0]) * self.data.total_weight
        else:
            labels = self.data.target_codes
            each = self.data.sample_weight * share.of(labels, slice(None))
            most = float((gamma.of(labels, slice(None)) * each).sum())
        return most - self._term_costs[1]


@dataclass(frozen=True, eq=False)
class SoftMarginStructure(MarginStructure):
    """Structure with the largest soft margin, as a mixed-integer program.

    maximise  ``sum_m n_m tau_m``

    subject to

    * ``tau_m <= sum_{i,k} alpha[i,k,m,c] eta[i,k]`` for every rival class c,
    * ``tau_m <= gamma``,
    * ``sum_k eta[i,k] = 1``, eta binary: one parent set a node,
    * the rows of ``acyclicity``.

    Variables: eta (candidates,), tau (merged samples,), o (ordered nodes,).
    Program: `MixedIntegerProgram`. Bound: EXACT for this class of structures and smoothing.
    Source: Peharz & Pernkopf 2012, eq. 19; ``acyclicity="order-printed"`` is eq. 16, ``"order"`` its tightened form.

    Parameters
    ----------
    data : DiscreteDataset
        No missing cells, at least two classes; equal rows are merged.
    max_parents : int
        Most parents of a node, the class counted; class nodes may have feature parents.
    acyclicity : {"auto", "order", "order-printed", "cluster"}
    smoothing : float or Smoothing
        Pseudo-count (> 0) of the maximum-likelihood parameters; 1 is Laplace's.
    required_edges, forbidden_edges : tuple of (parent, child) names
    max_columns, max_rows, max_nonzeros, max_cells : int
        Size limits; a larger program is refused before it is built. The last is on the margin tables of all candidates
        together, which grow with the states of the features and not with the rows.
    restriction : CandidateRestriction or None
        Fewer candidate parents, from `restrict_candidates`; the certificate says that the class is a restricted one.
    gamma : float, mapping from class labels, or one number a row
        Desired log margin in nats; ``log_odds(p)`` for posterior odds p : (1 - p).
    margin_weight : float, mapping from class labels, or one number a row
        What the margin of a row counts for, beside its weight; parameters are counted without it.
    terms : tuple of ObjectiveTerm
        What is added to the soft margin, see `with_terms`.

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset
    >>> from mmbn_opt.programs import ProgramKind
    >>> rows = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]]
    >>> data = DiscreteDataset.from_arrays(rows, ["no", "yes", "yes", "no"])  # exclusive or
    >>> formulation = SoftMarginStructure(data, max_parents=2)
    >>> formulation.build(ProgramKind.MIXED_INTEGER).size
    ProgramSize(columns=16, integers=10, rows=12, nonzeros=40)
    """

    title: ClassVar[str] = "Soft-margin structure"
    value_name: ClassVar[str] = "Soft margin, nats"
    _binary: ClassVar[bool] = False

    def _score_of(self, model: BayesianNetwork) -> float:
        """Soft margin of a network on the data (eq. 9)."""
        return soft_margin(model, self.data, self._gamma_numbers, self._weight_numbers)


@dataclass(frozen=True, eq=False)
class BinarySoftMarginStructure(MarginStructure):
    """Structure with the largest binary soft margin: each class against the rest, one margin row a sample.

    maximise  ``sum_m n_m tau_m``  subject to  ``tau_m <= sum_{i,k} alpha_bar[i,k,m] eta[i,k]``  and the other rows of
    `SoftMarginStructure`. For two classes it is the same program.

    Variables: eta (candidates,), tau (merged samples,), o (ordered nodes,).
    Program: `MixedIntegerProgram`. Bound: EXACT for this class of structures and smoothing.
    Source: Peharz & Pernkopf 2012, section 5, eq. 20-25.

    Parameters are those of `SoftMarginStructure`. The network that comes back has the ordinary parameters,
    as in the paper.

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset, SoftMarginStructure
    >>> rows = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]]
    >>> data = DiscreteDataset.from_arrays(rows, [0, 1, 2, 0])
    >>> BinarySoftMarginStructure(data).estimate_size().rows < SoftMarginStructure(data).estimate_size().rows
    True
    """

    title: ClassVar[str] = "Binary soft-margin structure"
    value_name: ClassVar[str] = "Binary soft margin, nats"
    _binary: ClassVar[bool] = True

    def _score_of(self, model: BayesianNetwork) -> float:
        """Binary soft margin of a network's structure on the data."""
        return binary_soft_margin(model.structure, self.data, self._gamma_numbers, self.prior, self._weight_numbers)
