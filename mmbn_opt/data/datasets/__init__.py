"""Data sets: a few that come with the package, the rest from OpenML."""

from mmbn_opt.data.datasets.info import DatasetInfo
from mmbn_opt.data.datasets.openml import load_openml
from mmbn_opt.data.datasets.shipped import dataset_names, load_dataset

__all__ = ["DatasetInfo", "dataset_names", "load_dataset", "load_openml"]
