"""Solvers of smooth programs, to a local optimum."""
