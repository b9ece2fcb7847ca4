"""Lines A6 and A14: our own stop is not the user's, and a function is not hidden by a module."""

import subprocess
import sys

import pytest

import mmbn_opt as mm
from mmbn_opt.data import DiscreteDataset
from mmbn_opt.results.status import TerminationStatus


@pytest.fixture(scope="module")
def car():
    return DiscreteDataset.from_frame(mm.load_dataset("car"), target="class")


@pytest.mark.parametrize("solver", ["auto", "first_order", "interior_point"])
def test_a6_a_limit_of_ours_is_a_time_limit_and_no_interruption(car, solver):
    problem = mm.MaxMarginRelaxation(car, mm.tan_cmi(car), gamma=10.0)
    result = mm.solve(problem, solver, rel_gap=1e-14, time_limit=0.1)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.model is not None


def test_a6_a_stop_of_the_callers_is_an_interruption(car):
    problem = mm.MaxMarginRelaxation(car, mm.tan_cmi(car), gamma=10.0)
    result = mm.solve(problem, rel_gap=1e-14, callback=lambda record: record.event == "bound")
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.model is not None


def test_a14_names_of_the_face_are_what_they_are_whatever_was_imported_before():
    code = (
        "from mmbn_opt.tuning.lambda_path import choose_lambda\n"
        "import mmbn_opt.solvers, mmbn_opt.data, mmbn_opt as mm\n"
        "print(callable(mm.lambda_path), callable(mm.solve), callable(mm.solvers), callable(mm.tune))\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert answer.stdout.split() == ["True"] * 4
