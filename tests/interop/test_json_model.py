"""A model file gives the same network back, and a file that is none is refused with the reason."""

import copy
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import FormatError, InputError, SizeLimitError
from mmbn_opt.interop import _json_document, _reading
from mmbn_opt.interop.json_model import load_network, network_from_dict, network_to_dict, save_network
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

Same = Callable[[BayesianNetwork, BayesianNetwork], bool]


@given(data=st.data())
def test_every_network_comes_back_bit_for_bit(data: st.DataObject, typed_networks: Any, same: Same) -> None:
    network = data.draw(typed_networks)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        texts = [text for v in network.variables for text in (v.name, *v.states) if isinstance(text, str)]
        if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
            with pytest.raises(InputError, match="half a character"):
                save_network(network, path)
            return
        save_network(network, path)
        again = load_network(path)
    assert same(network, again)
    assert all(np.array_equal(p, q) for p, q in zip(network.log_cpts, again.log_cpts, strict=True))


def test_cut_points_and_the_missing_state_come_back(tmp_path: Path) -> None:
    width = DiscreteVariable("w", ("(-inf, 0.1]", "(0.1, inf)", "<missing>"), cuts=(0.1,), has_missing_state=True)
    target = DiscreteVariable("class", (1, 3))
    network = BayesianNetwork(
        Structure.from_names(["w"], "class", []),
        (width,),
        target,
        (np.log(np.full((1, 3), 1 / 3)), np.log([[0.5, 0.5]])),
    )
    network.save(tmp_path / "model.json")
    assert BayesianNetwork.load(tmp_path / "model.json").variables == (width, target)


@pytest.mark.parametrize(
    "labels",
    [[1, 3, 1], [True, False, True], ["a", "b", "a"], pd.Categorical(["x", "y", "x"], categories=["y", "x", "z"])],
)
def test_predictions_have_the_labels_of_training_after_loading(tmp_path: Path, labels: Any) -> None:
    data = DiscreteDataset.from_arrays([["u"], ["v"], ["u"]], labels)
    network = BayesianNetwork.fit(Structure.from_names(["x0"], "class", [("class", "x0")]), data)
    network.save(tmp_path / "model.json")
    before = network.predict([["u"], ["v"]])
    after = BayesianNetwork.load(tmp_path / "model.json").predict([["u"], ["v"]])
    assert after.dtype == before.dtype
    assert after.tolist() == before.tolist()


def test_the_file_is_plain_json(tmp_path: Path, sprinkler: BayesianNetwork) -> None:
    save_network(sprinkler, tmp_path / "model.json")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    content = json.loads((tmp_path / "model.json").read_bytes(), parse_constant=refuse)
    assert content["format"] == "mmbn_opt/network"
    assert content["version"] == 1
    assert content["log_cpts"][1][3][0] == "-inf"


def test_a_label_of_unknown_type_names_its_column() -> None:
    day = DiscreteVariable("day", (1j, 2j))
    target = DiscreteVariable("class", ("a",))
    tables = (np.log([[0.5, 0.5]]), np.zeros((1, 1)))
    network = BayesianNetwork(Structure.from_names(["day"], "class", []), (day,), target, tables)
    with pytest.raises(InputError, match=r"Column 'day' .* of type complex.*turn the column into strings"):
        network_to_dict(network)


Content = dict[str, Any]


def _set(path: str, value: Any) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        *way, last = [int(k) if k.lstrip("-").isdigit() else k for k in path.split("/")]
        place: Any = content
        for key in way:
            place = place[key]
        place[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("format", "other"), "this one is not"),
        (_set("version", 2), "version 2; this mmbn_opt reads version 1. Update mmbn_opt"),
        (_set("features", {}), '"features" must be a list'),
        (_set("features/0", 7), r"features\[0\] must be an object"),
        (_set("features/0/extra", 7), r"features\[0\] must be an object with the keys"),
        (_set("features/0/name", 7), "must have a text as name"),
        (_set("features/0/has_missing_state", 1), "true or false as has_missing_state"),
        (_set("features/0/states", []), "has no states"),
        (_set("features/0/states", ["dry", "dry"]), "lists a state twice"),
        (_set("features/0/states", [None, "a"]), "the state None, which is not a label"),
        (_set("features/0/states", [["a"], "b"]), "is not a label of a model file"),
        (_set("features/0/states", [{"interval": [2, 1], "closed": "right"}, "a"]), "is not a label"),
        (_set("features/0/states", [{"interval": [1], "closed": "right"}, "a"]), "is not a label"),
        (_set("features/0/states", [{"interval": [1, 2], "closed": "ajar"}, "a"]), "is not a label"),
        (_set("features/0/states", [{"timestamp": "never"}, "a"]), "is not a label"),
        (_set("features/0/states", [{"timestamp": "NaT"}, "a"]), "is not a label"),
        (
            _set("features/0/states", [{"timestamp": "2020-01-01T00:00+00:00", "zone": "Mars/Base"}, "a"]),
            "is not a label",
        ),
        (_set("features/0/states", [{"float": "nan"}, "a"]), "is not a label"),
        (_set("features/1/cuts", "0.5"), "cut points of column 'grass' must be a list"),
        (_set("features/1/cuts", [2.0, 0.5]), "strictly increasing"),
        (_set("features/1/cuts", [10**400, 1]), "cut points"),
        (_set("features/1/name", "season"), "distinct"),
        (_set("target", None), "target must be an object"),
        (_set("parents", [[], []]), "parents for 3 nodes"),
        (_set("parents/1", [0.0]), r"parents\[1\] must be a list of distinct node numbers"),
        (_set("parents/1", [True]), r"parents\[1\] must be a list"),
        (_set("parents/1", [0, 0]), r"parents\[1\] must be a list of distinct"),
        (_set("parents/1", [17]), "impossible parent index"),
        (_set("parents/0", [2]), "cycle through"),
        (_set("log_cpts", []), '"log_cpts" holds 0 tables for 3 variables'),
        (_set("log_cpts/1/0", [0.0, "-inf"]), "table of 'grass' must have 4 rows of 3 numbers"),
        (_set("log_cpts/0/0", [0.0, "inf"]), "Row 0 of the table of 'season' must hold numbers"),
        (_set("log_cpts/0/0", [0.0, None]), "must hold numbers"),
        (_set("log_cpts/0/0", [0.0, True]), "must hold numbers"),
        (_set("log_cpts/0/0", [0.0, 0.0]), "Row 0 of the table of 'season' does not sum to 1"),
        (_set("log_cpts/0/0", [1e3, 0.0]), "does not sum to 1"),
    ],
)
def test_a_wrong_part_is_named(
    tmp_path: Path, sprinkler: BayesianNetwork, change: Callable[[Content], None], message: str
) -> None:
    content = copy.deepcopy(network_to_dict(sprinkler))
    change(content)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=message):
        load_network(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a model file"),
        ("{", "is not a model file"),
        ("[1, NaN]", "NaN is not JSON"),
        ("-Infinity", "-Infinity is not JSON"),
        ("[" * 100_000, "is not a model file"),
        ("1" * 10_000, "is not a model file"),
        ("[]", "this one is not"),
        ("null", "this one is not"),
    ],
)
def test_text_that_is_no_model_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        load_network(path)


def test_binary_files_and_absent_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(b"\x80\x04\x95pickle")
    with pytest.raises(FormatError, match="byte 0 is not UTF-8"):
        load_network(tmp_path / "model.json")
    with pytest.raises(InputError, match=r"There is no model file .*absent.json'; check the path"):
        load_network(tmp_path / "absent.json")
    with pytest.raises(InputError, match="Cannot read the model file"):
        load_network(tmp_path)


def test_a_huge_table_is_refused_before_it_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    states = list(range(400))
    variable = {"states": states, "cuts": None, "has_missing_state": False}
    content = {
        "format": "mmbn_opt/network",
        "version": 1,
        "features": [{"name": f"x{j}", **variable} for j in range(5)],
        "target": {"name": "class", **variable},
        "parents": [[1, 2, 3, 4, 5], [], [], [], [], []],
        "log_cpts": [[]] * 6,
    }
    with pytest.raises(
        SizeLimitError, match=r"4,096,000,000,002,000 cells; the limit is 50,000,000. Nothing was alloc"
    ):
        network_from_dict(content)


def test_a_file_over_the_size_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    path.write_text(" " * 2000)
    monkeypatch.setattr(_json_document, "read_text", lambda p, what: _reading.read_text(p, what, max_bytes=1000))
    with pytest.raises(SizeLimitError, match="more than 1,000 bytes, the limit"):
        load_network(path)
