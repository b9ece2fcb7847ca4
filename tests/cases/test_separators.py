"""B13: tables in text, whatever parts their cells and whatever stands above the rows: read, or told the cure."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data.readers.delimited import read_delimited

EXPECTED = pd.DataFrame({"One": [1.5, 2.25, 3.0], "two": [4, 5, -6], "class": ["n", "y", "n"]})
TEXT = "One,two,class\n1.5,4,n\n2.25,5,y\n3,-6,n\n"


def spread(text: str, gap: str) -> str:
    return text.replace(",", gap)


VARIANTS = {
    "B13 blanks": ("t.dat", spread(TEXT, " ")),
    "B13 blanks, several": ("t.dat", "  One   two class\n 1.5     4     n  \n2.25     5     y\n   3    -6     n\n"),
    "B13 blanks and tabs": ("t.data", "One \ttwo\t class\n1.5\t 4 n\n2.25 5\ty\n3 -6 n\n"),
    "B13 blanks in a .txt": ("t.txt", spread(TEXT, "  ")),
    "B13 blanks in a .csv": ("t.csv", spread(TEXT, " ")),
    "B13 blanks and quotes": ("t.dat", spread(TEXT, " ").replace("class", '"class"').replace(" n\n", ' "n"\n')),
    "B13 tabs": ("t.dat", spread(TEXT, "\t")),
    "B13 bars": ("t.dat", spread(TEXT, "|")),
    "B13 semicolons": ("t.dat", spread(TEXT, ";")),
    "B13 semicolons and decimal commas": ("t.csv", spread(TEXT, ";").replace(".", ",")),
    "B13 tabs and decimal commas": ("t.csv", spread(TEXT, "\t").replace(".", ",")),
    "B13 blanks and decimal commas": ("t.dat", spread(TEXT, "  ").replace(".", ",")),
    "B13 quoted decimal commas": ("t.csv", TEXT.replace("1.5", '"1,5"').replace("2.25", '"2,25"')),
    "B13 a line sep=": ("t.csv", "sep=;\n" + spread(TEXT, ";")),
    "B13 a line sep= and decimal commas": ("t.csv", "sep=;\r\n" + spread(TEXT, ";").replace(".", ",")),
    "B13 a line sep= in quotes": ("t.csv", '"sep=;"\n' + spread(TEXT, ";")),
    "B13 a line sep= for a tab": ("t.csv", "sep=\t\n" + spread(TEXT, "\t")),
    "B13 a line sep= for an odd separator": ("t.csv", "SEP=^\n" + spread(TEXT, "^")),
    "B13 a line sep= after a byte order mark": ("t.csv", "\ufeffsep=;\n" + spread(TEXT, ";")),
    "B13 a byte order mark": ("t.dat", "\ufeff" + spread(TEXT, " ")),
    "B13 blank lines": ("t.dat", "\n \n" + spread(TEXT, " ").replace("\n", "\n\n")),
    "B13 line ends of Windows": ("t.dat", spread(TEXT, " ").replace("\n", "\r\n")),
    "B13 no last line end": ("t.dat", spread(TEXT, " ").rstrip("\n")),
    "B13 comments above": ("t.csv", "# measured by hand\n#\n" + TEXT),
    "B13 comments of Matlab": ("t.csv", "% measured by hand, twice, and then again\n" + TEXT),
    "B13 comments with the mark @": ("t.csv", "@source somewhere\n@date 2020\n" + TEXT),
    "B13 a comment as wide as the table": ("t.csv", "# by hand, in May, twice\n" + TEXT),
    "B13 comments between rows": ("t.csv", TEXT.replace("2.25", "# the next one is odd\n2.25") + "# the end\n"),
    "B13 a comment as wide as the rows": ("t.csv", "# one\n" + TEXT.replace("2.25", "# by hand, in May, twice\n2.25")),
    "B13 comments after blanks": ("t.csv", "  # measured by hand\n" + TEXT),
    "B13 comments above blanks": ("t.dat", "# measured by hand\n# in May\n" + spread(TEXT, " ")),
    "B13 comments above decimal commas": ("t.dat", "# 1,5 and 2\n" + spread(TEXT, ";").replace(".", ",")),
    "B13 a comment after the blank lines": ("t.dat", "\n\n# measured by hand\n\n" + spread(TEXT, "\t")),
    "B13 the header in a comment": ("t.txt", "# " + spread(TEXT, " ")),
    "B13 the header in the last of the comments": ("t.csv", "# by hand\n# " + TEXT),
    "B13 the header in a comment of Matlab": ("t.dat", "% made by a tool, with care\n%\n% " + spread(TEXT, "\t")),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_the_same_table(name: str, tmp_path: Path) -> None:
    file, text = VARIANTS[name]
    (tmp_path / file).write_text(text, encoding="utf-8", newline="")
    frame = mm.read_table(tmp_path / file)
    pd.testing.assert_frame_equal(frame, EXPECTED, check_dtype=False)
    assert frame["One"].dtype == np.float64
    assert frame["two"].dtype == np.int64


KEEL = """@relation iris
@attribute One real [1.5, 3.0]
@attribute two integer[-6,5]
@attribute class {n, y}
@inputs One, two
@outputs class
@data
1.5, 4, n
2.25, 5, y
3, -6, n
"""


def test_a_dat_file_of_keel(tmp_path: Path) -> None:
    """B13: comments with the mark @ that are a header of ARFF, with ranges and roles."""
    (tmp_path / "iris.dat").write_text(KEEL)
    frame = mm.read_table(tmp_path / "iris.dat")
    pd.testing.assert_frame_equal(frame.astype({"class": object}), EXPECTED.astype({"class": object}))


ROWS = [(k % 2, k % 3, (k // 3) % 2) for k in range(14)]


def _rows() -> str:
    return "".join(" ".join(map(str, row)) + "\n" for row in ROWS)


@pytest.mark.parametrize("named", [True, False], ids=["B13 names, sizes", "B13 number, sizes, number of rows"])
def test_the_numbers_of_states_of_other_learners_are_no_sample(
    named: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """B13: a .dat with blanks as programs for exact structure learning read it."""
    head = "One Two class\n2 3 2\n" if named else f"3\n2 4 2\n{len(ROWS)}\n"
    (tmp_path / "asia.dat").write_text(head + _rows())
    with caplog.at_level("INFO", "mmbn_opt"):
        frame = mm.read_table(tmp_path / "asia.dat")
    assert list(frame.columns) == (["One", "Two", "class"] if named else ["x0", "x1", "x2"])
    assert [tuple(row) for row in frame.itertuples(index=False)] == ROWS
    sizes = [len(frame[name].cat.categories) for name in frame]
    assert sizes == ([2, 3, 2] if named else [2, 4, 2])
    assert ("taken for the numbers of states" if named else "without names are called x0") in caplog.text


@pytest.mark.parametrize(
    ("head", "rows", "told"),
    [
        ("3\n2 999999999 2\n14\n", _rows(), "the second line says 999,999,999 states of column 2; at most 1,000,000"),
        ("3\n2 3 2\n15\n", _rows(), "third line says 15 rows, there are 14. The file may be cut off"),
        ("3\n2 2 2\n14\n", _rows(), "line 6 has state 2 of column 2, which has 2 states"),
        ("3\n2 3 2\n14\n", _rows() + "0 1\n", "line 18 does not hold the 3 numbers"),
        ("3\n2 3 2\n14\n", _rows().replace("1 1 0", "1 x 0", 1), "line 5 does not hold the 3 numbers"),
    ],
    ids=["B13 a huge size", "B13 cut off", "B13 a state too many", "B13 a short row", "B13 text"],
)
def test_rows_that_do_not_fit_their_sizes_are_told(head: str, rows: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "t.dat").write_text(head + rows)
    with pytest.raises(mm.FormatError, match=told):
        mm.read_table(tmp_path / "t.dat")


@pytest.mark.parametrize(
    "text",
    [
        "a b c\n" + _rows(),
        "a b c\n2 3 2\n" + _rows().replace("1 2 1", "2 2 1"),
        "a b c\n9 90 900\n" + _rows(),
        "a b\n3 3\n2 2\n1 1\n",
        "a,b,c\n2,3,2\n" + _rows().replace(" ", ","),
    ],
    ids=["B13 no sizes", "B13 a row as large", "B13 far larger", "B13 few rows", "B13 commas"],
)
def test_a_first_row_that_may_be_a_sample_is_one(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.dat").write_text(text)
    assert len(mm.read_table(tmp_path / "t.dat")) == text.count("\n") - 1


def test_comments_that_are_left_out_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """B13: how many, with which mark, in which lines."""
    (tmp_path / "t.csv").write_text("# one\n" + TEXT + "\n# two\n")
    with caplog.at_level("WARNING", "mmbn_opt"):
        mm.read_table(tmp_path / "t.csv")
    assert "2 lines that begin with # are left out as comments (line 1, 7)" in caplog.text


KEPT = {
    "B13 names that begin with a mark": ("#id,@user,%fat\n1,u,3\n2,v,4\n", ["#id", "@user", "%fat"], 2),
    "B13 labels that begin with a mark": ("tag,n\n#a,1\n#b,2\n@c,3\n%,4\n", ["tag", "n"], 4),
    "B13 a column of numbers of rows": ("#,n,class\n1,2,a\n2,3,b\n", ["#", "n", "class"], 2),
    "B13 a mark in a quoted cell": ('a,b\n"x\n# y",1\nz,2\n', ["a", "b"], 2),
    "B13 one column of tags": ("tag\n#a\n#b\n", ["tag"], 2),
    "B13 text with commas in words": ("a;b\nx,y;1\nz,w;2\n", ["a", "b"], 2),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_looks_like_a_comment_and_is_a_row_is_kept(name: str, tmp_path: Path) -> None:
    text, names, n_rows = KEPT[name]
    (tmp_path / "t.csv").write_text(text)
    frame = mm.read_table(tmp_path / "t.csv")
    assert (list(frame.columns), len(frame)) == (names, n_rows)


REFUSED = {
    "B13 ragged rows of blanks": (
        "a b c\n1 2 3\n4 5\n" + "6 7 8\n" * 9 + "1 2 3 4\n",
        r"first line has 3 cells \(separator blanks\), but line 3 has 2, line 13 has 4\. Quote",
    ),
    "B13 ragged rows below comments": (
        "# a\n# b\na,b\n1,2\n# c\n3\n", r"first line has 2 cells \(separator ','\), but line 6 has 1"),
    "B13 a tag with a comma among tags": ("tag,n\n#a,1\n#b,c,2\n", "line 3 has 3"),
    "B13 rows that begin with their names": (
        'a b\n"r 1" 1 2\n"r 2" 3 4\n' , "If the rows begin with a name or number of the row"),
    "B13 UTF-16": (spread(TEXT, "\t").encode("utf-16"), "encoded as UTF-16. Save it as UTF-8"),
    "B13 nothing but sep=": ("sep=;\n", "no line that names columns"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_told_with_its_line(name: str, tmp_path: Path) -> None:
    content, told = REFUSED[name]
    (tmp_path / "t.dat").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(mm.FormatError, match=told):
        mm.read_table(tmp_path / "t.dat")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a;b\n1,234;x\n5,678;y\n", "they may be thousands"),
        ("a;b\n1,5;1.5\n2,5;2.5\n", "those of 'b' have a point"),
    ],
    ids=["B13 thousands", "B13 points beside commas"],
)
def test_commas_that_could_mean_two_things_are_told(
    text: str, why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "t.csv").write_text(text)
    with caplog.at_level("WARNING", "mmbn_opt"):
        frame = mm.read_table(tmp_path / "t.csv")
    assert isinstance(frame["a"].iloc[0], str)
    assert f"column 'a' looks like numbers with a decimal comma, but {why}; it is read as text" in caplog.text


number = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@given(
    rows=st.lists(st.tuples(number, number, st.sampled_from(["u", "v w", "ä"])), min_size=3, max_size=8),
    separator=st.sampled_from([" ", "  ", "\t", ";", "|", " \t "]),
    comma=st.booleans(),
    comments=st.lists(st.sampled_from(["# a", "%", "@ x y z w v", "# b, c; d|e f g"]), max_size=3),
)
def test_a_table_is_read_whatever_parts_it(
    rows: list[tuple[float, float, str]], separator: str, comma: bool, comments: list[str]
) -> None:
    """B13: separator, decimal mark and comments change nothing."""
    numbers = [[f"{value:.4f}".replace(".", "," if comma else ".") for value in row[:2]] for row in rows]
    lines = [separator.join((*cells, f'"{row[2]}"')) for cells, row in zip(numbers, rows, strict=True)]
    text = "\n".join([*comments, separator.join(("a", "b", "class")), *lines]) + "\n"
    logging.getLogger("mmbn_opt").setLevel(logging.ERROR)
    try:
        frame = read_delimited(text.encode(), "t.dat", frozenset())
    finally:
        logging.getLogger("mmbn_opt").setLevel(logging.NOTSET)
    assert list(frame.columns) == ["a", "b", "class"]
    assert np.allclose(frame[["a", "b"]].to_numpy(), [row[:2] for row in rows], atol=1e-9)
    assert frame["class"].tolist() == [row[2] for row in rows]


def test_blanks_and_comments_on_the_command_line(command: Callable[..., Any], tmp_path: Path) -> None:
    """B13: a .dat with blanks is learned from and predicted for, the target found by its name."""
    lines = [f"{1 + k % 3} {k % 2} {'ny'[k % 2]}" for k in range(12)]
    (tmp_path / "t.dat").write_text("% by hand\nOne two class\n" + "\n".join(lines) + "\n")
    done = command(
        "structure", "--data", tmp_path / "t.dat", "--target", "class", "--max-parents", 1, "--out", tmp_path / "o"
    )
    assert done.status == 0, done.err
    done = command("predict", "--model", tmp_path / "o", "--data", tmp_path / "t.dat", "--out", tmp_path / "p.csv")
    assert done.status == 0, done.err
    assert "accuracy: 1.0000" in done.out
