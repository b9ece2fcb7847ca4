"""The types of arrays that every room speaks of, how functions on them are compiled, and logarithms of shares."""

import logging
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BoolArray",
    "CodeArray",
    "FloatArray",
    "Int32Array",
    "IntArray",
    "kernel",
    "log_expit",
    "log_softmax",
    "log_softmax_of_parts",
]

logger = logging.getLogger(__name__)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
CodeArray = NDArray[np.unsignedinteger]  # of states, in as few bytes as they need
BoolArray = NDArray[np.bool_]


def log_softmax(scores: FloatArray) -> FloatArray:
    """``scores - log(sum(exp(scores)))``, row by row.

    Like `log_expit` the function of `scipy.special`, which takes a quarter of a second to load, and commands with it.

    Examples
    --------
    >>> np.exp(log_softmax(np.array([[0.0, np.log(3.0), -np.inf]]))).round(3).tolist()
    [[0.25, 0.75, 0.0]]
    """
    top = scores.max(axis=1, keepdims=True)
    behind: FloatArray = scores - np.where(np.isfinite(top), top, 0.0)
    return behind - np.logaddexp.reduce(behind, axis=1, keepdims=True)


def log_softmax_of_parts(scores: FloatArray, starts: IntArray) -> FloatArray:
    """The same of a vector in parts, of which each begins where `starts` says; the last entry is where they end.

    Examples
    --------
    >>> np.exp(log_softmax_of_parts(np.log([1.0, 3.0, 5.0]), np.array([0, 2, 3]))).round(3).tolist()
    [0.25, 0.75, 1.0]
    """
    shares: FloatArray = scores - np.repeat(np.logaddexp.reduceat(scores, starts[:-1]), np.diff(starts))
    return shares


def log_expit(odds: FloatArray) -> FloatArray:
    """``log(1 / (1 + exp(-odds)))``.

    Examples
    --------
    >>> log_expit(np.array([-800.0, 0.0, 800.0])).round(4).tolist()
    [-800.0, -0.6931, -0.0]
    """
    logs: FloatArray = -np.logaddexp(0.0, -odds)
    return logs


def kernel(**options: Any) -> Any:
    """Compile a function with numba when it is first called, and keep the machine code for the next process.

    Keeping it is a favour, never a condition: where no folder can be written the function is compiled in each process,
    and what can't be read in a cache (cut off, of another program) is compiled again. Both are logged, once a process.

    Parameters
    ----------
    **options
        Those of ``numba.njit`` but ``cache``.

    Examples
    --------
    >>> @kernel(nogil=True)
    ... def total(values):
    ...     return values.sum()
    >>> float(total(np.array([1.0, 2.5])))
    3.5
    """

    def compiled(function: Callable[..., Any]) -> Any:
        from numba import njit

        dispatcher = njit(**options)(function)
        try:
            dispatcher.enable_caching()
        except (RuntimeError, OSError) as error:
            _say_uncached(str(error))
            return dispatcher
        # The attribute that numba's own `enable_caching` sets; it offers no other way to hear of faults.
        dispatcher._cache = _ForgivingCache(dispatcher._cache)
        return dispatcher

    return compiled


class _ForgivingCache:
    """A cache of numba whose faults cost time and nothing else.

    It unpickles what it finds, so that damaged bytes can raise nearly anything.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.enable = inner.enable
        self.disable = inner.disable
        self.flush = inner.flush

    @property
    def cache_path(self) -> str:
        return str(self._inner.cache_path)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The kept code, or None."""
        try:
            return self._loaded(signature, context)
        except Exception as error:
            logger.debug("kept code is loaded by numba's own way (%s: %s)", type(error).__name__, error)
        try:
            return self._inner.load_overload(signature, context)
        except Exception as error:
            _say_damaged(self.cache_path, f"{type(error).__name__}: {error}")
            # An index that can't be read would stand in the way of the new code too.
            with suppress(Exception):
                self._inner.flush()
            return None

    def _loaded(self, signature: Any, context: Any) -> Any:
        """What numba's cache would load, without what only its compiler needs.

        Numba reads its library of implementations before it looks whether there is kept code, and once more, SciPy's
        linear algebra with it, for the global names of functions that the code was made of: half a second. Kept code
        needs neither, and the compiler reads the library by itself when it is called.
        """
        from numba.core.runtime import rtsys

        rtsys.initialize(context)
        inner = self._inner
        file = inner._cache_file
        name = file._load_index().get(inner._index_key(signature, context.codegen()))
        if name is None or not inner._enabled:
            return None
        with open(file._data_path(name), "rb") as stream:
            kept = _KeptCode(stream).load()
        return inner._impl.rebuild(context, kept)

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep the code if that is possible."""
        try:
            self._inner.save_overload(signature, data)
        except Exception as error:
            _say_uncached(str(error))


class _KeptCode(pickle.Unpickler):
    """Reads kept code without importing the modules that it was made of."""

    def find_class(self, module: str, name: str) -> Any:
        """Every name as it is, but for how environments are made."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """Numba's environment of a function; its global names are read in object mode alone, which no kernel uses."""
    from numba.core.environment import Environment, lookup_environment

    known = lookup_environment(name)
    if known is not None:
        return known
    made = Environment({"__name__": module})
    made.consts[:] = constants
    made.env_name = name
    Environment._memo[name] = made
    return made


_said: set[str] = set()


def _say_uncached(reason: str) -> None:
    _say_once(
        "compiled functions can't be kept, so each process compiles them again; set NUMBA_CACHE_DIR to a folder that "
        "can be written",
        reason,
    )


def _say_damaged(folder: str, reason: str) -> None:
    _say_once("compiled functions that were kept can't be read and are compiled again", f"in {folder}: {reason}")


def _say_once(text: str, reason: str) -> None:
    if text not in _said:
        _said.add(text)
        logger.warning("%s (%s)", text, reason)
