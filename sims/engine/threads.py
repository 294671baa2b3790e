"""How many threads a simulation may be told to use. Apart from team.py, which needs Numba, for whoever only checks switches."""

MAX_THREADS = 64
"""As many as a team has places for."""
