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
    "Learned",
    "Rows",
    "Table",
    "calibrated_on",
    "kinds_of",
    "learned_of",
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

_CALIBRATED_ON = 200_000
"""Rows of a table with codes in a file that a temperature is chosen on."""

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


@dataclass(frozen=True, eq=False)
class Learned:
    """Rows to learn from as discrete data, and those that nothing is learned from.

    Parameters
    ----------
    data : DiscreteDataset
    numbers : mapping from feature to float64 array (n_samples,)
        Numeric columns as they were before they were cut; none where the codes lie in a file.
    held_out : DataFrame or None
    where : str
    """

    data: Any
    numbers: Mapping[str, Any]
    held_out: "pd.DataFrame | None"
    where: str


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
    codes_in : Path or None
        Where codes are kept of a table that is larger than memory.
    """

    path: Path
    target: str
    na: str
    drop: str = ""
    test: Path | None = None
    hold_out: float | None = None
    seed: int = 0
    codes_in: Path | None = None

    def __post_init__(self) -> None:
        from mmbn_opt._arguments import checked_number, whole

        whole("seed", self.seed)
        if self.hold_out is not None:
            if self.test is not None:
                raise InputError("Give --test or --hold-out, not both.")
            checked_number("hold_out", self.hold_out, 0.0, 1.0, open_low=True, open_high=True)
        if self.target in names_in(self.drop):
            raise InputError(f"--drop names the class column {self.target!r}, which is needed.")
        if self.codes_in is None:
            refuse_absent(self.path)
        else:
            self._refuse_what_needs_memory()
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

    def _refuse_what_needs_memory(self) -> None:
        from mmbn_opt.data.mapped import CodeFile
        from mmbn_opt.data.readers.parquet_columns import ParquetColumns

        assert self.codes_in is not None
        if self.hold_out is not None:
            raise InputError("--hold-out needs the table in memory, --codes-in is for tables beyond it. Give --test.")
        ParquetColumns(self.path)  # says what is wrong with the files
        CodeFile.refuse_used(self.codes_in)

    def codes(
        self,
        kinds: Mapping[str, Literal["categorical", "numeric"]],
        missing: choices.Missing,
        no_discretize: bool,
    ) -> Learned:
        """The rows with their codes in a file, and those held out."""
        from mmbn_opt.data.by_column import dataset_of_parquet

        data = dataset_of_parquet(
            self.path, self.target, missing=missing.value, kinds=kinds, ignore=frozenset(names_in(self.drop)),
            codes_in=self.codes_in,
        )  # fmt: skip
        cut = [variable.name for variable in data.features if variable.cuts is not None]
        if no_discretize and cut:
            Path(data.file).unlink()  # type: ignore[attr-defined]
            raise InputError(f"--no-discretize: column {cut[0]!r} is numeric. Name it by --categorical, or --drop it.")
        if self.test is None:
            return Learned(data, {}, None, "")
        other = read(self.test, self.na_values)
        absent = [name for name in (*data.feature_names, data.class_name) if name not in other.columns]
        if absent:
            raise InputError(
                f"{self.test}: the columns {absent[:8]} of {self.path} are absent. --test needs all of them, the class "
                "too."
            )
        return Learned(data, {}, other, str(self.test))

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
    _tell(preparation.describe(remarks=False))
    refuse_unwritable((*preparation.data.features, preparation.data.target))
    return preparation


def learned_of(
    table: Table,
    kinds: Mapping[str, Literal["categorical", "numeric"]],
    missing: choices.Missing,
    no_discretize: bool,
) -> Learned:
    """The rows of a table as discrete data, in memory or with their codes in a file."""
    from mmbn_opt.data.preparation import Preparation
    from mmbn_opt.interop.writable import refuse_unwritable

    if table.codes_in is None:
        rows = table.read()
        preparation = prepared(rows.learned, table.target, kinds, missing, no_discretize)
        return Learned(preparation.data, preparation.numbers, rows.held_out, rows.where)
    learned = table.codes(kinds, missing, no_discretize)
    _tell(Preparation(learned.data, {}, missing.value).describe(remarks=False))
    refuse_unwritable((*learned.data.features, learned.data.target))
    return learned


def calibrated_on(data: Any) -> Any:
    """Rows that a temperature is chosen on: all of those in memory, some of those with codes in a file."""
    from dataclasses import replace

    from mmbn_opt.data.mapped import MappedDataset

    if not isinstance(data, MappedDataset):
        return data
    _, some = data.drawn(_CALIBRATED_ON)
    return replace(some, sample_weight=some.sample_weight / some.sample_weight[0])


def _tell(lines: list[str]) -> None:
    for line in lines[:_MOST_TOLD]:
        remark(line)
    if len(lines) > _MOST_TOLD:
        remark(f"... and {len(lines) - _MOST_TOLD} further columns; model.json has their states and cut points")


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
