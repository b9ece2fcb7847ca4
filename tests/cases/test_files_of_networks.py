"""Networks from files: rows in another order, rounded numbers, tables that are too large."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmbn_opt as mm

HEAD = """network unknown {
}
variable A { type discrete [ 2 ] { u, v }; }
variable B { type discrete [ 2 ] { x, y }; }
variable C { type discrete [ 3 ] { l, m, n }; }
probability ( A ) { table 0.25, 0.75; }
probability ( B ) { table 0.5, 0.5; }
"""
ROWS = ["(u, x) 0.1, 0.2, 0.7;", "(u, y) 0.2, 0.2, 0.6;", "(v, x) 0.3, 0.3, 0.4;", "(v, y) 0.5, 0.25, 0.25;"]


def bif(tmp_path: Path, rows: list[str], given: str = "A, B") -> mm.BayesianNetwork:
    path = tmp_path / "n.bif"
    path.write_text(HEAD + f"probability ( C | {given} ) {{\n" + "\n".join(rows) + "\n}\n")
    return mm.BayesianNetwork.from_bif(path, "C")


def test_bif_rows_in_another_order(tmp_path: Path) -> None:
    plain = bif(tmp_path, ROWS)
    swapped = ["(x, v) 0.3, 0.3, 0.4;", "default 0.1, 0.2, 0.7;", "(y, u) .2 .2 .6;", "(y,v) 0.5 0.25 0.25;"]
    for other in (
        bif(tmp_path, ROWS[::-1]),
        bif(tmp_path, swapped, "B, A"),
        bif(tmp_path, ["table 0.1 0.2 0.3 0.5  0.2 0.2 0.3 0.25  0.7 0.6 0.4 0.25;"]),
    ):
        assert other.structure == plain.structure
        assert np.allclose(other.cpt("C"), plain.cpt("C"), rtol=1e-14)


def test_numbers_that_were_rounded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "mmbn_opt"):
        network = bif(tmp_path, ["(u, x) .3333 .3333 .3333;", *ROWS[1:]])
    assert np.allclose(network.cpt("C").iloc[0], 1 / 3, rtol=1e-14)
    assert "1 rows of rounded probabilities were rescaled" in caplog.text
    with pytest.raises(mm.FormatError, match=r"sums to 0.9; up to 0.01 away from 1 passes as rounding"):
        bif(tmp_path, ["(u, x) .3 .3 .3;", *ROWS[1:]])
    with pytest.raises(mm.FormatError, match=r"holds -0.1; probabilities are numbers >= 0"):
        bif(tmp_path, ["(u, x) 0.6 0.5 -0.1;", *ROWS[1:]])


def test_rounded_numbers_and_negative_ones_of_other_tools(sprinkler: Any) -> None:
    graph = sprinkler.to_networkx()
    graph.nodes["class"]["cpt"] = [[0.333, 0.666]]
    assert np.allclose(mm.BayesianNetwork.from_networkx(graph).cpt("class"), [[1 / 3, 2 / 3]], rtol=1e-14)
    for bad, told in ([[1.1, -0.1]], "holds -0.1"), ([[0.5, 0.1]], "sums to 0.6"), ([[np.nan, 1.0]], "holds nan"):
        graph.nodes["class"]["cpt"] = bad
        with pytest.raises(mm.InputError, match=told):
            mm.BayesianNetwork.from_networkx(graph)


@pytest.fixture
def sprinkler() -> mm.BayesianNetwork:
    data = mm.DiscreteDataset.from_arrays([["u"], ["v"], ["u"]], list("nyy"), feature_names=["A"])
    return mm.BayesianNetwork.fit(mm.naive_bayes(data), data)


def test_the_network_does_not_depend_on_the_order_of_a_files_variables(travel: Any, sprinkler: Any) -> None:
    again = travel(sprinkler)
    assert again.structure == sprinkler.structure
    assert np.allclose(again.log_cpts[0], sprinkler.log_cpts[0], rtol=1e-12)


def test_too_many_parents_are_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    states = ", ".join(f"s{k}" for k in range(20))
    names = [f"x{j}" for j in range(6)]
    text = "".join(f"variable {n} {{ type discrete [ 20 ] {{ {states} }}; }}\n" for n in names)
    text += f"probability ( x0 | {', '.join(names[1:])} ) {{ default {'0.05 ' * 20}; }}\n"
    (tmp_path / "n.bif").write_text(text)
    with pytest.raises(
        mm.SizeLimitError, match=r"20 x 20 x 20 x 20 x 20 x 20 = 64,000,000 cells.*Nothing was allocated"
    ):
        mm.BayesianNetwork.from_bif(tmp_path / "n.bif", "x0")
    (tmp_path / "n.uai").write_text(
        "BAYES\n6\n" + "20 " * 6 + "\n6\n" + "".join(f"1 {v}\n" for v in range(1, 6)) + "6 1 2 3 4 5 0"
    )
    with pytest.raises(mm.SizeLimitError, match=r"have 64,000,100 cells; the limit is .*Nothing was allocated"):
        mm.BayesianNetwork.from_uai(tmp_path / "n.uai")


def test_too_many_parents_in_a_fit_are_refused_before_anything_is_allocated() -> None:
    rows = np.array([[(k * (j + 1)) % 60 for j in range(6)] for k in range(120)])
    data = mm.DiscreteDataset.from_arrays(rows.astype(str), ["n", "y"] * 60)
    structure = mm.Structure.from_names(data.feature_names, "class", [(f"x{j}", "class") for j in range(6)])
    with pytest.raises(mm.SizeLimitError, match=r"cells"):
        mm.BayesianNetwork.fit(structure, data)
