"""Pages of the solvers, written from the registry and the classes themselves, so that they can't go stale."""

from collections.abc import Iterable
from dataclasses import MISSING, Field, fields
from pathlib import Path

from mmbn_opt.solvers import Solver, get_solver_class, solver_names
from mmbn_opt.solving import AUTO_RULES

__all__ = ["write_solver_pages"]

_SHARED = {f.name for f in fields(Solver)}


def write_solver_pages(folder: Path) -> None:
    """Write one page a solver, the table of all and the rules of "auto" into `folder`.

    Pages of solvers that are gone are removed.
    """
    pages = folder / "solvers"
    pages.mkdir(parents=True, exist_ok=True)
    names = solver_names()
    for name in names:
        _write(pages / f"{name}.md", _page(name, get_solver_class(name)))
    _write(folder / "solver-table.md", _table(names))
    _write(folder / "auto-rules.md", _rules())
    for page in pages.glob("*.md"):
        if page.stem not in names:
            page.unlink()


def _write(path: Path, text: str) -> None:
    # An unchanged page keeps its time, so that Sphinx does not read it again.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _table(names: Iterable[str]) -> str:
    lines = ["| solver | takes | licence | comes with |", "|---|---|---|---|"]
    for name in names:
        solver = get_solver_class(name)
        link = f'[{solver.title}](_generated/solvers/{name}.md) (`"{name}"`)'
        lines.append(f"| {link} | {_kinds(solver)} | {solver.licence} | {_home(solver)} |")
    return "\n".join(lines) + "\n"


def _rules() -> str:
    lines = ["| program | size | solver |", "|---|---|---|"]
    lines += [f'| {rule.kind} | {rule.condition} | `"{rule.solver}"` |' for rule in AUTO_RULES]
    return "\n".join(lines) + "\n"


def _page(name: str, solver: type[Solver]) -> str:
    rules = [f"{rule.kind}, {rule.condition}" for rule in AUTO_RULES if rule.solver == name]
    facts = [
        ("name", f'`solver="{name}"`'),
        ("class", f"`mmbn_opt.solvers.{solver.__name__}`"),
        ("takes", _kinds(solver)),
        ("licence", solver.licence),
        ("comes with", _home(solver)),
        ('chosen by `"auto"`', "; ".join(rules) or "never"),
        ("at a limit or when stopped", solver.at_limit),
    ]
    lines = [
        f"# {solver.title} (`{name}`)",
        "",
        "| | |",
        "|---|---|",
        *(f"| {key} | {value} |" for key, value in facts),
        "",
    ]
    lines += ["```{eval-rst}", f".. autoclass:: mmbn_opt.solvers.{solver.__name__}", "   :no-index:", "```", ""]
    lines += _settings(solver)
    lines += _ignored(solver)
    return "\n".join(lines)


def _settings(solver: type[Solver]) -> list[str]:
    lines = ["## Settings", "", "| setting | default | |", "|---|---|---|"]
    own = [f for f in fields(solver) if f.name not in _SHARED]
    for setting in [*own, *(f for f in fields(solver) if f.name in _SHARED)]:
        kind = "shared by all solvers" if setting.name in _SHARED else "its own"
        if setting.name in solver.ignores:
            kind += "; makes no difference here"
        lines.append(f"| `{setting.name}` | `{_default(setting)}` | {kind} |")
    defaults = getattr(solver, "default_options", None)
    if defaults:
        told = ", ".join(f"`{key}={value!r}`" for key, value in defaults.items())
        lines += ["", f"Options that differ from the library's own defaults: {told}."]
    return [*lines, ""]


def _default(setting: "Field[object]") -> str:
    if setting.default_factory is not MISSING:
        return repr(setting.default_factory())
    return "required" if setting.default is MISSING else repr(setting.default)


def _ignored(solver: type[Solver]) -> list[str]:
    if not solver.ignores:
        return ["## What it ignores", "", "Nothing of the shared settings.", ""]
    rows = [f"* `{name}`: {reason}." for name, reason in solver.ignores.items()]
    return ["## What it ignores", "", *rows, ""]


def _kinds(solver: type[Solver]) -> str:
    return ", ".join(sorted(map(str, solver.accepts)))


def _home(solver: type[Solver]) -> str:
    return "the core" if solver.extra is None else f'`pip install "mmbn-opt[{solver.extra}]"`'
