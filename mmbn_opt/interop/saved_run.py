"""A look into a checkpoint folder: of a search that goes on in another process, was cut off, or has ended."""

import math
from pathlib import Path
from typing import Any

from mmbn_opt._arguments import check_arguments
from mmbn_opt._file_lock import Holder, holder_of
from mmbn_opt._lazy import delegate
from mmbn_opt.exceptions import InputError
from mmbn_opt.interop.checkpoint import LOCK, TREE
from mmbn_opt.interop.tree_file import TreeReader
from mmbn_opt.networks.structure import Structure
from mmbn_opt.programs.tree_progress import Incumbent, Progress
from mmbn_opt.programs.tree_records import Kind, json_of
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.status import Sense
from mmbn_opt.results.trace import BoundTrace, TraceRecorder

__all__ = ["SavedRun", "load_run"]


class SavedRun:
    """What a checkpoint folder says of its search, as of now; `refresh` reads what has come since.

    Nothing is written, and a search that goes on is not disturbed.

    Parameters
    ----------
    path : str or Path
        The folder.

    Attributes
    ----------
    path : Path
    header : dict
        The problem and its settings, as in the tree file.
    seconds : float
        Of searching, all sessions together.
    boxes, pivots : int
    sessions : list of dict
        When and by which version the search was begun and gone on with.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._reader = TreeReader(self.path / TREE)
        except FileNotFoundError:
            raise InputError(
                f"{str(self.path)!r} holds no search: there is no {TREE}. Give the folder that was the checkpoint."
            ) from None
        except OSError as error:
            raise InputError(f"Cannot read {str(self.path / TREE)!r}: {error.strerror or error}.") from error
        self.header: dict[str, Any] = self._reader.header
        self._sense = Sense[self.header["problem"]["sense"].upper()]
        self._recorder = TraceRecorder(self._sense)
        self._choice: list[int] | None = None
        self._ended = ""
        self.seconds, self.boxes, self.pivots = 0.0, 0, 0
        self.sessions: list[dict[str, Any]] = []
        self.refresh()

    def refresh(self) -> "SavedRun":
        """Read what was written since, and return itself."""
        for _, kind, payload in self._reader.records(self._reader.whole):
            if kind is Kind.PROGRESS:
                self._stands(Progress.decode(payload))
            elif kind is Kind.INCUMBENT:
                found = Incumbent.decode(payload)
                self._choice = found.choice.tolist()
                self._note(found.seconds, found.objective, math.nan, "incumbent")
            elif kind is Kind.SESSION:
                self.sessions.append(json_of(payload))
                self._ended = ""
            elif kind is Kind.END:
                self._ended = str(json_of(payload)["status"])
        return self

    def _stands(self, progress: Progress) -> None:
        self.seconds, self.boxes, self.pivots = progress.seconds, progress.boxes, progress.pivots
        self._note(progress.seconds, progress.objective, progress.bound, "bound")

    def _note(self, seconds: float, objective: float, bound: float, event: str) -> None:
        primal, dual = (None if math.isnan(v) else self._sense.sign * v for v in (objective, bound))
        self.seconds = max(self.seconds, seconds)
        self._recorder.record(
            primal=primal, dual=dual, nodes=self.boxes, iterations=self.pivots, event=event, source="branch_and_cut",
            time_sec=seconds,
        )  # fmt: skip

    @property
    def holder(self) -> Holder | None:
        """The process that searches now; None where none does."""
        return holder_of(self.path / LOCK)

    @property
    def status(self) -> str:
        """``"running"``, ``"cut off"``, or how the search ended: ``"OPTIMAL"``, ``"TIME_LIMIT"``, ..."""
        if self._ended:
            return self._ended
        return "cut off" if self.holder is None else "running"

    @property
    def bounds(self) -> ObjectiveBounds:
        """Best value and proved bound."""
        return self._recorder.bounds

    @property
    def trace(self) -> BoundTrace:
        """Both over the seconds of searching, all sessions together."""
        return self._recorder.snapshot()

    @property
    def structure(self) -> Structure | None:
        """The best structure; None where there is none yet, or the nodes have no names."""
        nodes, candidates = self.header["nodes"], self.header["candidates"]
        if self._choice is None or nodes is None:
            return None
        sets = [tuple(parents) for options in candidates for parents in options]
        *features, last = (str(node["name"]) for node in nodes)
        return Structure(tuple(features), last, tuple(sets[column] for column in self._choice))

    def __repr__(self) -> str:
        return (
            f"SavedRun({str(self.path)!r}, {self.status}, {self.bounds}, {self.boxes:,} boxes, {self.seconds:.1f} s in "
            f"{len(self.sessions)} sessions)"
        )

    def _repr_html_(self) -> str:
        html: str = delegate("trace_html")(self.trace)
        return html


def load_run(path: str | Path) -> SavedRun:
    """Look into the folder of a search with ``checkpoint=``, while it goes on elsewhere or afterwards.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    SavedRun
        With bounds, trace, the best structure, and `refresh`.

    Raises
    ------
    InputError
        If the folder holds no search.
    FormatError
        If its tree file is none, or of a later version.

    Examples
    --------
    >>> import tempfile
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), target="class")
    >>> problem = mm.SoftMarginStructure(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = mm.solve(problem, "branch_and_cut", checkpoint=folder)
    ...     saved = mm.load_run(folder)
    >>> saved.status, saved.structure == result.model.structure, len(saved.sessions)
    ('OPTIMAL', True, 1)
    """
    check_arguments(load_run, locals())
    return SavedRun(path)
