"""A4: a Parquet column of any type is learned from and written, or refused by name before the search."""

import base64
import datetime
import json
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.interop.writable import refuse_unwritable, refuse_unwritable_classes

pa = pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
pq = pytest.importorskip("pyarrow.parquet")

DAY = datetime.date(2020, 2, 29)
MOMENT = datetime.datetime(2020, 2, 29, 12, 30, 0, 250_000)
DAYS = [DAY + datetime.timedelta(days=k) for k in range(12)]
MOMENTS = [MOMENT + datetime.timedelta(hours=k) for k in range(12)]
DECIMALS = [Decimal(k) / 4 for k in range(12)]
UUIDS = [UUID(int=k % 3) for k in range(12)]


def seconds(*counts: int) -> list[pd.Timedelta]:
    return [pd.Timedelta(seconds=k) for k in counts]


def _uuids() -> Any:
    return pa.ExtensionArray.from_storage(pa.uuid(), pa.array([u.bytes for u in UUIDS], pa.binary(16)))


NUMBERS: dict[str, tuple[Callable[[], Any], list[Any], str]] = {
    "A4 decimal32": (lambda: pa.array(DECIMALS, pa.decimal32(7, 2)), [float(d) for d in DECIMALS], "f"),
    "A4 decimal64": (lambda: pa.array(DECIMALS, pa.decimal64(12, 2)), [float(d) for d in DECIMALS], "f"),
    "A4 decimal128": (lambda: pa.array(DECIMALS, pa.decimal128(12, 2)), [float(d) for d in DECIMALS], "f"),
    "A4 decimal256": (lambda: pa.array(DECIMALS, pa.decimal256(50, 20)), [float(d) for d in DECIMALS], "f"),
    "A4 whole decimals": (lambda: pa.array(map(Decimal, range(12)), pa.decimal128(9, 0)), list(range(12)), "i"),
    "A4 decimals beyond 64 bits": (
        lambda: pa.array([Decimal(k * 10**25) for k in range(12)], pa.decimal128(38, 0)),
        [float(k * 10**25) for k in range(12)], "f"),
    "A4 categories of decimals": (
        lambda: pa.array(DECIMALS, pa.decimal128(12, 2)).dictionary_encode(), [float(d) for d in DECIMALS], "f"),
    "A4 float16": (lambda: pa.array(np.arange(12, dtype=np.float16) / 2), [k / 2 for k in range(12)], "f"),
    "A4 float32": (lambda: pa.array(np.arange(12, dtype=np.float32)), list(range(12)), "f"),
    "A4 uint64": (lambda: pa.array([2**63 + 2**40 * k for k in range(12)], pa.uint64()),
        [2**63 + 2**40 * k for k in range(12)], "u"),
    "A4 date32": (lambda: pa.array(DAYS), [pd.Timestamp(day) for day in DAYS], "M"),
    "A4 date64": (lambda: pa.array(DAYS, pa.date64()), [pd.Timestamp(day) for day in DAYS], "M"),
    "A4 categories of days": (
        lambda: pa.array(DAYS).dictionary_encode(), [pd.Timestamp(day) for day in DAYS], "M"),
    "A4 timestamp in ms": (lambda: pa.array(MOMENTS, pa.timestamp("ms")), [*map(pd.Timestamp, MOMENTS)], "M"),
    "A4 timestamp in us": (lambda: pa.array(MOMENTS, pa.timestamp("us")), [*map(pd.Timestamp, MOMENTS)], "M"),
    "A4 timestamp in ns": (lambda: pa.array(MOMENTS, pa.timestamp("ns")), [*map(pd.Timestamp, MOMENTS)], "M"),
    "A4 timestamp with a zone": (
        lambda: pa.array(MOMENTS, pa.timestamp("us", "Europe/Vienna")),
        [pd.Timestamp(moment, tz="UTC").tz_convert("Europe/Vienna") for moment in MOMENTS], "M"),
    "A4 timestamp with an offset": (
        lambda: pa.array(MOMENTS, pa.timestamp("us", "+05:30")),
        [pd.Timestamp(moment, tz="UTC").tz_convert("UTC+05:30") for moment in MOMENTS], "M"),
    "A4 timestamp with an unknown zone": (
        lambda: pa.array(MOMENTS, pa.timestamp("us", "Mars/Phobos")),
        [pd.Timestamp(moment, tz="UTC") for moment in MOMENTS], "M"),
    "A4 time32": (lambda: pa.array(range(12), pa.time32("s")), seconds(*range(12)), "m"),
    "A4 time64": (lambda: pa.array([k * 10**6 for k in range(12)], pa.time64("us")), seconds(*range(12)), "m"),
    "A4 time64 in ns": (
        lambda: pa.array([k * 10**9 + 1 for k in range(12)], pa.time64("ns")),
        [pd.Timedelta(k * 10**9 + 1, unit="ns") for k in range(12)], "m"),
    "A4 duration": (lambda: pa.array([k * 1000 for k in range(12)], pa.duration("ms")), seconds(*range(12)), "m"),
}  # fmt: skip

LABELS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "A4 text": (lambda: pa.array(list("uvw") * 4), list("uvw") * 4),
    "A4 large text": (lambda: pa.array(list("uvw") * 4, pa.large_string()), list("uvw") * 4),
    "A4 views of text": (lambda: pa.array(list("uvw") * 4, pa.string_view()), list("uvw") * 4),
    "A4 bytes that are text": (lambda: pa.array([b"u", "ä".encode(), b""] * 4), ["u", "ä", ""] * 4),
    "A4 bytes of one length": (lambda: pa.array([b"uu", b"vv", b"ww"] * 4, pa.binary(2)), ["uu", "vv", "ww"] * 4),
    "A4 large bytes": (lambda: pa.array([b"u", b"v", b"w"] * 4, pa.large_binary()), list("uvw") * 4),
    "A4 categories": (lambda: pa.array(list("uvw") * 4).dictionary_encode(), list("uvw") * 4),
    "A4 categories of bytes": (lambda: pa.array([b"u", b"v", b"w"] * 4).dictionary_encode(), list("uvw") * 4),
    "A4 categories of numbers": (lambda: pa.array([1, 2, 3] * 4).dictionary_encode(), [1, 2, 3] * 4),
    "A4 bool": (lambda: pa.array([True, False, True] * 4), [True, False, True] * 4),
    "A4 bool in bytes": (
        lambda: pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, 1] * 4, pa.int8())),
        [True, False, True] * 4),
    "A4 int8": (lambda: pa.array([1, 2, 3] * 4, pa.int8()), [1, 2, 3] * 4),
    "A4 UUIDs": (_uuids, [str(u) for u in UUIDS]),
    "A4 JSON": (
        lambda: pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", "[]", "1"] * 4)), ["{}", "[]", "1"] * 4),
}  # fmt: skip

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "A4 lists": (lambda: pa.array([[1, 2]] * 12), r"each cell of column 'a' \(list<.*holds several values. Spread"),
    "A4 lists of one length": (lambda: pa.array([[1, 2]] * 12, pa.list_(pa.int64(), 2)), "holds several values"),
    "A4 structs": (lambda: pa.array([{"x": 1}] * 12), r"'a' \(struct<.*holds several values"),
    "A4 maps": (lambda: pa.array([[("x", 1)]] * 12, pa.map_(pa.string(), pa.int64())), r"'a' \(map<.*several values"),
    "A4 tensors": (
        lambda: pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int64(), (2,)), pa.array([[1, 2]] * 12, pa.list_(pa.int64(), 2))),
        "holds several values"),
    "A4 bytes that are no text": (
        lambda: pa.array([b"\xff\x00", b"x"] * 6), "cells of column 'a' are bytes that are no text in UTF-8. Decode"),
    "A4 bytes of one length that are no text": (
        lambda: pa.array([b"\xff\xfe", b"xx"] * 6, pa.binary(2)), "column 'a' are bytes that are no text"),
}  # fmt: skip


def written(array: Any, path: Path, *, name: str = "a") -> Path:
    labels = pa.array(["n", "n", "n", "y", "y", "y"] * 2)
    pq.write_table(pa.table({name: array, "class": labels}), path)
    return path


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("gaps", [False, True], ids=["", "with gaps"])
def test_quantities_are_numbers_moments_or_durations(name: str, gaps: bool, tmp_path: Path) -> None:
    make, expected, kind = NUMBERS[name]
    array = make()
    if gaps:
        array = pa.concat_arrays([array.slice(0, 11), pa.nulls(1, array.type)]) if "categories" not in name else (
            pa.chunked_array([array.cast(array.type.value_type).slice(0, 11), pa.nulls(1, array.type.value_type)])
            .dictionary_encode()
        )  # fmt: skip
    column = mm.read_table(written(array, tmp_path / "t.parquet"))["a"]
    assert column.dtype.kind == ("f" if gaps and kind in "iu" else kind)
    assert column.iloc[:11].tolist() == expected[:11]
    assert column.isna().sum() == gaps


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_text_numbers_or_bools(name: str, tmp_path: Path) -> None:
    make, expected = LABELS[name]
    column = mm.read_table(written(make(), tmp_path / "t.parquet"))["a"]
    assert column.tolist() == expected


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_cell_is_is_refused_by_name(name: str, tmp_path: Path) -> None:
    make, told = REFUSED[name]
    with pytest.raises(mm.FormatError, match=told):
        mm.read_table(written(make(), tmp_path / "t.parquet"))


def test_a_column_of_nothing_is_refused_by_name(tmp_path: Path) -> None:
    """A4: Arrow's type null."""
    frame = mm.read_table(written(pa.nulls(12), tmp_path / "t.parquet"))
    with pytest.raises(mm.InputError, match=r"'a'.*(12 cells|every cell is missing)"):
        mm.prepare(frame, "class")


@pytest.mark.parametrize("name", [n for n, (_, _, kind) in NUMBERS.items() if kind in "fiu"] + list(LABELS))
def test_what_is_read_is_learned_from_written_and_predicted_for(
    name: str, command: Callable[..., Any], tmp_path: Path
) -> None:
    make = (NUMBERS.get(name) or LABELS[name])[0]
    path = written(make(), tmp_path / "t.parquet")
    done = command("structure", "--data", path, "--target", "class", "--max-parents", 1, "--out", tmp_path / "o")
    assert done.status == 0, done.err
    assert {"model.json", "network.bif"} <= {file.name for file in (tmp_path / "o").iterdir()}
    done = command("predict", "--model", tmp_path / "o", "--data", path, "--out", tmp_path / "p.csv")
    assert done.status == 0, done.err


@pytest.mark.parametrize("name", [n for n, (_, _, kind) in NUMBERS.items() if kind in "mM"])
def test_moments_are_learned_from_and_written(name: str, command: Callable[..., Any], tmp_path: Path) -> None:
    path = written(NUMBERS[name][0](), tmp_path / "t.parquet")
    done = command("structure", "--data", path, "--target", "class", "--max-parents", 1, "--out", tmp_path / "o")
    assert done.status == 0, done.err
    assert {"model.json", "network.bif"} <= {file.name for file in (tmp_path / "o").iterdir()}
    done = command("predict", "--model", tmp_path / "o", "--data", path, "--out", tmp_path / "p.csv")
    assert done.status == 0, done.err


def test_what_cannot_be_written_is_refused_before_the_search(command: Callable[..., Any], tmp_path: Path) -> None:
    """A4: exit 2 with the column, and nothing but the folder is made."""
    for make in (lambda: pa.array([b"\xff\x00", b"x"] * 6), lambda: pa.array([[1]] * 12)):
        path = written(make(), tmp_path / "t.parquet", name="odd")
        done = command("structure", "--data", path, "--target", "class", "--out", tmp_path / "o")
        assert done.status == 2
        assert "'odd'" in done.err
        assert "status:" not in done.out
        assert not list((tmp_path / "o").glob("*.json"))


UNWRITABLE = {
    "A4 bytes": (b"x", b"y"),
    "A4 tuples": ((1, 2), (3, 4)),
    "A4 complex numbers": (1j, 2j),
    "A4 a moment beyond the calendar": (pd.Timestamp("2020-01-01"), pd.Timestamp(np.datetime64("29999-01-01", "s"))),
    "A4 one text twice": (1, "1"),
    "A4 no number": ("x", float("nan")),
    "A4 half a character": ("x", "\ud800"),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_labels_that_no_file_holds_are_told_by_column(name: str) -> None:
    variable = DiscreteVariable("odd", UNWRITABLE[name])
    with pytest.raises(mm.InputError, match="Column 'odd' has the state"):
        refuse_unwritable([DiscreteVariable("fine", ("a", 1, 2.5)), variable])


@pytest.mark.parametrize(
    "labels", [[b"u", b"v"], [(1, 2), (3, 4)], [1j, 2j]], ids=["A4 bytes", "A4 pairs", "A4 complex"]
)
def test_class_labels_that_no_file_holds_are_told(labels: list[Any]) -> None:
    classes = np.empty(2, dtype=object)
    classes[:] = labels
    with pytest.raises(mm.InputError, match=r"Column 'kind' has the state .* which a model file cannot hold"):
        refuse_unwritable_classes(classes, "kind")


label = st.one_of(
    st.text(max_size=4), st.integers(), st.booleans(), st.floats(allow_nan=False), st.datetimes().map(pd.Timestamp)
)


@given(states=st.lists(label, min_size=1, max_size=5, unique_by=str))
@settings(max_examples=100)
def test_what_is_not_refused_is_written_and_read_again(
    states: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A4: the check before the search answers for the files after it."""
    try:
        variable = DiscreteVariable("a", tuple(states))
        refuse_unwritable([variable])
    except mm.InputError:
        return
    target = DiscreteVariable("class", ("n", "y"))
    structure = mm.Structure.from_names(["a"], "class", [])
    tables = (np.full((1, len(states)), -np.log(len(states))), np.log([[0.5, 0.5]]))
    network = mm.BayesianNetwork(structure, (variable,), target, tables)
    folder = tmp_path_factory.getbasetemp()
    network.save(folder / "model.json")
    network.to_bif(folder / "network.bif")
    assert mm.BayesianNetwork.load(folder / "model.json").variables == network.variables
    assert json.loads((folder / "model.json").read_text())["features"][0]["name"] == "a"
    assert mm.BayesianNetwork.from_bif(folder / "network.bif", "class").structure == structure


@pytest.mark.parametrize("seconds", [-(2**31) * 86400, 2**31 * 86400, 2**55, -(2**61)])
def test_moments_beyond_the_calendar_are_labels_and_numbers_like_others(seconds: int) -> None:
    """A4: years that Python's own dates do not have."""
    far = np.array([seconds, seconds + 86400] * 20, dtype="datetime64[s]")
    label = np.array(["a", "b"] * 20)
    learned = mm.prepare(pd.DataFrame({"a": far, "class": label}), "class").data
    assert learned.features[0].cardinality == 2
    assert mm.prepare(pd.DataFrame({"a": np.arange(40) % 2, "class": far}), "class").data.n_classes == 2


DAMAGED = (
    "P(e~L6$BL^6(md*1Qh@h000m?0RR91000000ssI2000006#x|y6&5TN1{Dw$1{DSz7zhFY00000000;W0RR910000076K>;0ssI2"
    "000007zhCX00000000pY00009AOZjY00RR70|FHU6%-X1Ocewb01^NI3M2sl003bD0001D6#x|y6&5TN1{Dw$1{DSzHUKCAVi*Bo"
    "5fK0Y00|%h000060RaO76$BYPH2@d}b7N>_ZDADz02Kry0vG~gFaQ+{B?1@)V{Bn_b0q*w8~^|S76us{87w9M92Eo^H2?+>85ja%"
    "Fckt81{TZ#7SsVING1pz7zhFY00000000;W0RR910000076K>;0ssI2000007zhCX00000000pY02wS51Qh@k0ss{N6%Z8y06ZxM"
    "872Y*0000c02~zz88rX~5E&Q+V{Bn_a}@#>1{Qo4gaIay0w&x695w(b0b&>dVG$7k87vh96#x|i02Kfg5ETLdJQfBS1{o#*1^@s6"
    "7RUk?1||p=*a83<92g8iQc_P>I&))aWo=;?>;W$?FE1}PXF)+hK~X_LK|w)5K}$hFcR@mDK}JDAXF)?}K|w)5K|(@7K}|tHK|w=7"
    "K}kVDK|w-6K}kVDK|w-6K|w)5NkKtDLPbGAK|w-6K|w)IR4*?tI6*-{MMgzIK|w)6cR@ixK}A79K|w)5K|w)5RY5^PLTX}1MtWm+"
    "K|w)5Q9(jMK}A79K|w`9K~+IPXF)<|K}bPCcR@ixK~X_MK|w)5K|w)5MMFhFK|w)6cR@ixK}A79K|w)5K|w)5NkKtDLTXJxK|w=7"
    "K}|tHXF)=DK}kVDK|w)5K|w)PK|w)5K|KH%AaG%Fadl;MEn{$SEn#wUZ+9SeWpZ<AZ*CwmHZCwOF&Qiz000~S000&O002-yQZW"
)
"""Three rows of two columns; one byte was changed, so that two levels are counted where there is one."""


def test_damaged_metadata_of_a_column_is_an_error_and_does_not_end_the_process(tmp_path: Path) -> None:
    """A4: pyarrow aborts where such a column's metadata is asked for."""
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(base64.b85decode(DAMAGED))
    script = "import sys, mmbn_opt as mm\ntry: mm.read_table(sys.argv[1])\nexcept mm.FormatError as error: print(error)"
    done = subprocess.run(
        [sys.executable, "-c", script, str(damaged)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "the Parquet file is damaged" in done.stdout
