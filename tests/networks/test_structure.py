"""Graphs: cycles are found, orders are topological, candidates are what the paper says."""

import math
from itertools import combinations

import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.networks.candidates import CandidateParents
from mmbn_opt.networks.parent_families import EdgeRules, all_families, margin_families
from mmbn_opt.networks.structure import Structure, find_cycle


@st.composite
def digraphs(draw):
    n = draw(st.integers(1, 6))
    return tuple(
        tuple(draw(st.sets(st.sampled_from([u for u in range(n) if u != v] or [0])))) if n > 1 else () for v in range(n)
    )


@given(digraphs())
def test_a_cycle_is_found_exactly_when_there_is_one(parents):
    cycle = find_cycle(parents)
    assert (not cycle) == reference.is_acyclic(parents)
    if cycle:  # every node of it has a parent in it
        assert all(set(parents[v]) & set(cycle) for v in cycle)


@given(digraphs())
def test_topological_order_puts_parents_first(parents):
    names = tuple(f"x{j}" for j in range(len(parents) - 1))
    if not reference.is_acyclic(parents):
        with pytest.raises(InputError, match="form a cycle through"):
            Structure(names, "class", parents)
        return
    order = Structure(names, "class", parents).topological_order()
    assert sorted(order) == list(range(len(parents)))
    assert all(order.index(p) < order.index(v) for v, ps in enumerate(parents) for p in ps)


def test_moralization_marries_parents():
    collider = Structure.from_names(("a", "b", "d"), "class", [("a", "d"), ("b", "d"), ("class", "d")])
    assert collider.moral_edges() == {(0, 2), (1, 2), (2, 3), (0, 1), (0, 3), (1, 3)}
    assert collider.markov_blanket(3) == {0, 1, 2}
    assert collider.max_parents == 3


def test_from_edges_uses_the_names_of_the_data():
    data = mm.DiscreteDataset.from_arrays([["u", "v"], ["w", "v"]], ["n", "p"], class_name="label")
    tree = mm.from_edges(data, [("label", "x0"), ("x0", "x1"), ("label", "x1")])
    assert tree.parent_names == {"label": [], "x0": ["label"], "x1": ["x0", "label"]}
    with pytest.raises(InputError, match="unknown node 'class'"):
        mm.from_edges(data, [("class", "x0")])


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 1), (4, 2), (5, 3)])
def test_candidate_counts_follow_the_papers_rule(n, k):
    margin = CandidateParents.for_margins(n, k)
    assert [sorted(s) for s in margin.sets] == [sorted(s) for s in reference.margin_sets(n, k)]
    assert margin.n_columns == columns_of(margin_families(n, k))
    everything = CandidateParents.for_all(n, k)
    assert [sorted(s) for s in everything.sets] == [sorted(s) for s in reference.all_sets(n, k)]
    assert everything.n_columns == columns_of(all_families(n, k))
    assert margin.class_parents_block_features
    # With one feature all non-empty sets hold the class, whatever the rule.
    assert everything.class_parents_block_features == (n == 1)


def columns_of(listed):
    return sum(family.count for families in listed for family in families)


def test_edge_rules_keep_required_and_drop_forbidden_edges():
    names = ("a", "b", "class")
    rules = EdgeRules.of(names, required=[("class", "a")], forbidden=[("a", "class")])
    sets = CandidateParents.for_margins(2, 2, edges=rules)
    assert sets.sets == (((2,), (1, 2)), ((), (2,), (0, 2)), ((), (1,)))
    everything = CandidateParents.for_all(2, 2, edges=rules)
    assert everything.sets == (((2,), (1, 2)), ((), (0,), (2,), (0, 2)), ((), (1,)))


def test_the_smallest_set_without_the_class_stands_for_all_of_them():
    """Required parents may stand without the class node: such a set moves no margin, but it is allowed."""
    rules = EdgeRules.of(("a", "b", "class"), required=[("a", "b")])
    assert CandidateParents.for_margins(2, 2, edges=rules).sets[1] == ((0,), (0, 2))
    assert CandidateParents.for_margins(2, 1, edges=rules).sets[1] == ((0,),)
    assert CandidateParents.for_margins(2, 2, edges=rules, twins=False).sets[1] == ((0, 2),)
    no_class = EdgeRules.of(("a", "b", "class"), required=[("a", "b")], forbidden=[("class", "b")])
    assert CandidateParents.for_margins(2, 2, edges=no_class).sets[1] == ((0,),)


def test_features_of_one_state_keep_to_the_required_edges():
    rules = EdgeRules.of(("a", "b", "class"), required=[("a", "b"), ("class", "a")])
    for make in (CandidateParents.for_margins, CandidateParents.for_all):
        assert make(2, 2, usable=[1], edges=rules).sets == (((2,),), ((0,), (0, 2)), ((), (1,)))
        assert make(2, 2, usable=[1]).sets == (((),), ((), (2,)), ((), (1,)))


@pytest.mark.parametrize(
    ("required", "forbidden", "text"),
    [
        ([("a", "b")], [("a", "b")], r"Edge \('a', 'b'\) is both required and forbidden"),
        ([("a", "zzz")], [], "unknown node 'zzz'"),
        ([("a", "b"), ("b", "class"), ("class", "a")], [], "The required edges .* form a cycle"),
    ],
)
def test_edge_rules_that_cannot_be_kept_are_refused(required, forbidden, text):
    with pytest.raises(InputError, match=text):
        EdgeRules.of(("a", "b", "class"), required, forbidden)


def test_more_required_parents_than_allowed_are_refused_by_name():
    rules = EdgeRules.of(("a", "b", "class"), required=[("a", "b"), ("class", "b")])
    for make in (CandidateParents.for_margins, CandidateParents.for_all):
        with pytest.raises(InputError, match="Node 'b' has no candidate parent set that contains"):
            make(2, 1, edges=rules)


def test_wide_data_are_refused_before_sets_are_listed():
    rows = [[str(j % 2) for j in range(400)], [str((j + 1) % 2) for j in range(400)]]
    data = mm.DiscreteDataset.from_arrays(rows, [0, 1])
    form = mm.SoftMarginStructure(data, max_parents=4)
    columns = 400 * (1 + sum(math.comb(399, k) for k in range(4))) + sum(math.comb(400, k) for k in range(5))
    with pytest.raises(SizeLimitError, match=f"{columns:,} candidate parent sets"):
        form.estimate_size()


def test_sets_without_the_class_stand_for_the_empty_set():
    sets = CandidateParents.for_margins(2, 2)
    choice = sets.choice(((1,), (), ()))
    assert sets.parents_of_choice(choice) == ((), (), ())
    required = CandidateParents.for_margins(3, 2, edges=EdgeRules.of(("a", "b", "d", "class"), [("a", "b")]))
    assert required.parents_of_choice(required.choice(((), (0, 2), (), ()))) == ((), (0,), (), ())
    with pytest.raises(InputError, match="not among its candidates"):
        CandidateParents.for_margins(3, 1).choice(((1, 3), (), (), ()))


def test_columns_are_listed_by_node_and_size():
    sets = CandidateParents.for_margins(4, 3)
    for node, options in enumerate(sets.sets[:-1]):
        expected = [(), *[(*s, 4) for k in range(3) for s in combinations([j for j in range(4) if j != node], k)]]
        assert list(options) == expected
