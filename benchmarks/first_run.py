"""What a first run costs: `mmbn-opt demo` with an empty folder of compiled kernels, and again with what it left there.

Processor seconds and seconds by the clock of each.

    python benchmarks/first_run.py
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    print("| run | processor s | seconds |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        for label in ("first", "second"):
            began, spent = time.monotonic(), _processor_seconds()
            command = [sys.executable, "-m", "mmbn_opt", "demo", "--out", str(Path(place) / label)]
            environment = os.environ | {"NUMBA_CACHE_DIR": str(Path(place) / "kernels")}
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            print(f"| {label} | {_processor_seconds() - spent:.1f} | {time.monotonic() - began:.1f} |", flush=True)


def _processor_seconds() -> float:
    """Of the processes that were started here and have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


if __name__ == "__main__":
    main()
