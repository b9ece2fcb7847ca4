"""A proof is checked again from the raw table, by code that shares nothing with what found it, roundings included."""

from mmbn_opt.rigour.verified import Verified
from mmbn_opt.verification.verify import verify

__all__ = ["Verified", "verify"]
