"""Tables become coded samples, counts and folds; nothing here knows a model."""

from typing import TYPE_CHECKING

from mmbn_opt._lazy import names_on_demand

if TYPE_CHECKING:
    from mmbn_opt.data.datasets import DatasetInfo as DatasetInfo
    from mmbn_opt.data.datasets import dataset_names as dataset_names
    from mmbn_opt.data.datasets import load_dataset as load_dataset
    from mmbn_opt.data.datasets import load_openml as load_openml
    from mmbn_opt.data.discrete import DiscreteDataset as DiscreteDataset
    from mmbn_opt.data.discretize import MDLPDiscretizer as MDLPDiscretizer
    from mmbn_opt.data.folds import holdout_rows as holdout_rows
    from mmbn_opt.data.numeric import NumericDataset as NumericDataset
    from mmbn_opt.data.preparation import Preparation as Preparation
    from mmbn_opt.data.preparation import prepare as prepare
    from mmbn_opt.data.readers import NA_VALUES as NA_VALUES
    from mmbn_opt.data.readers import read_table as read_table
    from mmbn_opt.data.variable import DiscreteVariable as DiscreteVariable

_HOMES = {
    "DatasetInfo": "datasets",
    "DiscreteDataset": "discrete",
    "DiscreteVariable": "variable",
    "MDLPDiscretizer": "discretize",
    "NA_VALUES": "readers",
    "NumericDataset": "numeric",
    "Preparation": "preparation",
    "dataset_names": "datasets",
    "holdout_rows": "folds",
    "load_dataset": "datasets",
    "load_openml": "datasets",
    "prepare": "preparation",
    "read_table": "readers",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = names_on_demand(__name__, _HOMES)
