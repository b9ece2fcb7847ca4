"""The calibration of a command's model: what the option asks for, chosen in the time left, and how it is told."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from mmbn_opt.cli.clock import Clock
from mmbn_opt.exceptions import InputError

if TYPE_CHECKING:
    from mmbn_opt.scores.calibration import Calibration, Reliability

__all__ = ["Calibrating", "say_probabilities"]


class Calibrating:
    """What ``--calibration`` asks for.

    Parameters
    ----------
    text : str
        As it was typed.
    trained : bool
        Whether the model is trained for its decisions.

    Raises
    ------
    InputError
        For what is none of the names and no temperature.
    """

    def __init__(self, text: str, *, trained: bool) -> None:
        from mmbn_opt.tuning.calibration import TRAINED_SHARE, given_calibration

        self._given = given_calibration(_setting(text), trained=trained)
        self.share = 0.0 if self._given is not None else TRAINED_SHARE
        """Of the time limit, that is kept for a choice."""

    def of(self, result: Any, choose: Callable[[float | None], "Calibration"], clock: Clock) -> "Calibration":
        """The calibration of a result's model.

        Parameters
        ----------
        result : Result
        choose : callable (seconds) -> Calibration
            Asked where rows have to decide.
        clock : Clock
        """
        from mmbn_opt._budget import noting_signals
        from mmbn_opt.results.status import TerminationStatus
        from mmbn_opt.scores.calibration import Calibration

        if self._given is not None:
            return self._given
        if result.model is None:
            return Calibration(reason="there is no model")
        if result.termination_status is TerminationStatus.INTERRUPTED:
            return Calibration(reason="Ctrl-C came first")
        with noting_signals():
            return choose(clock.for_search())


def _setting(text: str) -> Any:
    name = text.strip().lower()
    if name in ("auto", "temperature"):
        return name
    if name == "none":
        return None
    try:
        if 0.0 < (value := float(text)) < float("inf"):
            return value
    except ValueError:
        pass
    raise InputError(f"--calibration must be auto, temperature, none or a number > 0, got {text!r}.")


def say_probabilities(calibration: "Calibration", held_out: "Reliability | None") -> None:
    """On stdout: how far the model's probabilities can be believed."""
    told = str(calibration).replace("held-out rows", "rows held out inside")  # those of --hold-out are others
    for python, option in (("calibration=None", "none"), ('calibration="temperature"', "temperature")):
        told = told.replace(python, f"--calibration {option}")
    typer.echo(f"probabilities: {told}")
    if held_out is not None:
        typer.echo(f"held-out probabilities: {held_out}")
