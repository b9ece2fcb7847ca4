"""Networks for the exchange tests: drawn by Hypothesis, and a small one to look at."""

import json
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

Labels = st.SearchStrategy[object]

TEXTS = st.one_of(
    st.sampled_from(
        ["yes", "no", "5more", "2", "1.5", "20-29", "a b", " a ", "", "table", "(-inf, 0.5]", "a,b", '"q"']
    ),
    st.sampled_from(["}\n", "*/", "//", "%41", "ä", "日本", "\\", ";", "a=b", "{x}", "\ud800", "A", "a"]),
    st.text(max_size=6),
)
TYPED: Labels = st.one_of(
    TEXTS,
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False),
    st.tuples(st.integers(-5, 5), st.integers(1, 5)).map(lambda t: pd.Interval(t[0], t[0] + t[1])),
    st.integers(0, 3).map(lambda k: pd.Interval(k / 2, k + 0.25, closed="left")),
    st.integers(0, 3).map(lambda k: pd.Timestamp("2020-02-29 12:00:00.123456789") + pd.Timedelta(k, "D")),
    st.integers(0, 3).map(lambda k: pd.Timestamp(2020 + k, 1, 1, tz="Europe/Vienna")),
)


@st.composite
def networks(draw: st.DrawFn, labels: Labels = TEXTS) -> BayesianNetwork:
    n_nodes = draw(st.integers(1, 5))
    names = draw(st.lists(TEXTS, min_size=n_nodes, max_size=n_nodes, unique=True))
    states = [draw(st.lists(labels, min_size=1, max_size=4, unique_by=(lambda s: s, str))) for _ in range(n_nodes)]
    order = draw(st.permutations(range(n_nodes)))
    parents: list[tuple[int, ...]] = [()] * n_nodes
    for place, node in enumerate(order):
        parents[node] = tuple(draw(st.sets(st.sampled_from(order[:place]), max_size=2))) if place else ()
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    structure = Structure(tuple(names[:-1]), names[-1], tuple(parents))
    tables = []
    for node, ps in enumerate(structure.parents):
        table = rng.random((prod(len(states[p]) for p in ps), len(states[node]))) ** 4
        table[:, 1:][rng.random(table[:, 1:].shape) < 0.2] = 0.0
        with np.errstate(divide="ignore"):
            tables.append(np.log(table / table.sum(axis=1, keepdims=True)))
    variables = [DiscreteVariable(name, tuple(s)) for name, s in zip(names, states, strict=True)]
    return BayesianNetwork(structure, tuple(variables[:-1]), variables[-1], tuple(tables))


@pytest.fixture(scope="session")
def text_networks() -> st.SearchStrategy[BayesianNetwork]:
    """Networks whose labels are text, odd ones included."""
    return networks()


@pytest.fixture(scope="session")
def typed_networks() -> st.SearchStrategy[BayesianNetwork]:
    """Networks whose labels have any type that a model file keeps."""
    return networks(labels=TYPED)


@pytest.fixture(scope="session")
def same() -> Callable[[BayesianNetwork, BayesianNetwork], bool]:
    """Equality of structure, labels with their types, and probabilities up to the last digits."""

    def check(a: BayesianNetwork, b: BayesianNetwork) -> bool:
        types = [[type(s) for s in v.states] for v in a.variables]
        return (
            a.structure == b.structure
            and a.variables == b.variables
            and types == [[type(s) for s in v.states] for v in b.variables]
            and all(
                np.allclose(np.exp(p), np.exp(q), rtol=1e-13, atol=0)
                for p, q in zip(a.log_cpts, b.log_cpts, strict=True)
            )
        )

    return check


@pytest.fixture(scope="session")
def shared_networks(shared_dir: Path) -> dict[str, dict[str, Any]]:
    """What is known of each reference network, by name: nodes, arcs, free parameters."""
    entries = json.loads((shared_dir / "data" / "networks" / "manifest.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in entries}


@pytest.fixture
def sprinkler() -> BayesianNetwork:
    """Class "rain" with a feature parent and an interval-labelled child that has both as parents."""
    season = DiscreteVariable("season", ("dry", "wet"))
    grass = DiscreteVariable("grass", ("(-inf, 0.5]", "(0.5, 2]", "(2, inf)"), cuts=(0.5, 2.0))
    rain = DiscreteVariable("rain", (False, True))
    structure = Structure.from_names(
        ["season", "grass"], "rain", [("season", "rain"), ("season", "grass"), ("rain", "grass")]
    )
    tables = [
        [[0.6, 0.4]],
        [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.25, 0.75]],
        [[0.8, 0.2], [0.5, 0.5]],
    ]
    with np.errstate(divide="ignore"):
        logs = tuple(np.log(np.array(t)) for t in tables)
    return BayesianNetwork(structure, (season, grass), rain, logs)
