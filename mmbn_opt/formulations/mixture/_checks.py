"""Whether every sample is beyond xi, in words."""

import pandas as pd

from ...results.result import Check, CheckSubject

__all__ = ["check_samples"]

SHOWN = 5
"""Samples that are named."""


def check_samples(missed: pd.DataFrame, n_samples: int, least: float, xi: float, *, part: str = "") -> Check:
    """All samples do, or how many do not, which, and by how much.

    Parameters
    ----------
    missed : DataFrame
        ``row`` and ``violation`` of the samples that miss xi, the worst first.
    n_samples : int
        Of the program.
    least : float
        Smallest log-odds of a true class, in nats.
    xi : float
    part : str
        Which program is meant, where there are several.
    """
    name = f"every sample beyond xi, {part}" if part else "every sample beyond xi"
    if missed.empty:
        detail = f"{n_samples} of {n_samples} samples do; the least log-odds are {least:.4g}, xi is {xi:g}"
    else:
        first = missed.iloc[:SHOWN]
        worst = ", ".join(f"{r} by {v:.3g}" for r, v in zip(first["row"], first["violation"], strict=True))
        more = "" if len(missed) <= SHOWN else ", ..."
        detail = f"{len(missed)} of {n_samples} samples miss xi = {xi:g}: row {worst}{more}"
    return Check(name, missed.empty, detail, about=CheckSubject.SAMPLES, part=part)
