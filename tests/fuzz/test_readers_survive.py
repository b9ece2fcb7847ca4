"""Whatever a file holds, a reader gives an answer that holds or an error of ours; `make fuzz` looks for longer."""

import logging
from collections.abc import Iterator

import pytest
from fuzzing import spoiled, survive, targets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NAMES = (
    *("csv", "dat", "csv.gz", "no ending", "arff", "bif", "bif.gz", "json", "mixture", "run", "manifest", "uai", "jkl"),
    *("xmlbif", "parquet"),
)


@pytest.fixture(scope="module", autouse=True)
def silence() -> Iterator[None]:
    """The readers warn of much that they find in such files."""
    logging.getLogger("mmbn_opt").setLevel(logging.ERROR)
    yield
    logging.getLogger("mmbn_opt").setLevel(logging.NOTSET)


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_file_is_read(name: str) -> None:
    target = targets().get(name)
    if target is None:
        pytest.skip(f"what reads {name} is not installed")
    read = [survive(target, seed) for seed in target.seeds]
    assert read.count(False) == target.n_refused


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_spoiled_file_is_read_or_refused(name: str, data: st.DataObject) -> None:
    target = targets().get(name)
    if target is None:
        pytest.skip(f"what reads {name} is not installed")
    survive(target, data.draw(spoiled(target)))
