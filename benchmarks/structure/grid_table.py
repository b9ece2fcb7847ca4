"""The grid's CSV as the table of the documentation: one row a set, the gap in percent or the seconds to the proof.

python benchmarks/structure/grid_table.py benchmarks/structure/results/grid.csv
"""

import sys

import pandas as pd

CASES = (("sm", 0.9, 2), ("sm", 0.6, 2), ("sm", 0.99, 2), ("sbm", 0.9, 2), ("sm", 0.9, 1), ("sbm", 0.9, 1))


def cell(row: "pd.Series[float]") -> str:
    """A proof with its seconds, or the gap."""
    if str(row["status"]) == "OPTIMAL":
        return f"{row['seconds']:.1f} s"
    return f"{row['gap_percent']:.3g} %"


def main() -> None:
    """Print the table."""
    grid = pd.read_csv(sys.argv[1])
    heads = [f"{score.upper()}, p = {p:g}, k = {k}" for score, p, k in CASES]
    print("| set | N / merged rows / classes / columns | " + " | ".join(heads) + " |")
    print("|" + "---|" * (2 + len(CASES)))
    for name, part in grid.groupby("set", sort=False):
        sizes = part[part["max_parents"] == 2].iloc[0]
        cells = []
        for score, p, k in CASES:
            found = part[(part["score"] == score) & (part["p"] == p) & (part["max_parents"] == k)]
            cells.append(cell(found.iloc[0]) if len(found) else "")
        size = " / ".join(f"{int(sizes[c]):,}" for c in ("nodes", "merged_rows", "classes", "columns"))
        print(f"| {name} | {size} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
