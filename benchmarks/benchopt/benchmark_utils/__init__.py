"""What the solvers of this benchmark share."""
