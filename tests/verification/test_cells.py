"""The verifier's own reader gives the codes that the package gives."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data.preparation import prepare
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.rigour.cells import NA, Column, read_codes

SMALL = ("breast", "car", "corral", "crx", "flare", "german", "glass", "heart", "hepatitis", "iris", "vote", "wine")


def columns_of(data):
    return [
        Column(v.name, tuple(map(str, v.states)), v.cuts, v.has_missing_state) for v in (*data.features, data.target)
    ]


def same_codes(path, target, missing):
    data = prepare(mm.read_table(path), target, missing=missing).data
    rows = read_codes(path, columns_of(data), NA, drop=missing == "drop")
    assert np.array_equal(list(rows.values()), np.column_stack([data.codes, data.target_codes]))
    return rows


@pytest.mark.shared
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("missing", ["drop", "state"])
def test_reference_sets_are_coded_as_the_package_codes_them(name, missing, shared_dir, shared_manifest):
    entry = shared_manifest[name]
    same_codes(shared_dir / "data" / entry["file"], "class", missing)


TEXTS = {
    "commas": "size,colour,class\n1.5,red,yes\n2.5,blue,no\n1.5,red,yes\n7.0,blue,no\n",
    "semicolons": "size;colour;class\n1.5;red;yes\n2.5;blue;no\n7.0;blue;no\n",
    "decimal commas": "size;colour;class\n1,5;red;yes\n2,5;blue;no\n7,25;blue;no\n",
    "tabs": "size\tcolour\tclass\n1.5\tred\tyes\n2.5\tblue\tno\n",
    "bars": "size|colour|class\n1.5|red|yes\n2.5|blue|no\n",
    "quotes": 'size,colour,class\n1.5,"red, dark",yes\n2.5,"a ""b""",no\n1.5,"two\nlines",no\n',
    "blanks around": "size, colour, class\n 1.5, red , yes\n2.5 ,blue, no\n\n7.0,blue,no\n",
    "blank lines": "\n\nsize,colour,class\n1.5,red,yes\n\n2.5,blue,no\n",
    "whole numbers": "size,colour,class\n1,10,0\n2,20,1\n3,10,1\n",
    "leading zeros": "size,colour,class\n007,10,0\n08,20,1\n007,10,1\n",
    "whole numbers as floats": "size,colour,class\n1.0,10,0\n2.0,20,1\n3.0,10,1\n",
    "missing cells": "size,colour,class\n1.5,?,yes\nNA,blue,no\n2.5,blue,no\n1.5,red,yes\n",
    "missing whole numbers": "size,colour,class\n1,?,yes\nNA,4,no\n2,4,no\n1,3,yes\n",
    "no last line end": "size,colour,class\n1.5,red,yes\n2.5,blue,no",
    "carriage returns": "size,colour,class\r\n1.5,red,yes\r\n2.5,blue,no\r\n",
    "byte order mark": "\ufeffsize,colour,class\n1.5,red,yes\n2.5,blue,no\n",
    "other letters": "größe,colour,class\n1.5,röt,yes\n2.5,blåu,no\n",
}  # fmt: skip


@pytest.mark.parametrize("what", TEXTS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("missing", ["drop", "state"])
def test_tables_of_every_layout_are_coded_as_the_package_codes_them(what, packed, missing, tmp_path):
    content = TEXTS[what].encode()
    path = tmp_path / ("table.csv.gz" if packed else "table.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    same_codes(path, "class", missing)


CELLS = st.sampled_from(
    ["1", "2", "2.0", "-3.25", "1e3", "red", "blue ", "?", "", "NA", "x y", "0.5", ".5", "10", "True"]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cells=st.lists(st.tuples(CELLS, CELLS), min_size=4, max_size=25), missing=st.sampled_from(["drop", "state"]))
def test_random_tables_are_coded_as_the_package_codes_them(cells, missing, tmp_path):
    lines = ["a,b,class", *(f"{a},{b},{'yn'[k % 2]}" for k, (a, b) in enumerate(cells))]
    path = tmp_path / "random.csv"
    path.write_text("\n".join(lines) + "\n")
    try:
        prepare(mm.read_table(path), "class", missing=missing)
    except InputError:
        return  # the package does not take it
    same_codes(path, "class", missing)


def test_rows_are_known_by_their_lines(tmp_path):
    (tmp_path / "t.csv").write_text('a,class\n"x\ny",yes\n\n?,no\nz,no\n')
    columns = [Column("a", ("x\ny", "z"), None, False), Column("class", ("no", "yes"), None, False)]
    assert read_codes(tmp_path / "t.csv", columns, NA, drop=True) == {3: [0, 1], 6: [1, 0]}
    with pytest.raises(InputError, match=r"line 5 differs .* column 'a' is missing"):
        read_codes(tmp_path / "t.csv", columns, NA, drop=False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,class\nx,yes\nq,no\n", "line 3 differs from the data of the proof: 'q' in column 'a'"),
        ("a,class\nx,yes\nx\n", "line 3 has 1 cells, not 2"),
        ("b,class\nx,yes\n", "does not name the columns of the proof: a, class"),
        ("", "does not name the columns of the proof"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_line(text, told, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    columns = [Column("a", ("x",), None, False), Column("class", ("no", "yes"), None, False)]
    with pytest.raises(InputError, match=told):
        read_codes(tmp_path / "t.csv", columns, NA, drop=True)


@pytest.mark.parametrize(
    "content", [b"\x1f\x8b broken", b"a,class\n\xff\xfe,yes\n", gzip.compress(b"a,class\n", mtime=0)[:-9]]
)
def test_what_is_no_text_is_refused(content, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(FormatError, match="no text in UTF-8"):
        read_codes(tmp_path / "t.csv", [Column("a", ("x",), None, False)], NA, drop=True)
