"""The one loop that hears a host: news as they come, the limit kept, a stop asked for and, in the end, enforced."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from ..._budget import Budget, now, until_interrupted
from ...exceptions import InputError
from ...results.status import TerminationStatus
from .host import EngineHost
from .link import EngineAnswer, EngineFailure, HostDied, LogLine, Message, Started

__all__ = ["Attendance"]

POLL_SEC = 0.1
DRAIN_SEC = 0.5

_WORDS: Mapping[TerminationStatus, str] = {
    TerminationStatus.INTERRUPTED: "stopped by the callback",
    TerminationStatus.TIME_LIMIT: "the time limit was reached",
}


class Attendance:
    """One engine in its host, heard in the caller's thread until it has answered or is no more.

    Parameters
    ----------
    host : EngineHost
    budget : Budget
    hear : callable
        Takes the engine's news and log lines.
    look : callable (quiet) -> TerminationStatus or None
        Asked after each message and each pause (`quiet`); the cause for which the engine has to stop, if there is one.
    grace : float
        Seconds in which an engine that has begun may hand over what it has when it is asked to stop.

    Attributes
    ----------
    cause : TerminationStatus or None
        Why we asked the engine to stop.
    error : Exception or None
        An error of the caller's input, for the caller to raise.
    started_sec : float or None
        When the engine had its program, in seconds of the budget.
    """

    def __init__(
        self,
        host: EngineHost,
        budget: Budget,
        hear: Callable[[Message], None],
        look: Callable[[bool], TerminationStatus | None],
        *,
        grace: float = 0.0,
    ) -> None:
        self.host, self.budget, self.grace = host, budget, grace
        self.cause: TerminationStatus | None = None
        self.error: Exception | None = None
        self.started_sec: float | None = None
        self.failure: EngineFailure | None = None
        self._hear_news, self._look = hear, look
        self._answer: EngineAnswer | None = None
        self._kill_at = math.inf

    def run(self) -> EngineAnswer:
        """Listen to the end."""
        while self._answer is None:
            with until_interrupted() as cut:
                self._step()
            if cut:
                # A second Ctrl-C does not wait for the grace period.
                impatient = self.cause is TerminationStatus.INTERRUPTED
                self.ask_to_stop(TerminationStatus.INTERRUPTED)
                if impatient:
                    self._kill_at = -math.inf
        return self._answer

    def ask_to_stop(self, cause: TerminationStatus) -> None:
        """Ask the engine to stop; it has the grace period to hand over what it has."""
        if self.cause is None:
            # An engine that has not begun has nothing to hand over.
            self._kill_at = now() + (self.grace if self.started_sec is not None else 0.0)
            self.cause = cause
            self.host.request_stop()
        elif cause is TerminationStatus.INTERRUPTED:
            self.cause = cause

    def hear_rest_of_log(self) -> None:
        """Log lines come another way than the answer and can be behind it; a pause is not their end."""
        end = now() + DRAIN_SEC
        while now() < end:
            message = self.host.peek(POLL_SEC)
            if message is None:
                continue
            if isinstance(message, HostDied):
                break
            if isinstance(message, LogLine):
                self._hear_news(message)
            self.host.pop()

    def _step(self) -> None:
        message = self.host.peek(self._patience())
        if message is not None:
            self._hear(message)
            self.host.pop()
        if self._answer is None:
            self._keep_budget(self._look(message is None))

    def _patience(self) -> float:
        """Seconds to wait for the next message."""
        ends = [POLL_SEC, self._kill_at - now()]
        if self.cause is None:
            ends.append(self.budget.left())
        return max(0.0, min(ends))

    def _keep_budget(self, wanted: TerminationStatus | None) -> None:
        if self.cause is None and self.budget.over():
            self.ask_to_stop(TerminationStatus.TIME_LIMIT)
        if self.cause is None and wanted is not None:
            self.ask_to_stop(wanted)
        if self.cause is None:
            return
        if now() >= self._kill_at:
            self._end_by_force(self.cause)
        else:
            self.host.request_stop()

    def _end_by_force(self, cause: TerminationStatus) -> None:
        """Kill the engine, and take what it had sent before."""
        self.host.kill()
        end = now() + (DRAIN_SEC if self.grace else 0.0)
        while self._answer is None and now() < end and (message := self.host.peek(POLL_SEC)) is not None:
            if isinstance(message, HostDied):
                break
            self._hear(message)
            self.host.pop()
        if self._answer is None:
            words = "the solver did not stop when asked to" if self.grace else _WORDS.get(cause, cause.sentence)
            self._answer = EngineAnswer(cause, f"{words}; {self.host.fate}")

    def _hear(self, message: Message) -> None:
        match message:
            case Started():
                self.started_sec = self.budget.elapsed()
            case EngineAnswer():
                if message.termination_status is TerminationStatus.INTERRUPTED and self.cause is not None:
                    # An interruption has the cause for which we asked for it.
                    message = replace(message, termination_status=self.cause)
                self._answer = message
            case EngineFailure():
                self.failure = message
                if message.is_input_error:
                    self.error = self.error or InputError(message.text)
                self._answer = EngineAnswer(TerminationStatus.SOLVER_ERROR, f"{message.kind}: {message.text}")
            case HostDied(text):
                self._answer = EngineAnswer(self.cause or TerminationStatus.SOLVER_ERROR, text)
            case _:
                self._hear_news(message)
