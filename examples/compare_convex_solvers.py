"""ECOS, Clarabel, SCS, IPOPT and the package's own methods on the convex relaxation of margin parameters.

Usage: ``python examples/compare_convex_solvers.py [--out DIR]``; about five minutes, with ``--quick`` seconds.
"""

import _tables

import mmbn_opt as mm

STRUCTURES = {"nb": mm.naive_bayes, "tan-cmi": mm.tan_cmi}


def main() -> None:
    options = _tables.parser(
        "Compare solvers on the convex relaxation.",
        datasets=",".join(mm.dataset_names()),
        solvers="ecos,clarabel,scs,ipopt,barrier,first_order,interior_point",
        time_limit=8.0,
    )
    options.add_argument("--structure", choices=STRUCTURES, default="tan-cmi", help="structure of the network")
    options.add_argument("--normalization", choices=["hybrid", "floor", "published"], default="hybrid")
    options.add_argument("--rel-gap", type=float, default=1e-6, help="proved gap at which a run is done")
    arguments = options.parse_args()
    if arguments.quick:
        arguments.solvers = "interior_point,barrier"
    formulations = {
        name: mm.MaxMarginRelaxation(data, STRUCTURES[arguments.structure](data), normalization=arguments.normalization)
        for name, data in _tables.prepared(arguments, quick="iris").items()
    }
    _tables.run(formulations, arguments, rel_gap=arguments.rel_gap, title="Solvers of the convex relaxation")


if __name__ == "__main__":
    main()
