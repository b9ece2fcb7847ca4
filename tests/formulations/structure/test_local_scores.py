"""Structures by given scores: enumeration, every engine, and what has no acyclic choice."""

import pickle
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.formulations import DecomposableStructure, LocalScoreStructure
from mmbn_opt.interop import read_jkl
from mmbn_opt.interop.programs import write_local_scores
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.status import TerminationStatus

Scores = dict[str, list[tuple[float, tuple[str, ...]]]]

ENGINES = ("auto", "branch_and_cut", "subset_search", "highs", "scip_cuts")


def random_scores(seed: int, n: int = 5, most: int = 3) -> Scores:
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(n)]
    scores: Scores = {}
    for name in names:
        others = [other for other in names if other != name]
        sets = [s for size in range(most + 1) for s in combinations(others, size)]
        chosen = [s for s in sets if not s or rng.random() < 0.5]
        scores[name] = [(float(-10 + 3 * rng.random() + len(s) * rng.random()), s) for s in chosen]
    return scores


def best_of_orders(scores: Scores) -> float:
    """The optimum, by trying all orders."""
    values = []
    for order in permutations(scores):
        total, before = 0.0, set[str]()
        for name in order:
            total += max((s for s, parents in scores[name] if before.issuperset(parents)), default=-np.inf)
            before.add(name)
        values.append(total)
    return max(values)


def available(engine: str) -> bool:
    return engine == "auto" or bool(mm.solvers().set_index("name").loc[engine, "available"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_every_engine_finds_the_best_of_all_orders_with_a_certificate(engine: str, seed: int) -> None:
    if not available(engine):
        pytest.skip(f"{engine} is not installed")
    scores = random_scores(seed)
    result = mm.solve(LocalScoreStructure(scores), engine)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.certificate.ok
    assert result.bounds.primal_bound == pytest.approx(best_of_orders(scores), abs=1e-7)
    assert result.bounds.dual_bound == pytest.approx(result.bounds.primal_bound, abs=1e-6)
    assert isinstance(result.model, mm.Structure)
    by_hand = sum(
        next(s for s, parents in scores[name] if set(parents) == set(chosen))
        for name, chosen in result.model.parent_names.items()
    )
    assert by_hand == pytest.approx(result.bounds.primal_bound, abs=1e-9)
    assert f"recomputed from {sum(map(len, scores.values()))} local scores" in str(result.certificate)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 3))
def test_what_is_left_out_changes_no_optimum(seed: int, n: int, most: int) -> None:
    scores = random_scores(seed, n, most)
    formulation = LocalScoreStructure(scores)
    assert formulation.candidates.n_columns <= sum(map(len, scores.values()))
    kept: Scores = {name: [] for name in scores}
    for (node, parents), score in zip(formulation.candidates.columns, formulation.column_scores, strict=True):
        kept[f"v{node}"].append((float(score), tuple(f"v{p}" for p in parents)))
    assert best_of_orders(kept) == pytest.approx(best_of_orders(scores))
    structure = formulation.trivial_start().model
    assert all(check.ok for check in formulation.check(structure))
    assert formulation.trivial_bound() >= best_of_orders(scores) - 1e-9
    for start in formulation.starts():
        assert formulation.recover(formulation.encode(start.model)) == start.model
        program = formulation.build(ProgramKind.LINEAR_CHOICE)
        x = formulation.encode(start.model, ProgramKind.LINEAR_CHOICE)
        assert -program.value(x) == pytest.approx(formulation.evaluate(start.model))


def test_the_scores_of_data_give_the_optimum_of_the_data(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 3, (60, 4))
    rows[:, 1] = (rows[:, 0] + rng.integers(0, 2, 60)) % 3
    data = DiscreteDataset.from_arrays(rows, (rows[:, 1] + rows[:, 3]) % 2)
    of_data = DecomposableStructure(data, score="bdeu", ess=2.0, max_parents=3)
    write_local_scores(of_data, tmp_path / "s.jkl")
    of_file = mm.solve(LocalScoreStructure(read_jkl(tmp_path / "s.jkl")))
    whole = mm.solve(of_data)
    assert of_file.bounds.primal_bound == pytest.approx(whole.bounds.primal_bound, abs=1e-8)
    assert of_data.evaluate(of_data.model_of(of_file.model)) == pytest.approx(of_file.bounds.primal_bound, abs=1e-8)
    write_local_scores(of_file.formulation, tmp_path / "again.jkl")
    assert read_jkl(tmp_path / "again.jkl") == read_jkl(tmp_path / "s.jkl")


def test_decomposable_structure_takes_scores_in_place_of_data() -> None:
    scores = random_scores(0)
    formulation = DecomposableStructure(local_scores=scores, max_parents=2)
    assert isinstance(formulation, LocalScoreStructure)
    assert formulation.max_parents == 2
    data = DiscreteDataset.from_arrays([["a"], ["b"]] * 20, [0, 1] * 20)
    for settings_ in ({"score": "bic"}, {"ess": 2.0, "data": data}):
        with pytest.raises(InputError, match=f"local_scores are scores already, which {next(iter(settings_))}"):
            DecomposableStructure(local_scores=scores, **settings_)
    with pytest.raises(InputError, match="scores already, which data"):
        DecomposableStructure(data, local_scores=scores)
    assert isinstance(replace(DecomposableStructure(data), score="bic"), DecomposableStructure)
    assert pickle.loads(pickle.dumps(formulation)).local_scores == scores


def test_rules_and_the_number_of_parents_are_kept() -> None:
    scores = random_scores(1)
    rules = {"required_edges": (("v0", "v1"),), "forbidden_edges": (("v2", "v3"),), "max_parents": 2}
    result = mm.solve(LocalScoreStructure(scores, **rules))
    assert ("v0", "v1") in result.model.edges
    assert ("v2", "v3") not in result.model.edges
    assert result.model.max_parents <= 2
    left = {
        name: [
            (s, parents)
            for s, parents in options
            if len(parents) <= 2 and ("v0" in parents or name != "v1") and ("v2" not in parents or name != "v3")
        ]
        for name, options in scores.items()
    }
    assert result.bounds.primal_bound == pytest.approx(best_of_orders(left))


def test_variables_without_an_empty_set_hang_on_others() -> None:
    scores: Scores = {
        "a": [(-1.0, ("b",)), (-5.0, ("c",))],
        "b": [(-2.0, ("a",)), (-6.0, ("c",))],
        "c": [(-3.0, ())],
    }
    for engine in filter(available, ENGINES):
        result = mm.solve(LocalScoreStructure(scores), engine)
        assert result.bounds.primal_bound == pytest.approx(-10.0)
        assert result.certificate.ok


def test_scores_without_an_acyclic_choice_are_refused_with_the_variables() -> None:
    scores: Scores = {"a": [(-1.0, ("b",))], "b": [(-2.0, ("a",))], "c": [(-3.0, ())]}
    with pytest.raises(InputError, match=r"Each parent set of \['a', 'b'\] holds another one of these"):
        mm.solve(LocalScoreStructure(scores))


def test_other_structures_are_told_why_they_are_none_of_these() -> None:
    scores: Scores = {"a": [(-3.0, ()), (-1.0, ("b",))], "b": [(-4.0, ())], "c": [(-1.0, ())]}
    formulation = LocalScoreStructure(scores)
    unlisted = mm.Structure(("a", "b"), "c", ((2,), (), ()))
    with pytest.raises(InputError, match=r"no score is given for 'a' with the parents \['c'\]"):
        formulation.evaluate(unlisted)
    with pytest.raises(InputError, match=r"is over \['x'\]|over \[.*'x'"):
        formulation.evaluate(mm.Structure(("x", "b"), "c", ((), (), ())))
    assert formulation.adopt(unlisted, ProgramKind.LINEAR_CHOICE).edges == []
    result = mm.solve(formulation, starts=[[("b", "a")]])
    assert result.model.edges == [("b", "a")]
    assert mm.certify(result.model, formulation, result).ok


@pytest.mark.parametrize(
    ("settings_", "error", "message"),
    [
        ({"max_columns": 3}, SizeLimitError, "There are 4 local scores; the limit is max_columns=3"),
        ({"max_parents": 0}, InputError, "max_parents must be a whole number >= 1"),
        ({"acyclicity": "none"}, InputError, "acyclicity must be"),
        ({"required_edges": (("z", "a"),)}, InputError, "unknown node 'z'"),
        ({"required_edges": (("c", "a"),)}, InputError, "Variable 'a' has no parent set left"),
    ],
)
def test_wrong_settings_are_refused(settings_: dict[str, object], error: type[Exception], message: str) -> None:
    scores: Scores = {"a": [(-3.0, ()), (-1.0, ("b",))], "b": [(-4.0, ())], "c": [(-1.0, ())]}
    with pytest.raises(error, match=message):
        mm.solve(LocalScoreStructure(scores, **settings_))


def test_wide_sets_and_many_variables_are_taken_as_they_are() -> None:
    """Sets of twelve parents are held against no subsets: nothing is left out, and the optimum is the same."""
    names = [f"v{i}" for i in range(14)]
    scores: Scores = {name: [(-5.0, ())] for name in names}
    scores["v13"] += [(-1.0, tuple(names[:12])), (-6.0, tuple(names[:2]))]
    formulation = LocalScoreStructure(scores)
    assert formulation.candidates.n_columns == 16
    assert mm.solve(formulation).bounds.primal_bound == pytest.approx(-66.0)
