"""What a solver asks of machines that work for it, whoever they are."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

__all__ = ["Workers", "WorkersLost"]


class WorkersLost(Exception):
    """There is nobody any more who could answer; the words say who and why."""


class Workers(Protocol):
    """Processes, here or elsewhere, that may come and go.

    A task that was given to one who went is given to another: for each there is one answer, or an error.
    """

    def slots(self) -> int:
        """How many tasks can be worked on now; 0 where nobody is there at the moment."""

    def share(self, content: Any) -> None:
        """What all tasks from here on get as their first argument."""

    def submit(self, task: Callable[..., Any], *given: Any) -> Any:
        """Give out a task; a ticket for its answer."""

    def answers(self, seconds: float) -> Iterator[tuple[Any, Any]]:
        """Tickets and answers that are there; waits for the first of them, so long at most.

        Raises
        ------
        WorkersLost
        Exception
            What a task raised.
        """

    def cancel(self) -> None:
        """Nothing that was given out counts any more."""
