"""The synthetic study runs, and what it reports can be true."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "synthetic_study.py"


@pytest.mark.slow
def test_the_quick_study_writes_errors_and_a_plot(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, "--quick", "--out", tmp_path], capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    table = json.loads((tmp_path / "errors.json").read_text())
    assert len(table) == 2 * 2 * 2
    for row in table:
        for method in ("M2BN (floor)", "M2BN (hybrid)", "M3N", "MCL", "maximum likelihood"):
            assert row["Bayes"] - 1e-9 <= row[method] <= 1.0
    assert (tmp_path / "errors.svg").read_text().startswith("<?xml")
