"""How a model does on rows with labels, as rows of text: accuracy, and which classes are taken for which."""

from dataclasses import dataclass

from mmbn_opt.display._text import number, shorten
from mmbn_opt.results.confusion import Confusion

__all__ = ["AccuracyTable", "accuracy_table"]

_MAX_CLASSES = 30


@dataclass(frozen=True)
class AccuracyTable:
    """A confusion matrix as text.

    Parameters
    ----------
    accuracy : str
    sentence : str
        On how many rows, and what they were to the model.
    held_out : bool
    classes : tuple of str
    rows : tuple of (class, counts, share of the row that is right)
    left_out : str
        What of it is not here.
    """

    accuracy: str
    sentence: str
    held_out: bool
    classes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...], str], ...]
    left_out: str


def accuracy_table(confusion: Confusion, *, held_out: bool) -> AccuracyTable:
    """The matrix with its accuracy; of very many classes the first ones.

    Examples
    --------
    >>> table = accuracy_table(Confusion.of(["a", "a", "b"], ["a", "b", "b"], ["a", "b"]), held_out=True)
    >>> table.accuracy, table.rows[0]
    ('66.67 %', ('a', ('1', '1'), '50.0 %'))
    """
    kept = min(len(confusion.classes), _MAX_CLASSES)
    labels = tuple(shorten(str(label), 24) for label in confusion.classes[:kept])
    rows = []
    for k, (label, counts) in enumerate(zip(labels, confusion.counts, strict=False)):
        total = float(counts.sum())
        right = f"{100 * counts[k] / total:.1f} %" if total else "–"
        rows.append((label, tuple(number(float(n), 6) for n in counts[:kept]), right))
    told = f"{number(confusion.total, 7)} rows"
    seen = "that the model was learned from: this says how well they are fitted, not how new rows are predicted."
    sentence = f"{told} {'that were held out: the model has not seen them.' if held_out else seen}"
    more = len(confusion.classes) - kept
    return AccuracyTable(
        accuracy=f"{100 * confusion.accuracy:.2f} %" if confusion.total else "–",
        sentence=sentence,
        held_out=held_out,
        classes=labels,
        rows=tuple(rows),
        left_out=f"{more:,} more of {len(confusion.classes):,} classes" if more else "",
    )
