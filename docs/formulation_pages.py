"""Table of the formulations, written from the classes themselves, so that a new one need not be listed."""

import re
from importlib import import_module
from pathlib import Path

import mmbn_opt.formulations
from mmbn_opt.formulations import Formulation

__all__ = ["public_formulations", "write_formulation_table"]


def public_formulations() -> dict[str, type[Formulation]]:
    """Formulations that can be built, in the order in which their rooms are listed on the index page."""
    found = {name: getattr(mmbn_opt.formulations, name) for name in mmbn_opt.formulations.__all__}
    whole = {name: kind for name, kind in found.items() if hasattr(kind, "title") and issubclass(kind, Formulation)}
    return dict(sorted(whole.items(), key=lambda item: (_ROOMS.index(_room(item[1])), item[0])))


def write_formulation_table(folder: Path) -> None:
    """Write the table of all formulations into `folder`, each with the page whose head names it."""
    pages = _pages(Path(__file__).parent / "formulations")
    lines = ["| formulation | in words | learns | program | bound |", "|---|---|---|---|---|"]
    for name, kind in public_formulations().items():
        link = f"[`{name}`]({pages[name]})"
        programs = ", ".join(sorted(map(str, kind.emits)))
        lines.append(f"| {link} | {kind.title} | {_subject(kind)} | {programs} | {kind.bound_kind.name.lower()} |")
    text = "\n".join(lines) + "\n"
    target = folder / "formulation-table.md"
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


_ROOMS = ("structure", "parameters", "sequence", "mixture")


def _room(kind: type[Formulation]) -> str:
    return kind.__module__.split(".")[2]


def _subject(kind: type[Formulation]) -> str:
    """What a formulation learns: the sentence of its room up to the colon."""
    sentence = import_module(f"mmbn_opt.formulations.{_room(kind)}").__doc__ or ""
    return sentence.partition(":")[0].lower().replace("gaussian", "Gaussian")


def _pages(folder: Path) -> dict[str, str]:
    """Name of each formulation -> the page that says in its head that it is about it."""
    pages: dict[str, str] = {}
    for page in sorted(folder.glob("*.md")):
        head = re.match(r"---\nformulations: (.+)\n---\n", page.read_text(encoding="utf-8"))
        for name in head[1].split(", ") if head else ():
            if name in pages:
                raise ValueError(f"{pages[name]} and {page.name} both say that they are about {name}.")
            pages[name] = page.name
    if missing := set(public_formulations()) - set(pages):
        raise ValueError(f"No page in {folder} begins with `formulations: {min(missing)}` between lines of ---.")
    return pages
