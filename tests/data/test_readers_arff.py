"""read_table on ARFF as Weka, OpenML and careless hands write it."""

import logging

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.data.readers import NA_VALUES, read_table
from mmbn_opt.data.readers.arff import read_arff
from mmbn_opt.exceptions import FormatError


def arff(text, missing=NA_VALUES):
    return read_arff(text.encode("utf-8"), "t.arff", frozenset(missing))


def cells(frame):
    return {name: [None if pd.isna(v) else v for v in column.astype(object)] for name, column in frame.items()}


WEATHER = r"""% 1. Title: weather
   % indented comment
@RELATION 'the weather'

@attribute outlook {sunny, overcast,rainy , 'very, very bad'}
@ATTRIBUTE	"air temperature"	REAL
@attribute humidity integer % in percent
@attribute windy {TRUE, FALSE}
@attribute note string
@attribute day date "yyyy-MM-dd"
@attribute 'it\'s class'{yes,no}

@DATA
sunny,85,85,FALSE,'50% sure',2020-01-01,no
% between rows
'very, very bad', 80.5 , 90, TRUE , "say \"hi\"", "2020-01-02", yes

overcast,?,86,?,?,?,yes % a comment
"""


def test_a_file_with_everything():
    frame = arff(WEATHER)
    assert cells(frame) == {
        "outlook": ["sunny", "very, very bad", "overcast"],
        "air temperature": [85.0, 80.5, None],
        "humidity": [85.0, 90.0, 86.0],
        "windy": ["FALSE", "TRUE", None],
        "note": ["50% sure", 'say "hi"', None],
        "day": ["2020-01-01", "2020-01-02", None],
        "it's class": ["no", "yes", "yes"],
    }
    assert list(frame["outlook"].cat.categories) == ["sunny", "overcast", "rainy", "very, very bad"]
    assert list(frame["it's class"].cat.categories) == ["yes", "no"]
    assert not frame["outlook"].cat.ordered
    assert frame["air temperature"].dtype == np.float64
    assert frame["humidity"].dtype == np.int64
    assert pd.api.types.is_string_dtype(frame["note"].dtype)


def header(*attributes):
    return "@relation r\n" + "".join(f"@attribute {a}\n" for a in attributes) + "@data\n"


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ("1,x,2", [1.0, "x", 2.0]),
        ("1,x,2,", [1.0, "x", 2.0]),  # MOA ends rows in a comma
        ("1\tx\t2", [1.0, "x", 2.0]),  # Weka takes blanks for commas
        ("1 'y z' 2", [1.0, "y z", 2.0]),
        ("1,y z,2", [1.0, "y z", 2.0]),  # and others forget the quotes
        ("  1 , 'y z' ,2  ", [1.0, "y z", 2.0]),
        ("?,?,?", [None, None, None]),
        ("1,,2", [1.0, None, 2.0]),
        ("NA,x,NaN", [None, "x", None]),
        ("-1e3,x,.5", [-1000.0, "x", 0.5]),
        ("{0 1, 1 x, 2 2}", [1.0, "x", 2.0]),
        ("{2 2}", [0.0, "y z", 2.0]),
        ("{1 x}", [0.0, "x", 0.0]),
        ("{1 'y z',2 ?}", [0.0, "y z", None]),
        ("{ }", [0.0, "y z", 0.0]),
    ],
)
def test_forms_of_a_row(row, wanted):
    frame = arff(header("a numeric", "b {'y z', x}", "c numeric") + row + "\n")
    assert [column[0] for column in cells(frame).values()] == wanted


def test_declared_states_are_states_and_question_marks_are_missing(caplog):
    with caplog.at_level(logging.INFO, logger="mmbn_opt"):
        frame = arff(header("basement {NA, '?', small}", "s string") + "NA,NA\n'?','?'\n?,?\nsmall,'NA'\n")
    assert cells(frame) == {"basement": ["NA", "?", None, "small"], "s": [None, "?", None, "NA"]}
    assert "['?', 'NA'] are declared states of 'basement', so not missing cells" in caplog.text


def test_na_values_apply_to_what_is_not_declared():
    frame = arff(header("a {x,y}", "b numeric") + "none,-99\nx,1\n", missing=["none", "-99"])
    assert cells(frame) == {"a": [None, "x"], "b": [None, 1.0]}


def test_states_apart_by_blanks_only():
    assert list(arff(header("a {x 'y z' w}"))["a"].cat.categories) == ["x", "y z", "w"]


def test_no_rows():
    frame = arff(header("a {x,y}", "b numeric", "c string"))
    assert frame.shape == (0, 3)
    assert list(frame["a"].cat.categories) == ["x", "y"]


def test_windows_line_ends_and_no_relation(tmp_path):
    path = tmp_path / "t.arff"
    path.write_bytes(b"\xef\xbb\xbf% c\r\n@attribute a {x,y}\r\n@attribute b real\r\n@data\r\nx,1\r\ny,2\r\n")
    assert cells(read_table(path)) == {"a": ["x", "y"], "b": [1.0, 2.0]}


state = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=6)


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@given(st.lists(state, unique=True, min_size=1, max_size=5), st.data())
def test_quoted_states_are_read_back(states, data):
    rows = data.draw(st.lists(st.tuples(st.sampled_from(states), st.integers(-99, 99)), max_size=6))
    text = header(f"s {{{','.join(map(quoted, states))}}}", "n numeric")
    frame = arff(text + "".join(f"{quoted(s)},{n}\n" for s, n in rows))
    assert list(frame["s"].cat.categories) == states
    assert frame["s"].tolist() == [s for s, _ in rows]
    assert frame["n"].tolist() == [n for _, n in rows]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("@relation r\n@attribute a numeric\n1\n", "line 3 of the ARFF header is '1'; expected @relation"),
        ("@relation r\n@attribute a numeric\n", "has no @data line. It may be cut off"),
        ("@relation r\n@data\n1\n", "no @attribute line stands before @data"),
        (header("a numeric", "b real", "a {x}"), r"more than once: 'a' \(2 times\)"),
        (
            header("a relational"),
            r"line 2: attribute 'a' has the type 'relational'\. Types that can be read are numeric",
        ),
        (header("a"), "attribute 'a' has the type ''"),
        (header("a {x, y"), r"attribute 'a' has the type '\{x, y'"),
        (header("a {x, y, x}"), "line 2: attribute 'a' declares 'x' twice. List each state once"),
        (header("a {}"), "attribute 'a' declares no states"),
        (header("a numeric", "b {x,y}") + "1,x\n\n2\n", "line 7 has 1 values, the header declares 2 attributes"),
        (header("a numeric", "b {x,y}") + "1,x,y\n", "line 5 has 3 values"),
        (header("a numeric", "b {x,y}") + "1,'x\n", "'x.* is not a declared state"),
        (header("a {x,y}") + "x\nz\n", "line 5: 'z' is not a declared state of 'a'; declared are 'x', 'y'. Add it"),
        (header("a {" + ",".join("abcdefghijkl") + "}") + "z\n", r"'h' and 4 more"),
        (header("a integer") + "x\n", "line 4: 'x' is not a finite number, but attribute 'a' is integer. Write ?"),
        (header("a real") + "inf\n", "'inf' is not a finite number"),
        (header("a real") + "1_0\n", "'1_0' is not a finite number"),
        (header("a real", "b real") + "1,2,{3}\n", "line 5 ends in a weight in braces.*put them in a column"),
        (header("a real", "b real") + "{1 2}, {3}\n", "ends in a weight in braces"),
        (header("a real", "b real") + "{2 1}\n", r"'2 1' is not a sparse value\. Write \{index value.*from 0 to 1"),
        (header("a real", "b real") + "{0 1, 0 2}\n", "'0 2' is not a sparse value"),
        (header("a real", "b real") + "{x}\n", "'x' is not a sparse value"),
        (header("a real", "s string") + "{0 1}\n", "leaves out text attribute 's', which has no zero"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text, told):
    with pytest.raises(FormatError, match=rf"(?s)^t\.arff: .*{told}"):
        arff(text)


@pytest.mark.parametrize(
    ("kind", "written", "dtype"),
    [
        ("numeric", ["1", "2"], "int64"),
        ("integer", ["1", "?"], "Int64"),
        ("real", ["1", "2"], "float64"),
        ("numeric", ["1", "2.0"], "float64"),
        ("numeric", ["007", "1"], "float64"),
        ("numeric", ["?", "?"], "float64"),
        ("numeric", ["1", "9007199254740993"], "float64"),
    ],
)
def test_whole_numbers_are_integers_as_in_delimited_text(kind, written, dtype):
    frame = arff(f"@relation r\n@attribute a {kind}\n@data\n" + "\n".join(written) + "\n")
    assert frame["a"].dtype == dtype
    assert frame["a"].isna().tolist() == [cell == "?" for cell in written]
