"""Structures to draw: drawn by Hypothesis, and the shapes that readers meet."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import strategies as st

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.samples import Samples
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.programs.base import ProgramSize
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.result import Certificate, Check, Result, Seconds
from mmbn_opt.results.status import Sense, SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import BoundTrace, TraceRecord

HOSTILE = '<script>alert("x")</script>&\x00\x1b]]>'


@st.composite
def _structures(draw: st.DrawFn) -> Structure:
    n_nodes = draw(st.integers(1, 30))
    order = draw(st.permutations(range(n_nodes)))
    most = draw(st.integers(0, 4))
    with_class = draw(st.booleans())
    parents: list[tuple[int, ...]] = [()] * n_nodes
    for place, node in enumerate(order):
        chosen = draw(st.sets(st.sampled_from(order[:place]), max_size=most)) if place else set()
        if with_class and n_nodes - 1 in order[:place]:
            chosen = {*chosen, n_nodes - 1}
        parents[node] = tuple(chosen)
    names = [f"x{j}" * draw(st.integers(1, 12)) for j in range(n_nodes - 1)]
    return Structure(tuple(names), "class", tuple(parents))


@pytest.fixture(scope="session")
def structures() -> st.SearchStrategy[Structure]:
    """Any DAG of up to 30 nodes, the class anywhere in it."""
    return _structures()


@pytest.fixture(scope="session")
def star() -> Structure:
    """Naive Bayes over 60 features."""
    names = [f"x{j}" for j in range(60)]
    return Structure.from_names(names, "class", [("class", name) for name in names])


@pytest.fixture
def hostile_network() -> BayesianNetwork:
    """Names and labels that would be markup if they were not escaped."""
    features = (
        DiscreteVariable(HOSTILE, ('<b>"low"</b>', "a&b")),
        DiscreteVariable("'onload='", ("(-inf, 0.5]", "(0.5, inf)"), cuts=(0.5,)),
    )
    target = DiscreteVariable("<class>", ("</title>", "\ud800"))
    structure = Structure((HOSTILE, "'onload='"), "<class>", ((2,), (0, 2), ()))
    tables = tuple(np.log(np.full((rows, 2), 0.5)) for rows in (2, 4, 1))
    return BayesianNetwork(structure, features, target, tables)


@dataclass(frozen=True)
class ToyFormulation:
    data: DiscreteDataset
    max_parents: int = 2
    required_edges: tuple[tuple[str, str], ...] = (("class", "a"),)
    title: ClassVar[str] = "Toy structure"
    value_name: ClassVar[str] = "Toy margin, nats"

    @property
    def samples(self) -> Samples:
        return Samples(self.data, self.data.class_name, self.data.aggregate())


@pytest.fixture
def result() -> Result:
    """An answer after a time limit, one check claimed."""
    rows = [["x", 0], ["y", 1], ["x", 0], ["y", 0]]
    data = DiscreteDataset.from_arrays(rows, ["n", "y", "n", "y"], feature_names=["a", "b"])
    model = BayesianNetwork.fit(Structure.from_names(("a", "b"), "class", [("class", "a"), ("class", "b")]), data)
    records = (
        TraceRecord(0.0, 1.0, 8.0, None, None, "start", "naive_bayes"),
        TraceRecord(0.5, 4.0, 7.0, 3, 9, "incumbent", "highs"),
        TraceRecord(1.5, 5.0, 6.0, 12, 99, "final", "highs"),
    )
    return Result(
        model=model,
        certificate=Certificate(
            (Check("acyclic", True, "3 nodes, 2 edges"), Check("bound", None, "as claimed by highs"))
        ),
        termination_status=TerminationStatus.TIME_LIMIT,
        solution_status=SolutionStatus.FEASIBLE,
        raw_status="kTimeLimit",
        solution=np.zeros(3),
        bounds=ObjectiveBounds(Sense.MAXIMIZE, 5.0, 6.0),
        trace=BoundTrace(Sense.MAXIMIZE, records),
        sense=Sense.MAXIMIZE,
        formulation=ToyFormulation(data),
        solver_name="highs",
        solver_version="1.16.0",
        solver_rule="auto: any size -> highs",
        seconds=Seconds(0.1, 0.2, 1.2, 1.5),
        program_size=ProgramSize(1000, 60, 20, 4000),
        settings={"seed": 3, "time_limit": 1.5, "options": {}},
    )
