"""BIF files of ours and of strangers: what is read, what is kept, what is refused."""

import gzip
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import FormatError, InputError, SizeLimitError
from mmbn_opt.interop._bif_tokens import aliases, decode, encode, is_bare
from mmbn_opt.interop.bif import read_bif, write_bif
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

Same = Callable[[BayesianNetwork, BayesianNetwork], bool]
Reader = Callable[..., BayesianNetwork]

ALARM = """
network alarm { property author = nobody; }
variable burglary { type discrete [ 2 ] { yes, no }; property position = (1, 2); }
variable quake { type discrete [ 2 ] { yes, no }; }
variable alarm { type discrete [ 3 ] { loud, low, off }; }
probability ( burglary ) { table 0.01, 0.99; }
probability ( quake ) { table 0.02, 0.98; }
probability ( alarm | quake, burglary ) {
  (yes, yes) 0.5, 0.3, 0.2;
  (no, yes) 0.6, 0.3, 0.1;
  (yes, no) 0.25, 0.25, 0.5;
  (no, no) 0.0, 0.1, 0.9;
}
"""


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """Reader of a text."""

    def from_text(text: str, target: str = "alarm", **options: Any) -> BayesianNetwork:
        path = tmp_path / "net.bif"
        path.write_text(text, encoding="utf-8")
        return read_bif(path, target, **options)

    return from_text


def table(network: BayesianNetwork, name: str) -> np.ndarray[Any, Any]:
    return np.exp(network.log_cpts[network.structure.names.index(name)])


@given(data=st.data())
def test_every_network_of_text_labels_comes_back(data: st.DataObject, text_networks: Any, same: Same) -> None:
    network = data.draw(text_networks)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / data.draw(st.sampled_from(["net.bif", "net.bif.gz"]))
        write_bif(network, path)
        assert same(read_bif(path, network.target.name), network)


@given(st.text())
@example("\ud800")
@example("  ")
def test_percent_encoding_is_undone(text: str) -> None:
    assert decode(encode(text).strip(" ")) == text
    assert not set(encode(text)) & set('{};"\n/*%'.replace("%", ""))


@given(st.lists(st.text(max_size=5), unique=True))
@example(["B", "b"])
@example(["b_2", "B", "b"])
def test_aliases_are_bare_distinct_even_without_case_and_keep_what_is_bare(texts: list[str]) -> None:
    found = aliases(texts, "s")
    assert all(map(is_bare, found))
    assert len({alias.lower() for alias in found}) == len(texts)
    first = {text.lower(): text for text in reversed(texts) if is_bare(text)}  # of those that differ in case alone
    assert all(alias == text for alias, text in zip(found, texts, strict=True) if first.get(text.lower()) == text)


def test_parents_come_out_ascending_with_the_class_last(read: Reader) -> None:
    network = read(ALARM)
    assert network.structure.names == ("burglary", "quake", "alarm")
    assert network.structure.parents == ((), (), (0, 1))
    expected = [[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.25, 0.25, 0.5], [0.0, 0.1, 0.9]]
    assert np.allclose(table(network, "alarm"), expected, rtol=1e-15, atol=0)
    other = read(ALARM, "burglary")
    assert other.structure.names == ("quake", "alarm", "burglary")
    assert other.structure.parents == ((), (0, 2), ())
    assert np.allclose(table(other, "alarm")[1], [0.25, 0.25, 0.5])


def test_the_order_of_rows_does_not_matter(read: Reader, same: Same) -> None:
    lines = ALARM.split("\n")
    first = next(k for k, line in enumerate(lines) if "(yes, yes)" in line)
    lines[first : first + 4] = reversed(lines[first : first + 4])
    assert same(read(ALARM), read("\n".join(lines)))


def test_the_flat_table_has_the_child_slowest(read: Reader, same: Same) -> None:
    head = ALARM[: ALARM.index("  (yes, yes)")]
    flat = head + "  table 0.5 0.25 0.6 0.0  0.3 0.25 0.3 0.1  0.2 0.5 0.1 0.9; }"
    assert same(read(ALARM), read(flat))


def test_default_fills_the_rows_that_are_not_given(read: Reader) -> None:
    head = ALARM[: ALARM.index("  (yes, yes)")]
    network = read(head + "  default 0.2, 0.3, 0.5; (no, no) 0.0, 0.1, 0.9; }")
    assert np.allclose(table(network, "alarm"), [[0.2, 0.3, 0.5]] * 3 + [[0.0, 0.1, 0.9]])


def test_comments_quotes_and_line_breaks_may_stand_anywhere(read: Reader, same: Same) -> None:
    text = ALARM.replace("network alarm", '// one\n/* two * / // \n { */ network "a { b"').replace(
        "{ yes, no }", '{ "yes" no }'
    )
    text = text.replace("0.5, 0.3, 0.2", "0.5, /* three */ 0.3 // four\n , 0.2").replace("( quake )", '("quake")')
    text = text.replace("author = nobody", 'author = "some;body"')
    assert same(read(ALARM), read(text.replace(" ", "  ")))


def test_the_oldest_dialect_is_read(read: Reader, same: Same) -> None:
    text = ALARM.replace("( alarm | quake, burglary )", '( "alarm"  "quake" "burglary" )')
    assert same(read(ALARM), read(text))
    assert same(read(ALARM), read(ALARM.replace("alarm | quake, burglary", "alarm | quake burglary")))
    assert same(read(ALARM), read(ALARM.replace("alarm | quake, burglary", "alarm, quake, burglary")))


def test_names_and_states_with_spaces_are_read(read: Reader) -> None:
    text = ALARM.replace("quake", "earth quake").replace("alarm", "the alarm").replace("loud", "very  loud")
    network = read(text.replace("yes", "oh yes"), "the alarm")
    assert network.structure.names == ("burglary", "earth quake", "the alarm")
    assert network.target.states == ("very loud", "low", "off")
    assert np.allclose(table(network, "the alarm")[0], [0.5, 0.3, 0.2])


def test_rounded_rows_are_rescaled_and_counted(read: Reader, caplog: pytest.LogCaptureFixture) -> None:
    text = ALARM.replace("0.5, 0.3, 0.2", ".3333 .3333 .3333").replace("0.25, 0.25, 0.5", "0.251, 0.251, 0.501")
    with caplog.at_level(logging.INFO, "mmbn_opt"):
        network = read(text)
    assert "2 rows of rounded probabilities were rescaled" in caplog.text
    assert np.allclose(table(network, "alarm")[0], 1 / 3, rtol=1e-15)
    assert np.allclose(table(network, "alarm").sum(axis=1), 1.0, rtol=1e-15)


def test_some_networks_of_the_repository_come_back(shared_dir: Path, tmp_path: Path, same: Same) -> None:
    for name in ("asia", "alarm", "hepar2", "win95pts", "pigs"):
        _round_trip(shared_dir, name, tmp_path, same)


@pytest.mark.slow
def test_all_networks_of_the_repository_come_back(
    shared_networks: dict[str, dict[str, Any]], shared_dir: Path, tmp_path: Path, same: Same
) -> None:
    for name, entry in shared_networks.items():
        network = _round_trip(shared_dir, name, tmp_path, same)
        assert len(network.variables) == entry["nodes"]
        assert len(network.structure.edges) == entry["arcs"]
        assert network.n_parameters == entry["parameters"]


def _round_trip(shared_dir: Path, name: str, folder: Path, same: Same) -> BayesianNetwork:
    path = shared_dir / "data" / "networks" / f"{name}.bif.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    target = text[text.rindex("variable ") + len("variable ") :].split()[0]
    network = read_bif(path, target)
    write_bif(network, folder / "again.bif")
    assert same(read_bif(folder / "again.bif", target), network), name
    return network


def test_equal_networks_give_equal_bytes(tmp_path: Path, sprinkler: BayesianNetwork) -> None:
    write_bif(sprinkler, tmp_path / "a.bif.gz")
    first = (tmp_path / "a.bif.gz").read_bytes()
    write_bif(sprinkler, tmp_path / "a.bif.gz")
    assert (tmp_path / "a.bif.gz").read_bytes() == first
    write_bif(sprinkler, tmp_path / "a.bif")
    assert gzip.decompress(first) == (tmp_path / "a.bif").read_bytes()


def test_labels_become_text(tmp_path: Path, sprinkler: BayesianNetwork) -> None:
    sprinkler.to_bif(tmp_path / "net.bif")
    again = BayesianNetwork.from_bif(tmp_path / "net.bif", "rain")
    assert again.target.states == ("False", "True")
    assert again.features[1].states == ("(-inf, 0.5]", "(0.5, 2]", "(2, inf)")
    text = (tmp_path / "net.bif").read_text()
    assert text.isascii()
    assert "{ inf_0_5, s_0_5_2, s_2_inf };" in text
    assert "property mmbn_label_inf_0_5 = (-inf, 0.5];" in text


def test_labels_with_the_same_text_are_named(tmp_path: Path) -> None:
    target = DiscreteVariable("class", (1, "1", "2"))
    network = BayesianNetwork(Structure((), "class", ((),)), (), target, (np.log(np.full((1, 3), 1 / 3)),))
    with pytest.raises(InputError, match=r"Column 'class' has the states \[1, '1'\], which have the same text"):
        write_bif(network, tmp_path / "net.bif")


def test_probabilities_too_small_for_a_file_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table_ = np.array([[0.0, -800.0]])
    network = BayesianNetwork(Structure((), "class", ((),)), (), DiscreteVariable("class", ("a", "b")), (table_,))
    write_bif(network, tmp_path / "net.bif")
    assert "class: 1 probabilities below 1e-323 are written as 0" in caplog.text


def test_unnormalised_tables_are_not_written(tmp_path: Path) -> None:
    table_ = np.log([[0.5, 0.4]])
    network = BayesianNetwork(Structure((), "class", ((),)), (), DiscreteVariable("class", ("a", "b")), (table_,))
    with pytest.raises(InputError, match="CPT of 'class' is not normalised"):
        write_bif(network, tmp_path / "net.bif")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("variable quake", "varible quake", "line 4: expected network, variable or probability, found 'varible'"),
        ("(yes, yes) 0.5", "(yes, maybe) 0.5", "line 9: a row of 'alarm' names the state 'maybe'; known: "),
        ("(yes, yes) 0.5", "(yes) 0.5", "names 1 states for 2 parents"),
        ("(no, yes)", "(yes, yes)", "line 10: the probability of 'alarm' gives one row twice"),
        ("  (no, no) 0.0, 0.1, 0.9;\n", "", "lacks 1 of its 4 rows and has no default"),
        ("0.5, 0.3, 0.2", "0.5, 0.3", "has 2 numbers where 3 belong"),
        ("0.5, 0.3, 0.2", "0.5, 0.3, 0.2, 0", "has 4 numbers where 3 belong"),
        ("0.5, 0.3, 0.2", "0.5, 0.3, x", "'x' is not a number"),
        ("0.5, 0.3, 0.2", "0.5, 0.3, 0.2.1", "'0.2.1' is not a number"),
        ("0.5, 0.3, 0.2", "1.5, -0.7, 0.2", "line 13: the probability of 'alarm' holds -0.7; probabilities are"),
        ("0.5, 0.3, 0.2", "nan, 0.3, 0.2", "holds nan"),
        ("0.5, 0.3, 0.2", "1e999, 0.3, 0.2", "holds inf"),
        ("0.5, 0.3, 0.2", "0.5, 0.3, 0.1", "sums to 0.9; up to 0.01 away from 1 passes as rounding"),
        ("0.5, 0.3, 0.2", "0, 0, 0", "sums to 0;"),
        ("[ 3 ]", "[ 4 ]", "variable 'alarm' declares 4 states and lists 3"),
        ("[ 3 ]", "[ x ]", "declares x states and lists 3"),
        ("[ 3 ]", "[ " + "9" * 5000 + " ]", "states and lists 3"),
        ("loud, low", "low, low", "lists the states \\['low'\\] twice"),
        ("type discrete [ 3 ] { loud, low, off };", "", "variable 'alarm' has no type line"),
        ("variable quake", "variable burglary", "variable 'burglary' is declared twice"),
        ("( quake )", "( burglary )", "two probability blocks for 'burglary'"),
        ("quake, burglary", "quake, rain", "names the variable 'rain', which is not declared"),
        ("quake, burglary", "quake, quake", "names a variable twice"),
        ("quake, burglary", "quake, alarm", "names a variable twice"),
        ("probability ( quake ) { table 0.02, 0.98; }", "", r"has no probability block for \['quake'\]"),
        ("network alarm {", 'network "alarm {', "a quoted text that starts here does not end"),
        ("network alarm {", "/* network alarm {", "line 2: a comment that starts here does not end"),
        ("(no, no) 0.0, 0.1, 0.9;", "property author", "line 12: a property line does not end"),
        ("0.1, 0.9;\n}", "0.1, 0.9;", "the file ends in the middle of a block"),
        ("{ loud, low, off }", "{ (0, 1], (1, 2], (2, 3] }", "found '\\('"),
        ("type discrete [ 3 ]", "type continuous [ 3 ]", "expected 'discrete', found 'continuous'"),
        ("property position = (1, 2);", "property mmbn_name = %ff;", "holds bytes that are not UTF-8"),
        ("property position = (1, 2);", "property mmbn_label_yes = no;", "two states of variable 'burglary' stand for"),
        ("property position = (1, 2);", "property mmbn_name = quake;", r"declares the variables \['quake'\] twice"),
    ],
)
def test_a_wrong_part_is_named_with_its_line(read: Reader, old: str, new: str, message: str) -> None:
    assert old in ALARM
    with pytest.raises(FormatError, match=message):
        read(ALARM.replace(old, new, 1))


def test_cycles_are_refused(read: Reader) -> None:
    text = ALARM.replace(
        "probability ( quake ) { table 0.02, 0.98; }", "probability (quake | alarm) { default 0.5 0.5; }"
    )
    with pytest.raises(
        FormatError, match=r"is not a usable network. The edges form a cycle through \['quake', 'alarm'\]"
    ):
        read(text)


def test_an_unknown_class_lists_the_variables(read: Reader) -> None:
    with pytest.raises(
        InputError, match="no variable 'rain' to be the class; its variables are: 'burglary', 'quake', 'alarm'"
    ):
        read(ALARM, "rain")


def test_too_many_parents_are_refused_before_anything_is_allocated(read: Reader) -> None:
    states = ", ".join(f"s{k}" for k in range(20))
    text = "".join(f"variable x{j} {{ type discrete [ 20 ] {{ {states} }}; }}\n" for j in range(30))
    text += f"probability ( x0 | {', '.join(f'x{j}' for j in range(1, 30))} ) {{ }}"
    with pytest.raises(
        SizeLimitError, match=r"20 x 20 x .* cells.*the limit is max_cells=50,000,000. Nothing was alloc"
    ):
        read(text, "x0")
    with pytest.raises(
        SizeLimitError, match="The table of 'alarm' has 2 x 2 x 3 = 12 cells, which brings the file to 16"
    ):
        read(ALARM, max_cells=15)
    assert read(ALARM, max_cells=16)


@pytest.mark.parametrize(
    "text", ['"' * 99_999, "/" * 100_000, "/*" * 50_000, "a" * 100_000, '"\\' * 50_000, "/**" * 40_000]
)
def test_hostile_text_is_refused_in_linear_time(read: Reader, text: str) -> None:
    with pytest.raises(FormatError):
        read("network x { property " + text)
    with pytest.raises(FormatError):
        read(text)


def test_a_gzip_file_is_what_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "a.bif.gz").write_text(ALARM)
    with pytest.raises(FormatError, match=r"ends in .gz but is not gzip-compressed"):
        read_bif(tmp_path / "a.bif.gz", "alarm")
    (tmp_path / "a.bif").write_bytes(gzip.compress(ALARM.encode()))
    with pytest.raises(FormatError, match=r"is gzip-compressed although its name does not end in .gz"):
        read_bif(tmp_path / "a.bif", "alarm")
    (tmp_path / "b.bif.gz").write_bytes(gzip.compress(ALARM.encode())[:-20])
    with pytest.raises(FormatError, match="is a damaged gzip file"):
        read_bif(tmp_path / "b.bif.gz", "alarm")
    (tmp_path / "c.bif.gz").write_bytes(gzip.compress(ALARM.encode()))
    assert read_bif(tmp_path / "c.bif.gz", "alarm")
