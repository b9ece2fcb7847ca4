"""What the comparison scripts share: tables from files or from the package, options, and what is said at the end."""

import argparse
from pathlib import Path

import pandas as pd

import mmbn_opt as mm


def parser(description: str, *, datasets: str, solvers: str, time_limit: float) -> argparse.ArgumentParser:
    """The options of every comparison of solvers."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add_data_options(options, datasets)
    options.add_argument("--solvers", default=solvers, help="names separated by commas, or all")
    options.add_argument("--time-limit", type=float, default=time_limit, help="seconds a run")
    options.add_argument("--seeds", default="0", help="separated by commas")
    options.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    options.add_argument("--out", type=Path, help="folder for table, page and runs; without it nothing is written")
    return options


def add_data_options(options: argparse.ArgumentParser, datasets: str) -> None:
    """Where the data come from, and how to be done in seconds."""
    options.add_argument("--datasets", default=datasets, help="shipped data sets, separated by commas")
    options.add_argument("--data", type=Path, nargs="+", help="files (CSV, Parquet, ARFF) instead of shipped data sets")
    options.add_argument("--target", default="class", help="class column of the files")
    options.add_argument("--quick", action="store_true", help="one small data set and short limits, to see it work")


def tables(arguments: argparse.Namespace, quick: str) -> dict[str, tuple[pd.DataFrame, str, dict[str, str]]]:
    """Complete rows, class column and known column kinds of each data set that was asked for."""
    if arguments.data:
        found = {path.name.split(".")[0]: (mm.read_table(path), arguments.target, {}) for path in arguments.data}
    else:
        found = {}
        for name in [quick] if arguments.quick else arguments.datasets.split(","):
            frame, info = mm.load_dataset(name, return_info=True)
            found[name] = (frame, info.target, dict(info.kinds))
    return {name: (frame.dropna().reset_index(drop=True), *rest) for name, (frame, *rest) in found.items()}


def prepared(arguments: argparse.Namespace, quick: str) -> dict[str, mm.DiscreteDataset]:
    """The data sets, numbers discretized by MDLP."""
    return {
        name: mm.prepare(frame, target, kinds=kinds).data
        for name, (frame, target, kinds) in tables(arguments, quick).items()
    }


def run(formulations: dict[str, object], arguments: argparse.Namespace, *, rel_gap: float, title: str) -> mm.Comparison:
    """Compare, say how it goes, write what was asked for."""
    wanted = arguments.solvers if arguments.solvers == "all" else arguments.solvers.split(",")
    table = mm.compare(
        formulations,
        wanted,
        time_limit=min(arguments.time_limit, 5.0) if arguments.quick else arguments.time_limit,
        seeds=[int(seed) for seed in arguments.seeds.split(",")],
        rel_gap=rel_gap,
        n_jobs=arguments.jobs,
        folder=arguments.out,
        progress=lambda record, done, total: print(
            f"[{done}/{total}] {record.formulation} {record.solver}: {record.label}, {record.seconds:.2f} s", flush=True
        ),
    )
    shown = ["formulation", "solver", "status", "solved", "primal_bound", "gap_rel", "sec_to_gap_1e-2", "sec_to_proof"]
    print(table[shown].to_string(index=False, float_format=lambda value: f"{value:.6g}"))
    print(table.summary().to_string(float_format=lambda value: f"{value:.4g}"))
    for pair in table.left_out:
        print(f"left out: {pair.solver} on {pair.formulation}: {pair.reason}")
    if arguments.out:
        print(f"written: {table.write(arguments.out, title=title)}")
    return table
