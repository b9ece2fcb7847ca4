"""The words of handwriting: pixels, letters, whole words and their folds; a file of something else is refused."""

import numpy as np
import pandas as pd
import pytest

from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction.sources import Source, where_to_get
from mmbn_opt.reproduction.splits import Splits

PIXELS = ["80" + "0" * 30, "0" * 31 + "1", "F" * 32]


def frame():
    return pd.DataFrame(
        {"fold": [1, 0, 1], "word": [7, 3, 7], "position": [2, 1, 1], "letter": ["n", "a", "o"], "pixels_hex": PIXELS}
    )


@pytest.mark.parametrize("place", ["ocr-letters.csv", "sequences/ocr-letters.csv.gz"])
def test_words_are_read_position_by_position(tmp_path, place):
    (tmp_path / "sequences").mkdir()
    frame().to_csv(tmp_path / place, index=False)
    table = Source(tmp_path).find("ocr-letters")
    assert table.y.tolist() == ["a", "o", "n"]
    assert table.sequences.tolist() == [0, 1, 1]
    assert table.folds.tolist() == [0, 1, 1]
    pixels = table.X.to_numpy()
    assert pixels.shape == (3, 128)
    assert np.flatnonzero(pixels[0]).tolist() == [127]
    assert pixels[1].all()
    assert np.flatnonzero(pixels[2]).tolist() == [0]
    [(one, _), (other, held_out)] = Splits(folds=10, learn="one").of(table)
    assert (one.tolist(), other.tolist(), held_out.tolist()) == ([0], [1, 2], [0])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: f.drop(columns="fold"), "has no column 'fold'"),
        (lambda f: f.iloc[:0], "has no rows"),
        (lambda f: f.assign(pixels_hex="12"), "'12' in the column 'pixels_hex' is no text of 32 hex digits"),
        (lambda f: f.assign(pixels_hex=["g" * 32, *PIXELS[1:]]), "'g+' in the column 'pixels_hex'"),
        (lambda f: f.assign(fold=[1, 0, 2]), "has a word in more than one fold"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, spoil, message):
    spoil(frame()).to_csv(tmp_path / "ocr-letters.csv", index=False)
    with pytest.raises(InputError, match=message):
        Source(tmp_path).find("ocr-letters")


def test_a_file_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "ocr-letters.csv").write_bytes(b"")
    with pytest.raises(InputError, match="can't be read"):
        Source(tmp_path).find("ocr-letters")


def test_words_that_are_not_here_are_told_with_the_place_to_get_them(tmp_path):
    assert Source(None).find("ocr-letters") is None
    assert Source(tmp_path).find("ocr-letters") is None
    assert where_to_get("ocr-letters").startswith("put ocr-letters.csv, with the columns fold, word, position")


def test_the_words_of_the_reference_data_are_all_there(shared_dir):
    table = Source(shared_dir / "data").find("ocr-letters")
    assert (len(table.y), table.sequences.max() + 1, table.y.nunique()) == (52152, 6877, 26)
    assert [len(train) for train, _ in Splits(learn="one").of(table)] == np.bincount(table.folds).tolist()
