"""The book of open boxes: its bound is the least value of all that is open, looked at or closed, whatever is done."""

import math

import numpy as np
import pytest

from mmbn_opt.programs.deep_boxes import DeepBoxes
from mmbn_opt.programs.tree_ledger import TreeLedger


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_the_least_value_after_any_steps(seed: int, tmp_path) -> None:
    rng = np.random.default_rng(seed)
    ledger, deep = TreeLedger(), DeepBoxes(9, tmp_path)
    ledger.taken.clear()
    allowed = np.ones(9, dtype=bool)
    values: dict[int, float] = {}
    away: dict[int, float] = {}
    taken: dict[int, float] = {}
    closed = math.inf
    for _ in range(400):
        step, value = rng.integers(9), float(rng.integers(1, 40))  # ties are frequent
        some = int(rng.choice(list(values))) if values else None
        if step <= 2:
            values[ledger.add(value, allowed)] = value
        elif step == 3 and some is not None:
            assert ledger.take(some, 9)[0] == values[some]
            taken[some] = values.pop(some)
        elif step == 4 and taken:
            number = int(rng.choice(list(taken)))
            ledger.put_down(number, value, np.packbits(allowed))
            values[number] = value
            del taken[number]
        elif step == 5 and some is not None:
            ledger.drop(some)
            closed = min(closed, values.pop(some))
        elif step == 6 and some is not None:
            ledger.forget(some)
            del values[some]
        elif step == 7 and some is not None:
            ledger.mirror(some, value, np.packbits(allowed))  # the same box, worth something else
            values[some] = value
        elif step == 8 and len(values) > 4:
            if not away or rng.random() < 0.5:
                numbers = sorted(values, key=values.__getitem__)[-3:]
                ledger.put_away(numbers, [0] * 3, [1] * 3, deep)
                away |= {number: values.pop(number) for number in numbers}
            else:
                back = ledger.bring_back(2)
                values |= {int(number): away.pop(int(number)) for number in back["number"]}
        least = min([closed, *values.values(), *taken.values(), *away.values()])
        assert ledger.bound == least
        assert ledger.fork().bound == min([closed, *values.values(), *taken.values()])
        assert ledger.n_open == len(values) + len(away)
