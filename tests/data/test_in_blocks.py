"""Tables read in blocks are the tables that are read at once: types, rows, messages."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data.readers.in_blocks import TableBlocks
from mmbn_opt.exceptions import InputError

TEXTS = {
    "a real number at the end": "a,b\n1,x\n2,y\n0.5,z\n",
    "a name in digits at the end": "a,b\n1,x\n2,z\n007,y\n",
    "a text at the end": "a,b\n1.50,x\n2,z\nu,y\n",
    "decimal commas": "a;b\n1,5;x\n2;y\n3,25;z\n",
    "decimal commas beside points": "a;b\n1,5;1\n2;2\n3,25;0.5\n",
    "thousands": "a;b\n1,500;1\n2,250;2\n3,000;4\n",
    "line ends in quotes": 'a,b\n1,"x\ny"\n2,"q,r"\n3,"s\n\nt"\n',
    "quotes within cells": 'a,b\n1,5" nail\n2,"6"" nail"\n3,z\n',
    "comments first": "# measured\n# by hand\na,b\n1,2\n3,4\n5,6\n",
    "comments below": "a,b\n1,2\n3,4\n# a word\n5,6\n",
    "names that begin like comments": "a,b\n@u,2\n@v,4\n#w,5\n",
    "ends of Windows": "a,b\r\n1,x\r\n,y\r\n3,z\r\n",
    "ends of old machines": "a,b\r1,x\r2,y\r3,z\r",
    "blanks": "a b\n1 2\n3 4\n5 6\n",
    "blank lines": "a,b\n1,2\n\n\n,4\n\n5,6\n",
    "whole numbers that no type holds": "a|b\n9|1\n9223372036854775808|1\n1|1\n",
    "a separator that is said": "sep=;\na;b\n1;2\n3;4\n5;6\n",
    "exponents": "a,b\n1e3,2\n2,3\n1e999,4\n",
    "missing cells": "a,b\n1,x\nNA,\n?,y\n3,z\n",
    "one column": "a\n1\n2\n3\n4\n5\n6\n7\n8\n",
    "states first": "3\n2 2 2\n4\n0 1 1\n1 1 0\n0 0 0\n1 0 0\n",
    "no rows": "a,b\n",
    "no end of line": "a,b\n1,2\n3,4\n5,6",
    "a mark of order": "\ufeffa,b\n1,2\n3,4\n\ufeff5,6\n",
}


@pytest.fixture(autouse=True)
def _short_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that files of a few lines come in several blocks."""
    monkeypatch.setattr("mmbn_opt.data.readers.in_blocks._HEAD_BYTES", 24)


def joined(path: Path, block_bytes: int) -> tuple[pd.DataFrame, int]:
    blocks = [frame for frame, _ in TableBlocks(path, block_bytes=block_bytes)]
    return pd.concat(blocks, ignore_index=True), len(blocks)


def same(whole: pd.DataFrame, blocks: pd.DataFrame) -> None:
    """Blocks of whole numbers without a missing cell need no nullable type; all else is equal."""
    pd.testing.assert_frame_equal(whole, blocks.astype({c: "Int64" for c in whole if whole[c].dtype == "Int64"}))


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("zipped", [False, True])
def test_blocks_of_text_are_the_whole_table(name: str, zipped: bool, tmp_path: Path) -> None:
    path = tmp_path / ("t.csv.gz" if zipped else "t.csv")
    content = TEXTS[name].encode()
    path.write_bytes(gzip.compress(content) if zipped else content)
    whole = mm.read_table(path)
    for block_bytes in (5, 9, 14, 1000):
        same(whole, joined(path, block_bytes)[0])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1", "2", "-3", "0.5", "1e3", "007", "", "x", "1,5", " 4", "99999999999999999999"]),
            st.sampled_from(["u", "v w", 'say "it"', "a\nb", "@c", "#", "", "3.0", "NA"]),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(4, 60),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_of_any_rows_are_the_whole_table(rows: list[tuple[str, str]], size: int, end: str) -> None:
    import tempfile

    table = pd.DataFrame([("1", "u")] * 4 + rows, columns=["a", "b"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_text(table.to_csv(index=False, sep=";", lineterminator=end), newline="")
        same(mm.read_table(path), joined(path, size)[0])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n3,4\n5,6\n7\n", "line 5 has 1"),
        ('a,b\n1,"2\n3"\n5,6\n7,8,9\n', "line 5 has 3"),
        ("a,b\n1,2\n3,4\n\n\n5,6\n7\n", "line 7 has 1"),
    ],
)
def test_the_line_of_a_ragged_row_is_told_wherever_its_block_begins(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    for block_bytes in (6, 10, 1000):
        with pytest.raises(InputError, match=told):
            joined(path, block_bytes)


def test_the_line_of_a_wrong_byte_is_told_wherever_its_block_begins(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,x\n2,y\n3,\xff\n4,z\n")
    for block_bytes in (6, 10, 1000):
        with pytest.raises(InputError, match="byte 0xff in line 4"):
            joined(path, block_bytes)


def test_text_comes_in_as_many_blocks_as_it_fills(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000)
    table, blocks = joined(path, 400)
    assert len(table) == 1000
    assert 8 <= blocks <= 11


def test_the_share_of_the_file_grows_to_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(
        gzip.compress(b"a,b\n" + b"".join(b"%d,2\n" % k for k in np.random.default_rng(0).permutation(200_000)))
    )
    shares = [share for _, share in TableBlocks(path, block_bytes=50_000)]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 1 == shares[-1]


def test_blocks_of_parquet_are_the_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("mmbn_opt.data.readers.in_blocks._BLOCK_ROWS", 3)
    frame = pd.DataFrame(
        {
            "whole": range(10),
            "holes": pd.array([*range(9), None], dtype="Int64"),
            "real": np.linspace(0, 1, 10),
            "text": [*"abcdefgh", None, "j"],
            "moment": pd.date_range("2020-01-01", periods=10),
            "flag": [True, False] * 5,
        }
    ).set_index("whole")
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=4)
    blocks = [block for block, _ in TableBlocks(path, ignore=["flag"], block_bytes=10)]
    assert [len(block) for block in blocks] == [3, 3, 3, 1] or sum(map(len, blocks)) == 10
    assert len(blocks) > 3
    whole = mm.read_table(path, ignore=["flag"])
    got = pd.concat(blocks, ignore_index=True)[list(whole.columns)]
    pd.testing.assert_frame_equal(whole.astype({"holes": float}), got.astype({"holes": float}))
