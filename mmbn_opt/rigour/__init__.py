"""What all verifiers share: raw cells to states, records of files, numbers with bounds on their errors."""
