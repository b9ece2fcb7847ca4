"""Solvers of choice programs: parent sets chosen so that no cycle arises."""
