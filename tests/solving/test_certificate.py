"""A certificate notices what is wrong with a model or with a claim."""

import dataclasses

import numpy as np
import pytest
from strategies import dataset_of

import mmbn_opt as mm
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.status import Sense, TerminationStatus
from mmbn_opt.results.trace import TraceRecorder
from mmbn_opt.solvers.ending import Tolerances
from mmbn_opt.solving.certificate import certify_run


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    data = dataset_of(rng.integers(0, 2, (30, 4)).tolist(), [2, 2, 2, 2])
    form = mm.SoftMarginStructure(data)
    return form, form.model_of(mm.tan_cmi(data))


def verdicts(certificate):
    return {check.name: check.ok for check in certificate.checks}


def test_a_good_model_passes(problem):
    form, model = problem
    certificate = mm.certify(model, form)
    assert certificate.ok
    assert set(verdicts(certificate)) == {
        "acyclic", "within the model class", "candidates cover the class", "CPTs normalised",
        "parameters from the data", "objective",
    }  # fmt: skip


def test_other_parameters_and_tables_that_do_not_sum_to_one_are_noticed(problem):
    form, model = problem
    shifted = dataclasses.replace(model, log_cpts=(model.log_cpts[0] + 0.1, *model.log_cpts[1:]))
    found = verdicts(mm.certify(shifted, form))
    assert found["CPTs normalised"] is False
    assert found["parameters from the data"] is False
    other = mm.BayesianNetwork.fit(model.structure, form.data, smoothing=2.0)
    found = verdicts(mm.certify(other, form))
    assert found["CPTs normalised"] is True
    assert found["parameters from the data"] is False


def test_too_many_parents_are_noticed(problem):
    form, _ = problem
    wide = form.model_of(mm.from_edges(form.data, [("class", "x0"), ("x1", "x0"), ("x2", "x0")]))
    assert verdicts(mm.certify(wide, form))["within the model class"] is False


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        ({"primal": 1.0}, "objective"),
        ({"dual": -1.0}, "bound on the right side"),
        ({"status": TerminationStatus.OPTIMAL}, "status"),
        ({"trace": -0.5}, "trace"),
    ],
)
def test_false_claims_are_noticed(problem, change, failing):
    form, model = problem
    value = form.evaluate(model)
    bounds = ObjectiveBounds(Sense.MAXIMIZE, value + change.get("primal", 0.0), value + change.get("dual", 5.0))
    recorder = TraceRecorder(Sense.MAXIMIZE)
    recorder.record(primal=bounds.primal_bound + change.get("trace", 0.0), dual=bounds.dual_bound, source="test")
    certificate = certify_run(
        model, form, bounds=bounds, status=change.get("status", TerminationStatus.TIME_LIMIT), trace=recorder.finish(),
        tolerances=Tolerances(0.0, 0.0), bound_source="a liar",
    )  # fmt: skip
    assert not certificate.ok
    assert failing in [check.name for check in certificate.failures]


def test_foreign_bounds_are_marked_as_claimed_and_trivial_ones_as_proved(problem):
    form, model = problem
    value = form.evaluate(model)

    def verdict(dual):
        bounds = ObjectiveBounds(Sense.MAXIMIZE, value, dual)
        recorder = TraceRecorder(Sense.MAXIMIZE)
        recorder.record(primal=value, dual=dual, source="test")
        certificate = certify_run(
            model, form, bounds=bounds, status=TerminationStatus.TIME_LIMIT, trace=recorder.finish(),
            tolerances=Tolerances(0.0, 0.0), bound_source="highs 1.16",
        )  # fmt: skip
        return next(check for check in certificate.checks if check.name == "bound proved")

    assert verdict(form.trivial_bound()).ok is True
    claimed = verdict(value + 1.0)
    assert claimed.ok is None
    assert "claimed by highs 1.16" in claimed.detail


def test_a_bound_that_was_proved_beside_the_search_is_ok_and_no_more_than_that(problem):
    form, _ = problem
    result = mm.solve(form, "branch_and_cut")
    check = next(check for check in result.certificate.checks if check.name == "bound proved")
    assert check.ok is True
    assert "computed anew" in check.detail, f"{result!r} {result.raw_status}"
    assert result.proof is not None
    again = mm.certify(result.model, form, result)
    assert again.ok
    # In the program's sense, a minimum, a proof of less is a smaller number.
    less = dataclasses.replace(result, proof=dataclasses.replace(result.proof, value=result.proof.value - 5.0))
    check = next(check for check in mm.certify(result.model, form, less).checks if check.name == "bound proved")
    assert check.ok is None
