"""The grid's CSV as the tables of the documentation: one row a set, the gap in percent or the seconds to the proof.

python benchmarks/structure/grid_table.py benchmarks/structure/results/grid.csv 2

The number is `max_parents`.
"""

import sys

import pandas as pd

CASES = tuple((score, p) for score in ("sm", "sbm") for p in (0.6, 0.9, 0.99))


def cell(row: "pd.Series[float]") -> str:
    """A proof with its seconds, or the gap."""
    if str(row["status"]) == "OPTIMAL":
        return f"{row['seconds']:.1f} s"
    return f"{row['gap_percent']:.3g} %"


def main() -> None:
    """Print the table."""
    grid = pd.read_csv(sys.argv[1])
    grid = grid[grid["max_parents"] == int(sys.argv[2])]
    heads = [f"{score.upper()}, p = {p:g}" for score, p in CASES]
    print("| set | N / merged rows / classes / columns | " + " | ".join(heads) + " |")
    print("|" + "---|" * (2 + len(CASES)))
    for name, part in grid.groupby("set", sort=True):
        cells = []
        for score, p in CASES:
            found = part[(part["score"] == score) & (part["p"] == p)]
            cells.append(cell(found.iloc[0]) if len(found) else "")
        size = " / ".join(f"{int(part[c].iloc[0]):,}" for c in ("nodes", "merged_rows", "classes", "columns"))
        print(f"| {name} | {size} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
