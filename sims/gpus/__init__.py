"""GPU configurations: what a GPU is to a simulator, from a shipped data file or from the user's Accel-Sim config."""

from sims.gpus.accelsim import ConfigReport, read_accelsim_config, read_accelsim_text
from sims.gpus.captured import is_captured_gpu, is_other_gpu
from sims.gpus.checks import bandwidth_deviation, check
from sims.gpus.optionfile import ConfigError
from sims.gpus.overrides import Difference, OverrideError, apply_overrides, diff, parse_override
from sims.gpus.serial import SpecError, spec_from_dict, spec_to_dict
from sims.gpus.shipped import load_shipped
from sims.gpus.spec import GpuSpec, UnitTiming
from sims.gpus.support import unsupported, unsupported_options
from sims.gpus.writer import to_accelsim_options
from sims.gpus.written import value_of_text, values_of_text

__all__ = [
    "ConfigError", "ConfigReport", "Difference", "GpuSpec", "OverrideError", "SpecError", "UnitTiming",
    "apply_overrides", "bandwidth_deviation", "check", "diff",
    "is_captured_gpu", "is_other_gpu", "load_shipped", "parse_override", "read_accelsim_config",
    "read_accelsim_text", "spec_from_dict", "spec_to_dict", "to_accelsim_options", "unsupported", "unsupported_options",
    "value_of_text", "values_of_text",
]  # fmt: skip
