"""The data sets that come with mmbn_opt: nothing is downloaded."""

from benchopt import BaseDataset

import mmbn_opt as mm


class Dataset(BaseDataset):
    name = "shipped"
    requirements = ["pip::mmbn-opt"]
    parameters = {"dataset": ["iris", "corral", "car"]}
    test_parameters = {"dataset": ["iris"]}

    def get_data(self):
        frame, info = mm.load_dataset(self.dataset, return_info=True)
        return {"frame": frame.dropna().reset_index(drop=True), "target": info.target}
