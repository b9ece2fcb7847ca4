"""A strict reader of what is written as MathOptFormat: a problem of cvxpy, and nothing that is not understood."""

import json

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

SIDES = {"LessThan": {"upper"}, "GreaterThan": {"lower"}, "EqualTo": {"value"}, "Interval": {"lower", "upper"}}


class Mof:
    """The variables of a file by name, its cvxpy problem, and how many constraints of each set there are."""

    def __init__(self, path):
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
        assert set(document) == {"version", "variables", "objective", "constraints"}
        assert document["version"] == {"major": 1, "minor": 0}
        assert all(set(variable) == {"name"} for variable in document["variables"])
        self.names = [variable["name"] for variable in document["variables"]]
        self.place = {name: k for k, name in enumerate(self.names)}
        assert len(self.place) == len(self.names)
        assert all(self.names)
        self.sets = {}
        self.rows = {}
        self._scalar, self._cones, self._whole = [], [], set()
        for constraint in document["constraints"]:
            assert set(constraint) <= {"name", "function", "set"}
            self._read(constraint)
        assert document["objective"]["sense"] == "min"
        coefficients, constant = self._affine(document["objective"]["function"])
        self.x = cp.Variable(len(self.names), integer=(np.array(sorted(self._whole)),) if self._whole else False)
        self.problem = cp.Problem(cp.Minimize(self._row(coefficients) @ self.x + constant), list(self._constraints()))

    def values(self):
        """By name, as another tool would hand them over."""
        return dict(zip(self.names, self.x.value.tolist(), strict=True))

    def _read(self, constraint):
        function, room = constraint["function"], dict(constraint["set"])
        kind = room.pop("type")
        self.sets[kind] = self.sets.get(kind, 0) + 1
        if function["type"] == "VectorAffineFunction":
            self._cones.append((kind, room, self._vector(function)))
            return
        coefficients, constant = self._affine(function)
        if "name" in constraint:
            assert constraint["name"] not in self.rows
            self.rows[constraint["name"]] = coefficients
        if kind in ("ZeroOne", "Integer"):
            assert function["type"] == "Variable"
            assert not room
            self._whole |= set(coefficients)
            if kind == "ZeroOne":
                self._scalar.append((coefficients, 0.0, 1.0))
            return
        assert set(room) == SIDES[kind]
        low, high = (
            (room["value"],) * 2 if kind == "EqualTo" else (room.get("lower", -np.inf), room.get("upper", np.inf))
        )
        self._scalar.append((coefficients, low - constant, high - constant))

    def _affine(self, function):
        if function["type"] == "Variable":
            assert set(function) == {"type", "name"}
            return {self.place[function["name"]]: 1.0}, 0.0
        assert function["type"] == "ScalarAffineFunction"
        assert set(function) == {"type", "terms", "constant"}
        return self._terms(function["terms"]), function["constant"]

    def _terms(self, terms):
        found = {}
        for term in terms:
            assert set(term) == {"coefficient", "variable"}
            found[self.place[term["variable"]]] = found.get(self.place[term["variable"]], 0.0) + term["coefficient"]
        return found

    def _vector(self, function):
        assert set(function) == {"type", "terms", "constants"}
        parts = [[] for _ in function["constants"]]
        for term in function["terms"]:
            parts[term["output_index"] - 1].append(term["scalar_term"])
        return [(self._terms(part), constant) for part, constant in zip(parts, function["constants"], strict=True)]

    def _row(self, coefficients):
        return sp.csr_array(
            (list(coefficients.values()), ([0] * len(coefficients), list(coefficients))), shape=(1, len(self.names))
        )

    def _matrix(self, rows):
        return sp.vstack([self._row(row) for row in rows], format="csr")

    def _constraints(self):
        body = self._matrix([row for row, _, _ in self._scalar]) @ self.x
        low, high = (np.array([one[k] for one in self._scalar]) for k in (1, 2))
        yield body[np.isfinite(low)] >= low[np.isfinite(low)]
        yield body[np.isfinite(high)] <= high[np.isfinite(high)]
        for kind in ("ExponentialCone", "PowerCone"):
            cones = [(room, parts) for one, room, parts in self._cones if one == kind]
            if not cones:
                continue
            a, b, c = (
                self._matrix([parts[k][0] for _, parts in cones]) @ self.x + np.array([p[k][1] for _, p in cones])
                for k in range(3)
            )
            if kind == "ExponentialCone":
                yield cp.ExpCone(a, b, c)
            else:
                yield cp.PowCone3D(a, b, c, np.array([room["exponent"] for room, _ in cones]))


def _refuse(word):
    raise AssertionError(f"{word} is no JSON number")
