"""The rows of a command: read, held out where that is asked for, and prepared as the options say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mmbn_opt.cli import choices
from mmbn_opt.cli.remarks import remark
from mmbn_opt.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Rows",
    "Table",
    "kinds_of",
    "location",
    "na_values",
    "names_in",
    "prepared",
    "read",
    "refuse_absent",
    "stand_in",
]


_MOST_TOLD = 40
"""Columns whose states or cut points are told; more would push the answer off the screen."""

_STDIN = Path("/dev/stdin")
"""Where the system has it; elsewhere a hyphen is a file name like any other."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to learn from, and rows that nothing is learned from.

    Parameters
    ----------
    learned : DataFrame
    held_out : DataFrame or None
    where : str
        Where those held out are from; empty without.
    """

    learned: "pd.DataFrame"
    held_out: "pd.DataFrame | None" = None
    where: str = ""


@dataclass(frozen=True)
class Table:
    """A table as its options describe it; made, and so checked, before anything is read.

    Parameters
    ----------
    path : Path
    target : str
    na : str
        Texts that mean missing, between commas.
    drop : str
        Columns to leave out, between commas.
    test : Path or None
    hold_out : float or None
    seed : int
        Of what is held out.
    """

    path: Path
    target: str
    na: str
    drop: str = ""
    test: Path | None = None
    hold_out: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        from mmbn_opt._arguments import checked_number, whole

        whole("seed", self.seed)
        if self.hold_out is not None:
            if self.test is not None:
                raise InputError("Give --test or --hold-out, not both.")
            checked_number("hold_out", self.hold_out, 0.0, 1.0, open_low=True, open_high=True)
        if self.target in names_in(self.drop):
            raise InputError(f"--drop names the class column {self.target!r}, which is needed.")
        refuse_absent(self.path)
        if self.test is not None:
            refuse_absent(self.test)
            if location(self.test).exists() and location(self.test).samefile(location(self.path)):
                raise InputError(f"--test is the file that is learned from, {str(self.test)!r}; see --hold-out.")

    def read(self) -> Rows:
        """Read the file, and the one of the rows held out."""
        from mmbn_opt.data.discrete import check_columns

        frame = read(self.path, self.na_values, names_in(self.drop))
        if self.test is not None:
            other = read(self.test, self.na_values)
            check_columns(frame, self.target)
            absent = [str(name) for name in frame.columns if name not in other.columns]
            if absent:
                raise InputError(
                    f"{self.test}: the columns {absent[:8]} of {self.path} are absent. --test needs all of them, the "
                    "class too."
                )
            return Rows(frame, other, str(self.test))
        if self.hold_out is None:
            return Rows(frame)
        check_columns(frame, self.target)
        return self._split(frame, self.hold_out)

    @property
    def na_values(self) -> tuple[str, ...]:
        """The texts that mean missing."""
        return na_values(self.na)

    def _split(self, frame: "pd.DataFrame", share: float) -> Rows:
        import pandas as pd

        from mmbn_opt.data.folds import holdout_rows

        labels = pd.factorize(frame[self.target], sort=False)[0]
        try:
            learned, held_out = holdout_rows(labels, test_fraction=share, seed=self.seed)
        except ValueError:  # too few rows for each part to have all classes
            raise InputError(
                f"--hold-out {share:g} cannot be drawn class by class from {len(frame)} rows of "
                f"{len(set(labels.tolist()))} classes. Choose another share, or give the rows by --test."
            ) from None
        return Rows(frame.iloc[learned], frame.iloc[held_out], f"--hold-out {share:g}, seed {self.seed}")


def prepared(
    frame: "pd.DataFrame",
    target: str,
    kinds: Mapping[str, Literal["categorical", "numeric"]],
    missing: choices.Missing,
    no_discretize: bool,
) -> Any:
    """The rows as discrete data, and what was done to each column on stderr."""
    from mmbn_opt.data.preparation import prepare
    from mmbn_opt.interop.writable import refuse_unwritable

    preparation = prepare(frame, target, kinds=kinds, missing=missing.value, discretize=not no_discretize)
    told = preparation.describe(remarks=False)
    for line in told[:_MOST_TOLD]:
        remark(line)
    if len(told) > _MOST_TOLD:
        remark(f"... and {len(told) - _MOST_TOLD} further columns; model.json has their states and cut points")
    refuse_unwritable((*preparation.data.features, preparation.data.target))
    return preparation


def kinds_of(categorical: str, numeric: str) -> Mapping[str, Literal["categorical", "numeric"]]:
    """Kinds of the columns that are named."""
    kinds: dict[str, Literal["categorical", "numeric"]] = dict.fromkeys(names_in(categorical), "categorical")
    for name in names_in(numeric):
        if name in kinds:
            raise InputError(f"Column {name!r} is named by both --categorical and --numeric.")
        kinds[name] = "numeric"
    return kinds


def read(path: Path, missing: Iterable[str], ignore: Iterable[str] = ()) -> "pd.DataFrame":
    """The table of a file; of what comes in on stdin where the path is a hyphen."""
    from mmbn_opt.data.readers import read_table

    return read_table(location(path), na_values=missing, ignore=ignore)


def na_values(text: str) -> tuple[str, ...]:
    """Cell texts that mean missing; an empty cell always does."""
    return ("", *names_in(text))


def names_in(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def refuse_absent(path: Path) -> None:
    """Say what is wrong with a path that is no file, before there is anything else to do."""
    place = location(path)
    if place.is_dir() or not place.exists():
        read(path, ())  # says why


def location(path: Path) -> Path:
    """The file; where the path is a hyphen, what comes in on stdin."""
    return _STDIN if str(path) == "-" and _STDIN.exists() else path


def stand_in() -> Any:
    """A table of sixteen rows on which settings are tried before the user's is read."""
    from mmbn_opt.data.discrete import DiscreteDataset

    return DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 4, [0, 1, 1, 0] * 4)
