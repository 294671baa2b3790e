"""Which simulators there are, and which of them can run a config on this machine."""

from collections.abc import Callable

from sims.gpus.spec import GpuSpec
from sims.simulators.accelsim.simulator import AccelSim
from sims.simulators.base import Places, Simulator
from sims.simulators.builtin.simulator import Builtin
from sims.simulators.replay.simulator import Replay

_MAKERS: dict[str, Callable[[Places], Simulator]] = {"builtin": Builtin, "accelsim": AccelSim, "replay": Replay}
"""In the order in which ``auto`` prefers them."""

AUTO = "auto"
NAMES = tuple(_MAKERS)


def places() -> Places:
    """What this machine's settings say simulators can use."""
    # Here and not above: runners import this module, too, and do without the settings.
    from django.conf import settings

    return Places(settings.CASCADE_ACCELSIM, settings.CASCADE_ACCELSIM_CONFIGS, settings.CASCADE_REPLAY_LOG)


def make(name: str, places: Places) -> Simulator:
    """The simulator of that name. Raises ``KeyError``."""
    return _MAKERS[name](places)


def simulators_for(spec: GpuSpec) -> list[str]:
    """The names of the simulators that can run a config here, the preferred one first."""
    return [name for name in NAMES if make(name, places()).why_not(spec) is None]


def choose(name: str, spec: GpuSpec) -> str:
    """The simulator to use for ``auto`` or a name. Raises ``ValueError`` with a sentence where none can do it."""
    if name != AUTO:
        if problem := make(name, places()).why_not(spec):
            raise ValueError(f"The simulator {name} cannot run {spec.id} here: {problem}")
        return name
    able = simulators_for(spec)
    if not able:
        raise ValueError(f"No simulator can run {spec.id} here: {make(NAMES[0], places()).why_not(spec)}")
    return able[0]
