"""Parameters from other rows, with the settings that were chosen before."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.tuning.parameters import ParameterSettings, learn_parameters

__all__ = ["learn_again"]

_LOOSE_GAP = 1e-2
"""Gap at which a relaxation is near enough for a temperature."""


def learn_again(
    settings: ParameterSettings, chosen: Mapping[str, Any], structure: Structure
) -> Callable[[DiscreteDataset, float | None], BayesianNetwork]:
    """How parameters are learned from other rows with the settings that were chosen, so that nothing is chosen again.

    Parameters
    ----------
    settings : ParameterSettings
    chosen : mapping
        ``lam`` and ``max_iterations``, where the method has them.
    structure : Structure
    """
    gap = settings.call.rel_gap
    if settings.method == "relaxation":
        gap = _LOOSE_GAP if gap is None else max(gap, _LOOSE_GAP)
    fixed = replace(
        settings,
        lam=chosen.get("lam", settings.lam),
        iterations=chosen.get("max_iterations", settings.iterations),
        n_jobs=None,
        call=replace(settings.call, verbose=None, rel_gap=gap),
    )

    def learn(data: DiscreteDataset, seconds: float | None) -> BayesianNetwork:
        return learn_parameters(data, structure, fixed, seconds).network

    return learn
