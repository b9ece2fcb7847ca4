"""A certificate of a model of sequences is given in time: what there was no time for is named and left open."""

import pytest

import mmbn_opt as mm
from mmbn_opt._budget import leaving_when

DATA = mm.SequenceDataset.from_lists(["aab", "abb", "bba", "bab"] * 5, ["XXY", "XYY", "YXX", "YXY"] * 5)


@pytest.mark.parametrize(
    "problem",
    [
        mm.SequenceMaxMargin(DATA, gamma=1.0),
        mm.SequenceMaxMargin(DATA, gamma=1.0, normalization="published"),
        mm.SequenceMaxMargin(DATA, B=1.0, normalization="floor"),
        mm.SequenceMarkovNetwork(DATA),
        mm.SequenceConditionalLikelihood(DATA),
        mm.SequenceSmoothMargin(DATA),
    ],
    ids=lambda problem: f"{type(problem).__name__}-{getattr(problem, 'normalization', '')}",
)
def test_checks_end_when_the_time_is_over(problem):
    model = problem.trivial_start().model
    with leaving_when(lambda: True):
        found = {check.name: check for check in problem.check(model)}
    whole = {check.name: check for check in problem.check(model)}
    assert set(found) == set(whole)
    for name, check in found.items():
        assert check.ok == whole[name].ok or (check.ok is None and "time limit was reached" in check.detail)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("limit", [1e-9, 0.01])
@pytest.mark.parametrize("method", ["max-margin", "markov-network", "conditional-likelihood", "cg-mm"])
def test_a_limit_that_is_over_at_once_still_gives_a_model(method, limit, monkeypatch):
    import mmbn_opt.solving.job as room

    # As on a machine that is so busy that nothing is left of what is kept for the checks.
    monkeypatch.setattr(room, "CHECK_GRACE_SEC", 0.0)
    X, y = ["aab", "abb", "bba", "bab"] * 40, ["XXY", "XYY", "YXX", "YXY"] * 40
    tagger = mm.SequenceClassifier(method, time_limit=limit).fit(X, y)
    assert tagger.predict(["ab"])[0][0] in ("X", "Y")
    assert tagger.certificate_.ok
