"""Rows that do not bind where a box ends, but did not long ago: new cuts after them may make them bind again."""

from collections.abc import Mapping

from ._tableau import Tableau

__all__ = ["idle_rows"]

PATIENCE = 4
"""Boxes one below the other at which a row that bound above them may be idle before it is left out."""

MOST_IDLE = 60
"""Idle rows kept at most."""

MANY_GROUPS = 200
"""With more groups a box gets so many new rows that idle ones are left out at once."""


def idle_rows(tableau: Tableau, ages: Mapping[int, int], n_groups: int) -> dict[int, int]:
    """Rows that do not bind, worth keeping for the children, and their ages; `ages` are those before."""
    if n_groups > MANY_GROUPS:
        return {}
    older = {slot: ages[slot] + 1 for slot in tableau.idle().tolist() if slot in ages}
    youngest = sorted((slot for slot in older if older[slot] <= PATIENCE), key=older.__getitem__)
    return {slot: older[slot] for slot in youngest[:MOST_IDLE]}
