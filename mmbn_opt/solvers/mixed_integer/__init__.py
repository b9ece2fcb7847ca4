"""Solvers of programs with rows and integers."""
