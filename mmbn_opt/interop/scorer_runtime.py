"""Classify one row at a time with a learned network, by nothing but Python's standard library.

This file is complete: it runs as a module of `mmbn_opt`, and copied beside an application that has no NumPy.
"""

import math
import re
import warnings
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import product
from operator import add
from typing import Any

FORMAT = "mmbn_opt/scorer"
_NUMBER = re.compile(r"[+-]?([0-9]++\.?[0-9]*+|\.[0-9]++)([eE][+-]?[0-9]++)?")
_DECIMAL_COMMA = re.compile(r"[+-]?([0-9]++|[0-9]{1,3}(\.[0-9]{3})++)?,[0-9]++([eE][+-]?[0-9]++)?")
_SLOW = -2
_Factor = tuple[list[int], list[int], list[list[float]], list[float] | None]
"""Features of a table, their sizes, and what each cell says: the values of all classes, or one for every class."""
MOST_CELLS = 1_000_000
"""Cells of a table that summing missing values out may make."""


class Scorer:
    """A classifier of single rows.

    A row is a mapping from the name of each feature to its cell; other keys are not looked at. None, NaN and the texts
    that stood for missing when the model was learned are missing cells, which are summed out exactly.

    Parameters
    ----------
    content : mapping
        What ``model.scorer().content`` is, or the JSON text of it read by `json`.
    unseen : {"warn", "missing", "error"}
        A label that training never saw: summed out with a warning, in silence, or refused by `ValueError`.

    Examples
    --------
    >>> scorer = Scorer({
    ...     "format": "mmbn_opt/scorer", "version": 1, "classes": ["no", "yes"], "na": [],
    ...     "features": [{"name": "age", "cuts": [40.0], "missing": -1}],
    ...     "parents": [[1], []], "cardinalities": [2, 2], "temperature": 1.0, "shares": [], "telling": [0],
    ...     "tables": [[-0.223143551, -1.609437912, -1.609437912, -0.223143551], [-0.693147181, -0.693147181]],
    ... })
    >>> scorer.predict({"age": 55}), [round(p, 3) for p in scorer.predict_proba({"age": 55})]
    ('yes', [0.2, 0.8])
    >>> [round(p, 3) for p in scorer.predict_proba({"age": None})]
    [0.5, 0.5]
    """

    def __init__(self, content: Mapping[str, Any], *, unseen: str = "warn") -> None:
        if content.get("format") != FORMAT or content.get("version") != 1:
            raise ValueError(f"the content is no {FORMAT} of version 1")
        if unseen not in ("warn", "missing", "error"):
            raise ValueError(f'unseen must be "warn", "missing" or "error", got {unseen!r}')
        self.content = dict(content)
        self.unseen = unseen
        self.classes: list[Any] = list(content["classes"])
        self.feature_names: list[str] = [feature["name"] for feature in content["features"]]
        self._na = frozenset(content["na"])
        self._temperature, self._shares = float(content["temperature"]), list(content["shares"])
        self._columns = [_column(feature, self._na) for feature in content["features"]]
        self._card: list[int] = list(content["cardinalities"])
        self._parents: list[list[int]] = [list(parents) for parents in content["parents"]]
        self._logs = [[float(value) for value in table] for table in content["tables"]]
        self._class = len(self._parents) - 1
        self._inner = {p for parents in self._parents for p in parents} - {self._class}
        self._telling: list[int] = list(content["telling"])
        self._factors = [self._factor(node) for node in range(len(self._parents))]
        self._orders: dict[tuple[int, ...], list[int]] = {}
        self._prior: list[float] | None = None

    def predict(self, row: Mapping[str, Any]) -> Any:
        """The most probable class; the first one on a tie."""
        scores = self._scores(self._codes(row))
        return self.classes[scores.index(max(scores))]

    def predict_proba(self, row: Mapping[str, Any]) -> list[float]:
        """Probabilities of the classes, in the order of `classes`."""
        codes = self._codes(row)
        scores = self._scores(codes)
        if self._temperature == 1.0:
            return _softmax(scores, 1.0)
        best = scores.index(max(scores))
        if self._shares and all(codes[v] < 0 for v in self._telling):
            return _of_silence(self._shares, best)
        proba = _softmax(scores, self._temperature)
        if proba.index(max(proba)) != best:
            proba[best] = max(proba) * (1.0 + 1e-13)
        return proba

    def _codes(self, row: Mapping[str, Any]) -> list[int]:
        codes = []
        name: str
        cell: Any = None
        try:
            for name, labels, cuts, read in self._columns:
                cell = row[name]
                if labels is not None:
                    code = labels.get(cell, _SLOW)
                    if code == _SLOW or type(cell) is bool:
                        code = read(cell)
                elif (type(cell) is float or type(cell) is int) and -math.inf < cell < math.inf:
                    code = bisect_left(cuts, cell)
                else:
                    code = read(cell)
                codes.append(self._never_seen(name, cell) if code is None else code)
        except KeyError:
            raise KeyError(f"the row has no {name!r}; give None where it is not known") from None
        except TypeError:
            raise ValueError(f"{name!r} holds {cell!r}; a cell is one label or number, or None") from None
        return codes

    def _never_seen(self, name: str, cell: Any) -> int:
        if self.unseen == "error":
            raise ValueError(f"{name!r} holds {cell!r}, never seen in training")
        if self.unseen == "warn":
            warnings.warn(f"{name!r} holds {cell!r}, never seen in training: it is summed out", stacklevel=4)
        return -1

    def _scores(self, codes: list[int]) -> list[float]:
        """``log P(c, known cells)`` of every class; ``log P(c)`` where that is impossible for each."""
        missing = tuple(v for v in self._inner if codes[v] < 0) if codes and min(codes) < 0 else ()
        scores = self._summed(codes, missing) if missing else self._looked_up(codes)
        if max(scores) == -math.inf:
            if self._prior is None:
                nothing = [-1] * self._class
                unknown = tuple(sorted(self._inner))
                self._prior = self._summed(nothing, unknown) if unknown else self._looked_up(nothing)
            return self._prior
        return scores

    def _looked_up(self, codes: list[int], without: frozenset[int] = frozenset()) -> list[float]:
        """The sum of the tables that know all their features, but those of the nodes in `without`."""
        total = [0.0] * len(self.classes)
        alike = 0.0
        for node, (features, sizes, by_class, values) in enumerate(self._factors):
            if node in without:
                continue
            if len(features) == 2:
                a, b = features
                last = codes[b]
                cell = codes[a] * sizes[1] + last
            elif len(features) == 1:
                last = cell = codes[features[0]]
            else:
                last = cell = 0
                for v, size in zip(features, sizes, strict=True):
                    last = codes[v]
                    cell = cell * size + last
            if last < 0:
                continue  # a table sums to one over its node
            if values is not None:
                alike += values[cell]
            else:
                total = list(map(add, total, by_class[cell]))
        return [value + alike for value in total] if alike else total

    def _factor(self, node: int) -> _Factor:
        n_classes, logs, card = len(self.classes), self._logs[node], self._card[node]
        features = [p for p in self._parents[node] if p != self._class]
        step = n_classes
        cells: list[list[float]] = []
        values: list[float] | None = None
        if node == self._class:
            cells = [logs[start : start + step] for start in range(0, len(logs), step)]
        else:
            features.append(node)
            if self._class in self._parents[node]:
                step *= card
                cells = [
                    [logs[start + c * card + state] for c in range(n_classes)]
                    for start in range(0, len(logs), step)
                    for state in range(card)
                ]
            else:
                values = logs
        return features, [self._card[v] for v in features], cells, values

    def _summed(self, codes: list[int], missing: tuple[int, ...]) -> list[float]:
        """The missing features that have children summed out one after the other."""
        open_nodes, factors = {*missing, self._class}, []
        unknown = {*missing}
        concerned = frozenset(v for v, ps in enumerate(self._parents) if v in unknown or not unknown.isdisjoint(ps))
        total = self._looked_up(codes, concerned)
        for node in concerned:
            scope = [*self._parents[node], node]
            if node != self._class and codes[node] < 0 and node not in unknown:
                continue
            free = [v for v in scope if v in open_nodes]
            values = []
            for states in product(*(range(self._card[v]) for v in free)):
                at = dict(zip(free, states, strict=True))
                cell = 0
                for v in scope:
                    cell = cell * self._card[v] + (at[v] if v in at else codes[v])
                values.append(self._logs[node][cell])
            total, linear = _scaled(total, values)
            factors.append((free, linear))
        order = self._orders.get(missing)
        if order is None:
            order = self._orders[missing] = self._order(missing, [scope for scope, _ in factors])
        for node in order:
            touched = [factor for factor in factors if node in factor[0]]
            factors = [factor for factor in factors if node not in factor[0]]
            total, joined = self._sum_out(node, touched, total)
            factors.append(joined)
        for scope, values in factors:
            for c in range(len(total)):
                value = values[c] if scope else values[0]
                total[c] += math.log(value) if value > 0.0 else -math.inf
        return total

    def _order(self, missing: tuple[int, ...], scopes: Sequence[Sequence[int]]) -> list[int]:
        """Whoever makes the smallest table goes first; kept for other rows that miss the same cells."""
        groups, left = [set(scope) for scope in scopes], set(missing)
        order: list[int] = []
        while left:
            joined = {v: set().union(*(g for g in groups if v in g)) for v in left}
            node = min(left, key=lambda v: (math.prod(self._card[u] for u in joined[v]), v))
            groups = [g for g in groups if node not in g] + [joined[node] - {node}]
            left.remove(node)
            order.append(node)
        return order

    def _sum_out(
        self, node: int, factors: list[tuple[list[int], list[float]]], total: list[float]
    ) -> tuple[list[float], tuple[list[int], list[float]]]:
        scope = sorted({v for free, _ in factors for v in free} - {node})
        if math.prod(self._card[v] for v in scope) * self._card[node] > MOST_CELLS:
            raise ValueError(f"to sum {self.feature_names[node]!r} out needs a table of over {MOST_CELLS:,} cells")
        values = []
        for states in product(*(range(self._card[v]) for v in scope)):
            at = dict(zip(scope, states, strict=True))
            value = 0.0
            for state in range(self._card[node]):
                at[node] = state
                term = 1.0
                for free, entries in factors:
                    cell = 0
                    for v in free:
                        cell = cell * self._card[v] + at[v]
                    term *= entries[cell]
                value += term
            values.append(value)
        highest = max(values)
        if highest > 0.0:
            total = [value + math.log(highest) for value in total]
            values = [value / highest for value in values]
        return total, (scope, values)


def _scaled(total: list[float], logs: list[float]) -> tuple[list[float], list[float]]:
    """Numbers whose largest is 1; its logarithm goes to the total."""
    highest = max(logs)
    if highest == -math.inf:
        return total, [0.0] * len(logs)
    return [value + highest for value in total], [math.exp(value - highest) for value in logs]


def _softmax(scores: list[float], temperature: float) -> list[float]:
    highest = max(scores)
    weights = [math.exp((score - highest) / temperature) for score in scores]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _of_silence(shares: list[float], decided: int) -> list[float]:
    """The nearest to the classes' shares whose largest is that of the decision."""
    proba, pooled = list(shares), [decided]
    for other in sorted(range(len(proba)), key=lambda c: -proba[c]):
        if other != decided and proba[other] > math.fsum(proba[c] for c in pooled) / len(pooled):
            pooled.append(other)
    mean = math.fsum(proba[c] for c in pooled) / len(pooled)
    for c in pooled:
        proba[c] = mean
    return proba


def _column(feature: Mapping[str, Any], na: frozenset[str]) -> tuple[str, Any, Any, Any]:
    """Name, codes of most cells, cut points, and the function that reads the others.

    It gives -1 for a missing cell that is no state, None for a label that training never saw.
    """
    name, missing = feature["name"], int(feature["missing"])
    if "cuts" in feature:
        cuts = [float(cut) for cut in feature["cuts"]]
        return name, None, cuts, _number_reader(name, cuts, missing, na)
    exact = {(type(state) is bool, state): code for code, state in enumerate(feature["states"])}
    texts: dict[str, int] = {}
    for code, text in enumerate(feature["texts"]):
        texts[text] = _SLOW if text in texts else code

    def read(cell: Any) -> int | None:
        if cell is None or _is_nothing(cell):
            return missing
        code = exact.get((type(cell) is bool, cell))
        if code is None:
            if isinstance(cell, str) and cell in na:
                return missing
            code = texts.get(text_of(cell), _SLOW)
        return code if code >= 0 else None

    return name, {state: code for (is_bool, state), code in exact.items() if not is_bool}, None, read


def _number_reader(name: str, cuts: list[float], missing: int, na: frozenset[str]) -> Any:
    def read(cell: Any) -> int:
        if cell is None or (isinstance(cell, str) and cell in na):
            return missing
        number = _number(name, cell)
        if number != number:
            return missing
        if number in (math.inf, -math.inf):
            raise ValueError(f"{name!r} holds {cell!r}; only finite numbers can be used")
        return bisect_left(cuts, number)

    return read


def _is_nothing(cell: Any) -> bool:
    """Whether a cell is NaN, or one of the values of other libraries that are equal to nothing."""
    try:
        return bool(cell != cell)
    except TypeError:  # pandas' NA is neither equal to itself nor different
        return not isinstance(cell, (list, dict, set))


def _number(name: str, cell: Any) -> float:
    try:
        if isinstance(cell, str):
            text = cell.strip()
            if _DECIMAL_COMMA.fullmatch(text):
                return float(text.replace(".", "").replace(",", "."))
            if _NUMBER.fullmatch(text):
                return float(text)
            cell = datetime.fromisoformat(text)
        elif _is_nothing(cell):
            return math.nan
        if isinstance(cell, timedelta):
            return cell.total_seconds()
        if isinstance(cell, date):
            moment = cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return (moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
        return float(cell)
    except (TypeError, ValueError):
        raise ValueError(f"{name!r} holds numbers, not {cell!r}; give None where it is not known") from None


def text_of(cell: Any) -> str:
    """Text under which '2', 2 and 2.0 meet."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, date):
        return str(cell).removesuffix(" 00:00:00")
    return str(cell)
