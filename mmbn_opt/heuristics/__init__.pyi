from mmbn_opt.heuristics.independence import IndependenceStructure as IndependenceStructure
from mmbn_opt.heuristics.independence import from_independence_tests as from_independence_tests
from mmbn_opt.heuristics.local_search import LocalSearch as LocalSearch
from mmbn_opt.heuristics.orders import order_mi as order_mi
from mmbn_opt.heuristics.sparse_candidates import restrict_candidates as restrict_candidates
from mmbn_opt.heuristics.tan_greedy import tan_cr as tan_cr
from mmbn_opt.heuristics.trees import naive_bayes as naive_bayes
from mmbn_opt.heuristics.trees import tan_cmi as tan_cmi
