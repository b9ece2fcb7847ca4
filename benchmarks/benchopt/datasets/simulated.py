"""Samples of features that depend on the class and on each other."""

import numpy as np
import pandas as pd
from benchopt import BaseDataset


class Dataset(BaseDataset):
    name = "simulated"
    parameters = {"n_samples": [500], "n_features": [8]}
    test_parameters = {"n_samples": [60], "n_features": [4]}

    def get_data(self):
        rng = np.random.default_rng(self.get_seed(use_repetition=True))
        y = rng.integers(0, 3, self.n_samples)
        columns = {"x0": (y + (rng.random(self.n_samples) < 0.3)) % 3}
        for j in range(1, self.n_features):
            columns[f"x{j}"] = (columns[f"x{j - 1}"] * (y % 2) + rng.integers(0, 2, self.n_samples)) % 3
        frame = pd.DataFrame(columns).astype(str).assign(**{"class": y.astype(str)})
        return {"frame": frame, "target": "class"}
