"""Runs commands of ``mmbn-opt`` in forks of a process that has everything imported and compiled.

A line of JSON on standard input is one command: ``argv``, ``stdout``, ``stderr`` (paths), ``tag``, and what is not to
be as it is here: ``cwd``, ``environment``, ``uid``. Answered are the number of its process, and, when it has ended, its
exit status (negative: the signal that ended it). The first line lists commands that are done here before, which
compiles what they need.
"""

import contextlib
import json
import os
import sys
import tempfile
from typing import Any


def run(job: dict[str, Any]) -> None:
    """In the fork: the command, as if it had been started from a shell."""
    from mmbn_opt import cli

    os.setsid()
    os.environ["MMBN_TAG"] = job["tag"]  # what it starts can be found by that
    os.environ.update(job.get("environment", {}))
    os.chdir(job.get("cwd") or ".")
    for number, path in ((1, job["stdout"]), (2, job["stderr"])):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
    if job.get("uid"):
        os.setgid(job["uid"])
        os.setuid(job["uid"])
    sys.argv = ["mmbn-opt", *job["argv"]]
    status: Any = 1
    try:
        cli.main()
        status = 0
    except SystemExit as leave:
        status = leave.code or 0
    except KeyboardInterrupt:
        status = 130  # before the command began, or after it had ended
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(status if isinstance(status, int) else 1)


def load() -> None:
    """Import what commands import."""
    import mmbn_opt
    from mmbn_opt import cli, interop
    from mmbn_opt.display import report

    assert report
    for package in (mmbn_opt, cli, interop):
        for name in package.__all__:
            getattr(package, name)


def warm_up(jobs: list[list[str]]) -> None:
    """Do each command once here, so that the forks have its kernels."""
    from mmbn_opt import cli

    for argv in jobs:
        sys.argv = ["mmbn-opt", *argv]
        with contextlib.suppress(SystemExit), tempfile.TemporaryDirectory() as folder:
            sys.argv += ["--out", folder]
            with open(os.devnull, "w") as no, contextlib.redirect_stdout(no), contextlib.redirect_stderr(no):
                cli.main()


def main() -> None:
    answer = os.fdopen(os.dup(1), "w", buffering=1)
    load()
    warm_up(json.loads(sys.stdin.readline()))
    print("ready", file=answer)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            run(json.loads(line))
        print(pid, file=answer)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=answer)


if __name__ == "__main__":
    main()
