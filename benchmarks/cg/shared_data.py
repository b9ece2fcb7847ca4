"""The reference data sets, discretized on their training rows."""

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import mmbn_opt as mm

ROOT = Path(__file__).resolve().parents[2]


def folder() -> Path:
    """Where the reference data are: MMBN_SHARED, or beside the checkout."""
    found = Path(os.environ.get("MMBN_SHARED", ROOT.parent / "shared"))
    if not (found / "data" / "manifest.json").is_file():
        raise SystemExit(f"The reference data are not at {found}; set MMBN_SHARED to their folder.")
    return found


def load(name: str, draw: int | None = None) -> tuple[mm.DiscreteDataset, mm.DiscreteDataset]:
    """(train, test) of a data set, cut on the training rows; see `load_frames`."""
    train, test, _ = load_frames(name, draw)
    prepared = mm.prepare(train, "class", kinds=dict.fromkeys(train.columns.drop("class"), "numeric"))
    return prepared.data, prepared.apply(test)


def load_frames(name: str, draw: int | None = None) -> tuple[pd.DataFrame, pd.DataFrame, bool]:
    """(train, test) of a data set as tables, and whether it has no usual split; mnist is pooled to 14 x 14 pixels.

    The split is the usual one, or, with the number of a `draw`, one of the same sizes drawn at random from all rows.
    Data without a usual split give draw 0 of two thirds.
    """
    entries = json.loads((folder() / "data" / "manifest.json").read_text(encoding="utf-8"))
    entry = next(e for e in entries if e["name"] == name)
    values, labels = _table(name, folder() / "data" / entry["file"])
    columns = [f"x{j}" for j in range(values.shape[1])]
    table = pd.DataFrame(values, columns=columns).assign(**{"class": labels})
    n_train = entry["train_rows"] or 2 * len(table) // 3
    drawn = entry["train_rows"] is None
    if draw is not None or drawn:
        table = table.sample(frac=1.0, random_state=draw or 0, ignore_index=True)
    return table.iloc[:n_train], table.iloc[n_train:], drawn


def _table(name: str, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and labels; parsing mnist takes half a minute, so the numbers are kept for the next script."""
    kept = Path(tempfile.gettempdir()) / f"mmbn-opt-benchmark-{os.getuid()}" / f"{name}.npz"
    if kept.is_file():
        with np.load(kept, allow_pickle=False) as arrays:
            return arrays["values"], arrays["labels"].astype(object)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    values, labels = frame.drop(columns="class").astype(float).to_numpy(), frame["class"].to_numpy()
    if name == "mnist":
        values = values.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)
    kept.parent.mkdir(mode=0o700, exist_ok=True)
    np.savez_compressed(kept, values=values, labels=labels.astype(str))
    return values, labels


def accuracy(network: mm.BayesianNetwork, codes: np.ndarray, labels: np.ndarray) -> float:
    """Share of the rows whose most probable class is their own."""
    return float((network.log_joint(codes).argmax(axis=1) == labels).mean())
