"""Tests and benchmarks."""

import os
from pathlib import Path

# Compiling the engine takes most of a minute: every installation that tests start shares one folder of compiled code. Named
# before anything imports the engine, which chooses its folder then.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parent.parent / ".pytest_cache" / "engine"))
