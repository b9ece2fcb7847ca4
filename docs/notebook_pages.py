"""Pages of the notebooks in `examples/`, made from the outputs that each is kept with, so that no kernel is needed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["write_notebook_pages"]

_FENCE = "`````"


def write_notebook_pages(notebooks: Path, folder: Path) -> None:
    """Write one page a notebook, and its figures beside it, into `folder`.

    What belongs to no notebook any more is removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = set()
    for path in sorted(notebooks.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        figures: dict[str, str] = {}
        text = _page(path.stem, cells, figures)
        for name, content in {f"{path.stem}.md": text, **figures}.items():
            _write(folder / name, content)
            written.add(name)
    for page in folder.iterdir():
        if page.name not in written:
            page.unlink()


def _write(path: Path, text: str) -> None:
    # An unchanged page keeps its time, so that Sphinx does not read it again.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _page(stem: str, cells: list[dict[str, Any]], figures: dict[str, str]) -> str:
    parts, heading = [], stem
    for k, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            if titles := re.findall(r"^#+ (.*)$", source, flags=re.MULTILINE):
                heading = titles[-1]
            if k == 0:
                parts.append(f"This page is the notebook {{download}}`{stem}.ipynb <../../../examples/{stem}.ipynb>`.")
        elif cell["cell_type"] == "code":
            parts.append(f"{_FENCE}python\n{source}\n{_FENCE}")
            parts += [block for output in cell["outputs"] for block in _output(output, stem, heading, figures)]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any], stem: str, heading: str, figures: dict[str, str]) -> Iterator[str]:
    """An output as Markdown: a figure as a file, a table or a drawing as it is, all else as text."""
    found = output.get("data", {}).items()
    data = {kind: "".join(content) for kind, content in found if isinstance(content, list | str)}
    if "image/svg+xml" in data:
        name = f"{stem}-{len(figures) + 1}.svg"
        figures[name] = data["image/svg+xml"]
        yield f"![Figure of the section “{heading}”]({name})"
    elif "text/html" in data:
        # pandas writes the empty corner of a table as a heading, which those who hear the page would look for in vain.
        html = data["text/html"].replace("<th></th>", "<td></td>")
        yield (
            f'{_FENCE}{{raw}} html\n<div class="nb-output" role="group" aria-label="Output" tabindex="0">\n'
            f"{html}\n</div>\n{_FENCE}"
        )
    elif text := "".join(output.get("text", "")) or data.get("text/plain", ""):
        yield f"{_FENCE}text\n{text.rstrip()}\n{_FENCE}"
