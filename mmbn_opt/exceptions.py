"""Errors that users of mmbn_opt meet; each message says what was wrong, the value received, and the cure."""


class MmbnError(Exception):
    """Base class of every error raised on purpose by mmbn_opt."""


class InputError(MmbnError, ValueError):
    """The input cannot be used: the message names the column, the value and the cure."""


class FormatError(InputError):
    """A file is not what its name or its first lines promise."""


class SizeLimitError(InputError):
    """A program or table would exceed a size limit; refused before anything is allocated."""


class MissingDependencyError(MmbnError, ImportError):
    """An optional package is absent; the message names the extra that installs it."""


class SolverError(MmbnError, RuntimeError):
    """A solver failed and left nothing that could be returned."""
