"""Run the benchmarks of `index.toml`, one after the other, and say which claim each one backs.

python benchmarks                        # all, with the quick settings
python benchmarks --list
python benchmarks --full convex/run.py   # as for the documentation; hours or days, see the index
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SHARED = Path(os.environ.get("MMBN_SHARED", ROOT.parent / "shared"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", help="names of the index; all of them without any")
    parser.add_argument("--full", action="store_true", help="the settings of the documentation's figures")
    parser.add_argument("--list", action="store_true", help="say what there is and run nothing")
    parser.add_argument("--out", type=Path, default=ROOT / "bench-output", help="folder of the results")
    asked = parser.parse_args()
    index = tomllib.loads((HERE / "index.toml").read_text(encoding="utf-8"))["benchmark"]
    if unknown := set(asked.scripts) - {entry["script"] for entry in index}:
        parser.error(f"{min(unknown)!r} is no script of the index; see --list")
    failed = []
    for entry in index:
        if asked.scripts and entry["script"] not in asked.scripts:
            continue
        print(f"== {entry['script']} ({entry['takes']} in full)\n   {entry['claim']}", flush=True)
        if not asked.list and not run(entry, "full" if asked.full else "quick", asked.out.resolve()):
            failed.append(entry["script"])
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def run(entry: dict[str, str], settings: str, out: Path) -> bool:
    """Whether a benchmark ended well; one whose data are not here is left out, and that is said."""
    if entry.get("needs") == "reference data" and not (SHARED / "data" / "manifest.json").is_file():
        print(f"   left out: the reference data are not at {SHARED}; set MMBN_SHARED to their folder", flush=True)
        return True
    out.mkdir(parents=True, exist_ok=True)
    arguments = shlex.split(entry[settings].format(shared=shlex.quote(str(SHARED)), out=shlex.quote(str(out))))
    began = time.perf_counter()
    code = subprocess.run([sys.executable, str(HERE / entry["script"]), *arguments], cwd=ROOT).returncode
    print(f"   {'done' if code == 0 else f'FAILED with exit status {code}'} in {time.perf_counter() - began:.0f} s\n")
    return code == 0


if __name__ == "__main__":
    main()
