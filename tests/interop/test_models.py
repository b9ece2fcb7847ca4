"""`load_model`: either kind of model file, and what is neither."""

import json
from pathlib import Path

import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import FormatError
from mmbn_opt.interop.models import load_model


def test_a_network_and_a_mixture_are_told_apart(tmp_path: Path) -> None:
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 5, [0, 1] * 5)
    mm.BayesianNetwork.fit(mm.naive_bayes(data), data).save(tmp_path / "network.json")
    mm.MixtureClassifier.fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]).save(tmp_path / "mixture.json")
    assert isinstance(load_model(tmp_path / "network.json"), mm.BayesianNetwork)
    assert isinstance(load_model(tmp_path / "mixture.json"), mm.MixtureClassifier)


@pytest.mark.parametrize("content", [{}, [], {"format": "mmbn_opt/other"}, 3])
def test_what_is_neither_is_refused(content: object, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match="is not a usable model file"):
        load_model(tmp_path / "model.json")


def test_the_name_of_the_class_is_kept_and_a_file_without_one_still_loads(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    mm.MixtureClassifier.fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]).save(path)
    content = json.loads(path.read_text())
    assert content.pop("class_name") == "class"
    for name, expected in ((None, "class"), ("kind", "kind")):
        path.write_text(json.dumps(content if name is None else content | {"class_name": name}))
        model = load_model(path)
        assert isinstance(model, mm.MixtureClassifier)
        assert model.class_name == expected
    path.write_text(json.dumps(content | {"class_name": 3}))
    with pytest.raises(FormatError, match='"class_name" must be a text, got 3'):
        load_model(path)
