"""Lines 08 and 09: a folder is one run, whole or not at all, of one writer; what cannot be written has been said."""

import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mmbn_opt as mm
from mmbn_opt._file_lock import FileLock
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.interop.models import find_model, load_model
from mmbn_opt.interop.result_files import RESULT_FILES
from mmbn_opt.interop.run_folder import RunFolder
from mmbn_opt.interop.run_manifest import mismatch, read_manifest

OLDER = {"model.json": b"older model", "result.json": b"older result", "violations.csv": b"older rows"}
NEWER = {"model.json": b"newer model", "network.bif": b"newer network", "result.json": b"newer result"}


class Killed(BaseException):
    """Stands for SIGKILL: nothing of ours catches it."""


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mmbn_opt")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with a finished run and a file of the user's own."""
    folder = tmp_path / "out"
    with RunFolder(folder, "the older run") as held:
        held.publish(OLDER)
    (folder / "notes.txt").write_text("mine")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "manifest.json"
    }


def whole(folder: Path) -> str:
    """The command whose run the folder holds; each of its files is as it was written."""
    manifest = read_manifest(folder)
    assert manifest is not None
    assert not mismatch(folder, manifest)
    return manifest.command


def kill_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, count: int) -> None:
    """Let the call number `count` of a function be the last thing that the process does."""
    real, calls = getattr(owner, name), iter(range(count + 1))

    def last(*arguments: Any, **settings: Any) -> Any:
        if next(calls, None) == count:
            raise Killed
        return real(*arguments, **settings)

    monkeypatch.setattr(owner, name, last)


def publish_until_killed(folder: Path) -> None:
    held = RunFolder(folder, "the newer run")
    with pytest.raises(Killed):
        held.publish(NEWER)
    held._lock._stream.close()  # as the system does for a dead process; the file stays


def test_08_a_new_run_replaces_the_older_one_and_leaves_what_is_not_of_a_run(out: Path) -> None:
    with RunFolder(out, "the newer run") as held:
        held.publish(NEWER)
    assert whole(out) == "the newer run"
    assert files(out) == {**NEWER, "notes.txt": b"mine"}


@pytest.mark.parametrize("moved", range(4))
def test_08_killed_while_files_are_moved_the_next_to_come_completes_the_run(
    moved: int, out: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        kill_at(patch, Path, "replace", moved)
        publish_until_killed(out)
    with RunFolder(out, "the next run"):
        assert whole(out) == "the newer run"
    assert files(out) == {**NEWER, "notes.txt": b"mine"}
    assert "the results of a run that was ended while it wrote them are now complete" in caplog.text
    assert not list(out.glob(".mmbn-*"))


@pytest.mark.parametrize("written", range(4))
def test_08_killed_before_all_is_written_the_older_run_stands(
    written: int, out: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        kill_at(patch, os, "fsync", written)
        patch.setattr("mmbn_opt.interop.run_folder.shutil.rmtree", lambda *a, **k: None)  # the dead tidy nothing up
        publish_until_killed(out)
    assert whole(out) == "the older run"
    with RunFolder(out, "the next run"):
        assert whole(out) == "the older run"
    assert "was left by a run that was killed and is removed" in caplog.text
    assert files(out) == {**OLDER, "notes.txt": b"mine"}
    assert not list(out.glob(".mmbn-*"))


@pytest.mark.parametrize("moved", range(4))
def test_08_a_reader_completes_a_run_too(moved: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"], ["a"]] * 5, [0, 1, 1] * 5)
    networks = [mm.BayesianNetwork.fit(mm.naive_bayes(data), data, smoothing) for smoothing in (1.0, 2.0)]
    for network in networks:
        network.save(tmp_path / "m")
        NEW = {"model.json": (tmp_path / "m").read_bytes(), "a.txt": b"", "z.txt": b""}
        with RunFolder(tmp_path / "out", "a run") as held, monkeypatch.context() as patch:
            if network is networks[1]:
                kill_at(patch, Path, "replace", moved)
                with pytest.raises(Killed):
                    held.publish(NEW)
            else:
                held.publish(NEW)
    path, notice = find_model(tmp_path / "out")
    assert not notice
    assert load_model(path).predict_proba([["a"]]) == pytest.approx(networks[1].predict_proba([["a"]]), abs=1e-12)
    assert whole(tmp_path / "out") == "a run"


def test_08_a_second_writer_is_refused_by_name(out: Path) -> None:
    with RunFolder(out, "mmbn-opt structure --data a.csv"), pytest.raises(InputError) as refused:
        RunFolder(out, "mmbn-opt structure --data b.csv")
    text = str(refused.value)
    assert f"is being written by process {os.getpid()} on " in text
    assert "(mmbn-opt structure --data a.csv)" in text
    assert "choose another folder" in text
    RunFolder(out, "and now it is free").close()


def test_08_the_lock_of_a_dead_process_is_named_and_does_not_count(out: Path, caplog: pytest.LogCaptureFixture) -> None:
    lock = FileLock(out / ".mmbn-lock", "a run that was killed")
    lock._stream.close()
    with RunFolder(out, "the next run"):
        pass
    assert "(a run that was killed) ended without leaving it" in caplog.text
    assert not (out / ".mmbn-lock").exists()


def test_08_a_model_of_another_run_is_refused_with_the_cure(out: Path) -> None:
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 5, [0, 1] * 5)
    mm.BayesianNetwork.fit(mm.naive_bayes(data), data).save(out / "model.json")
    for read in (load_model, mm.BayesianNetwork.load):
        with pytest.raises(FormatError, match=r"model\.json' is not the one of this run: .* by 'the older run'"):
            read(out / "model.json")
    (out / "copy").mkdir()
    (out / "copy" / "model.json").write_bytes((out / "model.json").read_bytes())
    assert isinstance(load_model(out / "copy" / "model.json"), mm.BayesianNetwork)


def test_08_a_folder_without_a_manifest_is_read_as_before(tmp_path: Path) -> None:
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 5, [0, 1] * 5)
    mm.BayesianNetwork.fit(mm.naive_bayes(data), data).save(tmp_path / "model.json")
    assert find_model(tmp_path) == (tmp_path / "model.json", "")
    assert isinstance(load_model(tmp_path / "model.json"), mm.BayesianNetwork)


@pytest.mark.parametrize(("name", "content"), [("manifest.json", '{"name": "my app"}'), ("unfinished/mine.txt", "x")])
def test_08_what_others_wrote_under_these_names_is_not_overwritten(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match="Choose another"):
        RunFolder(tmp_path, "a run")
    assert (tmp_path / name).read_text() == content
    assert not (tmp_path / ".mmbn-lock").exists()


def test_08_a_manifest_cannot_name_files_outside_of_its_folder(out: Path) -> None:
    content = json.loads((out / "manifest.json").read_text())
    content["files"]["../notes.txt"] = {"bytes": 4, "sha256": ""}
    (out / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match="not a usable manifest"):
        read_manifest(out)


def test_07_the_best_so_far_is_kept_apart_from_the_finished_run(out: Path) -> None:
    with RunFolder(out, "a run that was killed") as held:
        held.keep_unfinished({"model.json": b"first"})
        held.keep_unfinished({"model.json": b"second"})
        assert held.has_unfinished
    assert whole(out) == "the older run"
    assert whole(out / "unfinished") == "a run that was killed"
    assert (out / "unfinished" / "model.json").read_bytes() == b"second"
    path, notice = find_model(out)
    assert path == out / "model.json"
    assert "the finished run in" in notice
    assert "one that did not finish (a run that was killed" in notice
    with RunFolder(out, "the newer run") as held:
        assert not held.has_unfinished
        held.publish(NEWER)
    assert not (out / "unfinished").exists()


def test_07_without_a_finished_run_the_folder_to_give_is_named(tmp_path: Path) -> None:
    with RunFolder(tmp_path, "a run that was killed") as held:
        held.keep_unfinished({"model.json": b"best"})
    with pytest.raises(InputError, match=r"holds no finished run. .*unfinished' holds the best model of one"):
        find_model(tmp_path)
    path, notice = find_model(tmp_path / "unfinished")
    assert path == tmp_path / "unfinished" / "model.json"
    assert "the best of a run that did not finish (a run that was killed" in notice


@pytest.fixture
def table(tmp_path: Path) -> Path:
    mm.load_dataset("corral").to_csv(tmp_path / "corral.csv", index=False)
    return tmp_path / "corral.csv"


@pytest.fixture
def structure(command: Callable[..., Any], table: Path, tmp_path: Path) -> Callable[[], Any]:
    return lambda: command(
        "structure", "--data", table, "--target", "class", "--max-parents", 1, "--out", tmp_path / "run"
    )


def test_08_parameters_over_an_older_result_leave_nothing_of_it(
    structure: Callable[[], Any], command: Callable[..., Any], table: Path, tmp_path: Path
) -> None:
    assert structure().status == 0
    (tmp_path / "run" / "notes.txt").write_text("mine")
    learn = ("parameters", "--data", table, "--target", "class", "--method", "ml", "--out", tmp_path / "run")
    assert command(*learn).status == 0
    assert set(files(tmp_path / "run")) == {*RESULT_FILES, "notes.txt"}
    assert json.loads(files(tmp_path / "run")["result.json"])["formulation"] == "MaximumLikelihood"
    assert "parameters" in whole(tmp_path / "run")


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    def fill(after: int) -> None:
        real, left = os.fsync, iter(range(after))

        def fsync(handle: int) -> None:
            if next(left, None) is None:
                raise OSError(28, "No space left on device")
            real(handle)

        monkeypatch.setattr(os, "fsync", fsync)

    return fill


@pytest.mark.parametrize(("after", "file"), [(0, "model.json"), (2, "report.html"), (5, "manifest.json")])
def test_09_on_a_full_disk_the_answer_has_been_said_and_the_older_run_stands(
    after: int, file: str, structure: Callable[[], Any], full_disk: Callable[[int], None], tmp_path: Path
) -> None:
    assert structure().status == 0
    before = files(tmp_path / "run")
    full_disk(after)
    ended = structure()
    assert ended.status == 2
    assert "objective: 179.2194" in ended.out
    assert "A0         <- class" in ended.out
    assert f"Cannot write to the folder '{tmp_path / 'run'}': No space left on device ({file})" in ended.err
    assert "The answer above is in no file of the run." in ended.err
    assert files(tmp_path / "run") == before
    whole(tmp_path / "run")
    assert not list((tmp_path / "run").glob(".mmbn-*"))


def test_09_a_reader_of_stdout_who_leaves_does_not_keep_the_files_from_being_written(
    structure: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import mmbn_opt.cli.structure as room

    def broken(result: Any) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(room, "say_result", broken)
    assert structure().status != 0
    assert "structure" in whole(tmp_path / "run")
