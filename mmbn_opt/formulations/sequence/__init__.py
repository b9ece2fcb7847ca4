"""Parameters of chains of labels: margins scaled by the number of wrong labels, and their rivals."""
