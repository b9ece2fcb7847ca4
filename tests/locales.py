"""A locale with decimal commas: one of the system, or one that is built for the test."""

import locale
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CANDIDATES = ("de_DE.UTF-8", "de_AT.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "German_Germany.1252")


@contextmanager
def process_locale(name: str) -> Iterator[None]:
    """The whole process follows `name`, as a program does that calls ``setlocale`` on start (Qt, R, GTK)."""
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, name)
    try:
        yield
        assert locale.setlocale(locale.LC_ALL) == locale.setlocale(locale.LC_ALL, name), "the locale was changed"
    finally:
        locale.setlocale(locale.LC_ALL, before)


def comma_locale(folder: Path) -> str:
    """The name of a locale with decimal commas; skips the test where there is none."""
    for name in CANDIDATES:
        if _has_comma(name):
            return name
    built = folder / "de_DE.UTF-8"
    if shutil.which("localedef"):
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(built)], capture_output=True, check=False)
        os.environ["LOCPATH"] = str(folder)
        if _has_comma(built.name):
            return built.name
        del os.environ["LOCPATH"]
    pytest.skip("the system has no locale with decimal commas and can't build one (locales, localedef)")


def _has_comma(name: str) -> bool:
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
        return locale.localeconv()["decimal_point"] == ","
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_ALL, before)
