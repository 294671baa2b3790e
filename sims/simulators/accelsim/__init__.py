"""The user's own Accel-Sim binary."""
