"""Whether a commercial library works here, with or without a licence: tried in a process of its own.

Some print what licence they found, some take a second to look for one, and one that looks for a server may hang.
"""

import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from .base import Availability

__all__ = ["probe"]

TIMEOUT_SEC = 60.0

_SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
import cvxpy as cp
x = cp.Variable(integer={integer})
cp.Problem(cp.Minimize({objective}), [x >= 0.5]).solve(solver={name!r})
print("minimum at", round(float(x.value), 3))
"""

_INTEGER = {"integer": True, "objective": "x"}
_CONE = {"integer": False, "objective": "cp.exp(x)"}


@cache
def probe(cvxpy_name: str, package: str, *, cone: bool, without_licence: str) -> Availability:
    """Solve a one-variable model through cvxpy (cached).

    Parameters
    ----------
    cvxpy_name : str
        The library's name in cvxpy.
    package : str
        That ``pip`` installs.
    cone : bool
        Whether exponential cones are asked for, or whole numbers.
    without_licence : str
        What the package solves without a licence, for the reason.
    """
    try:
        found = version(package)
    except PackageNotFoundError:
        return Availability(
            False, None, f"{package} is not installed; run: pip install {package} (which solves {without_licence})"
        )
    script = _SCRIPT.format(name=cvxpy_name, **(_CONE if cone else _INTEGER))
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT_SEC, check=False
        )
    except subprocess.TimeoutExpired:
        return Availability(False, found, f"{package} {found} did not solve a one-variable model in {TIMEOUT_SEC:g} s.")
    expected = "minimum at 0.5" if cone else "minimum at 1.0"
    if expected in done.stdout:
        return Availability(True, found)
    words = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    told = words[-1].strip()[:200] if words else f"exit code {done.returncode}"
    return Availability(False, found, f"{package} {found} is installed, but a one-variable model fails: {told}")
