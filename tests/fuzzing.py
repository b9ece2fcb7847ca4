"""Readers, files to spoil for them, and ways to spoil a file: what the fuzz tests and the long run share."""

import gzip
import io
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.comparison import Comparison, RunRecord
from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.interop import read_jkl, write_jkl
from mmbn_opt.interop.json_model import network_text
from mmbn_opt.interop.mixture_json import load_mixture
from mmbn_opt.interop.models import find_model, load_model
from mmbn_opt.interop.run_folder import RunFolder
from mmbn_opt.interop.run_manifest import Manifest, mismatch, read_manifest
from mmbn_opt.results import BoundTrace, Sense, TraceRecord

Check = Callable[[Path], object]


@dataclass(frozen=True)
class Target:
    """A reader with what is asked of its answer, files of its kind, and words that mean something to it.

    `n_refused` of the files are refused as they are.
    """

    ending: str
    check: Check
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]
    n_refused: int = 0
    fresh: Callable[[st.DrawFn], bytes] | None = None
    """Draws a whole file that is none of the seeds."""


JSON = (b'"a": 1, "a": 2', b"NaN", b"-Infinity", b'"\\ud800"', b"\\udfff", b"1e999", b"[" * 2000, b'{"a":' * 2000)
NUMBERS = (
    b"0", b"-1", b"1e308", b"-1e999", b"1e-400", b"nan", b"inf", b"0x10", b"1_0", b"999999999", b"99999999999999999999",
    b"4294967296", b"9" * 400, b"1" * 5000, b".5", b"5.", b"+.5e-1", b"1e", b"\xd9\xa3",
)  # fmt: skip
ANYWHERE = (
    b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b"(", b")", b",", b";", b"|", b"\t", b"\n", b"\r", b" ", b"%", b"#",
    b"//", b"/*", b"*/", b"<", b">", b"&", b"=", b":", b"?", b"\x00", b"\xef\xbb\xbf", b"\xff", b"\xc3\xa4",
    b"\xed\xa0\x80",
)  # fmt: skip


def network() -> mm.BayesianNetwork:
    """A network with a class parent, two feature parents, cut points, odd labels and a zero."""
    rows = pd.DataFrame(
        {
            "a": ["x", "y", "5more", "x", "y", "x"] * 3,
            "b b": ["(0, 1]", "z", "z", "(0, 1]", "z", "z"] * 3,
            "n": [0.5, 1.5, 2.5, 7.5, 8.5, 9.5] * 3,
            "class": ["no", "no", "no", "yes", "yes", "yes"] * 3,
        }
    )
    data = mm.prepare(rows, "class").data
    edges = [("class", "a"), ("a", "b b"), ("class", "b b"), ("n", "class")]
    return mm.BayesianNetwork.fit(mm.from_edges(data, edges), data, smoothing=0.5)


def _bytes_of(write: Callable[[Path], object], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / name)
        return (Path(folder) / name).read_bytes()


def use_network(model: mm.BayesianNetwork) -> None:
    """What a network that was read must stand: it is normalised, answers, and is written and read again as the same."""
    for table in model.log_cpts:
        assert np.allclose(np.exp(table).sum(axis=1), 1.0, atol=1e-5)
    nothing = np.full((1, len(model.features)), -1, dtype=np.int32)
    try:
        joint = model.log_joint(nothing)
    except mm.SizeLimitError:
        joint = None
    if joint is not None:
        assert np.allclose(np.exp(joint).sum(), 1.0, atol=1e-4)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.json")
        again = mm.BayesianNetwork.load(Path(folder) / "model.json")
        assert again.variables == model.variables
        assert again.structure == model.structure
        try:
            model.to_bif(Path(folder) / "model.bif")
        except mm.InputError:
            return
        target = model.target.name if model.structure.has_class else None
        again = mm.BayesianNetwork.from_bif(Path(folder) / "model.bif", target)
        assert again.structure == model.structure


def use_table(frame: pd.DataFrame) -> None:
    """What a table that was read must stand: it is prepared for each policy, or refused by an error of ours."""
    assert frame.columns.is_unique
    if not len(frame.columns):
        return
    target = str(frame.columns[-1])
    for policy in ("error", "drop", "state"):
        try:
            data = mm.prepare(frame, target, missing=policy).data  # type: ignore[arg-type]
            model = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
        except mm.MmbnError:
            continue
        assert np.allclose(model.predict_proba(data).sum(axis=1), 1.0)


def _network_from(read: Callable[..., mm.BayesianNetwork], *arguments: Any) -> Check:
    return lambda path: use_network(read(path, *arguments))


def _check_mixture(path: Path) -> None:
    model = load_mixture(path)
    assert len(model.predict(np.zeros((1, len(model.feature_names))))) == 1


def _check_jkl(path: Path) -> None:
    scores = read_jkl(path)
    with tempfile.TemporaryDirectory() as folder:
        if all(scores.values()):
            write_jkl(Path(folder) / "s.jkl", list(scores), scores)
            assert read_jkl(Path(folder) / "s.jkl") == scores


def _check_table(path: Path) -> None:
    use_table(mm.read_table(path))


def _check_run(path: Path) -> None:
    record = RunRecord.from_json(path.read_text(encoding="utf-8", errors="replace"))
    assert RunRecord.from_json(record.to_json()) == record
    for seed in (0, 1):
        table = Comparison([record, replace(record, seed=seed, solver="other")], [])
        table.summary()
        assert len(table) == 2


def _check_manifest(path: Path) -> None:
    """What is written into a folder of runs by strangers leads nowhere."""
    folder = path.with_name("run")
    folder.mkdir()
    path.rename(folder / "manifest.json")
    (folder / "model.json").write_text(_MODEL)
    find_model(folder)
    manifest = read_manifest(folder)
    assert manifest is not None
    mismatch(folder, manifest)
    load_model(folder / "model.json")
    with RunFolder(folder) as held:
        held.publish({"model.json": b"{}"})
    assert {each.name for each in path.parent.iterdir()} == {"run"}


CSV = b'a,b,n,class\nx,"u, v",1.5,no\ny,"say ""w""",2,yes\n?,u,-3e2,no\nz,,4,yes\n'
ARFF = b"""% weather
@relation 'some weather'
@attribute outlook {sunny, 'very, bad', "it's"}
@attribute temperature real
@attribute count integer
@attribute note string
@attribute class {yes, no}
@data
sunny, 1.5, 3, 'a b', yes % comment
'very, bad', ?, 4, "q\\"", no
{0 "it's", 1 2e3, 3 'n', 4 no}
"""
BLANKS = (
    b"% by hand, in May\n%\n  One two  class\n 1.5   4  n\n2.25 5\ty\n# odd\n 3  -6 'n'\n",
    b"# One two class\n1.5 4 n\n2.25 5 y\n",
    b"sep=;\r\nOne;two;class\r\n1,5;4;n\r\n2,25;5;y\r\n1.234,5;;n\r\n",
    b"\xef\xbb\xbfOne|two|class\n\n1,234|4|n\n2,250|5|y\n",
    b'@source x\n@date 2020\nOne,two,class\n"1,5",4,"a\n# b"\n2,5,y\n',
    b"One Two class\n2 3 2\n" + b"0 1 1\n1 0 0\n1 2 1\n0 0 1\n" * 4,
    b"3\n2 3 2\n8\n" + b"0 1 1\n1 0 0\n1 2 1\n0 0 1\n" * 2,
    b"@relation r\n@attribute One real [1.5, 3.0]\n@attribute class {n,y}\n@inputs One\n@outputs class\n@data\n2, n\n",
)
JKL = b"3\na 2\n-10.5 0\n-8.25 2 b c\nb 1\n-3 0\n\nc 1\n-1e-3 1 a\n"
FILES = Path(__file__).parent / "interop" / "files"


def _mixture() -> bytes:
    model = mm.MixtureClassifier.fit([[0.0, 1.0], [1.0, 0.5], [5.0, 2.0], [6.0, 3.0]], [False, False, True, True])
    return _bytes_of(model.save, "model.json")


def _parquet() -> bytes:
    frame = pd.DataFrame({"a": ["x", None, "y"], "n": [1.5, 2.5, None], "class": pd.Categorical(["u", "v", "u"])})
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def _parquet_types() -> tuple[bytes, ...]:
    """A file for each family of types, and one of them all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    decimals = [Decimal("1.5"), Decimal("-2.25"), None, Decimal(3)]
    day, moment = date(2020, 2, 29), datetime(2020, 2, 29, 12, 30)
    columns = {
        "decimal": pa.array(decimals, pa.decimal128(9, 2)),
        "large decimal": pa.array(decimals, pa.decimal256(50, 20)),
        "day": pa.array([day, None, day, day]),
        "moment": pa.array([moment, moment, None, moment], pa.timestamp("us", "Europe/Vienna")),
        "time": pa.array([1, 2, None, 4], pa.time64("ns")),
        "duration": pa.array([1, None, 3, 4], pa.duration("ms")),
        "bytes": pa.array([b"a", b"\xc3\xa4", None, b""]),
        "fixed": pa.array([b"ab", b"cd", None, b"ab"], pa.binary(2)),
        "half": pa.array(np.array([1, 2, 3, 4], dtype=np.float16)),
        "category": pa.array(["u", "v", None, "u"]).dictionary_encode(),
        "bool": pa.array([True, None, False, True]),
        "large": pa.array(["u", "v", None, "u"], pa.large_string()),
        "nothing": pa.nulls(4),
        "list": pa.array([[1], [2], [], None]),
    }
    chosen = [[name] for name in columns] + [[name for name in columns if name not in ("list", "nothing")]]
    files = []
    for names in chosen:
        stream = io.BytesIO()
        table = pa.table({**{name: columns[name] for name in names}, "class": pa.array(["n", "y", "n", "y"])})
        pq.write_table(table, stream)
        files.append(stream.getvalue())
    return tuple(files)


def _fresh_column(draw: st.DrawFn, n_rows: int) -> Any:
    """Values of some type of Arrow, the extreme ones too."""
    import pyarrow as pa

    cell = st.integers(0, 3) if draw(st.booleans()) else st.integers(-(2**63), 2**63 - 1)
    numbers = draw(st.lists(st.none() | cell, min_size=n_rows, max_size=n_rows))
    days = [None if x is None else x % 2**32 - 2**31 for x in numbers]
    moments = [None if x is None else x % 86_400 for x in numbers]
    texts = [None if x is None else str(x % 5) for x in numbers]
    unit = draw(st.sampled_from(["s", "ms", "us", "ns"]))
    zone = draw(st.sampled_from([None, "UTC", "Europe/Vienna", "+05:30", "Mars/Phobos"]))
    makers: list[Callable[[], Any]] = [
        lambda: pa.array(numbers, pa.int64()).cast(pa.decimal128(38, 4)),
        lambda: pa.array(numbers, pa.int64()).cast(pa.decimal256(60, 0)),
        lambda: pa.array(days, pa.int32()).cast(pa.date32()),
        lambda: pa.array(numbers, pa.timestamp(unit, zone)),
        lambda: pa.array(numbers, pa.duration(unit)),
        lambda: pa.array(moments, pa.time32("s")),
        lambda: pa.array(moments, pa.time64("ns")),
        lambda: pa.array([None if x is None else x.encode() for x in texts]),
        lambda: pa.array([None if x is None else x.to_bytes(8, "big", signed=True) for x in numbers]),
        lambda: pa.array(moments, pa.int64()).cast(pa.float64()).cast(pa.float16(), safe=False),
        lambda: pa.array(numbers, pa.int64()).cast(pa.uint64(), safe=False),
        lambda: pa.array([None if x is None else x % 2 == 0 for x in numbers]),
        lambda: pa.array(texts).dictionary_encode(),
        lambda: pa.array(texts, pa.string_view()),
        lambda: pa.array(moments, pa.int64()).cast(pa.decimal128(38, 2)).dictionary_encode(),
        lambda: pa.array([None if x is None else [x] for x in moments]),
        lambda: pa.nulls(n_rows),
    ]
    return draw(st.sampled_from(makers))()


def _fresh_parquet(draw: st.DrawFn) -> bytes:
    """A file of columns of any types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_rows = draw(st.integers(0, 12))
    columns = {f"c{j}": _fresh_column(draw, n_rows) for j in range(draw(st.integers(1, 3)))}
    stream = io.BytesIO()
    try:
        pq.write_table(pa.table(columns), stream)
    except pa.ArrowException:
        return _parquet()  # moments that the format itself cannot hold
    return stream.getvalue()


def _run() -> bytes:
    trace = BoundTrace(
        Sense.MAXIMIZE,
        (
            TraceRecord(0.0, None, 9.0, None, None, "start", ""),
            TraceRecord(0.5, 4.5, 8.0, 3, 17, "incumbent", "highs"),
            TraceRecord(1.0, 4.5, 4.5, 3, 17, "final", "highs"),
        ),
    )
    record = RunRecord(
        "k", "car", "highs", 0, 60.0, 0.0, 0.0, Sense.MAXIMIZE, RunOutcome.ANSWERED, mm.TerminationStatus.OPTIMAL,
        "Optimal", "", trace, 4.5, 4.5, True, "", 1.0, 2**30, "1.9", {"columns": 3}, {"numpy": "2"}, "here",
    )  # fmt: skip
    return record.to_json().encode()


XML = """<BIF VERSION="0.3" xmlns="http://www.cs.ubc.ca/labs/lci/fopi/ve/XMLBIFv0_3">\n<NETWORK>
<!-- by hand --><VARIABLE TYPE="nature">\n<NAME> Größe </NAME><OUTCOME>groß</OUTCOME><OUTCOME>klein</OUTCOME>
<PROPERTY>position = (1, 2)</PROPERTY></VARIABLE>
<VARIABLE><NAME>class</NAME><VALUE>n</VALUE><VALUE>y</VALUE></VARIABLE>
<DEFINITION><FOR>class</FOR><TABLE>0.25 <!-- n --> 7.5e-1</TABLE></DEFINITION>
<PROBABILITY><FOR>Größe</FOR><GIVEN>class</GIVEN><TABLE>.1 .9\n.6 .4</TABLE></PROBABILITY></NETWORK></BIF>\n"""


def _xmls() -> tuple[bytes, ...]:
    doctype = "<!DOCTYPE BIF [<!ELEMENT BIF (NETWORK)*><!ATTLIST BIF VERSION CDATA #REQUIRED>]>\n"
    latin = f'\n<?xml version="1.0" encoding="ISO-8859-1"?>\n{doctype}{XML}'.encode("latin-1")
    wide = f'<?xml version="1.0" encoding="UTF-16"?>{XML}'.encode("utf-16")
    return (XML.encode(), latin, wide, (FILES / "pgmpy.xml").read_bytes(), (FILES / "pyagrum.bifxml").read_bytes())


def _manifest() -> bytes:
    return Manifest.of({"model.json": _MODEL.encode()}, run="0" * 16, command="a b", version="1").to_json().encode()


_MODEL = network_text(network())


@cache
def targets() -> dict[str, Target]:
    """Every reader, by the name of what it reads."""
    model, cls = network(), mm.BayesianNetwork
    bif = (_bytes_of(model.to_bif, "n.bif"), *(path.read_bytes() for path in sorted(FILES.glob("*.bif"))))
    words = (b"network", b"variable", b"probability", b"property", b"type", b"discrete", b"default", b"table", b"class")
    found = {
        "csv": Target(".csv", _check_table, (CSV, CSV.replace(b",", b";")), (b"NA", b"True", b'""', b"a")),
        "dat": Target(".dat", _check_table, BLANKS, (b"sep=|", b"# ", b"%", b"@", b"1,5", b"1.234,5", b"  ", b"\x1f")),
        "csv.gz": Target(".csv.gz", _check_table, (gzip.compress(CSV, mtime=0),), (b"\x1f\x8b",)),
        "no ending": Target("", _check_table, (CSV, ARFF), (b"PAR1", b"PK\x03\x04", b"\x80\x04", b"@relation")),
        "arff": Target(".arff", _check_table, (ARFF,), (b"@attribute", b"@data", b"{0 1}", b"numeric", b"?")),
        "bif": Target(".bif", _network_from(cls.from_bif, "class"), bif, words),
        "bif.gz": Target(".bif.gz", _network_from(cls.from_bif, "class"), (gzip.compress(bif[0], mtime=0),), ()),
        "json": Target(
            ".json",
            _network_from(cls.load),
            (_bytes_of(model.save, "n.json"),),
            (
                *(b"null", b"true", b"[[[[", b'{"interval": [0, 1], "closed": "left"}', b'{"timestamp": "2020"}'),
                *(b'"-inf"', b'{"timestamp": "now"}', b'{"timestamp": "NaT"}', *JSON),
            ),
        ),
        "mixture": Target(".json", _check_mixture, (_mixture(),), (b"null", b"true", b"[[]]", b"-1", *JSON)),
        "run": Target(".json", _check_run, (_run(),), (b"null", b"[]", b"{}", b'"OPTIMAL"', b'"HUNG"', *JSON)),
        "manifest": Target(".json", _check_manifest, (_manifest(),), (b'"../x"', b'"/etc/passwd"', b"null", *JSON)),
        "uai": Target(".uai", _network_from(cls.from_uai), (_bytes_of(model.to_uai, "n.uai"),), (b"BAYES", b"MARKOV")),
        "jkl": Target(".jkl", _check_jkl, (JKL,), (b"a", b"b", b"0 0", b"1 1 a")),
    }
    markup = (
        b"<!ENTITY a 'b'>",
        b"<TABLE>",
        b"</TABLE>",
        b"<GIVEN>",
        b"<NAME/>",
        b"&a;",
        b"<![CDATA[",
        b"<!--",
        b"<FOR>",
    )
    xmls = _xmls()
    with suppress(mm.MissingDependencyError):
        xmls = (_bytes_of(model.to_xmlbif, "n.xml"), *xmls)
    markup = (
        *markup,
        b'encoding="UTF-16"',
        b'encoding="cp437"',
        b"<?xml ",
        b"&#xD800;",
        b"&#0;",
        b"b:",
        b"<!DOCTYPE BIF [",
    )
    found["xmlbif"] = Target(".xml", _network_from(cls.from_xmlbif, "class"), xmls, markup)
    with suppress(ImportError):
        found["parquet"] = Target(
            ".parquet", _check_table, (_parquet(), *_parquet_types()), (b"PAR1", b"\xff"), 1, _fresh_parquet
        )
    return found


_TOKEN = re.compile(rb"[0-9][0-9.eE+-]*|[A-Za-z_@]+|.", re.DOTALL)


@st.composite
def spoiled(draw: st.DrawFn, target: Target) -> bytes:
    """A whole file after a few changes that know what words, numbers and lines are; or just bytes."""
    if draw(st.integers(0, 19)) == 0:
        return draw(st.binary(max_size=300))
    if target.fresh is not None and draw(st.booleans()):
        text, least = target.fresh(draw), 0
    else:
        text, least = draw(st.sampled_from(target.seeds)), 1
    for _ in range(draw(st.integers(least, 4)) if draw(st.booleans()) else least):
        text = draw(st.sampled_from(_CHANGES))(draw, text, target)
    return text


def _place(draw: st.DrawFn, text: bytes) -> int:
    return draw(st.integers(0, len(text)))


def _word(draw: st.DrawFn, target: Target) -> bytes:
    return draw(st.sampled_from((*ANYWHERE, *NUMBERS, *target.words)))


def _insert(draw: st.DrawFn, text: bytes, target: Target) -> bytes:
    at = _place(draw, text)
    return text[:at] + _word(draw, target) + text[at:]


def _repeat(draw: st.DrawFn, text: bytes, target: Target) -> bytes:
    at = _place(draw, text)
    return text[:at] + _word(draw, target) * draw(st.sampled_from([2, 40, 3000])) + text[at:]


def _cut(draw: st.DrawFn, text: bytes, target: Target) -> bytes:
    at = _place(draw, text)
    return text[:at] + text[at + draw(st.integers(1, 40)) :]


def _truncate(draw: st.DrawFn, text: bytes, target: Target) -> bytes:
    return text[: _place(draw, text)]


def _double(draw: st.DrawFn, text: bytes, target: Target) -> bytes:
    at, size = _place(draw, text), draw(st.integers(1, 200))
    return text[: at + size] + text[at:]


def _byte(draw: st.DrawFn, text: bytes, target: Target) -> bytes:
    at = _place(draw, text)
    return text[:at] + bytes([draw(st.integers(0, 255))]) + text[at + 1 :]


def _replace_token(draw: st.DrawFn, text: bytes, target: Target) -> bytes:
    found = _TOKEN.search(text, _place(draw, text))
    return text if found is None else text[: found.start()] + _word(draw, target) + text[found.end() :]


def _replace_number(draw: st.DrawFn, text: bytes, target: Target) -> bytes:
    places = list(re.finditer(rb"[0-9][0-9.eE+-]*", text))
    if not places:
        return text
    found = places[draw(st.integers(0, len(places) - 1))]
    return text[: found.start()] + draw(st.sampled_from(NUMBERS)) + text[found.end() :]


def _move_line(draw: st.DrawFn, text: bytes, target: Target) -> bytes:
    lines = text.split(b"\n")
    line = lines.pop(draw(st.integers(0, len(lines) - 1)))
    lines.insert(draw(st.integers(0, len(lines))), line)
    return b"\n".join(lines)


def _splice(draw: st.DrawFn, text: bytes, target: Target) -> bytes:
    other = draw(st.sampled_from(target.seeds))
    return text[: _place(draw, text)] + other[_place(draw, other) :]


_CHANGES = (
    _insert, _repeat, _cut, _truncate, _double, _byte, _replace_token, _replace_token, _replace_number, _replace_number,
    _move_line, _splice,
)  # fmt: skip


def survive(target: Target, content: bytes) -> bool:
    """Whether the file was read; anything but an answer that holds or an error of ours is raised."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{target.ending}"
        path.write_bytes(content)
        try:
            target.check(path)
        except mm.MmbnError:
            return False
        return True
