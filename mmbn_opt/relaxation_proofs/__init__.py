"""Proofs of convex relaxations are checked again from the raw table, in exact fractions and forty digits."""

from mmbn_opt.relaxation_proofs.multipliers import MAGIC, verified_multipliers

__all__ = ["MAGIC", "verified_multipliers"]
