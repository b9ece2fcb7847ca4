"""Folders of programs: swept where a killed process left them, spared where another is just being made."""

import json
from dataclasses import asdict, replace

import pytest

from mmbn_opt._file_lock import Holder
from mmbn_opt.solvers.hosting import guard


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(guard.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def test_a_folder_lasts_as_long_as_its_block(place):
    with guard.scratch_folder("program_") as folder:
        assert [path.name for path in place.iterdir()] == [folder.rsplit("/", 1)[-1]]
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_swept(place):
    left = place / "program_left"
    left.mkdir()
    gone = replace(Holder.here("program_"), pid=2**22 + 1)
    (left / guard._LOCK).write_text(json.dumps(asdict(gone)))
    with guard.scratch_folder("program_"):
        assert not left.exists()


def test_a_folder_that_another_process_is_just_making_is_spared(place):
    """Between its folder and its signature lies a moment in which nobody holds the lock."""
    young = place / "program_young"
    young.mkdir()
    (young / guard._LOCK).touch()
    with guard.scratch_folder("program_"):
        assert young.is_dir()
