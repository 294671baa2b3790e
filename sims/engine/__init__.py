"""The built-in GPU timing model: trace-driven, cycle-exact where Accel-Sim's rules are known, free of Django."""
