"""Columns that the parser converts at once are those that reading cell by cell gives."""

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mmbn_opt.data.readers import delimited
from mmbn_opt.data.readers.numbers import are_plain_numbers, has_leading_zeros
from mmbn_opt.exceptions import FormatError

CELLS = [
    "0", "1", "-1", "+1", "-0", "0.0", "-0.0", "007", "-01", "00", "0e1", "1e-05", "1E5", "1e+5", "e05", "1.", ".5",
    "1.5", "0.1", "2.675", "5e-324", "1e308", "1e999", "inf", "-Infinity", "nan", "NA", "?", "", " 2 ", '"3"', '" 4"',
    "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551615", "123456789012345678901",
    "9007199254740993.5", "True", "False", "1_000", "0x1f", "1,5", '"1,5"', "1-2", "--1", "1.2.3", ".", "-",
    "+", "e", "1e", "+.5",
    "\u0661", "\uff11", "1 2", "1d5", "1j", "0.30000000000000004", "1" * 30, "0." + "1" * 30,
]  # fmt: skip
columns = st.lists(st.sampled_from(CELLS), min_size=1, max_size=4)


def read(text, missing, *, at_once):
    with pytest.MonkeyPatch.context() as patch:
        if not at_once:
            patch.setattr(delimited, "has_leading_zeros", lambda body: True)
        try:
            return delimited.read_delimited(text.encode(), "it", missing, trusted=True)
        except FormatError as error:  # a guess at the separator that does not fit all rows
            return pd.DataFrame({"error": [str(error)]})


@given(
    st.lists(columns, min_size=2, max_size=4), st.sampled_from(";\t|"),
    st.sampled_from([("NA", "?", ""), ("-1",), ("0.0", "")]), st.integers(1, 3),
)  # fmt: skip
@example([["1", "2"], ["1.5", "2"]], ";", ("NA",), 1)
@example([["1.5"], ["1", "1,5"]], ";", ("NA",), 1)
@example([["1", "2", "x"], ["1", "1", "1"]], ";", ("NA",), 1)
def test_converted_at_once_or_cell_by_cell_the_table_is_the_same(table, separator, missing, glance):
    height = max(map(len, table))
    rows = [separator.join(column[k % len(column)] for column in table) for k in range(height)]
    text = "\n".join([separator.join(f"x{j}" for j in range(len(table))), *rows]) + "\n"
    missing = frozenset(missing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_GLANCE_ROWS", glance)
        at_once = read(text, missing, at_once=True)
    pd.testing.assert_frame_equal(at_once, read(text, missing, at_once=False), check_exact=True)


def test_a_column_that_turns_into_text_below_the_rows_looked_at_is_text_from_its_first_row():
    cells = [f"{k}.50" for k in range(500)]
    text = "x,y\n" + "".join(f"{cell},{k}\n" for k, cell in enumerate([*cells, "none"]))
    frame = read(text, frozenset({"NA"}), at_once=True)
    assert frame["x"].tolist() == [*cells, "none"]
    assert frame["y"].dtype == "int64"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"0", False), (b"00", True), (b"07", True), (b"1,07", True), (b"-07", True), (b'"07"', True),
        (b"10,0.07", False),
        (b"1.07,100", False), (b"1e07", False), (b"1e-07", False), (b"1E+07", False), (b"a07", True), (b"", False),
        (b"0,0,0", False), (b"0;01", True), (b"\n007", True),
    ],
)  # fmt: skip
def test_leading_zeros_are_found(text, found):
    assert has_leading_zeros(text) is found


def test_what_is_too_large_for_a_double_is_left_to_the_reader_of_cells():
    assert are_plain_numbers(pd.Series([1.5, -2.0]))
    assert are_plain_numbers(pd.Series([1, 2]))
    for other in ([1.5, 2.0**53], [1.0, float("inf")], [True, False], ["1"]):
        assert not are_plain_numbers(pd.Series(other))
