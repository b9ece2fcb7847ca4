"""What an experiment can learn with: methods of this package and their rivals, by name."""

from mmbn_opt.reproduction.methods.registry import METHOD_KINDS, Context, MethodKind, availability, check_settings

__all__ = ["METHOD_KINDS", "Context", "MethodKind", "availability", "check_settings"]
