"""Proofs of small problems, written record by record from docs/tree-file.md, and the problems to sixty digits."""

import json
import struct
import zlib
from base64 import b64encode
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations, product

import numpy as np

BEGINS = b"\x89MMBNT\r\n" + struct.pack("<II", 1, 0)
HEADER, LAYOUT, POINT, SPLIT, INCUMBENT = 1, 3, 4, 9, 14
MANY_DIGITS = Context(prec=60)


class SmallProblem:
    """A table of text states, a score, and everything about it by enumeration and to sixty digits.

    Parameters
    ----------
    rows : list of tuples of int
        Codes, the class last.
    cards : tuple of int
    score : {"sm", "sbm", "bic", "bdeu"}
    gamma, smoothing : float
    dirichlet : bool
    max_parents : int
    """

    def __init__(self, rows, cards, score="sm", gamma=1.0, smoothing=1.0, dirichlet=False, max_parents=2):
        self.rows, self.cards, self.score = [tuple(map(int, row)) for row in rows], tuple(cards), score
        self.gamma, self.smoothing, self.dirichlet, self.max_parents = gamma, smoothing, dirichlet, max_parents
        self.nodes = len(cards)
        self.sets = [self._candidates(node) for node in range(self.nodes)]
        self.columns = [(node, s) for node, options in enumerate(self.sets) for s in options]
        self._tables = {}

    def _candidates(self, node):
        others = [v for v in range(self.nodes) if v != node]
        every = [s for size in range(self.max_parents + 1) for s in combinations(others, size)]
        c = self.nodes - 1
        if self.score in ("sm", "sbm") and node != c:
            return [s for s in every if not s or c in s]
        return every

    def text(self):
        """The table as CSV."""
        names = [*(f"x{j}" for j in range(self.nodes - 1)), "class"]
        return "\n".join([",".join(names), *(",".join(f"s{code}" for code in row) for row in self.rows)]) + "\n"

    def header(self):
        names = [*(f"x{j}" for j in range(self.nodes - 1)), "class"]
        prior = {"dirichlet" if self.dirichlet else "laplace": self.smoothing}
        sums = [zlib.crc32(np.array(row, dtype="<i4").tobytes()) for row in self.rows]
        return {
            "format": "mmbn_opt/tree", "version": 1,
            "problem": {
                "score": self.score, "gamma": self.gamma, "ess": 1.0, "smoothing": prior,
                "max_parents": self.max_parents, "required_edges": [], "forbidden_edges": [], "restriction": None,
                "parent_sets": "all",
            },
            "nodes": [
                {"name": name, "states": [f"s{k}" for k in range(size)], "cuts": None, "has_missing_state": False}
                for name, size in zip(names, self.cards, strict=True)
            ],
            "data": {
                "rows": len(self.rows), "dropped": 0, "total_weight": float(len(self.rows)),
                "row_crc32": b64encode(np.array(sums, dtype="<u4").tobytes()).decode(),
            },
            "candidates": [[list(s) for s in options] for options in self.sets],
            "root_columns": None, "side": None, "costs": None, "offset": 0.0,
        }  # fmt: skip

    # -- by definition, to sixty digits ---------------------------------------------------------------------------

    def _count(self, nodes, states):
        return sum(all(row[v] == k for v, k in zip(nodes, states, strict=True)) for row in self.rows)

    def _ln(self, number):
        return MANY_DIGITS.ln(MANY_DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator)))

    def _log_theta(self, node, parents, row):
        """Logarithm of the smoothed parameter of a node at the states of a row."""
        key = (node, parents, row[node], tuple(row[p] for p in parents))
        if key not in self._tables:
            cells = self.cards[node] * int(np.prod([self.cards[p] for p in parents], dtype=int))
            extra = Fraction(self.smoothing) / cells if self.dirichlet else Fraction(self.smoothing)
            states = tuple(row[p] for p in parents)
            top = self._count((*parents, node), (*states, row[node])) + extra
            bottom = self._count(parents, states) + extra * self.cards[node]
            self._tables[key] = self._ln(top / bottom)
        return self._tables[key]

    def value(self, parents):
        """What a structure is worth, a Decimal."""
        total = Decimal(0)
        if self.score == "sm":
            c = self.nodes - 1
            for row in self.rows:
                joint = [
                    sum(self._log_theta(v, parents[v], (*row[:c], k)) for v in range(self.nodes))
                    for k in range(self.cards[c])
                ]
                margin = joint[row[c]] - max(x for k, x in enumerate(joint) if k != row[c])
                total = MANY_DIGITS.add(total, min(margin, Decimal(self.gamma)))
            return total
        for node, s in enumerate(parents):
            cells = product(*(range(self.cards[v]) for v in (*s, node)))
            for states in cells:
                n = self._count((*s, node), states)
                total = MANY_DIGITS.add(total, self._n_ln_n(n))
            for states in product(*(range(self.cards[v]) for v in s)):
                total = MANY_DIGITS.subtract(total, self._n_ln_n(self._count(s, states)))
            free = (self.cards[node] - 1) * int(np.prod([self.cards[p] for p in s], dtype=int))
            total = MANY_DIGITS.subtract(total, self._ln(Fraction(len(self.rows))) * free / 2)
        return total

    def _n_ln_n(self, n):
        return Decimal(n) * self._ln(Fraction(n)) if n else Decimal(0)

    def structures(self):
        """All acyclic choices of candidates."""
        for parents in product(*self.sets):
            left = set(range(self.nodes))
            while free := {v for v in left if not left & set(parents[v])}:
                left -= free
            if not left:
                yield parents

    def best(self):
        """Largest value and a structure that has it."""
        return max((self.value(parents), parents) for parents in self.structures())

    # -- a proof by complete branching ----------------------------------------------------------------------------

    def proof(self, incumbent, n_groups=2, order=None):
        """Records (kind, payload): nodes are parted in order, and each single choice is bounded by its own cuts."""
        margins = self.score in ("sm", "sbm")
        merged = len(set(self.rows))
        n_groups = min(n_groups, merged) if margins else 0
        group = np.arange(merged) * n_groups // merged if margins else np.zeros(0)
        records = [(LAYOUT, struct.pack("<II", n_groups, len(group)) + group.astype("<u2").tobytes())]
        offsets = np.cumsum([0, *map(len, self.sets)])
        order = list(range(self.nodes)) if order is None else list(order)
        state = {"point": 0, "box": 1}

        def part(box, chosen):
            node = order[len(chosen)]
            columns = np.arange(offsets[node], offsets[node + 1])
            last = len(chosen) == self.nodes - 1
            rows, bits, floats = b"", b"", b""
            if last and margins:
                first = state["point"]
                for k in columns:
                    choice = np.array(sorted([*chosen, k]))
                    head = struct.pack("<IBBI", state["point"], 8, 2, len(choice))
                    records.append((POINT, head + choice.astype("<u2").tobytes() + np.ones(len(choice)).tobytes()))
                    state["point"] += 1
                points = np.arange(first, state["point"])
                counts = np.full(len(points), n_groups)
                groups = np.tile(np.arange(n_groups), len(points))
                rows = struct.pack("<H", len(points)) + points.astype("<u4").tobytes() + counts.astype("<u2").tobytes()
                rows += groups.astype("<u2").tobytes() + struct.pack("<H", 0)
                used = np.repeat(np.eye(len(points), dtype=bool), n_groups, axis=1)
                bits = np.packbits(used, axis=1, bitorder="little").tobytes()
                floats = np.ones(used.sum()).tobytes()
            else:
                rows = struct.pack("<HH", 0, 0)
            head = struct.pack("<QIQI", box, node, state["box"], len(columns)) + columns.astype("<u4").tobytes()
            fates = np.full(len(columns), 2 if last else 1, dtype=np.uint8)
            body = (
                fates.tobytes() + np.full(len(columns), -np.inf).tobytes() + struct.pack("<B", 8) + rows + bits + floats
            )
            first = state["box"]
            if not last:
                state["box"] += len(columns)
            records.append((SPLIT, head + body))
            if not last:
                for place, k in enumerate(columns):
                    part(first + place, [*chosen, k])

        part(0, [])
        columns = np.array([self.columns.index((node, s)) for node, s in enumerate(incumbent)], dtype="<u4")
        records.append((INCUMBENT, struct.pack("<ddI", 0.0, 0.0, len(columns)) + columns.tobytes()))
        return records


def framed(kind, payload):
    """A record as it stands in the file."""
    frame = bytes([kind]) + payload
    return struct.pack("<II", len(payload), zlib.crc32(frame)) + frame


def tree_file(header, records):
    """The bytes of a tree file."""
    return BEGINS + framed(HEADER, json.dumps(header).encode()) + b"".join(framed(*record) for record in records)


def taken_apart(content):
    """Header and records (kind, payload) of the bytes of a tree file."""
    records, at = [], 16
    while at < len(content):
        size = int.from_bytes(content[at : at + 4], "little")
        records.append((content[at + 8], content[at + 9 : at + 9 + size]))
        at += 9 + size
    return json.loads(records[0][1]), records[1:]
