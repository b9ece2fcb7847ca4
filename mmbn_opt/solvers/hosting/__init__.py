"""An engine in a thread or in a process of its own, and what it and its host say to each other."""
