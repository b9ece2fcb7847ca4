"""Structures found without proof."""

from mmbn_opt.heuristics.independence import IndependenceStructure, from_independence_tests
from mmbn_opt.heuristics.local_search import LocalSearch
from mmbn_opt.heuristics.orders import order_mi
from mmbn_opt.heuristics.sparse_candidates import restrict_candidates
from mmbn_opt.heuristics.tan_greedy import tan_cr
from mmbn_opt.heuristics.trees import naive_bayes, tan_cmi

__all__ = [
    "IndependenceStructure",
    "LocalSearch",
    "from_independence_tests",
    "naive_bayes",
    "order_mi",
    "restrict_candidates",
    "tan_cmi",
    "tan_cr",
]
