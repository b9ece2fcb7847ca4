"""The shipped data sets against their manifest, and load_openml against recorded answers of the OpenML API."""

import email.message
import gzip
import hashlib
import io
import json
import logging
import re
import urllib.error
import urllib.request
import urllib.response
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mmbn_opt.data.datasets import DatasetInfo, dataset_names, load_dataset, load_openml
from mmbn_opt.data.datasets import openml as openml_module
from mmbn_opt.exceptions import InputError, MmbnError

SHIPPED = resources.files("mmbn_opt.data.datasets") / "data"
MANIFEST = {entry["name"]: entry for entry in json.loads((SHIPPED / "manifest.json").read_text(encoding="utf-8"))}

# --- shipped -------------------------------------------------------------------------------------------------------


def test_names_are_those_of_the_files():
    files = {file.name.removesuffix(".csv.gz") for file in SHIPPED.iterdir() if file.name.endswith(".csv.gz")}
    assert set(dataset_names()) == files == set(MANIFEST)
    assert {"iris", "car", "vote", "corral", "mofn-3-7-10"} <= files


@pytest.mark.parametrize("name", sorted(MANIFEST))
def test_a_shipped_set_is_what_its_manifest_says(name):
    entry = MANIFEST[name]
    raw = (SHIPPED / entry["file"]).read_bytes()
    assert hashlib.sha256(raw).hexdigest() == entry["sha256"]
    frame, info = load_dataset(name, return_info=True)
    assert info == DatasetInfo(
        name=name,
        rows=len(frame),
        features=frame.shape[1] - 1,
        classes=frame["class"].nunique(),
        target=frame.columns[-1],
        kinds=dict(zip(frame.columns[:-1], entry["feature_kinds"], strict=True)),
        train_rows=entry["train_rows"],
        source=entry["source"],
        licence=entry["licence"],
        notes=entry["notes"],
        sha256=entry["sha256"],
    )
    assert (info.rows, info.features, info.classes) == (entry["rows"], entry["features"], entry["classes"])
    assert frame.isna().any(axis=1).sum() == entry["rows_with_missing"]
    for column, kind in info.kinds.items():
        text = pd.api.types.is_string_dtype(frame[column].dtype)
        assert text if kind == "categorical" else frame[column].dtype == np.float64
    # Cell by cell, as written.
    lines = gzip.decompress(raw).decode("utf-8").splitlines()
    assert lines[0].split(",") == list(frame)
    for line, row in zip(lines[1:], frame.itertuples(index=False), strict=True):
        for written, value in zip(line.split(","), row, strict=True):
            assert (written == "") if pd.isna(value) else value == type(value)(written)


def test_provenance_is_kept():
    readme = (SHIPPED / "README.md").read_text(encoding="utf-8")
    for name, entry in MANIFEST.items():
        assert f"| {name} | {entry['rows']}" in readme
        assert entry["source"]
        assert entry["licence"]
    for needed in (
        "UCI Machine Learning Repository",
        "CC BY 4.0",
        "MLC++",
        "Copyright (c) 2016 Epistasis Lab at UPenn",
    ):
        assert needed in readme


def test_facts_about_the_synthetic_sets():
    corral = load_dataset("corral")
    on = corral == "1"
    assert ((on["A0"] & on["A1"]) | (on["B0"] & on["B1"])).equals(on["class"])
    mofn, info = load_dataset("mofn-3-7-10", return_info=True)
    on = mofn == "1"
    assert (on[[f"Bit-{i}" for i in range(2, 9)]].sum(axis=1) >= 3).equals(on["class"])
    assert info.train_rows == 300


def test_a_loaded_frame_is_the_callers_own():
    frame = load_dataset("iris")
    frame["class"] = "changed"
    assert load_dataset("iris")["class"].nunique() == 3


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        InputError, match=r"No data set 'irs'.*There are: iris, car, vote, corral, mofn-3-7-10\. Others.*load_openml"
    ):
        load_dataset("irs")


# --- OpenML, from recorded answers ---------------------------------------------------------------------------------

RECORDED = Path(__file__).parent / "openml"
ANSWERS = {
    r"/api/v1/json/data/list/data_name/tennis/limit/2/data_version/1": "list.json",
    r"/api/v1/json/data/990001": "description.json",
    r"/api/v1/json/data/features/990001": "features.json",
    r"/api/v1/json/data/qualities/990001": "qualities.json",
    r"/data/v1/download/77/tennis.arff": "tennis.arff",
    r"/data/v1/download/77": "tennis.arff",  # older releases of scikit-learn leave the file name out
}


class Recorded(urllib.request.HTTPSHandler):
    """Answers https requests from files; what was not recorded gets OpenML's 412 (no such data set)."""

    def __init__(self, change):
        super().__init__()
        self.change = change
        self.asked = []

    def https_open(self, request):
        path = re.sub(r"^https://[^/]+", "", request.full_url)
        self.asked.append(path)
        headers = email.message.Message()
        if path not in ANSWERS:
            raise urllib.error.HTTPError(request.full_url, 412, "Precondition Failed", headers, io.BytesIO())
        content = (RECORDED / ANSWERS[path]).read_bytes()
        content = self.change(ANSWERS[path], content)
        response = urllib.response.addinfourl(io.BytesIO(content), headers, request.full_url, 200)
        response.msg = "OK"
        return response


@pytest.fixture
def answering(monkeypatch):
    """Put recorded answers in place of the network; `change(file, content)` may edit them."""

    def install(change=lambda file, content: content):
        handler = Recorded(change)
        monkeypatch.setattr(urllib.request, "_opener", urllib.request.build_opener(handler))
        monkeypatch.setattr(openml_module, "_RETRY_DELAY", 1e-3)
        return handler

    return install


def edit(file, old, new):
    return lambda name, content: content.replace(old, new) if name == file else content


def test_openml_answer_becomes_a_frame(answering, tmp_path):
    answering()
    frame, info = load_openml("tennis", data_home=tmp_path)
    md5 = hashlib.md5((RECORDED / "tennis.arff").read_bytes()).hexdigest()
    assert list(frame) == ["outlook", "temperature", "court", "note", "play"]
    got = {name: [None if pd.isna(v) else v for v in column.astype(object)] for name, column in frame.items()}
    assert got == {
        "outlook": ["sunny", "light rain", "overcast", None],
        "temperature": [29.5, None, 21.0, 18.25],
        "court": ["007", "7", "007", "7"],
        "note": ["hot, dry", None, "fine", "fine"],
        "play": ["no", "yes", "yes", "no"],
    }
    assert frame["temperature"].dtype == np.float64
    assert info == DatasetInfo(
        name="tennis",
        rows=4,
        features=4,
        classes=2,
        target="play",
        kinds={"outlook": "categorical", "temperature": "numeric", "court": "categorical", "note": "categorical"},
        train_rows=None,
        source="OpenML data set 990001, version 1 (https://www.openml.org/d/990001)",
        licence="CC0",
        notes=f"MD5 of the download as published by OpenML: {md5}.",
        sha256=None,
    )


def test_the_second_time_comes_from_the_cache(answering, tmp_path):
    handler = answering()
    first, _ = load_openml("tennis", data_home=tmp_path)
    assert len(handler.asked) == 5
    second, _ = load_openml("tennis", data_home=tmp_path)
    assert len(handler.asked) == 5
    pd.testing.assert_frame_equal(first, second)


def test_another_target_moves_to_the_end(answering):
    answering()
    frame, info = load_openml("tennis", target="court", cache=False)
    assert list(frame) == ["outlook", "temperature", "note", "play", "court"]
    assert (info.target, info.classes) == ("court", 2)


def test_warnings_of_openml_are_logged(answering, caplog):
    answering(edit("description.json", b'"status": "active"', b'"status": "deactivated"'))
    with caplog.at_level(logging.WARNING, logger="mmbn_opt"):
        load_openml("tennis", cache=False)
    assert "OpenML data set tennis: Version 1 of dataset tennis is inactive" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "change", "told"),
    [
        ({"name": "tenis"}, None, "'tenis', version 1, can't be used: Dataset tenis with version 1 not found.*Look up"),
        ({"name": "tennis", "version": 2}, None, "version 2, can't be used: Dataset tennis with version 2 not found"),
        ({"name": "tennis", "version": "latest"}, None, "version latest, can't be used: The 'version' parameter"),
        ({"name": "tennis", "target": "rain"}, None, "Could not find target_column='rain'"),
        ({"name": "no such/name"}, None, "'no such/name' is not a name of an OpenML data set"),
        ({"name": "tennis", "target": "outlook"}, None, "has 1 missing values"),
        (
            {"name": "tennis"},
            edit("features.json", b'"is_target": "true"', b'"is_target": "false"'),
            "must have one class column; it names none. Choose one by target=; the columns are 'outlook'",
        ),
        ({"name": "tennis"}, edit("description.json", b'"ARFF"', b'"Sparse_ARFF"'), "Sparse ARFF"),
        ({"name": "tennis"}, edit("tennis.arff", b"29.5", b"92.5"), "md5 checksum .* does not match"),
    ],
)
def test_openml_answers_that_cannot_be_used(answering, arguments, change, told):
    answering(*[change] if change else [])
    with pytest.raises(InputError, match=f"(?s){told}"):
        load_openml(**arguments, cache=False)


@pytest.mark.parametrize(
    "failure",
    [
        urllib.error.URLError("Name or service not known"),
        TimeoutError("timed out"),
        ConnectionResetError("reset by peer"),
    ],
)
def test_no_network_names_what_is_at_hand(answering, failure):
    def fail(file, content):
        raise failure

    answering(fail)
    with pytest.raises(
        MmbnError, match=r"Data set 'tennis' could not be fetched from OpenML: .*Check the network.*: iris, car, vote"
    ) as told:
        load_openml("tennis", cache=False)
    assert not isinstance(told.value, InputError)


def test_a_cache_that_cannot_be_written(answering, tmp_path):
    answering()
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(MmbnError, match=r"could not be cached: .*Give a folder that can be written as data_home"):
        load_openml("tennis", data_home=blocked)
