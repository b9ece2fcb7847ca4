"""B3: XMLBIF as other tools write it is the same network; what is doubled, strange or broken is told by line."""

import codecs
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm

BODY = """<VARIABLE TYPE="nature"><NAME>Größe</NAME><OUTCOME>groß</OUTCOME><OUTCOME>klein</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>b</NAME><OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME><OUTCOME>w</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>class</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>
<DEFINITION><FOR>class</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
<DEFINITION><FOR>Größe</FOR><GIVEN>class</GIVEN><TABLE>0.1 0.9 0.6 0.4</TABLE></DEFINITION>
<DEFINITION><FOR>b</FOR><GIVEN>class</GIVEN><GIVEN>Größe</GIVEN>
<TABLE>0.1 0.2 0.7 0.2 0.2 0.6 0.3 0.3 0.4 0.5 0.25 0.25</TABLE></DEFINITION>
"""
PLAIN = f'<?xml version="1.0"?>\n<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>\n{BODY}</NETWORK></BIF>\n'
HEAD = PLAIN.partition("<BIF")[0]

DOCTYPE = """<!DOCTYPE BIF [
  <!-- XMLBIF03 -->
  <!ELEMENT BIF ( NETWORK )*>
    <!ATTLIST BIF VERSION CDATA #REQUIRED xmlns CDATA #IMPLIED>
  <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
  <!ELEMENT VARIABLE ( NAME, ( OUTCOME | PROPERTY )* ) >
    <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
  <!ELEMENT TABLE (#PCDATA)>
]>
"""
NAMESPACE = 'xmlns="http://www.cs.ubc.ca/labs/lci/fopi/ve/XMLBIFv0_3"'


def _prefixed(text: str) -> str:
    for tag in ("BIF", "NETWORK", "NAME", "VARIABLE", "OUTCOME", "DEFINITION", "FOR", "GIVEN", "TABLE"):
        text = text.replace(f"<{tag}", f"<b:{tag}").replace(f"</{tag}>", f"</b:{tag}>")
    return text.replace("<b:BIF ", '<b:BIF xmlns:b="urn:x" ')


def _definitions_first(text: str) -> str:
    cut = BODY.index("<DEFINITION>")
    return text.replace(BODY, BODY[cut:] + BODY[:cut])


def _forerunner(text: str) -> str:
    """The form before 0.3: VALUE, TYPE and PROBABILITY, beside the NETWORK and not in it."""
    text = text.replace("OUTCOME>", "VALUE>").replace("DEFINITION>", "PROBABILITY>").replace(' TYPE="nature"', "")
    text = text.replace("</NETWORK>", "").replace("<NAME>n</NAME>", "<NAME>n</NAME></NETWORK>")
    return text.replace("</NAME><VALUE>", "</NAME><TYPE>discrete</TYPE><VALUE>")


def _swapped_parents(text: str) -> str:
    """The parents in the other order, and with them the rows."""
    given, swapped = "<GIVEN>class</GIVEN><GIVEN>Größe</GIVEN>", "<GIVEN>Größe</GIVEN><GIVEN>class</GIVEN>"
    table = "0.1 0.2 0.7 0.3 0.3 0.4 0.2 0.2 0.6 0.5 0.25 0.25"
    before, _, after = text.replace(given, swapped).partition("<TABLE>0.1 0.2 0.7")
    return f"{before}<TABLE>{table}{after[after.index('</TABLE>') :]}"


VARIANTS: dict[str, Callable[[str], str]] = {
    "B3 no name of the network": lambda t: t.replace("<NAME>n</NAME>", ""),
    "B3 an empty name of the network": lambda t: t.replace("<NAME>n</NAME>", "<NAME/>"),
    "B3 no declaration": lambda t: t.removeprefix(HEAD),
    "B3 a blank line before the declaration": lambda t: "\n \n" + t,
    "B3 a declaration over two lines": lambda t: t.replace('<?xml version="1.0"?>', '<?xml\n version="1.0"\n ?>'),
    "B3 declared standalone and as version 1.1": lambda t: t.replace('"1.0"?', '"1.1" standalone="no"?'),
    "B3 a comment first": lambda t: t.replace(HEAD, HEAD + "<!-- by some tool -->\n"),
    "B3 internal subset": lambda t: t.replace(HEAD, HEAD + DOCTYPE),
    "B3 external subset": lambda t: t.replace(HEAD, HEAD + '<!DOCTYPE BIF SYSTEM "http://nowhere/bif.dtd">\n'),
    "B3 a style sheet": lambda t: t.replace(HEAD, HEAD + '<?xml-stylesheet type="text/xsl" href="bif.xsl"?>\n'),
    "B3 the format's namespace": lambda t: t.replace('VERSION="0.3"', f'VERSION="0.3" {NAMESPACE}'),
    "B3 a schema": lambda t: t.replace(
        'VERSION="0.3"',
        f'VERSION="0.3" {NAMESPACE} xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="a b"',
    ),
    "B3 a prefix": _prefixed,
    "B3 small letters": lambda t: t.replace("BIF", "bif").replace("NETWORK", "network").replace("TABLE", "table"),
    "B3 blanks around names": lambda t: (
        t.replace("<NAME>b<", "<NAME> b\n<").replace("<FOR>b<", "<FOR>\tb <").replace("GIVEN>Größe<", "GIVEN> Größe <")
    ),
    "B3 blanks around labels": lambda t: t.replace("<OUTCOME>v<", "<OUTCOME>\n  v\n  <"),
    "B3 comments in a table": lambda t: t.replace("0.25 0.75", "<!-- no --> 0.25 <!-- 0.5 -->\n0.75<!-- yes -->"),
    "B3 comments in names": lambda t: t.replace("<NAME>class<", "<NAME>cl<!-- a -->ass<"),
    "B3 marked sections": lambda t: t.replace("<OUTCOME>v<", "<OUTCOME><![CDATA[v]]><"),
    "B3 numbered characters": lambda t: t.replace("groß", "gro&#223;").replace("Größe", "Gr&#xF6;&#xDF;e"),
    "B3 commas between numbers": lambda t: t.replace("0.25 0.75", "0.25, 0.75,"),
    "B3 exponents": lambda t: t.replace("0.25 0.75", "+2.5E-1 .75"),
    "B3 properties": lambda t: t.replace(
        "<OUTCOME>u", "<PROPERTY>position = (7, 2)</PROPERTY><PROPERTY/><OUTCOME>u"
    ).replace("<FOR>b", "<PROPERTY>computed = yes</PROPERTY><FOR>b"),
    "B3 elements of others": lambda t: t.replace("</NETWORK>", "<LAYOUT><NODE x='1'>class</NODE></LAYOUT></NETWORK>"),
    "B3 the table before its variables": lambda t: t.replace("<FOR>class</FOR><TABLE>0.25 0.75</TABLE>",
        "<TABLE>0.25 0.75</TABLE><FOR>class</FOR>"),
    "B3 definitions first": _definitions_first,
    "B3 no kind of variable": lambda t: t.replace(' TYPE="nature"', ""),
    "B3 a kind in capitals": lambda t: t.replace('TYPE="nature"', 'type="Nature"'),
    "B3 VALUE for OUTCOME": lambda t: t.replace("OUTCOME>", "VALUE>"),
    "B3 the form before 0.3": _forerunner,
    "B3 parents in another order": _swapped_parents,
    "B3 line ends of Windows": lambda t: t.replace("\n", "\r\n"),
    "B3 indented": lambda t: t.replace("><", ">\n\t<"),
}  # fmt: skip


def read(path: Path, content: bytes, target: str = "class") -> mm.BayesianNetwork:
    path.write_bytes(content)
    return mm.BayesianNetwork.from_xmlbif(path, target)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "net.xml"


def check(network: mm.BayesianNetwork) -> None:
    assert network.structure.names == ("Größe", "b", "class")
    assert [v.states for v in network.variables] == [("groß", "klein"), ("u", "v", "w"), ("no", "yes")]
    assert set(network.structure.edges) == {("class", "Größe"), ("class", "b"), ("Größe", "b")}
    assert np.allclose(network.cpt("class"), [[0.25, 0.75]], rtol=1e-14)
    assert np.allclose(network.cpt("Größe"), [[0.1, 0.9], [0.6, 0.4]], rtol=1e-14)
    rows = network.cpt("b").to_numpy()
    # Parents ascending, the class last and fastest: (groß, no), (groß, yes), (klein, no), (klein, yes).
    assert np.allclose(rows, [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6], [0.5, 0.25, 0.25]], rtol=1e-14)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_the_same_network(name: str, file: Path) -> None:
    text = VARIANTS[name](PLAIN)
    assert text != PLAIN
    check(read(file, text.encode()))


ALONE = {"B3 the form before 0.3", "B3 external subset", "B3 parents in another order"}


SAME_ATTRIBUTE = {"B3 a schema", "B3 the format's namespace"}
"""Both at once are no XML any more."""
TOGETHER = st.lists(st.sampled_from(sorted(set(VARIANTS) - ALONE)), min_size=2, max_size=4, unique=True)


@given(names=TOGETHER.filter(lambda names: not set(names) >= SAME_ATTRIBUTE))
@settings(max_examples=40)
def test_variants_together_are_the_same_network(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """B3: each change of a file stands for itself."""
    text = PLAIN
    for name in names:
        text = VARIANTS[name](text)
    check(read(tmp_path_factory.getbasetemp() / "together.xml", text.encode()))


ENCODINGS = {
    "B3 UTF-8 with a mark": ("utf-8", "utf-8-sig"),
    "B3 UTF-8 declared": ("UTF-8", "utf-8"),
    "B3 ISO-8859-1": ("ISO-8859-1", "latin-1"),
    "B3 ISO-8859-15": ("iso-8859-15", "iso8859-15"),
    "B3 Windows-1252": ("windows-1252", "cp1252"),
    "B3 the code page of DOS": ("cp850", "cp850"),
    "B3 UTF-16 with a mark": ("UTF-16", "utf-16"),
    "B3 UTF-16, big end first, with a mark": ("utf-16", "be"),
    "B3 UTF-16 without a mark": ("utf-16", "utf-16-le"),
    "B3 UTF-16 undeclared": (None, "utf-16"),
    "B3 UTF-32": ("utf-32", "utf-32"),
    "B3 declared as UTF-16, converted since": ("utf-16", "utf-8"),
}


@pytest.mark.parametrize("blank", ["", "\r\n"], ids=["", "after a blank line"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_a_declared_encoding_is_believed(name: str, blank: str, file: Path) -> None:
    declared, codec = ENCODINGS[name]
    text = PLAIN if declared is None else PLAIN.replace('"1.0"', f'"1.0" encoding="{declared}"')
    content = (
        codecs.BOM_UTF16_BE + (blank + text).encode("utf-16-be") if codec == "be" else (blank + text).encode(codec)
    )
    check(read(file, content))


REFUSED = {
    "B3 two variables of one name": (
        lambda t: t.replace("<NAME>b<", "<NAME> class <"),
        "declares variable 'class' twice, in lines 4 and 5. Remove one",
    ),
    "B3 two definitions of one variable": (
        lambda t: t.replace("<FOR>Größe</FOR><GIVEN>class</GIVEN><TABLE>0.1 0.9 0.6 0.4",
                            "<FOR>class</FOR><TABLE>0.5 0.5"),
        "declares the table of 'class' twice, in lines 6 and 7",
    ),
    "B3 two tables in a definition": (
        lambda t: t.replace("<TABLE>0.25 0.75</TABLE>", "<TABLE>0.25 0.75</TABLE><TABLE>0.5 0.5</TABLE>"),
        "line 6: <DEFINITION> of 'class' has 2 times <TABLE>; it needs one",
    ),
    "B3 two names in a variable": (
        lambda t: t.replace("<NAME>b</NAME>", "<NAME>b</NAME><NAME>c</NAME>"),
        "line 4: <VARIABLE> has 2 times <NAME>",
    ),
    "B3 a table of two variables": (
        lambda t: t.replace("<FOR>class</FOR>", "<FOR>class</FOR><FOR>b</FOR>"), "has 2 times <FOR>"),
    "B3 one parent twice": (
        lambda t: t.replace("<GIVEN>Größe</GIVEN>", "<GIVEN>class</GIVEN>"),
        r"line 8 lists the parents \['class'\] twice",
    ),
    "B3 one label twice": (
        lambda t: t.replace("<OUTCOME>v<", "<OUTCOME> u <"), r"line 4: variable 'b' lists the states \['u'\] twice"),
    "B3 no table": (lambda t: t.replace("<FOR>b<", "<FOR>none<"), "there is no variable 'none'"),
    "B3 no states": (
        lambda t: t.replace("<OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME>", ""), "variable 'class' has no <OUTCOME>"),
    "B3 decimal commas": (
        lambda t: t.replace("0.25 0.75", "0,25 0,75"),
        "line 6: the table of 'class' holds '0,25', which is no number. Decimals are written with a point",
    ),
    "B3 a decision": (
        lambda t: t.replace('TYPE="nature"><NAME>b', 'TYPE="decision"><NAME>b'), "line 4: variable 'b' is a decision"),
    "B3 two networks": (
        lambda t: t.replace("</BIF>", "<NETWORK></NETWORK></BIF>"), "a second <NETWORK> begins. Put each"),
    "B3 variables in variables": (
        lambda t: t.replace("<NAME>b</NAME>", "<NAME>b</NAME><VARIABLE/>"), "begins within the <VARIABLE> of line 4"),
    "B3 elements in a table": (
        lambda t: t.replace("0.25 0.75", "<ROW>0.25 0.75</ROW>"), "line 6: <TABLE> holds the element <ROW>"),
    "B3 another kind of document": (
        lambda t: t.replace("<BIF", "<smile").replace("</BIF", "</smile"), "outermost element is <smile>, not <BIF>"),
    "B3 no variable at all": (lambda t: t.replace(BODY, ""), "declares no variable"),
    "B3 an entity that an external subset may have": (
        lambda t: t.replace(HEAD, HEAD + '<!DOCTYPE BIF SYSTEM "x.dtd">').replace("groß", "gro&szlig;"),
        "entity 'szlig' is nowhere declared",
    ),
    "B3 an entity of a parameter": (
        lambda t: t.replace(HEAD, HEAD + '<!DOCTYPE BIF [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>'),
        "declares the entity 'p'",
    ),
    "B3 an unknown encoding": (
        lambda t: t.replace('"1.0"', '"1.0" encoding="klingon"'), "in the encoding 'klingon', which is not known"),
    "B3 an encoding that is none of characters": (
        lambda t: t.replace('"1.0"', '"1.0" encoding="unicode_escape"'), "encoding 'unicode_escape', which is not"),
    "B3 bytes of another encoding": (
        lambda t: t.replace('"1.0"', '"1.0" encoding="us-ascii"'),
        "the bytes at line 3 are not US-ASCII, the encoding that the file is declared to have. Save it as UTF-8",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_told_by_name_and_line(name: str, file: Path) -> None:
    change, told = REFUSED[name]
    text = change(PLAIN)
    assert text != PLAIN
    with pytest.raises(mm.FormatError, match=told):
        read(file, text.encode())


def test_bytes_that_are_not_utf_8_where_nothing_is_declared(file: Path) -> None:
    """B3."""
    with pytest.raises(mm.FormatError, match="line 3 are not UTF-8, the encoding that the file has unless it declares"):
        read(file, PLAIN.encode("latin-1"))


def test_blanks_within_names_and_labels_are_kept(file: Path) -> None:
    """B3: only those around them go."""
    network = read(file, PLAIN.replace(">u<", "> u  v <").replace(">b<", ">b b<").encode())
    assert network.features[1].name == "b b"
    assert network.features[1].states[0] == "u  v"


def test_what_pgmpy_and_pyagrum_write_is_read(tmp_path: Path) -> None:
    """B3: a network that each tool wrote by itself."""
    gum = pytest.importorskip("pyagrum", reason="pyAgrum (extra interop) is not installed")
    model = gum.fastBN("a{x|y|z}->c{n|y}<-b[4];a->b", 2)
    gum.saveBN(model, str(tmp_path / "n.bifxml"))
    ours, again = mm.BayesianNetwork.from_pyagrum(model, "c"), read_back(tmp_path / "n.bifxml")
    assert again.structure == ours.structure
    assert again.variables == ours.variables
    for mine, theirs in zip(again.log_cpts, ours.log_cpts, strict=True):
        assert np.allclose(np.exp(mine), np.exp(theirs), atol=2e-6)  # pyAgrum writes six digits


def read_back(path: Path) -> mm.BayesianNetwork:
    return mm.BayesianNetwork.from_xmlbif(path, "c")
