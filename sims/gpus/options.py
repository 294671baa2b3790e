"""Typed access to options: the last value of each, Accel-Sim's default where it is missing, problems with place."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sims.gpus.optionfile import Option
from sims.gpus.spec import LINE_BYTES

_TRUE, _FALSE = {"1", "true", ""}, {"0", "false"}
_CACHE = re.compile(r"(?:[SN]:)?(?P<sets>\d+):(?P<line>\d+):(?P<ways>\d+)(?P<rest>.*)$")
_MSHR = re.compile(r",[A-Z]:(?P<entries>\d+):(?P<merges>\d+)(?:,(?P<queue>\d+))?")
_ADDRESS_MAP = re.compile(r"(?:dramid@(?P<channel_bit>\d+);)?(?P<bits>[01DRBCSX.]+)$", re.IGNORECASE)
_INTEGER_LIMIT = 2**40

RENAMED = {
    "memory_partition_indexing": "gpgpu_memory_partition_indexing",
    "perf_sim_memcpy": "gpgpu_perf_sim_memcpy",
    "l1_latency": "gpgpu_l1_latency",
    "smem_latency": "gpgpu_smem_latency",
    "l1_banks": "gpgpu_l1_banks",
    "gmem_skip_L1D": "gpgpu_gmem_skip_L1D",
    "flush_l1_cache": "gpgpu_flush_l1_cache",
    "rop_latency": "gpgpu_l2_rop_latency",
    "sub_core_model": "gpgpu_sub_core_model",
    "mem_unit_ports": "gpgpu_mem_unit_ports",
    "enable_specialized_operand_collector": "gpgpu_enable_specialized_operand_collector",
    "adaptive_volta_cache_config": "gpgpu_adaptive_cache_config",
    "adaptive_cache_config": "gpgpu_adaptive_cache_config",
    "gpgpu_n_shader": "gpgpu_n_clusters",
    "gpgpu_dram_sched_queue_size": "gpgpu_frfcfs_dram_sched_queue_size",
    "inct_in_buffer_limit": "icnt_in_buffer_limit",
    "inct_out_buffer_limit": "icnt_out_buffer_limit",
    "inct_subnets": "icnt_subnets",
    "dual_bus_interface": "dram_dual_bus_interface",
    "Seperate_Write_Queue_Enable": "dram_seperate_write_queue_enable",
    "Write_Queue_Size": "dram_write_queue_size",
    "Elimnate_rw_turnaround": "dram_elimnate_rw_turnaround",
}
"""Names in GPGPU-Sim 2 to 4.0 and in forks, and what Accel-Sim calls them now."""


@cache
def accelsim_defaults() -> dict[str, str]:
    """Every option of Accel-Sim and its default."""
    tables = tomllib.loads((Path(__file__).parent / "accelsim_options.toml").read_text(encoding="utf-8"))
    return {name: value for table in tables.values() for name, value in table.items()}


def is_known(name: str) -> bool:
    """Whether Accel-Sim has an option of this (present) name."""
    return name in accelsim_defaults()


@dataclass(frozen=True, slots=True)
class CacheGeometry:
    """A cache option's figures; ``ways`` are counted in lines of 128 bytes, whatever the config's line size."""

    sets: int
    ways: int
    set_index: str
    mshr_entries: int
    mshr_merges: int
    miss_queue: int


class OptionValues:
    """The final options of a config. No getter raises: a bad value goes to ``problems`` and the default stands in."""

    def __init__(self, options: Iterable[Option]) -> None:
        self.by_name: dict[str, Option] = {}
        self.problems: list[str] = []
        self.warnings: list[str] = []
        for option in options:
            name = RENAMED.get(option.name, option.name)
            self.by_name[name] = Option(name, option.value, option.place)
            if option.name == "gpgpu_n_shader":  # GPGPU-Sim 2 counts SMs, not clusters of them
                self.by_name.setdefault(
                    "gpgpu_n_cores_per_cluster", Option("gpgpu_n_cores_per_cluster", "1", option.place)
                )

    def given(self, name: str) -> bool:
        """Whether the config itself sets the option."""
        return name in self.by_name

    def text(self, name: str) -> str:
        """The value as written, or Accel-Sim's default."""
        return self.by_name[name].value if name in self.by_name else accelsim_defaults()[name]

    def integer(self, name: str) -> int:
        """A whole number; ``4.0`` is one."""
        return self.integers(name, ",", 1)[0]

    def flag(self, name: str) -> bool:
        """On or off; an option without a value is on."""
        value = self.text(name).lower()
        if value not in _TRUE | _FALSE and not value.isdigit():
            self._refuse(name, "0 or 1")
        return value not in _FALSE

    def integers(self, name: str, separator: str, at_least: int) -> list[int]:
        """Whole numbers, not negative."""
        numbers = self.numbers(name, separator, at_least)
        if any(number != int(number) for number in numbers):
            self._refuse(name, "whole numbers")
        return [int(number) for number in numbers]

    def numbers(self, name: str, separator: str, at_least: int) -> list[float]:
        """Numbers between 0 and 2^40; missing ones at the end are a problem."""
        numbers = _as_numbers(self.text(name), separator)
        if numbers is None or len(numbers) < at_least:
            self._refuse(
                name, f"{at_least} numbers joined by {separator!r}" if at_least > 1 else "a number of 0 or more"
            )
            numbers = _as_numbers(accelsim_defaults()[name], separator) or []
        return numbers

    def cache(self, name: str) -> CacheGeometry | None:
        """``[S:]sets:line:ways,...,A:entries:merges,queue,...``; None where there is no such cache.

        Other line sizes than 128 bytes keep sets and capacity.
        """
        value = self.text(name)
        if value.lower() == "none":
            return None
        match = _CACHE.match(value)
        if match is None or not all(int(match[part]) for part in ("sets", "line", "ways")):
            self._refuse(name, "<sets>:<line bytes>:<ways>,<policies>,<mshr>:<entries>:<merges>,<miss queue>")
            return None
        line_bytes = int(match["line"])
        if line_bytes != LINE_BYTES:
            self.warnings.append(
                f"-{name} has lines of {line_bytes} bytes; the model has 128: sets and capacity are kept."
            )
        mshr = _MSHR.search(match["rest"])
        policies = match["rest"].lstrip(",").split(",")[0].split(":")
        return CacheGeometry(
            sets=int(match["sets"]),
            ways=max(1, int(match["ways"]) * line_bytes // LINE_BYTES),
            set_index=policies[4] if len(policies) > 4 else "L",
            mshr_entries=int(mshr["entries"]) if mshr else 32,
            mshr_merges=int(mshr["merges"]) if mshr else 8,
            miss_queue=int(mshr["queue"]) if mshr and mshr["queue"] else 8,
        )

    def timing(self, name: str, keys: tuple[str, ...]) -> dict[str, int]:
        """DRAM timing by key, as ``nbk=16:CCD=2:...`` or by position; missing keys take Accel-Sim's defaults."""
        defaults = dict(zip(keys, map(int, accelsim_defaults()[name].split(":")), strict=True))
        given: dict[str, int] = {}
        for position, item in enumerate(re.sub(r"\s", "", self.text(name)).strip(":").split(":")):
            key, equals, ticks = item.rpartition("=")
            key = key if equals else (keys[position] if position < len(keys) else "")
            if not ticks.isdigit() or not key:
                self._refuse(name, "nbk=16:CCD=2:RRD=6:... with whole numbers")
                return defaults
            given[key] = int(ticks)
        return defaults | {key: given[key] for key in keys if key in given}

    def address_map(self, name: str) -> str | None:
        """``dramid@8;`` and 64 bits of 0 R B C S; None where the config gives none."""
        value = self.text(name)
        if value in ("NULL", ""):
            self.warnings.append(f"The config has no -{name}: the model's usual map is used.")
            return None
        match = _ADDRESS_MAP.match(value)
        if match is None or len(match["bits"].replace(".", "")) != 64:
            self._refuse(name, "dramid@<bit>; and 64 letters of 0 R B C S")
            return None
        if match["channel_bit"] is None:
            self.warnings.append(
                f"-{name} places the channel bits by D; the model inserts them at one (dramid@): its usual map is used."
            )
            return None
        return value

    def _refuse(self, name: str, wanted: str) -> None:
        option = self.by_name.get(name)
        place, value = (option.place, option.value) if option else ("Accel-Sim's default", self.text(name))
        self.problems.append(f"{place}: -{name} has {value[:60]!r}, it wants {wanted}.")


def _as_numbers(value: str, separator: str) -> list[float] | None:
    try:
        numbers = [float(part) for part in value.split(separator)]
    except ValueError:
        return None
    return numbers if all(0 <= number < _INTEGER_LIMIT for number in numbers) else None
