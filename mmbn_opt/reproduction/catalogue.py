"""The declarations that come with the package, and how one is read from TOML."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from mmbn_opt._arguments import checked_number, choice_of, listed, whole
from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction.declaration import TESTS, Column, Experiment, Method, Published, Quick, known_name
from mmbn_opt.reproduction.measures import MEASURES
from mmbn_opt.reproduction.methods import METHOD_KINDS
from mmbn_opt.reproduction.splits import Splits

__all__ = ["experiment_names", "load_experiment", "parse_experiment"]

_PLACE = "papers"


def experiment_names() -> tuple[str, ...]:
    """Names of the declarations that come with the package.

    Examples
    --------
    >>> "peharz2012-table2" in experiment_names()
    True
    """
    found = (resources.files("mmbn_opt.reproduction") / _PLACE).iterdir()
    order = [re.split(r"(\d+)", entry.name[: -len(".toml")]) for entry in found if entry.name.endswith(".toml")]
    return tuple(
        "".join(parts) for parts in sorted(order, key=lambda p: [(int(x), "") if x.isdigit() else (0, x) for x in p])
    )


def load_experiment(name: str | Path) -> Experiment:
    """An experiment by its name, or from a file of one's own that ends in ``.toml``.

    Raises
    ------
    InputError
        For an unknown name, and for a file that is no declaration; it says where.
    """
    if str(name).endswith(".toml"):
        path = Path(name)
        try:
            return parse_experiment(path.stem, path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{str(path)!r} can't be read: {error.strerror or error}.") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{str(path)!r} is no text in UTF-8 (byte {error.start}).") from error
    known_name(f"{str(name)!r} is no experiment, and no file that ends in .toml", str(name), experiment_names())
    return parse_experiment(str(name), _shipped(str(name)))


def _shipped(name: str) -> str:
    return (resources.files("mmbn_opt.reproduction") / _PLACE / f"{name}.toml").read_text(encoding="utf-8")


def parse_experiment(name: str, text: str) -> Experiment:
    """Read a declaration; errors name the place in it."""
    try:
        content = _toml(text)
        like = content.get("like")
        return replace(_experiment(name, _with_base(content, name)), like=like)
    except InputError as error:
        raise InputError(f"declaration {name!r}: {error}") from error


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"it is no TOML ({error}).") from error


def _with_base(content: dict[str, Any], name: str) -> dict[str, Any]:
    """The declaration with what it leaves to the one that it is `like`."""
    base = content.pop("like", None)
    if base is None:
        return content
    if base == name or base not in experiment_names():
        raise InputError(f"like must name another declaration of the package, got {base!r}.")
    return {**_with_base(_toml(_shipped(base)), base), **content}


_TEXTS = ("title", "source", "measure", "missing", "relative_to")
_LISTS = ("sets", "tests")
_REASONS = ("absent", "not_run", "why")


def _experiment(name: str, content: dict[str, Any]) -> Experiment:
    known = {f.name for f in fields(Experiment)} - {"name", "like"}
    strangers = [key for key in content if key not in known]
    if strangers:
        raise InputError(f"{strangers[0]!r} is no field of a declaration; there are {listed(sorted(known), 20)}.")
    for key in ("title", "source", "sets", "methods"):
        if not content.get(key):
            raise InputError(f"{key} is absent or empty.")
    for key in (k for k in content if k in _TEXTS):
        _of_kind(key, content[key], str, "a text")
    for key in (k for k in content if k in _LISTS):
        _texts(key, content[key])
    for key in (k for k in content if k in (*_REASONS, "methods", "splits", "quick", "columns")):
        _of_kind(key, content[key], dict, "a table")
    for key in (k for k in content if k in _REASONS):
        for entry, reason in content[key].items():
            _of_kind(f"{key}.{entry}", reason, str, "a text")
    _of_kind("timed", content.get("timed", False), bool, "true or false")
    choice_of("measure", content.get("measure", "accuracy"), list(MEASURES))
    choice_of("missing", content.get("missing", "drop"), ["drop", "state"])
    for test in content.get("tests", ()):
        choice_of("tests", test, list(TESTS))
    methods = {label: _method(label, entry) for label, entry in content["methods"].items()}
    sets = tuple(dict.fromkeys(content["sets"]))
    quick = _quick(content.get("quick", {}), methods)
    experiment = Experiment(
        name, content["title"], content["source"], sets, methods, _splits(content.get("splits", {})),
        content.get("measure", "accuracy"), tuple(content.get("tests", ())), content.get("missing", "drop"),
        _seconds("time_limit", content.get("time_limit", 60.0)), content.get("n_splits"), content.get("absent", {}),
        content.get("not_run", {}), content.get("why", {}), _paper(content.get("paper", "")),
        _columns(content.get("columns", {}), methods), _shares(content.get("removed", [])),
        whole("patterns", content.get("patterns", 10), 1), content.get("relative_to"), quick,
        timed=content.get("timed", False),
    )  # fmt: skip
    if experiment.n_splits is not None:
        whole("n_splits", experiment.n_splits, 1)
    if experiment.relative_to is not None:
        choice_of("relative_to", experiment.relative_to, list(experiment.shown))
    if experiment.removed and {column.measure for column in experiment.shown.values()} != {"accuracy"}:
        raise InputError("removed says where accuracy is measured; the measure can't be another.")
    return experiment


def _columns(entry: dict[str, Any], methods: Mapping[str, Method]) -> dict[str, Column]:
    found = {}
    for label, column in entry.items():
        _of_kind(f"columns.{label}", column, dict, "a table with a method and a measure")
        _only(f"columns.{label}", column, Column)
        for key, known in (("method", methods), ("measure", MEASURES)):
            choice_of(f"columns.{label}.{key}", column.get(key), list(known))
        found[label] = Column(**column)
    return found


def _shares(entry: Any) -> tuple[float, ...]:
    _of_kind("removed", entry, list, "a list of shares")
    return tuple(checked_number("removed", share, 0.0, 1.0, open_high=True) for share in entry)


def _method(label: str, entry: Any) -> Method:
    _of_kind(f"methods.{label}", entry, dict, "a table with a kind")
    if "kind" not in entry:
        raise InputError(f"methods.{label} has no kind; there are {listed(sorted(METHOD_KINDS), 40)}.")
    try:
        own = {key: value for key, value in entry.items() if key not in ("kind", "chosen_on")}
        return Method(entry["kind"], own, entry.get("chosen_on", "training rows"))
    except InputError as error:
        raise InputError(f"methods.{label}: {error}") from error


def _splits(entry: dict[str, Any]) -> Splits:
    _only("splits", entry, Splits)
    for key, low in (("folds", 2), ("draws", 1), ("seed", 0)):
        if key in entry:
            whole(f"splits.{key}", entry[key], low)
    choice_of("splits.learn", entry.get("learn", "all but one"), ["all but one", "one"])
    _of_kind("splits.train_rows", entry.get("train_rows", {}), dict, "a table of numbers of rows")
    for name, rows in entry.get("train_rows", {}).items():
        whole(f"splits.train_rows.{name}", rows, 1)
    _of_kind("splits.sizes", entry.get("sizes", []), list, "a list of numbers of rows")
    for size in entry.get("sizes", []):
        whole("splits.sizes", size, 1)
    _texts("splits.given", entry.get("given", []))
    for name in entry.get("given", []):
        choice_of("splits.given", name, list(entry.get("train_rows", {})))
    for key in ("apart", "in_order"):
        _of_kind(f"splits.{key}", entry.get(key, False), bool, "true or false")
    return Splits(**entry)


def _quick(entry: dict[str, Any], methods: Mapping[str, Method]) -> Quick:
    _only("quick", entry, Quick)
    _texts("quick.sets", entry.get("sets", []))
    _texts("quick.methods", entry.get("methods", []))
    for label in entry.get("methods", []):
        choice_of("quick.methods", label, list(methods))
    if "splits" in entry:
        whole("quick.splits", entry["splits"], 1)
    if "patterns" in entry:
        whole("quick.patterns", entry["patterns"], 1)
    if "time_limit" in entry:
        _seconds("quick.time_limit", entry["time_limit"])
    return Quick(**entry)


def _only(where: str, entry: dict[str, Any], kind: type) -> None:
    known = [f.name for f in fields(kind)]
    for key in entry:
        if key not in known:
            raise InputError(f"{where}.{key} is unknown; there are {listed(known, 20)}.")


def _of_kind(where: str, value: Any, kind: type, words: str) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{where} must be {words}, got {value!r}.")


def _texts(where: str, value: Any) -> None:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise InputError(f"{where} must be a list of texts, got {value!r}.")


def _seconds(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise InputError(f"{where} must be a number of seconds > 0, got {value!r}.")
    return float(value)


_CELL = re.compile(r"(?P<value>-?\d+(?:\.\d+)?)(?:±(?P<half>\d+(?:\.\d+)?))?")


def _paper(text: Any) -> dict[tuple[str, str], Published]:
    """The paper's table: a line of methods after the word "set", then a line a set; "-" where the paper has nothing."""
    _of_kind("paper", text, str, "a text with a line a set")
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines:
        return {}
    (first, *methods), *rows = lines
    if first != "set" or not methods:
        raise InputError(f"paper must begin with a line 'set METHOD ...', got {' '.join(lines[0])!r}.")
    found = {}
    for name, *cells in rows:
        if len(cells) != len(methods):
            raise InputError(f"paper has {len(cells)} cells for {name!r}, and {len(methods)} methods.")
        for method, cell in zip(methods, cells, strict=True):
            match = _CELL.fullmatch(cell)
            if cell != "-" and match is None:
                raise InputError(f"paper: the cell {cell!r} of {name!r} is no number, number±half or '-'.")
            if match is not None:
                found[name, method] = Published(float(match["value"]), float(match["half"]) if match["half"] else None)
    return found
