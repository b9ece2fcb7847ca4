"""Files are written whole or not at all, and an output that cannot be written says why."""

import os
import stat
import sys
from pathlib import Path

import pytest

from mmbn_opt.exceptions import InputError
from mmbn_opt.interop import atomic
from mmbn_opt.interop.atomic import ensure_directory, write_bytes_atomic, write_text_atomic

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs the devices of a POSIX system")


def test_text_is_written_as_utf8_and_replaces_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a much longer old content")
    write_text_atomic(path, "neu: ä\n")
    assert path.read_bytes() == "neu: ä\n".encode()
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_bytes_atomic(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: BaseException
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(handle: int) -> None:
        raise trouble

    monkeypatch.setattr(atomic.os, "fsync", fail)
    expected = InputError if isinstance(trouble, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as raised:
        write_text_atomic(path, "new")
    if expected is InputError:
        assert "No space left on device" in str(raised.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder .*nowhere' does not exist. Make it or choose another path"):
        write_text_atomic(tmp_path / "nowhere" / "a.txt", "")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it is a folder. Give the path of a file in it"):
        write_text_atomic(tmp_path, "")


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write everywhere")
def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="is not writable"):
        write_text_atomic(tmp_path / "a.txt", "")
    with pytest.raises(InputError, match="is not writable"):
        ensure_directory(tmp_path)


def test_a_link_keeps_pointing_where_it_did(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text_atomic(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


@posix
def test_a_device_is_written_to_and_stays_a_device() -> None:
    write_text_atomic("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@posix
def test_a_pipe_is_written_to() -> None:
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as reader:
        write_text_atomic(f"/dev/fd/{theirs}", "through")
        os.close(theirs)
        assert reader.read() == b"through"


def test_a_name_of_full_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_text_atomic(path, "x")
    assert path.read_text() == "x"


def test_an_output_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    assert ensure_directory(tmp_path / "a" / "b").is_dir()
    assert ensure_directory(tmp_path / "a" / "b").is_dir()


def test_an_output_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(InputError, match="is a file; choose another folder or remove the file"):
        ensure_directory(tmp_path / "a")
    with pytest.raises(InputError, match="Cannot make the output folder"):
        ensure_directory(tmp_path / "a" / "b")
