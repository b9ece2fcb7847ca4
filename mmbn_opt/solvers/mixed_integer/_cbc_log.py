"""What CBC prints while it runs: incumbents and bounds, in the words of 2.10 and in the tables of 3."""

import math
import re
from dataclasses import dataclass

__all__ = ["CbcLog"]

_NUMBER = r"(-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)"

# Programs inside heuristics use the same words with codes from Cbc3000 on: their bounds are not ours.
_INCUMBENT = (
    re.compile(rf"^Cbc00\d\dI Integer solution of {_NUMBER} found"),
    re.compile(rf"^✔ (?:Root node heuristics|Feasibility pump) — best {_NUMBER} "),
    re.compile(rf"^✔ .*BestSol: {_NUMBER}"),
)
_BOTH = (
    # The objective comes first, then the bound.
    re.compile(rf"^Cbc0010I After .* {_NUMBER} best solution, best possible {_NUMBER}"),
    re.compile(rf"^Cbc0005I .* best objective {_NUMBER} \(best possible {_NUMBER}\)"),
)
_BOUND = (
    re.compile(rf"^Cbc0013I At root node, .* cuts changed objective from \S+ to {_NUMBER}"),
    re.compile(rf"^Continuous objective value is {_NUMBER} "),
    re.compile(rf"^✔ LP Optimal — .*Obj: {_NUMBER} "),
    re.compile(rf"^✔ Cut generation complete — .* → {_NUMBER} in"),
    re.compile(rf"^✔ Stopped.* Bound: {_NUMBER}"),
)
# Nodes, OnTree, Depth, [BestSol, [Method]], BestBound, Gap%, Time.
_TABLE_ROW = re.compile(rf"^\W*(\d+) +\d+ +\d+ +(?:{_NUMBER} +)?(?:[A-Za-z][\w ]*? +)?{_NUMBER} +\S+% +[\d.]+$")
_NODES = re.compile(r"Enumerated nodes:\s+(\d+)")
_AFTER_NODES = re.compile(r"After (\d+) nodes")
_ITERATIONS = re.compile(r"Total iterations:\s+(\d+)")
_RESULT = re.compile(r"^Result - (.*)$")
_INFEASIBLE = re.compile(r"infeasibility proved|Problem is infeasible|proven infeasible", re.IGNORECASE)

_UNSET = 1e40
"""CBC prints 1e50 where it has no incumbent."""


@dataclass
class CbcLog:
    """Reads a log line by line.

    Objectives and bounds are printed with few digits. For a bound each is moved down by one unit in its last place, so
    that rounding in print cannot make it better than it is.

    Examples
    --------
    >>> log = CbcLog()
    >>> log.read("Cbc0010I After 100 nodes, 7 on tree, 18.5 best solution, best possible -73.1 (5.00 seconds)")
    True
    >>> log.primal_bound, round(log.dual_bound, 6), log.nodes
    (18.5, -73.2, 100)
    >>> log.read("    1200      45     12         1.97594 DiveCoefficient         -6.31581   419.64%     0.680")
    True
    >>> log.primal_bound, round(log.dual_bound, 6), log.nodes
    (1.97594, -6.31582, 1200)

    A bound beyond the incumbent is no more than the incumbent, whose digits are cut off too:

    >>> log = CbcLog(primal_bound=None)
    >>> log.read("Cbc0012I Integer solution of -9.8908364 found by Diving after 0 iterations and 0 nodes (0 s)")
    True
    >>> log.read("Cbc0013I At root node, 4 cuts changed objective from -10.186487 to -9.6098556 in 2 passes")
    True
    >>> round(log.dual_bound, 8)
    -9.8908365
    """

    primal_bound: float | None = None
    dual_bound: float | None = None
    nodes: int | None = None
    iterations: int | None = None
    result: str = ""
    says_infeasible: bool = False
    _ceiling: float = math.inf

    def read(self, line: str) -> bool:
        """Take in one line; True when it brought a better incumbent or bound."""
        before = (self.primal_bound, self.dual_bound)
        self._read_counts(line)
        if row := _TABLE_ROW.match(line):
            self.nodes = int(row.group(1))
            self._see_primal(row.group(2))
            self._see_dual(row.group(3))
        elif both := _first(_BOTH, line):
            self._see_primal(both.group(1))
            self._see_dual(both.group(2))
        else:
            if incumbent := _first(_INCUMBENT, line):
                self._see_primal(incumbent.group(1))
            if bound := _first(_BOUND, line):
                self._see_dual(bound.group(1))
        return (self.primal_bound, self.dual_bound) != before

    def _read_counts(self, line: str) -> None:
        if match := _NODES.search(line) or _AFTER_NODES.search(line):
            self.nodes = int(match.group(1))
        if match := _ITERATIONS.search(line):
            self.iterations = int(match.group(1))
        if match := _RESULT.match(line):
            self.result = match.group(1).strip()
        self.says_infeasible = self.says_infeasible or bool(_INFEASIBLE.search(line))

    def _see_primal(self, text: str | None) -> None:
        value = None if text is None else float(text)
        if value is not None and abs(value) < _UNSET and (self.primal_bound is None or value < self.primal_bound):
            self.primal_bound = value
            assert text is not None
            self._ceiling = value - _last_place(text)

    def _see_dual(self, text: str | None) -> None:
        if text is None or abs(float(text)) >= _UNSET:
            return
        # At the end this can be the cutoff, an increment beyond what was found: nothing is better than that.
        value = min(float(text) - _last_place(text), self._ceiling)
        if self.dual_bound is None or value > self.dual_bound:
            self.dual_bound = value


def _first(patterns: tuple[re.Pattern[str], ...], line: str) -> re.Match[str] | None:
    return next((match for pattern in patterns if (match := pattern.search(line))), None)


def _last_place(text: str) -> float:
    """One unit in the last place of a printed number."""
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - decimals))
