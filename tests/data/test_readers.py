"""read_table on delimited text and Parquet, and on files that are not what their ending says."""

import builtins
import csv
import gzip
import io
import logging
import os
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.data.readers import read_table
from mmbn_opt.data.readers.delimited import read_delimited
from mmbn_opt.exceptions import FormatError, InputError, MissingDependencyError


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def cells(frame):
    """Cells as Python values, None where missing."""
    return {name: [None if pd.isna(v) else v for v in column.astype(object)] for name, column in frame.items()}


def is_text(column):
    return pd.api.types.is_string_dtype(column.dtype)


# --- columns -------------------------------------------------------------------------------------------------------


def test_column_types(write):
    frame = read_table(
        write(
            "t.csv",
            "whole,gaps,real,code,mixed,word,exp,all,flag\n"
            "1,1,1.5,007,1,a,1e3,?,True\n"
            "-2,,2,7,x,NA,-.5E-2,,False\n"
            "+3,3,NaN,12,2,c,3.,NA,True\n",
        )
    )
    assert frame["whole"].dtype == np.int64
    assert frame["gaps"].dtype == "Int64"
    assert frame["real"].dtype == frame["exp"].dtype == frame["all"].dtype == np.float64
    assert all(is_text(frame[name]) for name in ("code", "mixed", "word", "flag"))
    assert cells(frame) == {
        "whole": [1, -2, 3],
        "gaps": [1, None, 3],
        "real": [1.5, 2.0, None],
        "code": ["007", "7", "12"],
        "mixed": ["1", "x", "2"],
        "word": ["a", None, "c"],
        "exp": [1000.0, -0.005, 3.0],
        "all": [None, None, None],
        "flag": ["True", "False", "True"],
    }


@pytest.mark.parametrize(
    "cell", ["nan", "inf", "-inf", "Infinity", "null", "None", "N/A", "1_000", "0x1F", "1e999", "1 2", "-01.5"]
)
def test_only_na_values_are_missing_and_only_decimal_numbers_are_numbers(write, cell):
    frame = read_table(write("t.csv", f"a,b\n{cell},1\n2.5,2\n"))
    assert cells(frame)["a"] == [cell, "2.5"]


def test_whole_numbers_that_no_64_bit_type_holds_stay_text(write):
    frame = read_table(write("t.csv", "a,b\n9223372036854775807,9223372036854775808\n1,1\n"))
    assert cells(frame) == {"a": [2**63 - 1, 1], "b": ["9223372036854775808", "1"]}


def test_large_whole_numbers_with_gaps_keep_their_digits(write):
    frame = read_table(write("t.csv", "a,b\n9007199254740993,x\n,y\n"))
    assert cells(frame)["a"] == [9007199254740993, None]


def test_na_values_can_be_chosen(write):
    path = write("t.csv", "a,b\n-99,NA\n2,?\n,x\n")
    assert cells(read_table(path, na_values=("-99", ""))) == {"a": [None, 2, None], "b": ["NA", "?", "x"]}
    assert cells(read_table(path, na_values="-99")) == {"a": [None, "2", ""], "b": ["NA", "?", "x"]}


def test_blanks_around_cells_are_layout(write):
    # The form of the UCI files: a blank after each comma.
    frame = read_table(write("adult.data", "age, work ,class\n39, State-gov, <=50K\n50, ?, >50K \n38 ,Private, >50K\n"))
    assert cells(frame) == {
        "age": [39, 50, 38],
        "work": ["State-gov", None, "Private"],
        "class": ["<=50K", ">50K", ">50K"],
    }


def test_decimal_commas_are_told(write, caplog):
    with caplog.at_level(logging.INFO, logger="mmbn_opt"):
        frame = read_table(write("t.csv", "a;b\n1,5;x\n2,25;y\n"))
    assert cells(frame)["a"] == [1.5, 2.25]
    assert "numbers with a decimal comma in ['a']" in caplog.text


def test_a_header_alone_gives_no_rows(write):
    for text in ("a,b", "a,b\n", "a,b\n\n \n"):
        frame = read_table(write("t.csv", text))
        assert frame.shape == (0, 2)
        assert list(frame) == ["a", "b"]


def test_a_single_column(write):
    frame = read_table(write("t.txt", 'only\nx\n""\n\ny\n'))
    assert cells(frame) == {"only": ["x", None, "y"]}


# --- separators, quotes, line ends ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "a,b\n1,x\n"),
        ("t.csv", "a;b\n1;x\n"),
        ("t.tsv", "a\tb\n1\tx\n"),
        ("t.txt", "a|b\n1|x\n"),
        ("T.CSV", "a,b\r\n1,x\r\n"),
        ("t.csv", "a,b\r1,x"),
        ("t.csv", "\n \na,b\n\n1,x\n\n  \n"),
        ("t.csv", "\ufeffa,b\n1,x\n"),
        ("t.csv", '"a","b"\n"1","x"\n'),
        ("data", "a,b\n1,x\n"),
        ("t.names.data", "a;b\n1;x\n"),
    ],
)
def test_forms_of_one_table(write, name, text):
    assert cells(read_table(write(name, text))) == {"a": [1], "b": ["x"]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("age;income (EUR, net);class\n1;2;x\n", ["age", "income (EUR, net)", "class"]),
        ('"a;b;c",d\n1,2\n', ["a;b;c", "d"]),
        ("first, last;class\nMusk, E;x\nJobs;y\n", ["first, last", "class"]),
        ("a|b,c\n1,2\n3,4\n", ["a|b", "c"]),
        ("a b\n1 2\n", ["a", "b"]),
        ("a b\n1 2 3\n4\n", ["a b"]),
    ],
)
def test_the_separator_is_the_one_that_fits_header_and_rows(write, text, names):
    assert list(read_table(write("t.csv", text))) == names


def test_quoted_cells(write):
    frame = read_table(write("t.csv", 'name,"long, name"\n"a, ""b""","two\nlines"\nit\'s,5" pipe\n'))
    assert cells(frame) == {"name": ['a, "b"', "it's"], "long, name": ["two\nlines", '5" pipe']}


text_cell = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=6)


@given(st.lists(st.lists(text_cell, min_size=3, max_size=3), min_size=1, max_size=6), st.sampled_from(",;\t|"))
def test_whatever_the_csv_module_writes_is_read_back(rows, separator):
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([["x", "y", "z"], *rows])
    frame = read_delimited(stream.getvalue().encode(), "t.csv", frozenset())
    assert frame.shape == (len(rows), 3)
    for j, name in enumerate("xyz"):
        wanted = [row[j].strip() for row in rows]
        if is_text(frame[name]):
            assert frame[name].tolist() == wanted
        else:
            assert frame[name].astype(float).tolist() == [float(cell) for cell in wanted]


@pytest.mark.shared
@pytest.mark.parametrize("name", ["adult", "letter", "mushroom", "segment", "soybean-large"])
def test_reference_data_is_read_as_written(shared_dir, name):
    path = shared_dir / "data" / f"{name}.csv.gz"
    frame = read_table(path)
    written = pd.read_csv(path, dtype=object, keep_default_na=False)
    assert list(frame) == list(written)
    for column in frame:
        text = written[column]
        assert frame[column].isna().equals(text.isin(["", "?"]))
        present = frame[column].dropna()
        as_read = text[present.index].astype(float) if not is_text(frame[column]) else text[present.index]
        assert present.tolist() == as_read.tolist()


# --- compressed files and endings ----------------------------------------------------------------------------------


def zipped(content: bytes) -> bytes:
    """Compressed without the time of day: such bytes name tests, and two processes have to agree on names."""
    return gzip.compress(content, mtime=0)


TABLE = b"a,b\n1,x\n2,y\n"
ARFF = b"% a comment\n\n@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n1,x\n2,y\n"


def plain_parquet(texts):
    """One column of text as it is: neither a dictionary nor compressed, and without statistics."""
    import pyarrow
    import pyarrow.parquet

    stream = io.BytesIO()
    table = pyarrow.table({"a": texts})
    pyarrow.parquet.write_table(table, stream, use_dictionary=False, compression="none", write_statistics=False)
    return stream.getvalue()


def parquet(frame):
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv.gz", zipped(TABLE)),
        ("t.tsv.GZ", zipped(TABLE.replace(b",", b"\t"))),
        ("t.arff", ARFF),
        ("t.arff.gz", zipped(ARFF)),
        ("t.parquet", parquet(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))),
        ("download", zipped(TABLE)),
        ("download.1", ARFF),
        ("download", parquet(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))),
    ],
)
def test_the_content_decides_where_the_ending_agrees_or_is_unknown(write, name, content):
    assert cells(read_table(write(name, content))) == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("t.csv", zipped(TABLE), r"gzip-compressed, not delimited text as its ending '\.csv' says.*'\.csv\.gz'"),
        ("t.csv.gz", TABLE, r"not gzip-compressed, as its ending '\.csv\.gz' says.*end in '\.csv'"),
        ("t.gz", TABLE, r"not gzip-compressed, as its ending '\.gz' says"),
        ("t.csv", parquet(pd.DataFrame({"a": [1]})), r"a Parquet file, not delimited text as its ending '\.csv' says"),
        ("t.parquet", TABLE, r"delimited text, not a Parquet file as its ending '\.parquet' says"),
        ("t.csv", ARFF, r"an ARFF file, not delimited text as its ending '\.csv' says"),
        ("t.arff", TABLE, r"delimited text, not an ARFF file as its ending '\.arff' says"),
        ("t.csv", b"PK\x03\x04rest", r"a ZIP archive or an Excel workbook, not delimited text.*Save the table as CSV"),
        ("t.csv", b"\x80\x04\x95pickle.", "a Python pickle"),
        ("t.csv", b"  <!DOCTYPE html><html>", r"an HTML page \(a failed download\?\)"),
        ("t", b'{"a": [1, 2]}', "is a JSON document. Save"),
        ("t.tar.gz", zipped(b"name".ljust(257, b"\0") + b"ustar"), "a tar archive"),
        ("t.csv.gz", zipped(zipped(TABLE)), "gzip-compressed twice"),
        ("t.csv.gz", zipped(TABLE)[:-6], "the gzip stream is damaged.*Copy or download the file again"),
        ("t.csv", b"a,b\n1,\x00\x01\x02\n", "the file is binary, not text"),
        ("t.csv", "a,b\n1,é\n".encode("utf-16"), "the text is encoded as UTF-16. Save it as UTF-8.*iconv -f UTF-16"),
        ("t.csv", "a,b\n1,x\n".encode("utf-16-le"), "seems to be encoded as UTF-16"),
        ("t.csv", "a,b\n1,x\n".encode("utf-32"), "encoded as UTF-32"),
        ("t.csv", "a,b\n1,é\n".encode("latin-1"), "byte 0xe9 in line 2 is not UTF-8; the encoding may be Latin-1"),
        ("t.csv", b"", "the file is empty"),
        ("t.csv", b" \n\n", "the file is empty"),
        ("t.csv.gz", b"", "the file is empty"),
        ("t.csv.gz", zipped(b""), "the file is empty"),
        ("t.parquet", parquet(pd.DataFrame({"a": [1]}))[:-20], "the Parquet file is damaged"),
        ("t.parquet", plain_parquet(["qqqq"]).replace(b"qqqq", b"qq\x80q"), "the Parquet file is damaged .*UTF8"),
    ],
)
def test_files_that_are_not_what_they_should_be(write, name, content, told):
    path = write(name, content)
    with pytest.raises(FormatError, match=f"(?s){name}: .*{told}"):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b,a,c,b,a\n1,2,3,4,5,6\n", r"more than once: 'a' \(3 times\), 'b' \(2 times\)\. Rename them"),
        ("a, a\n1,2\n", r"'a' \(2 times\)"),
        (",a,b\n0,1,2\n", r"column 1 of 3 has no name.*\(a row index"),
        ("a,b,\n1,2,\n", "column 3 of 3 has no name"),
        ("a,b\n1,2\n1,2,3\n4\n", r"first line has 2 cells \(separator ','\), but line 3 has 3, line 4 has 1\. Quote"),
        ("a,b\n1,2,3\n4,5,6\n", "line 2 has 3, line 3 has 3. If the rows begin with a name or number of the row"),
        ("a,b\n" + "1\n" * 9, r"line 2 has 1, line 3 has 1, line 4 has 1 \(9 such lines\)"),
        ('a,b\n"x\ny",2\n\n"z",3,4\n', "line 5 has 3"),
        ("\n\na,b\n1\n", "line 4 has 1"),
        ("a\tb\n1\t2\n\t\t\n", "line 3 has 3"),
        ('a,b\n1,"2\n3,4\n', "can't be split into cells.*doubled"),
        ('a,b\n1,"2" x\n', "line 2 can't be split into cells"),
        ('a,"b\n1,2\n', "can't be split into cells"),
    ],
)
def test_text_that_is_no_table(write, text, told):
    with pytest.raises(FormatError, match=told):
        read_table(write("t.csv", text))


def test_whole_numbers_that_no_type_holds_are_text(write):
    frame = read_table(write("t.csv", f"a,b,c\n{'9' * 19},1,{'1' * 5000}\n1,9223372036854775807,2\n"))
    assert frame["b"].dtype == np.int64
    assert is_text(frame["a"])
    assert frame["c"].tolist() == ["1" * 5000, "2"]


# --- paths ---------------------------------------------------------------------------------------------------------


def test_a_missing_file_names_a_near_one(write):
    path = write("cars.csv", TABLE)
    with pytest.raises(InputError, match=r"No such file: .*car\.csv\. Did you mean 'cars\.csv'\?"):
        read_table(path.with_name("car.csv"))
    with pytest.raises(InputError, match="the working directory is"):
        read_table(path.with_name("zzz"))
    with pytest.raises(InputError, match=r"The folder .*nowhere' does not exist either"):
        read_table(path.parent / "nowhere" / "t.csv")
    with pytest.raises(InputError, match="Addresses are not fetched: download the file first"):
        read_table("https://example.org/t.csv")


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"is a directory\. Name the data file in it"):
        read_table(tmp_path)


def test_a_file_that_may_not_be_opened(write, monkeypatch):
    path = write("t.csv", TABLE)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(io, "open", refuse)
    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(
        InputError, match=r"t\.csv' can't be read: Permission denied\. Check the path and its permissions"
    ):
        read_table(path)


@pytest.mark.parametrize("path", [None, 3, io.StringIO("a,b\n")])
def test_something_that_is_no_path(path):
    with pytest.raises(InputError, match="path must be a text or a path, got"):
        read_table(path)


def test_a_path_with_a_null_character():
    with pytest.raises(InputError, match="can't be read"):
        read_table("a\0b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a POSIX thing")
def test_a_pipe_is_read(tmp_path):
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(TABLE))
    writer.start()
    assert cells(read_table(pipe)) == {"a": [1, 2], "b": ["x", "y"]}
    writer.join()


# --- Parquet -------------------------------------------------------------------------------------------------------


def test_parquet_keeps_types_categories_and_missing_cells(write):
    frame = pd.DataFrame(
        {
            "n": [1.5, np.nan, 2.0],
            "i": pd.array([1, None, 3], dtype="Int64"),
            "c": pd.Categorical(["y", None, "x"], categories=["z", "y", "x"]),
            "s": ["a", None, "?"],
        }
    )
    got = read_table(write("t.parquet", parquet(frame)))
    pd.testing.assert_frame_equal(got, frame)
    assert list(got["c"].cat.categories) == ["z", "y", "x"]


def test_a_named_parquet_index_becomes_a_column(write):
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["u", "v"], name="who"))
    assert cells(read_table(write("t.parquet", parquet(frame)))) == {"who": ["u", "v"], "a": [1, 2]}
    assert read_table(write("t.parquet", parquet(frame.rename_axis(None)))).index.tolist() == [0, 1]


def test_parquet_with_duplicate_names(write):
    pa = pytest.importorskip("pyarrow")
    parquet_writer = pytest.importorskip("pyarrow.parquet")
    stream = io.BytesIO()
    parquet_writer.write_table(pa.table([[1], [2]], names=["a", "a"]), stream)
    with pytest.raises(FormatError, match=r"more than once: 'a' \(2 times\)"):
        read_table(write("t.parquet", stream.getvalue()))


def test_parquet_without_pyarrow_names_the_extra(write, monkeypatch):
    path = write("t.parquet", parquet(pd.DataFrame({"a": [1]})))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"needs pyarrow.*pip install 'mmbn-opt\[parquet\]'"):
        read_table(path)
