"""Local scores come back digit for digit, and a file that is none is refused with its line."""

import tempfile
from itertools import permutations
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import FormatError, InputError, SizeLimitError
from mmbn_opt.formulations import DecomposableStructure
from mmbn_opt.interop.jkl import read_jkl, write_jkl
from mmbn_opt.interop.programs import write_local_scores
from mmbn_opt.solving.dispatch import solve

Scores = dict[str, list[tuple[float, tuple[str, ...]]]]

GOOD = """3
a 2
-10.5 0
-8.25 2 b c
b 1
-3 0

c 1
-1e-3 1 a
"""


@st.composite
def local_scores(draw: st.DrawFn) -> Scores:
    text = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=4)
    names = draw(st.lists(text, min_size=1, max_size=4, unique=True))
    finite = st.floats(allow_nan=False, allow_infinity=False)
    scores = {}
    for name in names:
        others = [n for n in names if n != name]
        parents = st.sets(st.sampled_from(others)).map(lambda s: tuple(sorted(s))) if others else st.just(())
        scores[name] = draw(st.lists(st.tuples(finite, parents), min_size=1, max_size=4, unique_by=itemgetter(1)))
    return scores


@given(local_scores())
def test_scores_come_back(scores: Scores) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.jkl"
        write_jkl(path, list(scores), scores)
        again = read_jkl(path)
    assert again == scores
    assert list(again) == list(scores)


def test_the_format_is_that_of_gobnilp(tmp_path: Path) -> None:
    scores: Scores = {"a": [(-10.5, ()), (-8.25, ("b",))], "b": [(0.1 + 0.2, ())]}
    write_jkl(tmp_path / "s.jkl", ["b", "a"], scores)
    assert (tmp_path / "s.jkl").read_text() == "2\nb 1\n0.30000000000000004 0\na 2\n-10.5 0\n-8.25 1 b\n"


def test_blank_lines_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "s.jkl").write_text(GOOD)
    expected = {"a": [(-10.5, ()), (-8.25, ("b", "c"))], "b": [(-3.0, ())], "c": [(-0.001, ("a",))]}
    assert read_jkl(tmp_path / "s.jkl") == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3\na", "x\na", "line 1: the number of variables is 'x'"),
        ("3\na", "4\na", "ends after line 9, before all variables .* copy or download it again"),
        ("3\na", "2\na", "line 8: there is more after the 2 variables"),
        ("3\na", "3 3\na", "line 1: expected 1 word, found 2"),
        ("a 2", "a 9999999", "expected|is not a finite score"),
        ("a 2", "a -2", "line 2: the number of parent sets of 'a' is '-2'"),
        ("a 2", "a", "line 2: expected 2 words, a variable and the number of its parent sets, found 1"),
        ("b 1", "a 1", "line 5: the variable 'a' comes twice"),
        ("-10.5 0", "nan 0", "line 3: 'nan' is not a finite score"),
        ("-10.5 0", "x 0", "line 3: 'x' is not a finite score"),
        ("-10.5 0", "-10.5", "line 3: a parent set is written as"),
        ("2 b c", "3 b c", "line 4: a parent set is written as"),
        ("2 b c", "2 b b", "line 4: a parent set is written as"),
        ("2 b c", "2 b z", r"line 4: 'a' has the parent 'z', which is no variable of the file. Mend the line"),
        ("2 b c", "2 b a", r"line 4: 'a' is a parent of itself; remove it"),
        ("a 2", "a 1", "line 4: expected 2 words, .* found 4; perhaps 'a' in line 2 has more lines than it says"),
        (
            "a 2",
            "a 3",
            "line 5: 'b' is not a finite score; .* perhaps 'a' in line 2 has fewer lines",
        ),
        ("a 2", "a 0", "line 2: 'a' has no parent set; give it at least the one without parents"),
        ("-10.5 0", "-10.5 2 c b", r"line 4: 'a' has the parent set \['b', 'c'\] in line 3 too; remove one"),
        ("-10.5 0", "inf 0", "line 3: 'inf' is not a finite score"),
        ("-10.5 0", "1e999 0", "line 3: '1e999' is not a finite score"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "s.jkl").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(FormatError, match=message):
        read_jkl(tmp_path / "s.jkl")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3\na", "99999999999\na", r"promises 99,999,999,999 variables; the limit is 1,000,000"),
        (
            "a 2",
            "a 999999999",
            r"promises 999,999,999 parent sets by line 2; the limit is 10,000,000",
        ),
    ],
)
def test_promises_that_no_memory_holds_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "s.jkl").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(SizeLimitError, match=message):
        read_jkl(tmp_path / "s.jkl")


def test_a_file_full_of_strangers_is_not_kept(tmp_path: Path) -> None:
    parents = [f"z{k}" for k in range(1100)]
    sets = "".join(f"0 1 {p}\n" for p in parents)
    (tmp_path / "s.jkl").write_text(f"1\na {len(parents)}\n{sets}")
    with pytest.raises(FormatError, match="far more names than the 1 variables"):
        read_jkl(tmp_path / "s.jkl")


def test_the_optimum_of_the_file_is_that_of_the_program(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 3, (60, 4))
    rows[:, 1] = (rows[:, 0] + rng.integers(0, 2, 60)) % 3
    data = DiscreteDataset.from_arrays(rows, (rows[:, 1] + rows[:, 3]) % 2)
    program = DecomposableStructure(data, score="bdeu", ess=2.0, max_parents=2)
    write_local_scores(program, tmp_path / "s.jkl")
    scores = read_jkl(tmp_path / "s.jkl")
    assert sum(map(len, scores.values())) == len(program.candidates.columns)
    # The other way to the optimum: over all orders of the five variables, the best set that comes before each one.
    best = max(
        sum(
            max(score for score, parents in scores[name] if set(parents) <= set(order[:place]))
            for place, name in enumerate(order)
        )
        for order in permutations(scores)
    )
    result = solve(program, solver="highs", rel_gap=0.0)
    assert result.bounds.primal_bound == pytest.approx(best, abs=1e-7)
    assert result.bounds.dual_bound == pytest.approx(best, abs=1e-6)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.jkl").touch()
    with pytest.raises(FormatError, match="ends after line 0"):
        read_jkl(tmp_path / "s.jkl")


@pytest.mark.parametrize(
    ("names", "scores", "message"),
    [
        (["a b"], {"a b": [(0.0, ())]}, r"The names \['a b'\] are empty or hold white space"),
        ([""], {"": [(0.0, ())]}, "are empty or hold white space"),
        (["a"], {"b": [(0.0, ())]}, "needs the scores of exactly the variables"),
        (["a"], {"a": []}, "Variable 'a' has no parent set"),
        (["a"], {"a": [(float("-inf"), ())]}, "has the score -inf, which is no finite number; leave it out"),
        (["a"], {"a": [(0.0, ("a",))]}, r"the impossible parent set \['a'\]"),
        (["a"], {"a": [(0.0, ("z",))]}, r"the impossible parent set \['z'\]"),
    ],
)
def test_scores_that_the_format_cannot_keep_are_refused(
    tmp_path: Path, names: list[str], scores: Scores, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        write_jkl(tmp_path / "s.jkl", names, scores)
    assert not (tmp_path / "s.jkl").exists()
