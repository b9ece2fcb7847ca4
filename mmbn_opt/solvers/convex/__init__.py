"""Solvers of margin programs, with a dual that proves how good they are."""
