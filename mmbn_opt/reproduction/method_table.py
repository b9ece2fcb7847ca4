"""A line a method: what it is good for over the sets, what it proves, and what becomes of missing cells."""

import math

import pandas as pd

from mmbn_opt.reproduction.declaration import Method
from mmbn_opt.reproduction.measures import CLAIMED, MEASURES
from mmbn_opt.reproduction.methods import METHOD_KINDS
from mmbn_opt.reproduction.results import Results
from mmbn_opt.reproduction.testing import widely_run

__all__ = ["methods_table", "proved"]

_OF_METHODS = {
    "accuracy": "accuracy, %", "log_loss": "log loss", "calibration_error": "calibration error",
    "parameters": "parameters", "edges": "edges", "rules": "rules", "fit_seconds": "s to learn",
    "predict_seconds": "s to classify",
}  # fmt: skip
_OF_FEW = ("edges", "rules")
"""A table in which no method has these has no column of them."""
_SUMMED_OUT = "summed out"
_A_STATE_OR = "a state, else summed out"


def methods_table(results: Results) -> str:
    """A line a method: means over the sets that all methods have, what is proved, and what becomes of missing cells.

    Methods with runs on few sets have no means.
    """
    methods = [m for m in results.experiment.methods if m in set(results.chosen["method"])]
    by_set = results.chosen.pivot_table(index="dataset", columns="method", values="accuracy", aggfunc="mean")
    if not methods:
        return ""
    compared = widely_run(by_set)
    common = compared.dropna().index
    some = [name for name in _OF_METHODS if name not in _OF_FEW or results.chosen[name].notna().any()]
    shown = [(name, MEASURES[name], _OF_METHODS[name]) for name in some]
    lines = [
        f"{_told_of(by_set, list(compared.columns), len(common))}\n",
        f"| method | {' | '.join(words for *_, words in shown)} | proved best | missing cells at prediction |",
        f"|---|{'---:|' * len(shown)}---|---|",
    ]
    for method in methods:
        runs = results.chosen[results.chosen["method"] == method]
        over = common if method in compared else common[:0]
        means = runs[runs["dataset"].isin(over)].groupby("dataset")[[name for name, *_ in shown]].mean().mean()
        cells = [
            "-" if math.isnan(means[name]) else f"{of.factor * means[name]:.{of.digits}f}" for name, of, _ in shown
        ]
        kind = METHOD_KINDS[results.experiment.methods[method].kind]
        missing = kind.missing_cells
        if missing == _SUMMED_OUT and results.experiment.missing == "state":
            missing = _A_STATE_OR
        lines.append(f"| {method} | {' | '.join(cells)} | {proved(runs['certificate'])} | {missing} |")
    lines.append("")
    lines += [f"- {method}: {_declared(results.experiment.methods[method])}" for method in methods]
    return "\n".join(lines)


def _told_of(by_set: pd.DataFrame, compared: list[str], common: int) -> str:
    """What the means are over, and which methods have none since they have runs on few sets."""
    over = "Of the one set that all methods have" if common == 1 else f"Means over the {common} sets that all have"
    few = [f"{name} ({int(by_set[name].notna().sum())} of {len(by_set)})" for name in by_set if name not in compared]
    return f"{over}." if not few else f"{over} but those with runs on few sets, which have no means: {', '.join(few)}."


def _declared(method: Method) -> str:
    """The kind and the settings, lists being what is chosen from.

    Examples
    --------
    >>> _declared(Method("svm", {"C": [1, 10], "kernel": "rbf"}, "held-out rows"))
    '`svm`, C out of 1, 10; kernel = rbf; chosen on held-out rows'
    """
    told = [
        f"{name} out of {', '.join(map(str, value))}" if isinstance(value, list) else f"{name} = {value}"
        for name, value in method.settings.items()
    ]
    if method.chosen_from:
        told.append(f"chosen on {method.chosen_on}")
    return f"`{method.kind}`" + (f", {'; '.join(told)}" if told else "")


def proved(certificates: "pd.Series[str]") -> str:
    """What the runs of a method prove of their models, in words.

    Examples
    --------
    >>> proved(pd.Series(["proved", "proved"])), proved(pd.Series(["none", "none"]))
    ('yes', 'none')
    >>> proved(pd.Series(["proved", "gap 1.25%", "gap 0.40%", "none"]))
    'yes in 1 of 4 runs, gap up to 1.25 % in 2, none in 1'
    """
    told = certificates.fillna("none").astype(str)
    gaps = told.str.extract(r"^gap ([\d.]+)%$")[0].dropna().astype(float)
    failed = int(told.str.startswith("failed").sum())
    counts = {
        "yes": int((told == "proved").sum()),
        f"gap up to {gaps.max():.2f} %" if len(gaps) else "gap": len(gaps),
        "by its own word": int((told == CLAIMED).sum()),
        "none": int((told == "none").sum()),
        "a check failed": failed,
    }
    found = {words: n for words, n in counts.items() if n}
    if len(found) == 1:
        return next(iter(found))
    (first, n), *rest = found.items()
    return ", ".join([f"{first} in {n} of {len(told)} runs", *(f"{words} in {m}" for words, m in rest)])
