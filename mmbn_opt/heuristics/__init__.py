"""Structures found without proof: generative baselines and the starts of the exact search."""

from mmbn_opt.heuristics.local_search import LocalSearch
from mmbn_opt.heuristics.trees import naive_bayes, tan_cmi

__all__ = ["LocalSearch", "naive_bayes", "tan_cmi"]
