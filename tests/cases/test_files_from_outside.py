"""B19: model files, manifests and kept runs that come from outside are refused with file and place, never taken so."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.comparison import RunRecord
from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.comparison.store import RunStore, run_file_name
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.interop.json_model import network_text
from mmbn_opt.interop.json_text import parse_json
from mmbn_opt.interop.mixture_json import mixture_text
from mmbn_opt.interop.run_manifest import read_manifest
from mmbn_opt.results import BoundTrace, Sense, TraceRecord


def network_file() -> dict[str, Any]:
    data = mm.prepare(
        pd.DataFrame({"a": list("uvuvuv"), "n": [1.5, 2.5, 1.5, 2.5, 2.5, 1.5], "class": list("nynyyn")}), "class"
    ).data
    content: dict[str, Any] = json.loads(network_text(mm.BayesianNetwork.fit(mm.naive_bayes(data), data)))
    return content


def mixture_file() -> dict[str, Any]:
    model = mm.MixtureClassifier.fit([[0.0, 1.0], [1.0, 0.5], [5.0, 2.0], [6.0, 3.0]], [False, False, True, True])
    content: dict[str, Any] = json.loads(mixture_text(model))
    return content


TRACE = BoundTrace(Sense.MAXIMIZE, (TraceRecord(0.5, 4.5, None, 3, None, "incumbent", "highs"),))
RECORD = RunRecord(
    "k", "car", "highs", 0, 60.0, 0.0, 0.0, Sense.MAXIMIZE, RunOutcome.ANSWERED, mm.TerminationStatus.OPTIMAL,
    "Optimal", "", TRACE, 4.5, 4.5, True, "", 1.0, 2**30, "1.9", {"columns": 3}, {"numpy": "2"}, "here",
)  # fmt: skip

TEXTS = {
    "B19 a key twice": ('{"a": {"b": [1, {"c": 1, "d": 2, "c": 3}]}}', r"the key 'c' stands twice at a\.b\[1\]"),
    "B19 a key twice at the top": ('{"a": 1, "a": 1}', "the key 'a' stands twice at the top"),
    "B19 a key twice, once escaped": ('{"a": 1, "\\u0061": 2}', "the key 'a' stands twice"),
    "B19 an odd key": ('{"x y": {"b": 1, "b": 2}}', r"stands twice at \['x y'\]"),
    "B19 NaN": ('{"a": [0, NaN]}', r"NaN is not JSON; it stands at a\[1\]"),
    "B19 Infinity": ("[Infinity]", r"Infinity is not JSON; it stands at \[0\]"),
    "B19 minus infinity": ('{"a": -Infinity}', "-Infinity is not JSON; it stands at a"),
    "B19 half a character": ('{"a": ["x", "\\ud800y"]}', r"at a\[1\] holds half a character"),
    "B19 half a character in a key": ('{"a": {"\\uDC00": 1}}', "at a holds half a character"),
    "B19 halves in the wrong order": ('["\\udc00\\ud800"]', "holds half a character"),
    "B19 lists in lists": ("[" * 100_000, "nests too deeply|line 1"),
    "B19 objects in objects": ('{"a":' * 100_000, "nests too deeply|line 1"),
    "B19 nothing": ("", "line 1 column 1"),
    "B19 two values": ("{} {}", "Extra data: line 1 column 4"),
    "B19 a number of many digits": ("1" * 5000, "digits"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_json_leaves_open_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    text, told = TEXTS[name]
    with pytest.raises(ValueError, match=told):
        parse_json(text)
    (tmp_path / "model.json").write_text(text)
    for load in (mm.BayesianNetwork.load, mm.MixtureClassifier.load):
        with pytest.raises(mm.FormatError, match=f"(?s)model.json' is not a model file: .*({told})"):
            load(tmp_path / "model.json")


def test_characters_beyond_two_bytes_are_whole(tmp_path: Path) -> None:
    """B19: a pair of halves is a character."""
    assert parse_json('["\\ud83d\\ude00", "😀"]') == ["😀", "😀"]


def _paths(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a file, two entries of a list standing for the rest."""
    found = [path]
    if isinstance(content, dict):
        for key, entry in content.items():
            found += _paths(entry, (*path, key))
    elif isinstance(content, list):
        for k, entry in enumerate(content[:2]):
            found += _paths(entry, (*path, k))
    return found


def _with(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = json.loads(json.dumps(content))
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return changed


KINDS: dict[str, tuple[Callable[[], dict[str, Any]], Any, int]] = {
    "network": (network_file, mm.BayesianNetwork, 400),
    "mixture": (mixture_file, mm.MixtureClassifier, 400),
}
WRONG = (None, True, -1, 10**30, 0.5, 1e308, "", "x", "\u0000", [], [[]], [None], {}, {"a": 1}, {"float": "nan"})


@pytest.mark.parametrize("kind", ["network", "mixture"], ids=["B19 network", "B19 mixture"])
def test_a_wrong_type_in_any_field_of_a_model_is_refused_or_usable(kind: str, tmp_path: Path) -> None:
    make, cls, least = KINDS[kind]
    content, path = make(), tmp_path / "model.json"
    rows = pd.DataFrame({"a": ["u"], "n": [1.5], "x0": [0.5], "x1": [1.0]})
    refused = 0
    for place in _paths(content)[1:]:
        for value in WRONG:
            path.write_text(json.dumps(_with(content, place, value)))
            try:
                model = cls.load(path)
            except mm.InputError as error:
                refused += "model.json" in str(error)
                continue
            try:
                quiet = {"unseen": "missing"} if cls is mm.BayesianNetwork else {}
                proba = model.predict_proba(rows, **quiet)
            except mm.InputError:
                continue  # other names
            assert np.allclose(proba.sum(axis=1), 1.0, atol=1e-5)
            model.save(tmp_path / "again.json")
    assert refused > least


@pytest.mark.parametrize("moment", ["now", "today", "NaT", "2020", "2020-01-01", 3], ids=lambda m: f"B19 {m}")
def test_moments_are_those_that_were_written(moment: Any, tmp_path: Path) -> None:
    content = _with(network_file(), ("target", "states", 0), {"timestamp": moment})
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(mm.FormatError, match="not a label of a model file"):
        mm.BayesianNetwork.load(tmp_path / "model.json")


@pytest.mark.parametrize("version", [True, 1.0, "1", None, 2], ids=lambda v: f"B19 version {v!r}")
def test_a_version_is_a_whole_number(version: Any, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(json.dumps(network_file() | {"version": version}))
    with pytest.raises(mm.FormatError, match=r"has version .*; this mmbn_opt reads version 1"):
        mm.BayesianNetwork.load(tmp_path / "model.json")


def test_half_a_character_is_not_written_either(tmp_path: Path) -> None:
    """B19: what is written can be read."""
    for name, state in (("a", "\ud800"), ("\ud800", "u")):
        variables = (DiscreteVariable(name, (state, "v")), DiscreteVariable("class", ("n", "y")))
        structure = mm.Structure.from_names([name], "class", [])
        network = mm.BayesianNetwork(structure, variables[:1], variables[1], (np.log([[0.5, 0.5]]),) * 2)
        with pytest.raises(mm.InputError, match="holds half a character"):
            network.save(tmp_path / "model.json")
        assert not (tmp_path / "model.json").exists()


BROKEN = {name: text for name, (text, _) in TEXTS.items()} | {
    "B19 no object": "[1]",
    "B19 another format": '{"format": "x"}',
    "B19 a label twice": json.dumps(_with(network_file(), ("target", "states"), ["n", "n"])),
    "B19 a text for a number": json.dumps(_with(network_file(), ("log_cpts", 0, 0, 0), "0.5")),
    "B19 no text": b"\xff\xfe",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_on_the_command_line(name: str, command: Callable[..., Any], tmp_path: Path) -> None:
    content = BROKEN[name]
    path = tmp_path / "model.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "t.csv").write_text("a,n\nu,1.5\n")
    done = command("predict", "--model", path, "--data", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert done.status == 2
    assert done.err.startswith("error: ")
    assert "model.json" in done.err
    assert not (tmp_path / "p.csv").exists()


MANIFEST = {
    "format": "mmbn_opt/run", "version": 1, "state": "finished", "run": "0", "command": "c", "mmbn_opt_version": "1",
    "written": "today", "files": {"model.json": {"bytes": 3, "sha256": "0" * 64}},
}  # fmt: skip
MANIFESTS = {
    "B19 version true": (MANIFEST | {"version": True}, "has version True"),
    "B19 state": (MANIFEST | {"state": "done"}, "state must be"),
    "B19 state as a list": (MANIFEST | {"state": ["finished"]}, "state must be"),
    "B19 run as a number": (MANIFEST | {"run": 7}, "run must be a text"),
    "B19 no command": ({k: v for k, v in MANIFEST.items() if k != "command"}, "command must be a text"),
    "B19 files as a list": (MANIFEST | {"files": ["model.json"]}, "files must be an object"),
    "B19 bytes as text": (MANIFEST | {"files": {"m": {"bytes": "3", "sha256": "0" * 64}}}, r"files\['m'\]\.bytes must"),
    "B19 bytes below 0": (MANIFEST | {"files": {"m": {"bytes": -1, "sha256": "0" * 64}}}, r"files\['m'\]\.bytes must"),
    "B19 checksum": (MANIFEST | {"files": {"m": {"bytes": 3, "sha256": "xyz"}}}, r"files\['m'\]\.sha256 must be"),
    "B19 entry": (MANIFEST | {"files": {"m": None}}, r"files\['m'\]\.bytes must"),
    "B19 a way out": (MANIFEST | {"files": {"../m": {"bytes": 3, "sha256": "0" * 64}}}, "'../m' in files is not"),
    "B19 a zero in a name": (MANIFEST | {"files": {"m\0": {"bytes": 3, "sha256": "0" * 64}}}, "is not the name"),
    "B19 a long name": (MANIFEST | {"files": {"m" * 300: {"bytes": 3, "sha256": "0" * 64}}}, "is not the name"),
}  # fmt: skip


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_wrong_manifest_is_refused_with_its_place(name: str, command: Callable[..., Any], tmp_path: Path) -> None:
    content, told = MANIFESTS[name]
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(mm.FormatError, match=f"manifest.json' .*{told}"):
        read_manifest(tmp_path)
    (tmp_path / "model.json").write_text(json.dumps(network_file()))
    (tmp_path / "t.csv").write_text("a,n\nu,1.5\n")
    done = command("predict", "--model", tmp_path, "--data", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert done.status == 2
    assert "manifest.json" in done.err


@pytest.mark.parametrize("name", [n for n in TEXTS if n not in ("B19 nothing", "B19 two values")])
def test_a_manifest_of_ours_that_is_no_json_is_not_taken_for_a_strangers(name: str, tmp_path: Path) -> None:
    text = f'{{"format": "mmbn_opt/run", "x": {TEXTS[name][0]}}}'
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(mm.FormatError, match=r"manifest.json' is not a usable manifest \("):
        read_manifest(tmp_path)


RUNS: dict[str, tuple[str, Any, str]] = {
    "B19 seed as text": ("seed", "0", "seed must be a whole number, got '0'"),
    "B19 seed as a bool": ("seed", True, "seed must be a whole number"),
    "B19 seconds as text": ("seconds", "1", "seconds must be a number"),
    "B19 no seconds": ("seconds", None, "seconds must be a number >= 0, got None"),
    "B19 time limit as a list": ("time_limit", [60], "time_limit must be a number >= 0 or null"),
    "B19 a huge number": ("peak_memory", 10**30, "peak_memory must be a whole number >= 0 or null"),
    "B19 certificate as a number": ("certificate_ok", 1, "certificate_ok must be true or false or null"),
    "B19 solver as a number": ("solver", 1, "solver must be a text"),
    "B19 sense": ("sense", "up", "sense must be one of minimize, maximize, got 'up'"),
    "B19 sense as a list": ("sense", ["maximize"], "sense must be one of"),
    "B19 outcome": ("outcome", "FINE", "outcome must be one of ANSWERED"),
    "B19 status": ("status", "optimal", "status must be one of OPTIMAL"),
    "B19 status as an object": ("status", {}, "status must be one of"),
    "B19 trace": ("trace", {}, "trace must be a list"),
    "B19 a row of the trace": ("trace", [[0.5]], r"trace\[0\] must be a list of time_sec, primal_bound"),
    "B19 a time as text": ("trace", [["0", 1, 2, 3, 4, "", ""]], r"trace\[0\].time_sec must be a number >= 0, got '0'"),
    "B19 a bound as a bool": ("trace", [[0, True, 2, 3, 4, "", ""]], r"trace\[0\].primal_bound must be a number"),
    "B19 size": ("size", [], "size must be an object"),
    "B19 a size as text": ("size", {"columns": "3"}, "size.columns must be a whole number"),
    "B19 versions": ("versions", {"numpy": 2}, "versions.numpy must be a text"),
    "B19 a stranger": ("more", 1, "'more' is no field of a run"),
    "B19 format": ("format", "mmbn_opt run 0", "no JSON object with"),
}  # fmt: skip


def _store(tmp_path: Path, text: str) -> "RunStore[RunRecord]":
    store = RunStore(tmp_path, RunRecord)
    (tmp_path / "runs" / run_file_name(RECORD)).write_text(text)
    return store


@pytest.mark.parametrize("name", RUNS)
def test_a_wrong_run_of_a_comparison_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    field, value, told = RUNS[name]
    store = _store(tmp_path, json.dumps(json.loads(RECORD.to_json()) | {field: value}))
    with pytest.raises(mm.FormatError, match=rf"(?s)runs.*k\.json'.*{told}.*Remove the file to run it again"):
        store.find(RECORD)


@pytest.mark.parametrize("text", ["", RECORD.to_json()[:100]], ids=["B19 nothing", "B19 cut short"])
def test_a_run_that_was_cut_short_is_told_and_not_done(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING", "mmbn_opt"):
        assert _store(tmp_path, text).find(RECORD) is None
    assert "k.json was cut short and is run again: " in caplog.text


@pytest.mark.parametrize("name", [n for n in TEXTS if n not in ("B19 nothing", "B19 two values")])
def test_a_run_that_is_no_json_is_refused(name: str, tmp_path: Path) -> None:
    text, told = TEXTS[name]
    with pytest.raises(mm.FormatError, match=rf"(?s)runs.*k\.json'.*({told})"):
        _store(tmp_path, text).find(RECORD)


def test_a_run_without_a_field_is_refused(tmp_path: Path) -> None:
    """B19: whichever it is."""
    content = json.loads(RECORD.to_json())
    assert RunRecord.from_json(json.dumps(content)) == RECORD
    for field in content:
        with pytest.raises(mm.FormatError, match=f"{field} is absent|no JSON object"):
            RunRecord.from_json(json.dumps({k: v for k, v in content.items() if k != field}))


@pytest.mark.parametrize("field", ["key", "formulation", "solver", "seed"], ids=lambda f: f"B19 {f}")
def test_the_record_of_another_run_is_not_taken_for_this_one(field: str, tmp_path: Path) -> None:
    other = 1 if field == "seed" else "other"
    store = _store(tmp_path, replace(RECORD, **{field: other}).to_json())
    with pytest.raises(mm.FormatError, match=f"is of another run: its {field} is {other!r}"):
        store.find(RECORD)
    assert _store(tmp_path, RECORD.to_json()).find(RECORD) == RECORD


def test_wrong_runs_on_the_command_line(command: Callable[..., Any], tmp_path: Path) -> None:
    """B19: exit 2 with the file and the place; the same command goes on once the file is gone."""
    rows = pd.DataFrame({"a": list("uvuvuv"), "b": list("xxyyxy"), "class": list("nynyyn")})
    rows.to_csv(tmp_path / "t.csv", index=False)
    options = ("compare", "--data", tmp_path / "t.csv", "--target", "class", "--solvers", "branch_and_cut",
        "--max-parents", 1, "--time-limit", 20, "--out", tmp_path / "o")  # fmt: skip
    assert command(*options).status == 0
    (run,) = (tmp_path / "o" / "runs").glob("*.json")
    whole = run.read_text()
    for text, told in (
        ("[" * 100_000, "deeply|line 1"),
        (whole.replace('"seed": 0', '"seed": 0, "seed": 0'), "'seed' stands twice at the top"),
        (whole.replace('"seed": 0', '"seed": "0"'), "seed must be a whole number"),
    ):
        assert text != whole
        run.write_text(text)
        done = command(*options)
        assert done.status == 2
        assert re.search(rf"error: .*{run.name}.*({told})", done.err)
    run.unlink()
    assert command(*options).status == 0
