"""No regular expression of ours takes more than time in proportion to a text, whatever the text."""

import importlib
import pkgutil
import re
import time
from itertools import product

import pytest

import mmbn_opt

LENGTH = 20_000
SECONDS = 0.5
STARTS = ["", "9", "a ", "(", "9e"]
RUNS = [
    "9",
    "0",
    " ",
    "a",
    ",",
    ".",
    "9,",
    "9.",
    "'",
    '"',
    "\\",
    "<",
    "#",
    "-",
    "e",
    "[",
    "(",
    "=",
    "\n",
    " 9",
    "a ",
    "ä",
    "%",
]
ENDS = ["", "x", "!", "\n", '"', ">"]


def patterns():
    """Each compiled expression in a module of the package, under the name it has there."""
    found = {}
    for info in pkgutil.walk_packages(mmbn_opt.__path__, "mmbn_opt."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            several = value if isinstance(value, tuple | list) else [value]
            for number, each in enumerate(several):
                if isinstance(each, re.Pattern):
                    found.setdefault(each, f"{info.name}.{name}[{number}]")
    return [pytest.param(each, id=name) for each, name in found.items()]


@pytest.mark.parametrize("pattern", patterns())
def test_a_pattern_takes_time_in_proportion_to_the_text(pattern):
    for start, run, end in product(STARTS, RUNS, ENDS):
        text = start + run * (LENGTH // len(run)) + end
        given = text.encode() if isinstance(pattern.pattern, bytes) else text
        for ask in (pattern.fullmatch, pattern.match):
            began = time.process_time()
            ask(given)
            took = time.process_time() - began
            assert took < SECONDS, f"{took:.1f} s for {start!r}, {run!r} again and again, then {end!r}"
