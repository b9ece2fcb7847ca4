"""Tables below a drawing: the network's own probabilities, cut where they are many."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.display._cpts import cpt_tables
from mmbn_opt.display.html import network_html


@pytest.fixture(scope="module")
def network():
    data = mm.DiscreteDataset.from_frame(mm.load_dataset("car"), target="class")
    return mm.BayesianNetwork.fit(mm.tan_cmi(data), data)


def test_each_table_holds_the_probabilities_of_its_node(network):
    tables = {table.node: table for table in cpt_tables(network)}
    assert next(iter(tables)) == "class"
    assert set(tables) == {v.name for v in network.variables}
    for node, variable in enumerate(network.variables):
        table = tables[variable.name]
        assert table.parents == tuple(network.variables[p].name for p in network.structure.parents[node])
        assert table.states == tuple(map(str, variable.states))
        shown = np.array([[float(p) for p in row] for _, row in table.rows])
        assert shown == pytest.approx(np.exp(network.log_cpts[node]), abs=5e-5)
        assert table.left_out == ""


def test_rows_are_labelled_by_the_states_of_the_parents(network):
    table = next(t for t in cpt_tables(network) if len(t.parents) == 2)
    variables = {v.name: v for v in network.variables}
    first, second = (variables[name].states for name in table.parents)
    assert [labels for labels, _ in table.rows] == [(str(a), str(b)) for a in first for b in second]


def test_large_tables_are_cut_and_say_so(network):
    tables = cpt_tables(network, max_cells=100)
    assert sum(len(table.rows) * len(table.states) for table in tables) <= 100
    cut = next(t for t in tables if t.left_out)
    whole = next(t for t in cpt_tables(network) if t.node == cut.node)
    assert cut.left_out == f"{len(whole.rows) - len(cut.rows)} more of {len(whole.rows)} rows"
    assert cut.rows == whole.rows[: len(cut.rows)]


def test_the_fold_is_closed_and_has_one_table_a_node(network):
    html = network_html(network)
    assert "<summary>Tables of all 7 nodes</summary>" in html
    assert html.count('<table class="cpt">') == 7
    assert "<details open" not in html
