"""Record the live view: a run on `segment`, stopped by its button, and its best network used to predict.

    python tests/browser/record_live_view.py docs/images/live-view.png

Needs Chromium, JupyterLab, Pillow and the reference data beside the checkout (or in MMBN_SHARED).
"""

import argparse
import io
import os
import tempfile
from pathlib import Path

import nbformat
from browser_page import Page, browser_page
from notebook_runs import notebook_of
from notebook_server import notebook_server, open_notebook, output_of, run_cell, stop_button
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
CELLS = [
    """import json
import pandas as pd
import mmbn_opt as mm
from pathlib import Path

shared = Path({shared!r}) / "data"
entry = next(e for e in json.loads((shared / "manifest.json").read_text()) if e["name"] == "segment")
frame = pd.read_csv(shared / entry["file"])
kinds = dict(zip(frame.columns[:-1], entry["feature_kinds"]))
test = frame.iloc[::3]
train = frame.drop(test.index)
data = mm.prepare(train, "class", kinds=kinds).apply(train)""",
    """run = mm.start(mm.SoftMarginStructure(data), time_limit=120)
run""",
    """hits = run.best().predict(test) == test["class"]
print(run.result().termination_status, f"at a gap of {run.bounds.gap_rel:.2%};",
      f"{hits.mean():.1%} of {len(test)} held-out rows are right")""",
]
VIEW = output_of(1)
GAP = f"parseFloat({VIEW}?.querySelectorAll('.figures dd')[2]?.textContent)"
WIDTH, HEIGHT, SCALE = 720, 1010, 1.5


def frame_of(page: Page) -> Image.Image:
    """The notebook below its toolbar, from the cell of the run on."""
    page.evaluate("(document.querySelectorAll('.jp-Notebook .jp-Cell')[1].scrollIntoView({block: 'start'}), true)")
    picture = Image.open(io.BytesIO(page.screenshot("document.querySelector('.jp-NotebookPanel-notebook')")))
    return picture.convert("RGB")


def record(shared: Path, target: Path, close_at: float) -> None:
    """Run the notebook in a browser and put three moments side by side."""
    with tempfile.TemporaryDirectory() as folder:
        work, profile = Path(folder) / "work", Path(folder) / "profile"
        work.mkdir()
        profile.mkdir()
        nbformat.write(notebook_of([CELLS[0].format(shared=str(shared)), *CELLS[1:]]), work / "live.ipynb")
        with notebook_server(work) as address, browser_page(profile) as page:
            page.resize(WIDTH, HEIGHT, SCALE)
            open_notebook(page, address, "live.ipynb")
            run_cell(page, 0)
            run_cell(page, 1)
            page.wait_for(f"!!{stop_button(1)} && {GAP} < 10", 60)
            frames = [frame_of(page)]
            page.wait_for(f"{GAP} <= {close_at}", 120)
            frames.append(frame_of(page))
            page.click(stop_button(1))
            page.wait_for(f"!{stop_button(1)}", 30)
            run_cell(page, 2)
            frames.append(frame_of(page))
            if page.errors:
                raise RuntimeError(f"the page reported errors: {page.errors}")
    gap = 24
    width, height = frames[0].size
    strip = Image.new("RGB", (len(frames) * (width + gap) - gap, height), "white")
    for k, picture in enumerate(frames):
        strip.paste(picture, (k * (width + gap), 0))
    strip = strip.resize((strip.width * 2 // 3, strip.height * 2 // 3), Image.Resampling.LANCZOS)
    strip.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--stop-at", type=float, default=0.75, help="gap in per cent at which the button is pressed")
    chosen = parser.parse_args()
    data = Path(os.environ.get("MMBN_SHARED", ROOT.parent / "shared"))
    record(data, chosen.target, chosen.stop_at)
