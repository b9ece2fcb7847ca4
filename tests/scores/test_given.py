"""Scores from elsewhere: what is none of them is named with its variable, value and cure."""

import math
from typing import Any

import pytest

from mmbn_opt.exceptions import InputError
from mmbn_opt.scores.given import check_local_scores

GOOD = {"a": [(-3.0, ()), (-1, ("b", "c"))], "b": [(-4.0, ())], "c": [(-0.5, ("a",)), (-2.0, ())]}


def test_scores_as_a_reader_returns_them_are_taken() -> None:
    check_local_scores(GOOD)
    check_local_scores({name: [[score, list(parents)] for score, parents in rows] for name, rows in GOOD.items()})


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (None, "local_scores must be a mapping .* got None"),
        ([("a", [])], "local_scores must be a mapping"),
        ({}, "local_scores must be a mapping"),
        ({**GOOD, "b": []}, "Variable 'b' has no parent set; give it at least the empty one"),
        ({**GOOD, 7: [(0.0, ())]}, r"has the variable 7, which is no text; write str\(name\)"),
        ({**GOOD, "b": [(math.nan, ())]}, r"parent set \[\] of 'b' has the score nan, .*leave it out"),
        ({**GOOD, "b": [(math.inf, ("a",))]}, r"parent set \['a'\] of 'b' has the score inf"),
        ({**GOOD, "b": [("-4", ())]}, "of 'b' has the score '-4'"),
        ({**GOOD, "b": [(True, ())]}, "of 'b' has the score True"),
        ({**GOOD, "b": [(None, ())]}, "of 'b' has the score None"),
        ({**GOOD, "b": [(-1.0, ("b",))]}, r"'b' has the impossible parent set \['b'\]: parents are other variables"),
        ({**GOOD, "b": [(-1.0, ("z",))]}, r"'b' has the impossible parent set \['z'\]"),
        ({**GOOD, "b": [(-1.0, ("a", "a"))]}, r"'b' has the impossible parent set \['a', 'a'\]"),
        ({**GOOD, "b": [(-1.0, "a")]}, r"'b' has .* among its parent sets; each is a pair"),
        ({**GOOD, "b": [-1.0]}, r"'b' has -1.0 among its parent sets; each is a pair"),
        ({**GOOD, "a": [(-1.0, ("b", "c")), (-2.0, ("c", "b"))]}, r"'a' has the parent set .* twice, .*-1.0 and -2.0"),
    ],
)
def test_what_is_no_score_is_named(scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_local_scores(scores)
