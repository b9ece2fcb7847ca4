"""XMLBIF files, written by pgmpy: every network comes back, and hostile XML is refused before it is believed."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmbn_opt.exceptions import FormatError, InputError, MissingDependencyError
from mmbn_opt.interop._optional import optional_module
from mmbn_opt.interop.bif import read_bif
from mmbn_opt.interop.xmlbif import read_xmlbif, write_xmlbif
from mmbn_opt.networks.network import BayesianNetwork

FILES = Path(__file__).parent / "files"

Same = Callable[[BayesianNetwork, BayesianNetwork], bool]

GOOD = """<?xml version="1.0"?>
<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*>
  <!ATTLIST BIF VERSION CDATA #REQUIRED>
]>
<BIF VERSION="0.3"><NETWORK><NAME>dog</NAME>
<VARIABLE TYPE="nature"><NAME>light on</NAME><OUTCOME>yes &amp; no</OUTCOME><OUTCOME>off</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>dog</NAME><OUTCOME>in</OUTCOME><OUTCOME>out</OUTCOME><OUTCOME>3</OUTCOME>
  <PROPERTY>position = (1,2)</PROPERTY></VARIABLE>
<DEFINITION><FOR>light on</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
<DEFINITION><FOR>dog</FOR><GIVEN>light on</GIVEN><TABLE> <!-- yes --> 0.1 0.2 7e-1
   .3333 .3333 .3333 </TABLE></DEFINITION>
</NETWORK></BIF>
"""


@pytest.fixture(autouse=True)
def pgmpy() -> None:
    pytest.importorskip("networkx", reason="networkx (extra interop) is not installed")
    try:
        optional_module("pgmpy.readwrite")
    except MissingDependencyError:
        pytest.skip("pgmpy (extra interop), which reads and writes XMLBIF, is not installed")


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., BayesianNetwork]:
    def from_text(text: str, target: str = "dog") -> BayesianNetwork:
        (tmp_path / "net.xml").write_text(text, encoding="utf-8")
        return read_xmlbif(tmp_path / "net.xml", target)

    return from_text


@given(data=st.data())
@settings(max_examples=50)
def test_every_network_of_text_labels_comes_back(data: st.DataObject, text_networks: Any, same: Same) -> None:
    network = data.draw(text_networks)
    with tempfile.TemporaryDirectory() as folder:
        network.to_xmlbif(Path(folder) / "net.xml")
        assert same(BayesianNetwork.from_xmlbif(Path(folder) / "net.xml", network.target.name), network)


def test_comments_declarations_and_rounded_numbers_are_read(read: Callable[..., BayesianNetwork]) -> None:
    network = read(GOOD)
    assert network.features[0].name == "light on"
    assert network.features[0].states == ("yes & no", "off")
    assert np.allclose(network.cpt("dog"), [[0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-12)


def test_pyagrum_reads_ours_and_we_read_its(tmp_path: Path, sprinkler: BayesianNetwork) -> None:
    gum = pytest.importorskip("pyagrum", reason="pyAgrum (extra interop) is not installed")
    gum.saveBN(sprinkler.to_pyagrum(), str(tmp_path / "theirs.bifxml"))
    again = read_xmlbif(tmp_path / "theirs.bifxml", "rain")
    assert again.structure == sprinkler.structure
    assert again.features[1].states == sprinkler.features[1].states
    for a, b in zip(again.log_cpts, sprinkler.log_cpts, strict=True):
        # pyAgrum writes six digits.
        assert np.allclose(np.exp(a), np.exp(b), atol=2e-6)
    write_xmlbif(sprinkler, tmp_path / "ours.bifxml")
    model = gum.loadBN(str(tmp_path / "ours.bifxml"))
    assert model.variable("rain").labels() == ("False", "True")
    assert model.variable("grass").labels() == ("inf_0_5", "s_0_5_2", "s_2_inf")
    assert np.allclose(model.cpt("season").toarray(), [0.6, 0.4], atol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</NETWORK></BIF>", "", "is not an XMLBIF file: no element found"),
        ("<NETWORK>", "<NET>", "line 7: <VARIABLE> stands within <NET>"),
        ("NETWORK>", "NET>", "line 7: <VARIABLE> stands within <NET>; it belongs into <NETWORK>"),
        ("<NAME>light on</NAME>", "", "line 7: <VARIABLE> has no <NAME>; it needs one"),
        ("0.25 0.75", "0.25 x", "line 10: the table of 'light on' holds 'x', which is no number"),
        ("0.25 0.75", "0.25 0.75 0.75", "line 10 has 3 numbers; its states and parents call for 1 x 2"),
        ("0.25 0.75", "0.25 0.25", "'light on' sums to 0.5"),
        ("0.25 0.75", "1.25 -0.25", "'light on' holds -0.25"),
        ("0.25 0.75", "nan 1", "'light on' holds nan"),
        (".3333 .3333 .3333 ", "", "line 11 has 3 numbers; its states and parents call for 2 x 3"),
        (
            "<GIVEN>light on</GIVEN>",
            "<GIVEN>cat</GIVEN>",
            r"line 11 is of 'dog' given \['cat'\]; there is no variable 'cat'",
        ),
        ("<GIVEN>light on</GIVEN>", "<GIVEN>dog</GIVEN>", "is not a usable network"),
        ("<FOR>dog</FOR>", "<FOR>cat</FOR>", "there is no variable 'cat'"),
        ("<OUTCOME>off</OUTCOME>", "<OUTCOME>yes &amp; no</OUTCOME>", r"lists the states \['yes & no'\] twice"),
        ("position = (1,2)", "mmbn_aliases = a;b", "the property mmbn_aliases of 'dog' does not fit its states"),
        ("position = (1,2)", "mmbn_aliases = %ff;a;b;c", "holds bytes that are not UTF-8"),
        ("<!ATTLIST BIF VERSION CDATA #REQUIRED>", '<!ENTITY a "b">', "declares the entity 'a'"),
        (
            "<!ATTLIST BIF VERSION CDATA #REQUIRED>",
            '<!ENTITY a SYSTEM "file:///etc/passwd">',
            "declares the entity 'a'",
        ),
        ("<NAME>dog</NAME>", "<a>" * 40 + "</a>" * 40, "nests elements more than 32 deep"),
    ],
)
def test_a_wrong_part_is_told(read: Callable[..., BayesianNetwork], old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(FormatError, match=message):
        read(GOOD.replace(old, new) if old == "NETWORK>" else GOOD.replace(old, new, 1))


def test_an_entity_bomb_is_refused_at_its_declaration(read: Callable[..., BayesianNetwork]) -> None:
    levels = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    text = f'<?xml version="1.0"?><!DOCTYPE BIF [<!ENTITY e0 "x">{levels}]><BIF>&e11;</BIF>'
    with pytest.raises(FormatError, match="declares the entity 'e0'; files with entities are not read"):
        read(text)


def test_an_unknown_class_lists_the_variables(read: Callable[..., BayesianNetwork]) -> None:
    with pytest.raises(InputError, match="no variable 'rain' to be the class; its variables are: 'light on', 'dog'"):
        read(GOOD, "rain")


@pytest.mark.parametrize("name", ["pgmpy.xml", "pyagrum.bifxml"])
def test_the_files_of_other_tools_are_the_same_network(name: str) -> None:
    network = read_xmlbif(FILES / name, "class")
    plain = read_bif(FILES / "bnlearn.bif", "class")
    index = {_letters(n): k for k, n in enumerate(network.structure.names)}
    for node, (variable, table) in enumerate(zip(plain.variables, plain.log_cpts, strict=True)):
        other = index[_letters(variable.name)]
        assert len(network.variables[other].states) == variable.cardinality
        theirs = [_letters(network.structure.names[p]) for p in network.structure.parents[other]]
        assert theirs == [_letters(plain.structure.names[p]) for p in plain.structure.parents[node]]
        # pyAgrum writes six digits.
        assert np.allclose(np.exp(network.log_cpts[other]), np.exp(table), atol=1e-6)


def _letters(name: str) -> str:
    return "".join(c for c in name if c.isalpha())
