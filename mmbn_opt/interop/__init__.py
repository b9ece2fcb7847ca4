"""Other tools' files and objects."""

from mmbn_opt._lazy import names_on_demand

__getattr__, __dir__, __all__ = names_on_demand(__name__)
