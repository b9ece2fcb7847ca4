"""ML against CG-MM against the convex relaxation (CVX-MM): rates and runtimes, in the shape of Tables 6 and 7.

Pernkopf, Wohlmayr & Tschiatschek 2012 compare the three on naive Bayes; Table 6 holds classification rates on test
data, Table 7 seconds. Their observation: the rates of the two margin methods are almost the same, and conjugate
gradients are faster by orders of magnitude than IPOPT on the relaxation.

Here the settings (lambda of the margin, early stopping of CG-MM) are chosen on a held-out fifth of the training rows,
and the relaxation is solved to a proved gap. Usage: ``python examples/compare_parameter_learning.py``; about a minute.
"""

import argparse
import time
from pathlib import Path

import _tables
import pandas as pd

import mmbn_opt as mm
from mmbn_opt.data import holdout_rows
from mmbn_opt.scores import classification_rate

STRUCTURES = {"nb": mm.naive_bayes, "tan-cmi": mm.tan_cmi, "omi": mm.order_mi}
SCALES = (0.02, 0.05, 0.1, 0.2, 0.5)


def split(data: mm.DiscreteDataset, fraction: float, seed: int) -> tuple[mm.DiscreteDataset, mm.DiscreteDataset]:
    first, second = holdout_rows(data.target_codes, test_fraction=fraction, seed=seed)
    return data.subset(first), data.subset(second)


def conjugate_gradient(train, structure, scales, time_limit, seed):
    """CG-MM: lambda and the iteration to stop at are those that do best on a held-out fifth."""
    best = (-1.0, None, None)
    for lam in scales:
        form = mm.SmoothMargin(train, structure, lam=lam)
        result = mm.solve(form, "conjugate_gradient", validation=0.2, seed=seed, time_limit=time_limit)
        score = float(result.stats["best_monitor"])
        if score > best[0]:
            best = (score, lam, result.model)
    return best[2], best[1]


def relaxation(train, structure, scales, time_limit, seed, solver, normalization):
    """CVX-MM: lambda chosen on a held-out fifth, then solved on all training rows to a proved gap."""
    learn, held = split(train, 0.2, seed)

    def solved(data, lam):
        form = mm.MaxMarginRelaxation(data, structure, gamma=1.0 / lam, normalization=normalization)
        result = mm.solve(form, solver, rel_gap=1e-3, time_limit=time_limit, seed=seed)
        return result.model.normalize().network, result.bounds.gap_rel

    lam = max(scales, key=lambda value: classification_rate(solved(learn, value)[0], held))
    network, gap = solved(train, lam)
    return network, lam, gap


def compare(name, train, test, structure, arguments) -> tuple[dict, dict]:
    scales = SCALES[1:3] if arguments.quick else SCALES
    likelihood = mm.BayesianNetwork.fit(structure, train)
    began = time.perf_counter()
    margin, lam_cg = conjugate_gradient(train, structure, scales, arguments.time_limit, arguments.seed)
    middle = time.perf_counter()
    convex, lam_cvx, gap = relaxation(
        train, structure, scales, arguments.time_limit, arguments.seed, arguments.solver, arguments.normalization
    )
    ended = time.perf_counter()
    models = {"ML": likelihood, "CG-MM": margin, "CVX-MM": convex}
    rates = {label: 100 * classification_rate(model, test) for label, model in models.items()}
    rates |= {"lambda CG-MM": lam_cg, "lambda CVX-MM": lam_cvx, "gap CVX-MM": gap, "test rows": test.n_samples}
    return {"data": name} | rates, {"data": name, "CG-MM": middle - began, "CVX-MM": ended - middle}


def main() -> None:
    options = argparse.ArgumentParser(
        description="Compare ML, CG-MM and the convex relaxation as in Tables 6 and 7 of Pernkopf et al. 2012.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    _tables.add_data_options(options, ",".join(mm.dataset_names()))
    options.add_argument("--structure", choices=STRUCTURES, default="nb", help="structure of the network")
    options.add_argument("--normalization", choices=["hybrid", "floor", "published"], default="hybrid")
    options.add_argument("--solver", default="auto", help="of the relaxation; ipopt is the paper's")
    options.add_argument("--time-limit", type=float, default=10.0, help="seconds for each solve")
    options.add_argument("--test-fraction", type=float, default=1 / 3, help="share of the rows that is held out")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, help="folder for rates.csv and runtimes.csv")
    arguments = options.parse_args()
    rates, runtimes = [], []
    for name, (frame, target, kinds) in _tables.tables(arguments, quick="iris").items():
        labels = pd.factorize(frame[target], sort=True)[0]
        train_rows, test_rows = holdout_rows(labels, test_fraction=arguments.test_fraction, seed=arguments.seed)
        preparation = mm.prepare(frame.iloc[train_rows], target, kinds=kinds)
        train, test = preparation.data, preparation.apply(frame.iloc[test_rows])
        rate, runtime = compare(name, train, test, STRUCTURES[arguments.structure](train), arguments)
        rates.append(rate)
        runtimes.append(runtime)
    tables = {"rates": pd.DataFrame(rates), "runtimes": pd.DataFrame(runtimes)}
    print(f"Classification rate in % on held-out rows, structure {arguments.structure} (shape of Table 6)")
    print(tables["rates"].to_string(index=False, float_format=lambda value: f"{value:.4g}"))
    print("Seconds, the choice of lambda included (shape of Table 7)")
    print(tables["runtimes"].to_string(index=False, float_format=lambda value: f"{value:.2f}"))
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        for label, table in tables.items():
            table.to_csv(arguments.out / f"{label}.csv", index=False)


if __name__ == "__main__":
    main()
