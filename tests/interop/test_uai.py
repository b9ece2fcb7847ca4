"""UAI files hold the numbers of a network, in the layout that other tools read."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmbn_opt.exceptions import FormatError, InputError, SizeLimitError
from mmbn_opt.interop.uai import read_uai
from mmbn_opt.networks.network import BayesianNetwork

Same = Callable[[BayesianNetwork, BayesianNetwork], bool]

# The example of the UAI competitions' description of the format, two comments added.
GOOD = """BAYES
3
2 2 3
3
1 0  # the first variable
2 0 1
2 1 2

2
 0.436 0.564
4
 0.128 0.872
 0.920 0.080 # child fastest
6
 0.210 0.333 0.457
 0.811 0.000 0.189
"""


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "net.uai"
        path.write_text(text)
        return path

    return write


@given(data=st.data())
@settings(max_examples=50)
def test_every_network_comes_back_with_its_variables(data: st.DataObject, typed_networks: Any, same: Same) -> None:
    network = data.draw(typed_networks)
    with tempfile.TemporaryDirectory() as folder:
        network.to_uai(Path(folder) / "net.uai")
        assert same(BayesianNetwork.from_uai(Path(folder) / "net.uai", variables=network.variables), network)


def test_the_example_of_the_format_is_read(file: Callable[[str], Path]) -> None:
    network = read_uai(file(GOOD))
    assert network.structure.names == ("x0", "x1", "x2")
    assert network.parents == {"x2": ["x1"], "x0": [], "x1": ["x0"]}
    assert np.allclose(network.cpt("x2"), [[0.210, 0.333, 0.457], [0.811, 0.0, 0.189]])
    # P(x1 = 1) from the example's numbers, by hand.
    expected = 0.436 * 0.872 + 0.564 * 0.080
    assert np.isclose(np.exp(read_uai(file(GOOD), 1).log_joint(np.array([[-1, -1]])))[0, 1], expected, rtol=1e-12)


def test_a_file_by_itself_has_no_class_and_answers_for_every_node(file: Callable[[str], Path]) -> None:
    network = read_uai(file(GOOD))
    assert not network.structure.has_class
    assert network.query("x0").to_numpy() == pytest.approx([0.436, 0.564])
    assert network.query("x1")[1] == pytest.approx(0.436 * 0.872 + 0.564 * 0.080)
    with pytest.raises(InputError, match="with_class"):
        network.predict([[0, 0]])
    for target, name in ((0, "x0"), (2, "x2"), ("x1", "x1")):
        read = read_uai(file(GOOD), target)
        assert (read.structure.has_class, read.structure.class_name) == (True, name)
    named = read_uai(file(GOOD), variables={"a": "uv", "b": "uv", "c": "xyz"})
    assert (named.structure.has_class, named.structure.class_name) == (True, "c")


@pytest.mark.parametrize("name", ["child", "alarm"])
def test_networks_go_there_and_back_without_a_class(name: str, tmp_path: Path, shared_dir: Path) -> None:
    network = BayesianNetwork.from_bif(shared_dir / "data" / "networks" / f"{name}.bif.gz")
    network.to_uai(tmp_path / "n.uai")
    again = BayesianNetwork.from_uai(tmp_path / "n.uai")
    assert not again.structure.has_class
    for node in (0, 5, 9):
        assert again.query(f"x{node}").to_numpy() == pytest.approx(
            network.query(network.structure.names[node]).to_numpy(), abs=1e-15
        )


def test_names_are_given_back(file: Callable[[str], Path]) -> None:
    network = read_uai(file(GOOD), "rain", variables={"a": "uv", "rain": [False, True], "c": [1, 2, 3]})
    assert network.structure.feature_names == ("a", "c")
    assert network.target.states == (False, True)


def test_pyagrum_reads_its_layout_from_us_and_we_read_its_files(tmp_path: Path, sprinkler: BayesianNetwork) -> None:
    gum = pytest.importorskip("pyagrum", reason="pyAgrum (extra interop) is not installed")
    sprinkler.to_uai(tmp_path / "ours.uai", layout="pyagrum")
    model = gum.loadBN(str(tmp_path / "ours.uai"))
    grass = np.exp(sprinkler.log_cpts[1]).reshape(2, 2, 3)
    for season in (0, 1):
        for rain in (0, 1):
            row = [model.cpt("1")[{"0": season, "2": rain, "1": k}] for k in range(3)]
            # Its parser holds numbers in single precision, its writer gives six digits.
            assert np.allclose(row, grass[season, rain], atol=1e-7)
    gum.saveBN(sprinkler.to_pyagrum(), str(tmp_path / "theirs.uai"))
    again = read_uai(tmp_path / "theirs.uai", variables=sprinkler.variables, layout="pyagrum")
    assert again.structure == sprinkler.structure
    for a, b in zip(again.log_cpts, sprinkler.log_cpts, strict=True):
        assert np.allclose(np.exp(a), np.exp(b), atol=2e-6)
    with pytest.raises(InputError, match='layout must be "uai" or "pyagrum", got \'pgmpy\''):
        sprinkler.to_uai(tmp_path / "x.uai", layout="pgmpy")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("BAYES", "MARKOV", "line 1: expected BAYES, found 'MARKOV'; only Bayesian networks"),
        ("3\n2 2 3", "x\n2 2 3", "line 2: the number of variables must be a whole number from 1"),
        ("2 2 3", "2 2 0", "line 3: a number of states must be a whole number"),
        ("3\n1 0", "2\n1 0", "a Bayesian network of 3 variables has as many tables"),
        ("2 1 2", "2 1 7", "line 7: a variable must be a whole number from 0 to 2, found '7'"),
        ("2 1 2", "9 1 2", "the size of a scope must be a whole number from 1 to 3"),
        ("2 1 2", "2 2 2", "a table names a variable twice"),
        ("2 1 2", "2 2 1", "two tables have the same child"),
        ("1 0 ", "2 2 0", r"cycle through \['x0', 'x1', 'x2'\]|must have 6"),
        ("4\n 0.128", "5\n 0.128", "the table of 'x1' must have 4 numbers"),
        ("0.872", "x", "the table of 'x1' holds something that is not a number"),
        ("0.872", "nan", "the probability of 'x1' holds nan"),
        ("0.872", "0.5", "'x1' sums to 0.628"),
        (" 0.811 0.000 0.189\n", "0.811", "line 16: the file ends within the table of 'x2'"),
        (
            "6\n 0.210 0.333 0.457\n 0.811 0.000 0.189\n",
            "",
            "the file ends where the size of the table of",
        ),
        ("0.189", "0.189 1", "there is more after the last table: '1'"),
    ],
)
def test_a_wrong_part_is_named_with_its_line(file: Callable[[str], Path], old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(FormatError, match=message):
        read_uai(file(GOOD.replace(old, new, 1)))


def test_declared_sizes_are_refused_before_anything_is_allocated(file: Callable[[str], Path]) -> None:
    with pytest.raises(FormatError, match="a whole number from 1 to 50,000,000, found '900000000'"):
        read_uai(file("BAYES\n1\n900000000\n1\n1 0\n1 1"))
    wide = "BAYES\n30\n" + "20 " * 30 + "\n30\n" + "".join(f"1 {v}\n" for v in range(29))
    with pytest.raises(SizeLimitError, match=r"cells; the limit is max_cells=50,000,000. Nothing was allocated"):
        read_uai(file(wide + "30 " + " ".join(map(str, range(30)))))
    with pytest.raises(FormatError, match="from 1 to 1,000,000, found '999999999'"):
        read_uai(file("BAYES\n999999999\n2 2"))
    with pytest.raises(SizeLimitError, match="declares 60,000,000 states"):
        read_uai(file("BAYES\n2\n30000000 30000000\n2"))


def test_variables_that_do_not_fit_are_refused(file: Callable[[str], Path]) -> None:
    with pytest.raises(InputError, match=r"has variables with \[2, 2, 3\] states; those in variables= have \[2, 2\]"):
        read_uai(file(GOOD), variables={"a": "uv", "b": "uv"})
    with pytest.raises(InputError, match="target=3 is not the number of a variable; the file has 3"):
        read_uai(file(GOOD), 3)
    with pytest.raises(InputError, match="no variable 'rain' to be the class; its variables are: 'x0', 'x1', 'x2'"):
        read_uai(file(GOOD), "rain")
