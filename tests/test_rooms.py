"""The rooms of the package: what the folders are called, who may enter, and that the tests lie beside them."""

import ast
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import mmbn_opt as mm

PACKAGE = Path(mm.__file__).resolve().parent
TESTS = Path(__file__).resolve().parent
ROOMS = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("__init__.py")} - {Path()}
BESIDE = {"browser", "cases", "conformance", "examples", "fuzz"}
"""Folders of tests that belong to no room: they go through the whole package."""


def test_each_folder_of_tests_is_a_room_or_goes_through_the_whole_package():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path()}
    assert {folder for folder in folders if folder.parts[0] not in BESIDE} <= ROOMS


def test_each_room_says_in_a_sentence_what_belongs_to_it():
    for room in ROOMS:
        assert re.fullmatch(r"[^\n]+\.", _sentence(room)), room


def test_the_plan_in_the_docs_has_every_room_with_its_sentence():
    page = TESTS.parent / "docs" / "decisions.md"
    rows = dict(re.findall(r"^\| `(\w+)/` \| (.+?) \|$", page.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert rows == {str(room): _sentence(room) for room in ROOMS if len(room.parts) == 1}


def test_the_plan_in_the_docs_has_the_floors_of_the_contract():
    page = (TESTS.parent / "docs" / "decisions.md").read_text(encoding="utf-8")
    block = page.partition("rooms of one floor don't see each other:\n\n")[2].partition("\n\n")[0]
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (c["layers"] for c in project["tool"]["importlinter"]["contracts"] if c["id"] == "layers")
    floors = [re.findall(r"\w+", layer) for layer in layers]
    assert [line.split() for line in block.splitlines()] == [f for f in floors if {Path(room) for room in f} <= ROOMS]


def test_each_room_hands_on_what_it_promises():
    for room in sorted(ROOMS):
        module = import_module(".".join(["mmbn_opt", *room.parts]))
        for name in getattr(module, "__all__", ()):
            assert getattr(module, name) is not None
            assert name in dir(module)
        with pytest.raises(AttributeError, match="nonsense"):
            module.nonsense  # noqa: B018


def test_no_room_bears_the_name_of_a_public_function():
    # A room that is imported hides the function; `solvers` is the one that was made callable for it.
    names = {room.name for room in ROOMS} | {path.stem for path in PACKAGE.glob("*.py")}
    assert names & set(mm.__all__) == {"solvers"}


def test_a_private_module_is_imported_by_its_own_room_only():
    entered = []
    for path in PACKAGE.rglob("*.py"):
        home = path.relative_to(PACKAGE).parent.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for target in _imported(node, home):
                private = next(
                    (k for k, part in enumerate(target) if part.startswith("_") and part != "__init__"), None
                )
                if private and home[:private] != target[:private] and _is_module(target[: private + 1]):
                    entered.append(f"{path.relative_to(PACKAGE)} imports {'.'.join(target)}")
    assert entered == []


def _sentence(room):
    """The first paragraph of a room's docstring."""
    text = (PACKAGE / room / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]


def _imported(node, home):
    """Modules that a statement may import, as parts below the package."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level:
        start = [*home[: len(home) - node.level + 1], *(node.module or "").split(".")]
        names = [".".join(["mmbn_opt", *filter(None, start), alias.name]) for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return []
    return [tuple(name.split(".")[1:]) for name in names if name.startswith("mmbn_opt.")]


def _is_module(parts):
    return PACKAGE.joinpath(*parts).with_suffix(".py").is_file()


def classes_of_ours():
    """Every class of the package, once."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.stem in ("__init__", "__main__"):
            continue
        try:
            module = import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
        except ModuleNotFoundError:
            continue  # of an extra that is not installed
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                yield kind


def test_what_is_not_compared_by_its_fields_is_equal_to_itself_alone():
    # One base that compares its own fields, of which it may have none, makes all objects of a subclass equal.
    told = [
        f"{kind.__module__}.{kind.__name__}"
        for kind in classes_of_ours()
        if "__dataclass_params__" in vars(kind) and not kind.__dataclass_params__.eq
        if kind.__eq__ is not object.__eq__ and "__eq__" not in vars(kind)
    ]
    assert not told
