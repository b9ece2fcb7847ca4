"""B2: a cache of compiled functions is a favour: whatever is wrong with it, the answer comes, and one line says so."""

import importlib.util
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt import _arrays

PROGRAM = """
import numpy as np
from mmbn_opt._arrays import kernel

@kernel(nogil=True)
def half(values):
    return values.sum() / 2.0

@kernel()
def quarter(values):
    return half(values) / 2.0
"""


FOREIGN = b"ca_module_of_another_program\n_Foreign\n."


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _after_the_version(path: Path) -> None:
    """A right version, and rubbish where the index begins."""
    import numba

    path.write_bytes(pickle.dumps(numba.__version__) + b"\x80\x04rubbish")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut off": _cut,
    "empty": lambda path: path.write_bytes(b""),
    "rubbish": lambda path: path.write_bytes(os.urandom(64)),
    "text": lambda path: path.write_text("<html>404</html>"),
    "another program's": lambda path: path.write_bytes(FOREIGN),
    "another shape": lambda path: path.write_bytes(pickle.dumps(("a", "b", "c"))),
    "a number": lambda path: path.write_bytes(pickle.dumps(7)),
    "rubbish after the version": _after_the_version,
    "a folder": _folder,
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Load the program as a process would that begins anew; what it said."""
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "program.py").write_text(PROGRAM)

    def go() -> list[str]:
        caplog.clear()
        monkeypatch.setattr(_arrays, "_said", set())
        spec = importlib.util.spec_from_file_location("program_of_a_test", tmp_path / "program.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.quarter(np.array([1.0, 2.0, 7.0])) == 2.5
        return [record.getMessage() for record in caplog.records]

    return go


def _kept(tmp_path: Path, ending: str) -> list[Path]:
    return sorted((tmp_path / "cache").rglob(f"*.{ending}"))


def test_b2_a_whole_cache_is_used_and_nothing_is_said(run, tmp_path) -> None:
    assert run() == []
    kept = {path: path.read_bytes() for ending in ("nbi", "nbc") for path in _kept(tmp_path, ending)}
    assert len(kept) == 4
    assert run() == []
    assert {path: path.read_bytes() for path in kept} == kept


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_b2_a_damaged_cache_is_told_once_and_compiled_again(run, tmp_path, kind, ending) -> None:
    run()
    damaged = _kept(tmp_path, ending)
    assert len(damaged) == 2
    for path in damaged:
        DAMAGE[kind](path)
    said = run()
    if kind == "a folder":
        assert len(said) == 1 + (ending == "nbi")  # nor can it be replaced
        return
    # An index that begins with anything but a version is of another version to numba, which begins a new one.
    of_another_version = ending == "nbi" and kind in ("another shape", "a number")
    assert len(said) == (not of_another_version)
    assert all("can't be read and are compiled again" in line for line in said)
    assert run() == []  # it was mended on the way


def test_b2_where_no_folder_can_be_written_one_line_says_what_to_set(tmp_path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM + "\nprint(quarter(np.array([1.0, 2.0, 7.0])))")
    # Files where folders would be stop root too, whom no permission stops.
    (tmp_path / "file").write_text("")
    (tmp_path / "__pycache__").write_text("")
    nowhere = str(tmp_path / "file" / "below")
    places = ("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "APPDATA", "LOCALAPPDATA")
    settings = {**os.environ, **dict.fromkeys(places, nowhere), "PYTHONPATH": str(Path(mm.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], env=settings, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "2.5\n"), done.stderr
    (line,) = done.stderr.splitlines()
    assert "compiled functions can't be kept" in line
    assert "set NUMBA_CACHE_DIR to a folder that can be written" in line


LATER = """
import sys
loaded = quarter(np.array([1.0, 2.0, 7.0]))
print(loaded, "numba.np.arraymath" in sys.modules, sum(quarter.stats.cache_hits.values()))

@kernel()
def eighth(values):
    return np.sort(quarter(values) + np.zeros(2))[0] / 2.0

print(eighth(np.array([1.0, 2.0, 7.0])), len(eighth.overloads))
"""


def test_kept_code_is_loaded_without_the_compiler_and_compiled_code_can_call_it(tmp_path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM + LATER)
    settings = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(mm.__file__).parents[1]),
    }

    def run() -> tuple[list[str], int]:
        line = [sys.executable, str(tmp_path / "program.py")]
        done = subprocess.run(line, env=settings, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.splitlines(), len(_kept(tmp_path, "nbc"))

    assert run() == (["2.5 True 0", "1.25 1"], 3)
    (kept,) = [path for path in _kept(tmp_path, "nbi") if "eighth" in path.name]
    kept.unlink()  # what calls kept code is compiled once more, in a process that loaded it
    assert run() == (["2.5 False 1", "1.25 1"], 3)
    assert run() == (["2.5 False 1", "1.25 1"], 3)


def test_b2_a_disk_that_is_full_when_code_is_kept_stops_nothing(monkeypatch, caplog) -> None:
    from numba.core.caching import IndexDataCacheFile

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_arrays, "_said", set())
    monkeypatch.setattr(IndexDataCacheFile, "save", full)

    @_arrays.kernel()
    def third(value):
        return value / 3.0

    assert third(6.0) == 2.0
    assert third(6) == 2.0
    (record,) = caplog.records
    assert "No space left on device" in record.getMessage()


def test_b2_all_compiled_functions_are_made_in_one_place() -> None:
    package = Path(mm.__file__).parent
    compiling = {path.name for path in package.rglob("*.py") if "njit" in path.read_text(encoding="utf-8")}
    assert compiling == {"_arrays.py"}
