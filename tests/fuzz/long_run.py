"""The fuzz tests for as long as wanted: ``python tests/fuzz/long_run.py --minutes 10``.

Targets take turns, each turn with fresh examples. A failure is shrunk, shown with the file that causes it, and counted;
the exit status is 1 if there was one. Memory is limited, so that a file that fills it is a failure too.
"""

import argparse
import logging
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzzing import Target, spoiled, survive, targets
from hypothesis import HealthCheck, given, settings

MEMORY = 6 * 2**30
settings.register_profile(
    "fuzz", max_examples=250, deadline=10_000, database=None, suppress_health_check=list(HealthCheck), print_blob=False
)


def turn(target: Target, counts: Counter[str]) -> Exception | None:
    """Examples of one target; the failure that ended them, if one did."""
    last: list[bytes] = [b""]

    @settings(settings.get_profile("fuzz"))
    @given(spoiled(target))
    def attempt(content: bytes) -> None:
        last[0] = content
        counts["examples"] += 1
        counts["read"] += survive(target, content)

    try:
        attempt()
    except Exception as error:
        error.add_note(f"the file: {last[0]!r}")
        return error
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", help="names of targets, separated by commas")
    options = parser.parse_args()
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except ImportError:
        print("no limit on memory on this system")
    logging.getLogger("mmbn_opt").setLevel(logging.ERROR)
    warnings.simplefilter("error")
    chosen = {n: t for n, t in targets().items() if not options.only or n in options.only.split(",")}
    counts = {name: Counter[str]() for name in chosen}
    end = time.monotonic() + 60 * options.minutes
    while time.monotonic() < end:
        for name, target in chosen.items():
            if time.monotonic() >= end:
                break
            failure = turn(target, counts[name])
            if failure is not None:
                counts[name]["failures"] += 1
                print(f"--- {name} ---", flush=True)
                traceback.print_exception(failure)
    for name, count in counts.items():
        print(f"{name:10} {count['examples']:8} examples, {count['read']:7} read, {count['failures']:3} failures")
    total = sum(counts.values(), Counter[str]())
    print(f"{'all':10} {total['examples']:8} examples, {total['read']:7} read, {total['failures']:3} failures")
    return 1 if total["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
