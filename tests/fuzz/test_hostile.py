"""Files that mean harm: they run no code, fill no memory, and take no longer than their length."""

import ast
import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.interop import _json_document, read_jkl

PACKAGE = Path(mm.__file__).parent
LONG = 200_000
"""With this length a quadratic pattern would take hours, a linear one takes a moment."""

HEAD = "@relation r\n@attribute a string\n@attribute b {x,y}\n@data\n"

LINEAR = {
    "blank lines.csv": "\n" * LONG + "a,b\n1,2\n",
    "blanks.csv": "a,b\n" + " " * LONG + "1,2\n",
    "quotes.csv": "a,b\n" + '"' * LONG + "\n",
    "separators.csv": ";|,\t" * LONG,
    "comments.arff": "%\n" * LONG + HEAD,
    "blanks.arff": HEAD + "q" + " " * LONG + "b,x\n",
    "escapes.arff": HEAD + "'" + "\\'" * LONG + ",x\n",
    "both quotes.arff": HEAD + "'\"\\" * LONG + ",x\n",
    "sparse blanks.arff": HEAD + "{0" + " " * LONG + "a, 1 x}\n",
    "braces.arff": HEAD + "{" * LONG,
    "states.arff": "@relation r\n@attribute a {" + ",".join(f"s{k}" for k in range(LONG)) + "}\n@data\ns1\n",
    "quotes.bif": "network x { property " + '"\\' * LONG,
    "comments.bif": "network x {" + "/**/" * LONG,
    "brackets.json": "[" * LONG,
    "braces.json": '{"a":' * LONG,
    "digits.json": "1" * LONG,
    "words.uai": "BAYES\n1\n2\n1\n1 0\n2 " + "0.5 " * LONG,
    "words.jkl": "1\na 1\n0 " + "a " * LONG,
    "comments.xml": "<BIF>" + "<!---->" * LONG + "</BIF>",
    "pieces.xml": "<BIF><VARIABLE><NAME>" + "a<!---->" * LONG + "</NAME></VARIABLE></BIF>",
    "blanks.xml": " " * LONG + "<?xml " + " " * LONG,
    "declarations.xml": "<?xml " * LONG,
    "elements.xml": "<BIF>" + "<a/>" * LONG,
    "numbers.xml": "<BIF><DEFINITION><FOR>a</FOR><TABLE>" + "1 " * LONG + "</TABLE></DEFINITION></BIF>",
    "subsets.xml": "<!DOCTYPE BIF [" + "<!ELEMENT a (b)>" * LONG + "]><BIF/>",
    "marks.dat": "#" * LONG + "\n" + "#\n" * LONG,
    "marked quotes.dat": '#"\n' * LONG + "a b\n",
    "blanks.dat": "a b\n" + " \t" * LONG + "x",
    "quotes.dat": "a b\n" + ' "a""' * LONG + "\n",
    "sizes.dat": "2\n2 2\n9\n" + "1 " * LONG,
    "commas.csv": "a;b\n" + "1," * LONG + ";2\n",
    "keys.json": "{" + '"a":1,' * LONG + '"a":1}',
}


READABLE = {
    *("blank lines.csv", "blanks.csv", "comments.arff", "blanks.arff", "escapes.arff", "both quotes.arff"),
    *("sparse blanks.arff", "states.arff", "commas.csv"),
}


def read(path: Path) -> object:
    """The reader that the ending calls for."""
    match path.suffix:
        case ".bif":
            return mm.BayesianNetwork.from_bif(path, "class")
        case ".json":
            return mm.BayesianNetwork.load(path)
        case ".uai":
            return mm.BayesianNetwork.from_uai(path)
        case ".jkl":
            return read_jkl(path)
        case ".xml":
            return mm.BayesianNetwork.from_xmlbif(path, "class")
        case _:
            return mm.read_table(path)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", LINEAR)
def test_no_file_takes_longer_than_its_length(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(LINEAR[name])
    if name in READABLE:
        assert isinstance(read(tmp_path / name), pd.DataFrame)
    else:
        with pytest.raises(mm.FormatError):
            read(tmp_path / name)


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    """Bytes that were held at most since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def nested(depth: int) -> str:
    return '{"interval": [' * depth + "0" + ', 1], "closed": "left"}' * depth


DECLARED = {
    "states.bif": "variable class { type discrete [ 999999999 ] { a, b }; }",
    "cells.bif": "".join(f"variable v{j} {{ type discrete [ 3 ] {{ a, b, c }}; }}\n" for j in range(40))
    + "probability ( v0 | " + ", ".join(f"v{j}" for j in range(1, 40)) + " ) { default 1 0 0; }",
    "states.uai": "BAYES\n1\n19999999\n1\n1 0\n1 1",
    "variables.uai": "BAYES\n999999\n2 2",
    "scopes.uai": "BAYES\n3\n2000000 2000000 2\n3\n1 0\n1 1\n3 0 1 2\n",
    "sets.jkl": "2\na 99999999999\n0 0\n",
    "variables.jkl": "99999999999\na 1\n0 0\n",
    "interval.json": json.dumps({"format": "mmbn_opt/network", "version": 1, "features": [], "parents": [[]],
        "log_cpts": [[[0]]]})[:-1] + f', "target": {{"name": "c", "cuts": null, "has_missing_state": false, '
    f'"states": [{nested(200)}]}}}}',
}  # fmt: skip


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_declared_and_not_there_is_refused_unallocated(
    name: str, tmp_path: Path, peak: Callable[[], int]
) -> None:
    (tmp_path / name).write_text(DECLARED[name])
    with pytest.raises(mm.MmbnError):
        read(tmp_path / name)
    assert peak() < 20e6


def test_a_list_without_end_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mmbn_opt.interop import _bif_parser

    (tmp_path / "n.bif").write_text("".join(f"variable v{k} {{ type discrete [1] {{ a }}; }}\n" for k in range(60)))
    monkeypatch.setattr(_bif_parser, "MAX_NAMES", 100)
    with pytest.raises(mm.SizeLimitError, match="declares more than 100 variables, states and parents"):
        mm.BayesianNetwork.from_bif(tmp_path / "n.bif", "v0")


def test_a_model_file_of_too_many_values_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "n.json.gz").write_bytes(gzip.compress(b"[" + b"[]," * 1000 + b"[]]"))
    monkeypatch.setattr(_json_document, "max_values", lambda: 1000)
    with pytest.raises(mm.SizeLimitError, match="may hold 2,002 values; the limit is 1,000"):
        mm.BayesianNetwork.load(tmp_path / "n.json.gz")


def test_a_small_file_does_not_unpack_to_a_large_one(tmp_path: Path, peak: Callable[[], int]) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 5_000_000, compresslevel=1))
    tracemalloc.reset_peak()
    with pytest.raises(mm.SizeLimitError, match=r"unpack to more than max_bytes=1,000,000. If"):
        mm.read_table(tmp_path / "t.csv.gz", max_bytes=1_000_000)
    assert peak() < 10e6


def test_runs_of_one_value_do_not_unpack_to_a_large_table(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
    pd.DataFrame({"a": np.zeros(500_000)}).to_parquet(tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 100_000
    with pytest.raises(mm.SizeLimitError, match=r"500,000 rows of 1 columns take at least 4,000,000 bytes"):
        mm.read_table(tmp_path / "t.parquet", max_bytes=1_000_000)


def test_cells_that_hold_lists_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
    pd.DataFrame({"a": [[1, 2], [3]], "class": ["n", "y"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(mm.FormatError, match=r"each cell of column 'a' \(list<.*holds several values. Spread them"):
        mm.read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("room", ["interop", "data/readers"])
def test_no_reader_knows_a_way_to_run_what_it_reads(room: str) -> None:
    files = sorted((PACKAGE / room).glob("*.py"))
    assert len(files) > 5
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                assert not {"pickle", "marshal", "shelve", "yaml", "dill", "subprocess"} & set(names), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__"), path
