"""How many examples property tests try: few in every run, many with ``THOROUGH=1`` in the environment."""

import os


def examples(quick: int, thorough: int) -> int:
    return thorough if os.environ.get("THOROUGH") == "1" else quick
