"""What may be odd about a table: the kinds of finding, each with its words and its cure."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from mmbn_opt._arguments import shown

__all__ = ["Finding", "FindingKind", "Severity", "remark_lines", "tell"]

logger = logging.getLogger(__name__)

_MOST = 6
"""Columns of one kind that a line names."""


class Severity(Enum):
    """How much a finding matters; what is worse refuses the table.

    Examples
    --------
    >>> print(Severity.WARNING)
    warning
    """

    WARNING = "warning"
    """What is learned may be worth nothing, or a column plays no part in it."""

    NOTE = "note"
    """Something was read in one of several ways."""

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return f"Severity.{self.name}"


class FindingKind(Enum):
    """What may be odd about a column.

    Examples
    --------
    >>> FindingKind.CONSTANT.value, FindingKind.CONSTANT.severity
    ('constant', Severity.WARNING)
    """

    IDENTIFIER = "identifier"
    MANY_STATES = "many states"
    DATE_TEXT = "date as text"
    ODD_CELLS = "numbers but for a few cells"
    SIGNS = "numbers with signs"
    ZEROS = "leading zeros"
    UNDECIDED_COMMA = "decimals or thousands"
    CONSTANT = "constant"
    NO_CUT = "no cut"
    MANY_CLASSES = "many classes"
    SINGLE_ROW_CLASS = "class of one row"
    UNLABELLED = "unlabelled rows"
    DECIMAL_COMMA = "decimal comma"
    MOMENTS = "moments"

    def __repr__(self) -> str:
        return f"FindingKind.{self.name}"

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        # Most real tables have columns without a cut, and nothing has to be done about them.
        notes = FindingKind.DECIMAL_COMMA, FindingKind.MOMENTS, FindingKind.NO_CUT
        return Severity.NOTE if self in notes else Severity.WARNING


_LEAVE_OUT = "Leave out: ignore=[{names}] (command line: --drop {bare})."
_NUMERIC = 'kinds={{{first}: "numeric"{rest}}} (command line: --numeric {bare})'
_CATEGORICAL = 'kinds={{{first}: "categorical"{rest}}} (command line: --categorical {bare})'

# Said of one column or of several, and what to do.
_WORDS: dict[FindingKind, tuple[str, str]] = {
    FindingKind.IDENTIFIER: (
        "a value of its own in nearly each row; nothing that is learned from such names holds for other rows",
        _LEAVE_OUT,
    ),
    FindingKind.MANY_STATES: ("so many states that each rests on a few rows", f"Merge states. {_LEAVE_OUT}"),
    FindingKind.DATE_TEXT: (
        "dates as text, each a state of its own",
        f"{_LEAVE_OUT} Dates like 2020-12-31 can be taken as moments: {_NUMERIC}.",
    ),
    FindingKind.ODD_CELLS: (
        "numbers but for a few cells, so taken as text",
        "Correct these cells, or have them read as missing: na_values=({cells}) of read_table "
        '(command line: --na "{bare_cells}").',
    ),
    FindingKind.SIGNS: (
        "numbers with signs or units, so taken as text",
        f"Remove the signs (%, $, thousands separators). {_LEAVE_OUT}",
    ),
    FindingKind.ZEROS: (
        "numbers with leading zeros, so taken as names",
        f"If they are numbers: {_NUMERIC}.",
    ),
    FindingKind.UNDECIDED_COMMA: (
        "a comma before decimals, or before thousands; taken as text",
        f"Write the numbers without it, or say that it stands before decimals: {_NUMERIC}.",
    ),
    FindingKind.CONSTANT: ("one value in all rows, which tells no classes apart", _LEAVE_OUT),
    FindingKind.NO_CUT: (
        "got no cut, hence constant: no cut point tells enough of the class",
        "Plays no part in what is learned; nothing has to be done.",
    ),
    FindingKind.MANY_CLASSES: (
        "a class for each few rows, as of a quantity or an identifier",
        "Check that it is the class column, or merge its labels.",
    ),
    FindingKind.SINGLE_ROW_CLASS: (
        "classes of one row each, of which little can be learned and nothing checked",
        "Add rows, merge these classes, or remove the rows.",
    ),
    FindingKind.UNLABELLED: ("rows without a label, which were left out", "Label them if they are to count."),
    FindingKind.DECIMAL_COMMA: ("decimal commas, read as numbers", f"To take as text: {_CATEGORICAL}."),
    FindingKind.MOMENTS: (
        "moments as seconds since 1970 (UTC), durations as seconds",
        f"To take as labels: {_CATEGORICAL}.",
    ),
}


@dataclass(frozen=True)
class Finding:
    """Something odd about a column.

    Parameters
    ----------
    kind : FindingKind
    column : str
    detail : str
        Figures and cells, such as "500 states in 590 rows".
    cells : tuple of str
        Cells that the cure has to name.

    Examples
    --------
    >>> finding = Finding(FindingKind.IDENTIFIER, "id", "500 states in 590 rows")
    >>> print(finding.cure)
    Leave out: ignore=['id'] (command line: --drop id).
    """

    kind: FindingKind
    column: str
    detail: str = ""
    cells: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return self.kind.severity

    @property
    def sentence(self) -> str:
        """What was found."""
        return _sentence(self.kind, [self])

    @property
    def cure(self) -> str:
        """What to do, in Python and on the command line."""
        return _cure(self.kind, [self])

    def __str__(self) -> str:
        return f"{self.sentence} {self.cure}"


def remark_lines(findings: Iterable[Finding]) -> list[str]:
    """One line for each kind of finding, those that matter most first; long lists of columns are cut.

    Examples
    --------
    >>> remark_lines([Finding(FindingKind.CONSTANT, "a"), Finding(FindingKind.CONSTANT, "b")])[0][:40]
    "Columns 'a', 'b': one value in all rows,"
    """
    found = list(findings)
    lines = []
    for kind in FindingKind:
        same = [finding for finding in found if finding.kind is kind]
        if same:
            lines.append(f"{_sentence(kind, same)} {_cure(kind, same)}")
    return lines


def tell(findings: Sequence[Finding]) -> None:
    """Log each kind of finding once: what is a warning as one, what is a note at INFO."""
    for kind in FindingKind:
        for line in remark_lines(finding for finding in findings if finding.kind is kind):
            if kind.severity is Severity.WARNING:
                logger.warning("%s", line)
            else:
                logger.info("%s", line)


def _sentence(kind: FindingKind, found: Sequence[Finding]) -> str:
    told = [shown(f.column) + (f" ({f.detail})" if f.detail else "") for f in found[:_MOST]]
    more = f" and {len(found) - _MOST:,} more" if len(found) > _MOST else ""
    return f"Column{'s' if len(found) > 1 else ''} {', '.join(told)}{more}: {_WORDS[kind][0]}."


def _cure(kind: FindingKind, found: Sequence[Finding]) -> str:
    columns = [finding.column for finding in found]
    cells = list(dict.fromkeys(cell for finding in found for cell in finding.cells))[:_MOST]
    more = ", ..." if len(columns) > _MOST else ""
    return _WORDS[kind][1].format(
        names=", ".join(map(shown, columns[:_MOST])) + more,
        bare=",".join(columns[:_MOST])[:200] + more.replace(" ", ""),
        first=shown(columns[0]),
        rest=", ..." if len(columns) > 1 else "",
        cells=", ".join(["''", *map(shown, cells)]),
        bare_cells=",".join(cells)[:200],
    )
