"""mmbn_opt: maximum-margin Bayesian networks as optimization problems, solved with a proof of how good they are.

Public names are listed in `__init__.pyi` and looked up on first use: importing the package imports no solver.
"""

from mmbn_opt._lazy import lead_old_paths_to_their_rooms, names_on_demand

__version__ = "0.1.0.dev0"

__getattr__, __dir__, __all__ = names_on_demand(__name__, "__version__")

lead_old_paths_to_their_rooms()
