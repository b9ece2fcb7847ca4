"""HiGHS, SciPy, SCIP, CBC and the branch-and-cut engine on the structure with the largest soft margin.

Usage: ``python examples/compare_structure_solvers.py [--out DIR]``; about four minutes, with ``--quick`` seconds.
"""

import _tables

import mmbn_opt as mm


def main() -> None:
    options = _tables.parser(
        "Compare solvers on soft-margin structures.",
        datasets=",".join(mm.dataset_names()),
        solvers="highs,scipy,scip,cbc,branch_and_cut",
        time_limit=6.0,
    )
    options.add_argument("--p", type=float, default=0.9, help="desired posterior of the true class against a rival")
    options.add_argument("--max-parents", type=int, default=2, help="most parents of a node")
    arguments = options.parse_args()
    if arguments.quick:
        arguments.solvers = "highs,branch_and_cut"
    formulations = {
        name: mm.SoftMarginStructure(data, max_parents=arguments.max_parents, gamma=mm.log_odds(arguments.p))
        for name, data in _tables.prepared(arguments, quick="iris").items()
    }
    _tables.run(formulations, arguments, rel_gap=0.0, title="Structure solvers")


if __name__ == "__main__":
    main()
