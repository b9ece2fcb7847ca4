"""Boxes cover what they must, propagation removes cyclic columns only, and lies about multipliers stay bounds."""

from itertools import product

import numpy as np
import pytest

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.formulations import DecomposableStructure, SoftMarginStructure
from mmbn_opt.networks.candidates import CandidateParents
from mmbn_opt.networks.smoothing import Dirichlet
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.boxes import pack_bits, propagate
from mmbn_opt.programs.tree_log import TreeLog
from mmbn_opt.programs.tree_proof import TreeProof
from mmbn_opt.programs.tree_records import Kind
from tests.tree_reader import Proved


def acyclic(program, allowed):
    for choice in product(*(g[allowed[g]] for g in program.choice_groups)):
        if program.is_acyclic(np.array(choice)):
            yield np.array(choice)


def make_program(seed: int, *, margin: bool = True):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, size=(30, 3))
    codes[:2] = np.arange(2)[:, None]
    data = DiscreteDataset.from_arrays(codes, (codes.sum(axis=1) + (rng.random(30) < 0.3)) % 2)
    formulation = SoftMarginStructure(data) if margin else DecomposableStructure(data, score="loglik")
    return formulation.build(ProgramKind.IMPLICIT_CONCAVE)


@pytest.mark.parametrize("seed", range(40))
def test_propagation_keeps_every_acyclic_choice(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = make_program(0, margin=bool(seed % 2))
    before = rng.random(program.n_columns) < 0.4
    after = before.copy()
    alive = propagate(after, program.offsets.astype(np.intp), pack_bits(program.parents), *program.hanging)
    kept = [tuple(c) for c in acyclic(program, before)]
    assert alive or not kept
    assert kept == ([tuple(c) for c in acyclic(program, after)] if alive else [])
    assert not (after & ~before).any()


@pytest.mark.parametrize("seed", range(30))
def test_trees_that_may_hang_from_any_node_keep_the_one_that_hangs_from_the_smallest(seed: int) -> None:
    """Every choice that propagation takes away has a twin of equal value, its trees hung elsewhere, that is kept."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, size=(20, 4))
    codes[:2] = np.arange(2)[:, None]
    data = DiscreteDataset.from_arrays(codes, (codes.sum(axis=1) + (rng.random(20) < 0.3)) % 2)
    program = SoftMarginStructure(data, smoothing=Dirichlet(1.0)).build(ProgramKind.IMPLICIT_CONCAVE)
    assert program.root_columns is not None
    offsets, bits = program.offsets.astype(np.intp), pack_bits(program.parents)
    every = np.ones(program.n_columns, dtype=bool)
    kept, lost = 0, 0
    for choice in acyclic(program, every):
        if rng.random() < 0.9:
            continue
        alone = program.vector(choice).astype(bool)
        alive = propagate(alone, offsets, bits, *program.hanging)
        kept, lost = kept + alive, lost + (not alive)
        if not alive:
            twin = _hang_from_smallest(program, choice)
            assert propagate(program.vector(twin).astype(bool), offsets, bits, *program.hanging)
            assert program.value(program.vector(twin)) == pytest.approx(program.value(program.vector(choice)))
    assert kept
    assert lost


def _hang_from_smallest(program, choice):
    """The same trees, those under a root column hung from their smallest node."""
    hub = program.n_nodes - 1
    edges = program.parents[choice]
    above = {i: next((j for j in range(hub) if edges[i, j]), None) for i in range(hub)}
    twin = choice.copy()
    neighbours = {i: {j for j in range(hub) if above[i] == j or above[j] == i} for i in range(hub)}
    seen: set[int] = set()
    for first in range(hub):
        tree, front = {first}, [first]
        while front:
            for j in neighbours[front.pop()] - tree:
                tree.add(j)
                front.append(j)
        root = next(i for i in tree if above[i] is None)
        if first in seen or choice[root] != program.root_columns[root]:
            seen |= tree
            continue
        seen |= tree
        twin[first] = program.root_columns[first]
        placed, front = {first}, [first]
        while front:
            i = front.pop()
            for j in neighbours[i] - placed:
                wanted = np.zeros(program.n_nodes, dtype=bool)
                wanted[[i, hub]] = True
                group = np.arange(program.offsets[j], program.offsets[j + 1])
                twin[j] = group[(program.parents[group] == wanted).all(axis=1)][0]
                placed.add(j)
                front.append(j)
    return twin


def test_words_hold_more_than_64_nodes() -> None:
    candidates = CandidateParents.for_margins(70, 1)
    parents = np.zeros((candidates.n_columns, 71), dtype=bool)
    parents[0, 69] = parents[0, 3] = True
    words = pack_bits(parents)
    assert words.shape == (candidates.n_columns, 2)
    assert int(words[0, 0]) == 8
    assert int(words[0, 1]) == 1 << 5


@pytest.mark.parametrize("seed", range(25))
def test_a_search_with_random_multipliers_never_proves_too_much(seed: int) -> None:
    """Whatever multipliers are handed in, the bound of the tree stays below the best loss."""
    rng = np.random.default_rng(seed)
    program = make_program(seed)
    term = program.term.regrouped(3)
    proof = TreeProof(program, term)
    best = min(program.value(program.vector(c)) for c in acyclic(program, proof.allowed)) - proof.constant
    cutoff = best + abs(rng.normal(0, 2))
    slots = np.arange(6)
    point = np.concatenate([rng.dirichlet(np.full(len(g), 0.3)) for g in program.choice_groups])
    proof.ask(point)
    proof.set_cut_rows(slots[:3], np.arange(3))
    members = np.array([True, True, False, False])
    proof.store.set_cluster(3, members)
    proof.store.set_program(4, 0)
    proof.store.set_cluster(5, np.array([True, True, True, False]))
    waiting: list[int] = []
    proof.prove(slots, rng.exponential(0.5, size=6))
    for _ in range(30):
        if proof.fix(cutoff):
            node = int(rng.integers(program.n_nodes))
            children = proof.split(node)
            bounds = proof.evaluate(children, slots, rng.exponential(0.5, size=(len(children.columns), 6)))
            if rng.random() < 0.5:
                other = proof.split(int(rng.integers(program.n_nodes)))
                proof.exclude(
                    other, proof.evaluate(other, slots, rng.exponential(0.5, (len(other.columns), 6))), cutoff
                )
            if proof.feasible:
                waiting += [n for n in proof.commit(children, bounds, cutoff)[0] if n >= 0]
            else:
                proof.close()
        else:
            proof.close()
        assert proof.bound <= best + 1e-9
        if not waiting:
            break
        proof.enter(waiting.pop(int(rng.integers(len(waiting)))))
        proof.prove(slots, rng.exponential(0.5, size=6))


@pytest.mark.parametrize("seed", range(100, 150))
def test_what_is_claimed_is_what_the_records_prove_after_every_step(seed: int) -> None:
    """Boxes lose columns between what is proved of them and what is written; the same search without a log agrees."""
    program = make_program(seed).hung_anyhow()
    term = program.term.regrouped(3)
    records: list[tuple[Kind, bytes]] = []
    bounds: list[list[float]] = []
    for written in (True, False):
        rng = np.random.default_rng(seed)
        proof, bounds = TreeProof(program, term), [*bounds, []]
        log = TreeLog(lambda kind, payload: records.append((kind, payload)) or len(records))
        log.kept_multipliers = lambda lam: lam  # type: ignore[method-assign]  # not rounded: both do the same
        log.CHILD_WIDTH = 8  # type: ignore[misc]
        if written:
            proof.write_to(log)
        slots, waiting = np.arange(5), []
        proof.ask(np.concatenate([rng.dirichlet(np.full(len(g), 0.3)) for g in program.choice_groups]))
        proof.set_cut_rows(slots[:3], np.arange(3))
        proof.store.set_cluster(3, np.array([True, True, False, False]))
        proof.store.set_cluster(4, np.array([True, True, True, False]))
        for _ in range(40):
            proof.prove(slots, rng.uniform(0.3, 1.5, size=5))
            made = []
            for what in rng.choice(["prove", "fix", "split", "split and exclude"], size=8):
                cutoff = proof.value + rng.exponential(12.0)  # whatever it is, what is closed counts at what is proved
                if not proof.feasible:
                    break
                if what == "prove":
                    proof.prove(slots, rng.uniform(0.3, 1.5, size=5))
                elif what == "fix":
                    proof.fix(cutoff)
                else:
                    children = proof.split(int(rng.integers(program.n_nodes)))
                    lam = rng.uniform(0.3, 1.5, size=(len(children.columns), 5))
                    made.append((children, proof.evaluate(children, slots, lam)))
                    if what == "split and exclude":
                        proof.exclude(*made[-1], cutoff)
            if proof.feasible and made and rng.random() < 0.9:
                numbers, _ = proof.commit(*made[int(rng.integers(len(made)))], cutoff)
                waiting += [number for number in numbers if number >= 0]
            else:
                proof.close()
            bounds[-1].append(proof.bound)
            if written:
                read = Proved(program)
                for kind, payload in records:
                    read.add(kind, payload)
                assert read.overstated <= 1e-9
                assert {number: value for number, (value, _) in read.boxes.items()} == pytest.approx(
                    dict(proof.ledger.values()), abs=1e-9
                )
                assert read.closed == pytest.approx(proof.ledger.closed, abs=1e-9)
            if not waiting:
                break
            proof.enter(waiting.pop(int(rng.integers(len(waiting)))))
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-12)


def test_children_must_cover_the_box() -> None:
    program = make_program(1)
    proof = TreeProof(program, program.term)
    children = proof.split(0)
    partial = type(children)(children.node, children.columns[1:], children.allowed[1:], children.dead)
    with pytest.raises(AssertionError, match="cover"):
        proof.commit(partial, np.zeros(len(partial.columns)), 1.0)


def test_a_clearly_wrong_cut_is_not_taken_from_the_search() -> None:
    """The proof asks the term for the cut at the point: the search has no way to hand it coefficients."""
    program = make_program(2)
    proof = TreeProof(program, program.term)
    x = program.vector(next(acyclic(program, proof.allowed)))
    proof.ask(x)
    proof.set_cut_rows(np.arange(len(program.term.upper)), np.arange(len(program.term.upper)))
    bound = proof.prove(np.arange(len(program.term.upper)), np.full(len(program.term.upper), 50.0))
    best = min(program.value(program.vector(c)) for c in acyclic(program, proof.allowed)) - proof.constant
    assert bound <= best + 1e-9
