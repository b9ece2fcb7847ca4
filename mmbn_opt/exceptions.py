"""Errors that users of mmbn_opt meet; each message says what was wrong, the value received, and the cure."""

_LONGEST = 2_000


class MmbnError(Exception):
    """Base class of every error raised on purpose by mmbn_opt; a message of more than 2,000 characters is cut."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(_readable(a) if isinstance(a, str) else a for a in args))


class InputError(MmbnError, ValueError):
    """The input cannot be used: the message names the column, the value and the cure."""


class WrongTypeError(InputError, TypeError):
    """An argument or a cell is of another type than what is needed; a TypeError too, as scikit-learn expects it."""


class FormatError(InputError):
    """A file is not what its name or its first lines promise."""


class SizeLimitError(InputError):
    """A program or table would exceed a size limit; refused before anything is allocated."""


class InfeasibleError(InputError):
    """Nothing keeps all that was asked for; the message names what contradicts each other."""


class MissingDependencyError(MmbnError, ImportError):
    """An optional package is absent; the message names the extra that installs it."""


class SolverError(MmbnError, RuntimeError):
    """A solver failed and left nothing that could be returned."""


def _readable(message: str) -> str:
    """The message without its middle where it is too long: what is wrong stands first, and the cure last."""
    if len(message) <= _LONGEST:
        return message
    kept = _LONGEST // 2 - 3
    return f"{message[:kept]} ... {message[-kept:]}"
