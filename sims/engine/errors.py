"""What can go wrong in the engine; each message is one sentence a user can act on."""


class EngineError(Exception):
    """Anything the engine refuses."""


class ConfigurationError(EngineError):
    """A GPU configuration the model cannot take; says which value and what is allowed."""


class KernelError(EngineError):
    """A kernel that cannot run to its end; says which CTA or warp and why. The machine can go on with the next kernel."""


class Cancelled(EngineError):  # noqa: N818 - an outcome, not a fault
    """``should_stop()`` returned true."""
