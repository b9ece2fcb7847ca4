"""Questions to graphs: held against enumeration of all graphs on four nodes, and d-separation by moral graphs."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError, MmbnError

NAMES = ("a", "b", "c", "d")


def all_structures(n: int) -> list[mm.Structure]:
    """Every acyclic graph on n nodes."""
    pairs = list(combinations(range(n), 2))
    found = []
    for choice in product((0, 1, 2), repeat=len(pairs)):
        parents: list[list[int]] = [[] for _ in range(n)]
        for (i, j), way in zip(pairs, choice, strict=True):
            if way == 1:
                parents[j].append(i)
            elif way == 2:
                parents[i].append(j)
        try:
            found.append(mm.Structure(NAMES[: n - 1], NAMES[n - 1], tuple(map(tuple, parents))))
        except InputError:
            continue
    return found


def separated_in_moral_graph(structure: mm.Structure, x: int, y: int, given: set[int]) -> bool:
    """Lauritzen et al. (1990): separation in the moral graph of the smallest ancestral set."""
    kept = {x, y, *given}
    while more := {p for v in kept for p in structure.parents[v]} - kept:
        kept |= more
    edges = set()
    for v in kept:
        edges |= {frozenset((p, v)) for p in structure.parents[v]}
        edges |= {frozenset(pair) for pair in combinations(structure.parents[v], 2)}
    reached, stack = {x}, [x]
    while stack:
        v = stack.pop()
        for u in kept - given - reached:
            if frozenset((u, v)) in edges:
                reached.add(u)
                stack.append(u)
    return y not in reached


def independences(structure: mm.Structure) -> frozenset:
    n = len(structure.names)
    return frozenset(
        (x, y, given)
        for x, y in combinations(range(n), 2)
        for k in range(n - 1)
        for given in combinations([v for v in range(n) if v not in (x, y)], k)
        if separated_in_moral_graph(structure, x, y, set(given))
    )


@pytest.fixture(scope="module")
def classes() -> dict[frozenset, list[mm.Structure]]:
    """All graphs on four nodes by the independences that they imply."""
    groups: dict[frozenset, list[mm.Structure]] = {}
    for structure in all_structures(4):
        groups.setdefault(independences(structure), []).append(structure)
    return groups


def test_there_are_as_many_graphs_and_classes_as_others_have_counted(classes):
    # Sequences A003024 and A007984 of the OEIS.
    assert sum(map(len, classes.values())) == 543
    assert len(classes) == 185


def test_an_edge_is_directed_in_the_class_when_all_its_graphs_have_it_so(classes):
    for group in classes.values():
        edges = [set(structure.edges) for structure in group]
        common = set.intersection(*edges)
        skeleton = {tuple(sorted(edge)) for edge in edges[0]}
        both = {pair for pair in skeleton if pair not in common and pair[::-1] not in common}
        for structure in group:
            found = structure.cpdag()
            assert found.directed == common
            assert found.undirected == both


def test_the_distance_is_zero_within_a_class_only(classes):
    groups = list(classes.values())
    rng = np.random.default_rng(0)
    for one in groups[::7]:
        for other in groups[::5]:
            first, second = one[rng.integers(len(one))], other[rng.integers(len(other))]
            distance = first.structural_hamming_distance(second)
            assert (distance == 0) == (one is other)
            assert distance == second.structural_hamming_distance(first)


def test_d_separation_is_separation_in_the_moral_graph():
    for structure in all_structures(4)[::3]:
        for x, y in combinations(range(4), 2):
            rest = [v for v in range(4) if v not in (x, y)]
            for k in range(3):
                for known in combinations(rest, k):
                    answer = structure.is_d_separated(NAMES[x], NAMES[y], [NAMES[v] for v in known])
                    assert answer == separated_in_moral_graph(structure, x, y, set(known))


@given(st.integers(0, 10**6), st.integers(5, 12))
def test_a_markov_blanket_separates_a_node_from_all_others(seed, n):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    parents: list[tuple[int, ...]] = [()] * n
    for k, v in enumerate(order):
        parents[v] = tuple(int(p) for p in order[:k] if rng.random() < 0.3)
    structure = mm.Structure(tuple(f"x{j}" for j in range(n - 1)), "y", tuple(parents))
    for node in structure.names:
        blanket = structure.markov_blanket(node)
        others = set(structure.names) - blanket - {node}
        if others:
            assert structure.is_d_separated(node, others, blanket)
        assert structure.ancestors(node) == {v for v in structure.names if node in structure.descendants(v)}
        assert node not in structure.ancestors(node)
    numbers = {structure.names.index(name) for name in structure.ancestors("y")}
    assert structure.ancestors(n - 1) == numbers


def test_distances_are_those_of_hand():
    def graph(*edges):
        return mm.Structure.from_names(["a", "b", "c"], "d", edges)

    collider = graph(("a", "c"), ("b", "c"))
    assert collider.structural_hamming_distance(graph(("a", "c"), ("c", "b"))) == 2
    assert collider.structural_hamming_distance(graph(("a", "c"), ("c", "b")), equivalence=False) == 1
    assert collider.structural_hamming_distance(graph(("a", "c"))) == 2  # an edge less, the other one undirected
    assert collider.structural_hamming_distance(graph()) == 2
    assert graph().structural_hamming_distance(graph(("c", "d"))) == 1
    other_order = mm.Structure.from_names(["d", "c", "b"], "a", [("a", "c"), ("b", "c")])
    assert collider.structural_hamming_distance(other_order) == 0


SPRINKLER = mm.Structure.from_names(["rain", "sprinkler"], "wet", [("rain", "wet"), ("sprinkler", "wet")])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.ancestors("Rain"), r"no node 'Rain'; did you mean 'rain'\?"),
        (lambda s: s.markov_blanket("wet "), r"no node 'wet '; did you mean 'wet'\?"),
        (lambda s: s.descendants(3), "node must be a node's name or a number from 0 to 2"),
        (lambda s: s.children("snow"), r"no node 'snow'"),
        (lambda s: s.is_d_separated("rain", ["rain", "wet"]), r"first and second share the nodes \['rain'\]"),
        (lambda s: s.is_d_separated("rain", "wet", "wet"), r"second and given share the nodes \['wet'\]"),
        (lambda s: s.is_d_separated([], "wet"), "first is empty"),
        (lambda s: s.is_d_separated("rain", 3.5), "second must be a text or a list of texts"),
        (lambda s: s.structural_hamming_distance(7), "other must be a Structure, got 7"),
        (
            lambda s: s.structural_hamming_distance(mm.Structure(("rain",), "wet", ((), ()))),
            r"different nodes; in one of them only: \['sprinkler'\]",
        ),
        (lambda s: s.with_class("rein"), r"did you mean 'rain'\?"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(ask, message):
    with pytest.raises(MmbnError, match=message):
        ask(SPRINKLER)


def test_a_graph_keeps_its_edges_when_another_node_becomes_the_class():
    for name in SPRINKLER.names:
        changed = SPRINKLER.with_class(name)
        assert changed.class_name == name
        assert changed.names[-1] == name
        assert set(changed.edges) == set(SPRINKLER.edges)
        assert changed.has_class
