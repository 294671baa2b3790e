"""From a kernel's trace file to CTAs that the timing model can run."""

from sims.engine.decode.open import open_program
from sims.engine.decode.text import TextProgram

__all__ = ["TextProgram", "open_program"]
