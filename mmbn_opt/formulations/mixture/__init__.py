"""Parameters of Gaussian mixtures: constrained maximum margin."""
