"""The pages of runs: list, new, one run's tabs, compare."""
