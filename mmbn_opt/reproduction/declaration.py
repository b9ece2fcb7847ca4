"""An experiment as a declaration: data, splits, methods with their inner choices, the measure and the tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from typing import Any, Literal

from mmbn_opt._arguments import choice_of, listed, whole
from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction.methods import METHOD_KINDS, check_settings
from mmbn_opt.reproduction.splits import Splits

__all__ = ["CHOSEN_ON", "TESTS", "Column", "Experiment", "Level", "Method", "Published", "Quick", "known_name"]

Level = Literal["quick", "full"]
TESTS = ("wins", "wilcoxon", "paired-t", "friedman")
CHOSEN_ON = ("training rows", "held-out rows", "first split")


def known_name(complaint: str, name: str, known: Sequence[str]) -> None:
    """Refuse a name that is none of those known, with the nearest of them, or with all.

    Raises
    ------
    InputError

    Examples
    --------
    >>> known_name("'irsi' is no data set", "irsi", ["iris", "car"])
    Traceback (most recent call last):
    mmbn_opt.exceptions.InputError: 'irsi' is no data set; did you mean 'iris'?
    """
    if name in known:
        return
    near = get_close_matches(name, known, n=1)
    raise InputError(f"{complaint}; " + (f"did you mean {near[0]!r}?" if near else f"there are {listed(known, 40)}."))


@dataclass(frozen=True)
class Method:
    """A method of `METHOD_KINDS` with its settings; a list of values is chosen from.

    Parameters
    ----------
    kind : str
    settings : mapping
    chosen_on : {"training rows", "held-out rows", "first split"}
        Where the choice is made: inside the method, on the training rows alone; as some papers do, by the mean rate on
        the held-out rows that are then shown; or on the held-out rows of the first split, for all others.

    Examples
    --------
    >>> Method("svm", {"C": [1, 10], "gamma": 0.1}, "held-out rows").variants()
    [{'C': 1, 'gamma': 0.1}, {'C': 10, 'gamma': 0.1}]
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    chosen_on: str = "training rows"

    def __post_init__(self) -> None:
        choice_of("kind", self.kind, list(METHOD_KINDS))
        choice_of("chosen_on", self.chosen_on, list(CHOSEN_ON))
        check_settings(self.kind, self.settings)

    @property
    def chosen_from(self) -> tuple[str, ...]:
        """The settings that held-out rows choose a value of."""
        if self.chosen_on == "training rows":
            return ()
        return tuple(name for name, value in self.settings.items() if isinstance(value, list))

    def variants(self) -> list[dict[str, Any]]:
        """The settings of each run on a split: one for each point of the grid where held-out rows choose."""
        names = self.chosen_from
        grid = product(*(self.settings[name] for name in names))
        return [{**self.settings, **dict(zip(names, point, strict=True))} for point in grid]


@dataclass(frozen=True)
class Column:
    """A column of a table: a method, and what is told of it."""

    method: str
    measure: str


@dataclass(frozen=True)
class Published:
    """A cell of the paper: the value, and half of its interval where one is given."""

    value: float
    half: float | None = None


@dataclass(frozen=True)
class Quick:
    """What a level of minutes leaves of an experiment."""

    sets: Sequence[str] = ()
    splits: int = 2
    time_limit: float = 5.0
    patterns: int = 2
    methods: Sequence[str] = ()


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper, or a comparison of one's own.

    Parameters
    ----------
    name, title, source : str
    sets : sequence of str
        Names of data sets.
    methods : mapping of label to Method
    splits : Splits
    measure : str
        What the cells of the table are; one of `MEASURES`.
    tests : sequence of {"wins", "wilcoxon", "paired-t", "friedman"}
    missing : {"drop", "state"}
        Rows with missing cells are left out, or "missing" is a state (and the median to methods that want numbers).
    time_limit : float
        Seconds that a method may take to learn, its inner choice included.
    n_splits : int or None
        Only the first so many splits of each set.
    absent : mapping of data set to str
        Sets of the paper that can't be had, and why.
    not_run : mapping of method to str
        Methods of the paper that are not declared here, and why.
    why : mapping of str to str
        Reasons for differences to the paper, by set, by method, or "*" for all.
    paper : mapping of (set, column) to Published
        A set whose rows of the table lie apart is "set/size" or "set/share" there.
    columns : mapping of label to Column
        What the table shows where that is not `measure` of each method.
    removed : sequence of float
        Shares of the features whose cells are taken out of each held-out row, at random; a row of the table for each.
    patterns : int
        How often that is drawn.
    relative_to : str or None
        The column that all are told in per cent of.
    quick : Quick
    like : str or None
        The declaration that this one leaves the rest to.
    timed : bool
        Times are told beside the cells: see `is_timed`.

    Examples
    --------
    >>> from mmbn_opt.reproduction import load_experiment
    >>> table = load_experiment("peharz2012-table2")
    >>> table.paper["iris", "TAN"], table.methods["TAN"].kind
    (Published(value=95.33, half=2.27), 'tan')
    """

    name: str
    title: str
    source: str
    sets: tuple[str, ...]
    methods: Mapping[str, Method]
    splits: Splits = field(default_factory=Splits)
    measure: str = "accuracy"
    tests: tuple[str, ...] = ()
    missing: str = "drop"
    time_limit: float = 60.0
    n_splits: int | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    not_run: Mapping[str, str] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)
    paper: Mapping[tuple[str, str], Published] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)
    removed: tuple[float, ...] = ()
    patterns: int = 10
    relative_to: str | None = None
    quick: Quick = field(default_factory=Quick)
    like: str | None = None
    timed: bool = False

    @property
    def shown(self) -> Mapping[str, Column]:
        """The columns of the table by their labels, those of methods that are left out too."""
        return self.columns or {name: Column(name, self.measure) for name in self.methods}

    @property
    def is_timed(self) -> bool:
        """Whether the table tells times, so that nothing may be loaded or compiled while the clock runs."""
        return self.timed or any(column.measure.endswith("_seconds") for column in self.shown.values())

    def at(self, level: Level) -> "Experiment":
        """The experiment at a level: as declared, or what is done in minutes."""
        if level == "full":
            return self
        quick = self.quick
        chosen = {name: self.methods[name] for name in quick.methods or self.methods}
        return replace(
            self, sets=tuple(quick.sets or self.sets[:2]), methods=chosen, n_splits=quick.splits,
            time_limit=min(quick.time_limit, self.time_limit), patterns=min(quick.patterns, self.patterns),
        )  # fmt: skip

    def narrowed(
        self, *, sets: Sequence[str] = (), methods: Sequence[str] = (), n_splits: int | None = None
    ) -> "Experiment":
        """Some sets and methods of the experiment, and the first splits of each set; what is not given stays.

        Raises
        ------
        InputError
            For a set or a method that the experiment does not have.
        """
        known = [*self.sets, *(s for s in self.quick.sets if s not in self.sets)]
        for name in sets:
            if name in self.absent:
                raise InputError(f"sets cannot hold {name!r}: {self.absent[name]}.")
            known_name(f"sets must name data sets of {self.name}, got {name!r}", name, known)
        for name in methods:
            known_name(f"methods must name methods of {self.name}, got {name!r}", name, list(self.methods))
        if n_splits is not None:
            whole("splits", n_splits, 1)
        return replace(
            self,
            sets=tuple(dict.fromkeys(sets)) or self.sets,
            methods={name: self.methods[name] for name in methods} if methods else self.methods,
            n_splits=n_splits if n_splits is not None else self.n_splits,
        )
