"""What commands that fill a folder share: the folder is held, the best so far is kept, the answer said and written."""

import logging
import math
import shlex
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import typer

from mmbn_opt._budget import now
from mmbn_opt.exceptions import InputError

__all__ = ["Keeper", "command_line", "found", "hand_over", "open_folder", "saying_first", "writing"]

logger = logging.getLogger(__name__)

_FIRST_SEC = 0.5
_PAUSE_SEC = 1.0
_BOUND_PAUSE_SEC = 10.0
"""A better model is kept after a second at most, a better bound alone after ten."""
_SHARE = 0.05
"""Of the time that keeping may take."""
_LOOK_SEC = 0.1


def command_line() -> str:
    """What was typed, for files and messages."""
    return "mmbn-opt " + shlex.join(sys.argv[1:])


@contextmanager
def open_folder(out: Path) -> Iterator[Any]:
    """The `RunFolder` of a command, held to its end: what is wrong with it is told before any work."""
    from mmbn_opt.interop.run_folder import RunFolder

    with RunFolder(out, command_line()) as folder:
        yield folder


class Keeper:
    """Keeps the best model so far in the folder ``unfinished`` while runs go on, so that SIGKILL does not take it.

    A context manager around the runs; a thread of its own looks at them and writes.

    Parameters
    ----------
    folder : RunFolder
    to_model : callable (states, model) -> model
        From the states of the runs so far and the last one's model to what is to be kept; the model itself by default.
    na_values : tuple of str or None
        For the model to remember.
    seconds : float or None
        Of the runs: near their end nothing is kept any more, since the answer itself is next.
    """

    def __init__(
        self,
        folder: Any,
        to_model: Callable[[list[Any], Any], Any] = lambda states, model: model,
        na_values: tuple[str, ...] | None = None,
        seconds: float | None = None,
    ) -> None:
        from mmbn_opt.solving.job import observing

        self._folder = folder
        self._to_model = to_model
        self._na_values = na_values
        self._seconds = seconds
        self._states: list[Any] = []
        self._observing = observing(self._states.append)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="mmbn_opt keeper", daemon=True)
        self._kept: tuple[Any, Any] = (None, None)
        self._failed = False

    def __enter__(self) -> "Keeper":
        self._observing.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._observing.__exit__(kind, value, trace)
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        began = now()
        next_model, next_bound = began + _FIRST_SEC, began + _BOUND_PAUSE_SEC
        last = math.inf if self._seconds is None else began + self._seconds - _FIRST_SEC
        while not self._ended.wait(_LOOK_SEC):
            moment = now()
            if moment < next_model or moment > last or not self._states:
                continue
            state = self._states[-1]
            bounds, model = state.bounds, state.best
            same = model is self._kept[0]
            if model is None or (same and (bounds == self._kept[1] or moment < next_bound)):
                continue
            self._keep(state, model)
            self._kept = model, bounds
            end = now()
            next_model = end + max(_PAUSE_SEC, (end - moment) / _SHARE)
            next_bound = end + max(_BOUND_PAUSE_SEC, (end - moment) / _SHARE)

    def _keep(self, state: Any, model: Any) -> None:
        from mmbn_opt.interop.result_files import unfinished_contents

        try:
            contents = unfinished_contents(
                _remembering(self._to_model(list(self._states), model), self._na_values),
                state.recorder.snapshot(),
                formulation=type(state.formulation).__name__,
                source=state.best_source,
            )
            self._folder.keep_unfinished(contents)
        except Exception as error:
            # The search is worth more than its diary.
            if not self._failed:
                logger.warning("the best so far could not be kept: %s", error)
            self._failed = True


def found(result: Any) -> Any:
    """The result; one that was interrupted before it had a model does not replace what an earlier run left."""
    from mmbn_opt.results.status import TerminationStatus

    if result.model is None and result.termination_status is TerminationStatus.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def hand_over(
    result: Any,
    folder: Any,
    say: Callable[[], None],
    *,
    title: str,
    comparison: list[dict[str, Any]] | None = None,
    held_out: Any = None,
    training: Any = "computed",
    extra: Mapping[str, bytes] | None = None,
    na_values: tuple[str, ...] | None = None,
    accuracy: Mapping[str, Any] | None = None,
    calibration: Any = None,
    reliability: Any = None,
    reasons: Any = None,
) -> None:
    """Say the answer, then write it: it must not be lost with a disk that is full, nor with a reader who has left."""
    from mmbn_opt.display.keeping import reliability_rows
    from mmbn_opt.display.report import render_report
    from mmbn_opt.interop.result_files import write_result_files

    result = replace(result, model=_remembering(result.model, na_values))
    with saying_first(say):
        report = render_report(
            result, comparison=comparison, held_out=held_out, training=training, reasons=reasons, title=title,
            probabilities=() if calibration is None else reliability_rows(calibration, reliability),
            command=command_line(),
        )  # fmt: skip
        writing(
            folder,
            lambda: write_result_files(
                result, folder, report_html=report, extra=extra, accuracy=accuracy, calibration=calibration,
                reliability=reliability,
            ),
        )  # fmt: skip
    typer.echo(f"report: {folder.path / 'report.html'}")


def _remembering(model: Any, na_values: tuple[str, ...] | None) -> Any:
    """The model, which knows what cells were read as missing."""
    return model if model is None or na_values is None else replace(model, na_values=na_values)


@contextmanager
def saying_first(say: Callable[[], None]) -> Iterator[None]:
    """Say the answer; if that fails, do so after the block."""
    broken: OSError | UnicodeError | None = None
    try:
        say()
    except (OSError, UnicodeError) as error:
        broken = error
    yield
    if broken is not None:
        raise broken


def writing(folder: Any, write: Callable[[], Any]) -> None:
    """Write the files of a run; a failure tells where the answer is."""
    try:
        write()
    except InputError as error:
        kept = f" The best so far is in {str(folder.path / 'unfinished')!r}." if folder.has_unfinished else ""
        raise InputError(f"{error} The answer above is in no file of the run.{kept}") from error
