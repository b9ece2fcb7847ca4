"""A checkpoint folder of a trade-off curve: ``curve.json`` with its points, and a folder with each search's tree."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmbn_opt._arguments import is_number, listed, shown
from mmbn_opt.exceptions import FormatError, InfeasibleError, InputError
from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.interop._json_document import document_text
from mmbn_opt.interop._reading import read_text
from mmbn_opt.interop._version import package_version
from mmbn_opt.interop.atomic import ensure_directory, write_text_atomic
from mmbn_opt.interop.checkpoint import TREE, finite_or_none, locked_folder
from mmbn_opt.interop.json_text import parse_json
from mmbn_opt.interop.limits_told import limits_told
from mmbn_opt.interop.tree_header import difference, tree_header
from mmbn_opt.networks.constraints import StructureConstraint
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.kept_curve import KeptPoint, Parents
from mmbn_opt.results.status import TerminationStatus

__all__ = ["CURVE", "CurveFolder", "open_curve"]

CURVE, LOCK = "curve.json", ".curve-lock"

FORMAT, FORMAT_VERSION = "mmbn_opt/curve", 1

_LONG = ("candidates", "root_columns", "side", "costs")
"""Parts of a header that are kept as a checksum."""


class CurveFolder:
    """The folder of a curve that can be gone on with, held until `close`; see `KeptCurve` for what is asked of it.

    ``curve.json`` is written whole or not at all: when starts were found, before each search, and after it.

    Parameters
    ----------
    path : str or Path
        Made if absent.

    Raises
    ------
    InputError
        If another process holds it, if it cannot be written, or if it holds the tree of a single search.
    FormatError
        If its ``curve.json`` is none.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = ensure_directory(path)
        self._lock = locked_folder(self.path, LOCK)
        try:
            if (self.path / TREE).exists():
                raise InputError(
                    f"checkpoint: {str(self.path)!r} holds the search of one problem; give the curve another folder."
                )
            self._before = _read(self.path / CURVE) if (self.path / CURVE).exists() else None
        except BaseException:
            self._lock.release()
            raise
        self._content: dict[str, Any] = {}

    def bind(self, formulation: Any, settings: Mapping[str, Any], limits: Sequence[tuple[float, Any, Any]]) -> None:
        """See `KeptCurve`; `InputError` where the folder holds another curve, by what differs."""
        header = tree_header(formulation, formulation.build(ProgramKind.IMPLICIT_CONCAVE), settings)
        header["settings"]["solver"] = settings["solver"]
        given = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "product": package_version(),
            "of": _short(header),
            "limits": [
                {"value": _name(value), "says": str(constraint), "is": _told(constraint, problem)}
                for value, constraint, problem in limits
            ],
            "starts": None,
            "points": [{} for _ in limits],
        }
        content: dict[str, Any] = json.loads(document_text(given))
        if self._before is not None:
            other = difference(self._before["of"], content["of"]) or _other_limit(self._before, content)
            if other is not None:
                raise InputError(
                    f"checkpoint: {str(self.path)!r} holds the curve of another problem: {other}. Ask what was asked "
                    "then, or give another folder."
                )
            content |= {name: self._before[name] for name in ("starts", "points")}
        self._content = content
        self._write()

    def _write(self) -> None:
        write_text_atomic(self.path / CURVE, document_text(self._content))

    @property
    def starts(self) -> list[Parents | None] | None:
        """See `KeptCurve`."""
        starts = self._content["starts"]
        return None if starts is None else [_parents(start) for start in starts]

    def keep_starts(self, starts: Sequence[Parents | None]) -> None:
        """See `KeptCurve`."""
        self._content["starts"] = list(starts)
        self._write()

    def alone(self, place: int, alone: bool) -> bool:
        """See `KeptCurve`."""
        point = self._content["points"][place]
        if "alone" not in point:
            point["alone"] = alone
            self._write()
        return bool(point["alone"])

    def point(self, place: int) -> KeptPoint | None:
        """See `KeptCurve`."""
        point = self._content["points"][place]
        if "status" not in point:
            return None
        primal, dual, seconds = (point[name] for name in ("primal_bound", "dual_bound", "seconds"))
        return KeptPoint(_parents(point["parents"]), primal, dual, TerminationStatus[point["status"]], seconds)

    def keep(self, place: int, point: KeptPoint) -> None:
        """See `KeptCurve`."""
        self._content["points"][place] |= {
            "parents": point.parents,
            "primal_bound": finite_or_none(point.primal_bound),
            "dual_bound": finite_or_none(point.dual_bound),
            "status": point.status.name,
            "seconds": point.seconds,
        }
        self._write()

    def tree_of(self, place: int) -> Path:
        """See `KeptCurve`."""
        return self.path / str(self._content["limits"][place]["value"])

    def close(self) -> None:
        """See `KeptCurve`."""
        self._lock.release()


def open_curve(path: str | Path) -> CurveFolder:
    """The folder of a curve, held."""
    return CurveFolder(path)


def _name(value: float) -> str:
    """What a limit is called: 3 and 3.0 are one, as a folder too."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _parents(lists: Any) -> Parents | None:
    return None if lists is None else tuple(tuple(parents) for parents in lists)


def _told(constraint: StructureConstraint, problem: ParentSetFormulation) -> Any:
    """All that is asked of structures under a limit, in numbers; what its author shows of it where that can't be."""
    try:
        told = limits_told(problem)
    except InfeasibleError:
        told = None
    return repr(constraint) if told is None else told


def _short(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header of a tree file with checksums in place of what takes much room."""
    found = {name: part for name, part in header.items() if name not in ("format", "version", "product")}
    for name in _LONG:
        if found[name] is not None:
            text = json.dumps(found[name], sort_keys=True)
            found[name] = {"sha256": hashlib.sha256(text.encode()).hexdigest()}
    if found["data"] is not None:
        found["data"] = {**found["data"], "row_crc32": None}
    return found


def _other_limit(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Which limit is another one."""
    old, new = before["limits"], now["limits"]
    values = [[limit.get("value") for limit in limits] for limits in (old, new)]
    if values[0] != values[1]:
        return f"values are [{listed(values[1], show=str)}], and were [{listed(values[0], show=str)}]"
    for was, limit in zip(old, new, strict=True):
        if was != limit:
            said, same = limit["says"], was.get("says") == limit["says"]
            told = "stands for other numbers now" if same else f"was {shown(was.get('says'))}"
            return f"the limit at {limit['value']} is {said!r}, and {told}"
    return None


# -- what stands in a file may be anything ----------------------------------------------------------------------------


def _read(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(read_text(path, "curve file"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise FormatError(f"{str(path)!r} is not a curve file: {error}.") from error
    if (flaw := _flaw(content)) is not None:
        raise FormatError(f"{str(path)!r} is not a usable curve file: {flaw}. Give another folder.")
    whole: dict[str, Any] = content
    return whole


def _flaw(content: Any) -> str | None:
    """What is wrong with it; None where it can be used."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return f'it is no object with "format": "{FORMAT}"'
    if content.get("version") != FORMAT_VERSION:
        return f"it has version {shown(content.get('version'))}, and this mmbn_opt reads {FORMAT_VERSION}"
    of, limits, points, starts = (content.get(name) for name in ("of", "limits", "points", "starts"))
    if not isinstance(of, dict) or not isinstance(of.get("nodes"), list):
        return '"of" names no problem'
    if not all(isinstance(of.get(part), dict) for part in ("problem", "settings")):
        return '"of" has no problem or no settings'
    if not all(of.get(part) is None or isinstance(of[part], dict) for part in ("data", *_LONG)):
        return '"of" has a part that is no object'
    nodes = len(of["nodes"])
    if not (isinstance(limits, list) and isinstance(points, list) and len(limits) == len(points)):
        return '"limits" and "points" are no lists of one length'
    if not all(isinstance(part, dict) for part in (*limits, *points)):
        return '"limits" and "points" hold what is no object'
    if "starts" not in content:
        return 'it has no "starts"'
    if starts is not None and not (
        isinstance(starts, list) and len(starts) == len(limits) and all(_is_graph(start, nodes) for start in starts)
    ):
        return '"starts" are no graphs'
    wrong = next((number for number, point in enumerate(points) if not _is_point(point, nodes)), None)
    return None if wrong is None else f'number {wrong} of "points" is none'


def _is_point(point: Mapping[str, Any], nodes: int) -> bool:
    if not isinstance(point.get("alone", False), bool):
        return False
    if "status" not in point:
        return True
    if not {"parents", "primal_bound", "dual_bound", "seconds"} <= set(point):
        return False
    numbers = all(point[name] is None or is_number(point[name]) for name in ("primal_bound", "dual_bound"))
    known = isinstance(point["status"], str) and point["status"] in TerminationStatus.__members__
    return numbers and known and is_number(point["seconds"]) and _is_graph(point["parents"], nodes)


def _is_graph(lists: Any, nodes: int) -> bool:
    """Whether it is None, or a list of parents for each node."""
    if lists is None:
        return True
    if not isinstance(lists, list) or len(lists) != nodes or not all(isinstance(parents, list) for parents in lists):
        return False
    return all(type(p) is int and 0 <= p < nodes for parents in lists for p in parents)
