"""Parameters of a given structure: convex and smooth programs."""
