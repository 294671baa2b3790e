"""The simulators, all of one shape (``base.py``): the user's Accel-Sim, a replay of a recorded log, and our own."""
