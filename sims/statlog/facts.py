"""What a log says about the run as a whole: who wrote it, with which options, how far it came, and how it ended."""

import re
from dataclasses import asdict, dataclass, field
from typing import Any

MAX_OPTIONS = 1000
MAX_TEXT = 500
"""Characters of a message or an option's value that are kept."""
MAX_OPEN_LAUNCHES = 1024

OWN_BANNER = b"Cascade built-in simulator"
OWN_ERROR = b"cascade: ERROR "
OPTIONS_BEGIN = b"Configuration options:"
OPTIONS_END = b"GPGPU-Sim uArch: clock freqs:"

_BUILD = re.compile(rb"Accel-Sim \[build ([^\]]*)\]")
_VERSION = re.compile(rb"GPGPU-Sim Simulator Version ([\w.]+)\s*(?:\[build ([^\]]*)\])?")
_OPTION = re.compile(rb"-?([A-Za-z_][\w:.]*)\s+(.*?)\s*#")
_CLOCKS = re.compile(rb"clock freqs: ([\d.]+):([\d.]+):([\d.]+):([\d.]+)")
_LAUNCH = re.compile(rb"launching kernel name: (.*?) uid: (\d{1,18})(?: cuda_stream_id: (\d{1,20}))?\s*$")
_MEMCPY = re.compile(rb"launching memcpy command : MemcpyHtoD,0x[0-9a-fA-F]+,(\d{1,18})\b")
_DEADLOCK = re.compile(rb"deadlock detected: last writeback(?: core (\d+))? @ gpu_sim_cycle (\d+)")


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel launch as the log announces it."""

    uid: int
    name: str
    stream: int | None


@dataclass
class LogFacts:
    """The log's own account of a run. Texts are cut at 500 characters; nothing here grows with the log's length."""

    accelsim_build: str | None = None
    gpgpusim_version: str | None = None
    gpgpusim_build: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    """The option dump's final values, DRAM timing included."""
    clocks_hz: tuple[float, float, float, float] | None = None
    """Core, interconnect, L2, DRAM."""

    log_bytes: int = 0
    lines: int = 0
    nan_values: int = 0
    """How many ``-nan`` the log prints: ratios over nothing."""
    ends_with_newline: bool = True

    memcpys: int = 0
    memcpy_bytes: int = 0
    files_opened: int = 0
    """Kernel files named by ``Processing kernel``; their headers may be read long before their launch."""
    last_file: str | None = None
    launched: int = 0
    pushed: int = 0
    """Kernels pushed to a stream by an application that runs under GPGPU-Sim itself (PTX mode)."""
    open_launches: dict[int, Launch] = field(default_factory=dict)
    """Launched and without a stats block yet, by uid: the kernel(s) running now."""
    thread_blocks: int = 0
    """Thread blocks issued since the last launch: live progress within a kernel."""
    thread_blocks_total: int = 0
    blocks: int = 0
    """Stats blocks, idle intervals included."""
    kernels: int = 0
    """Kernels that ended with a whole stats block."""
    headless_blocks: int = 0
    """Ends of stats blocks whose beginning the log does not have (it was cut): a kernel ended, nobody knows which."""

    exit_detected: bool = False
    max_break: bool = False
    """The run ended at ``-gpgpu_max_cycle`` or ``-gpgpu_max_insn``: the last block's kernel is unfinished."""
    deadlock: str | None = None
    deadlock_core: str | None = None
    deadlock_cycle: str | None = None
    """As printed: both can be garbage."""
    assertion: str | None = None
    segfault: bool = False
    abort_text: str | None = None
    """An uncaught C++ exception's text."""
    unsupported_binary: str | None = None
    """The SASS version that the simulator refused; ``0`` when a kernel file could not be read at all."""
    undefined_instruction: str | None = None
    unable_to_open: str | None = None
    unknown_option: str | None = None
    config_missing: str | None = None
    resources_error: str | None = None
    symbol_error: str | None = None
    own_error: str | None = None
    """Our own simulator's sentence on why it stopped."""

    @property
    def launch_latency_cycles(self) -> int | None:
        """``-gpgpu_kernel_launch_latency`` as the option dump has it."""
        value = self.options.get("gpgpu_kernel_launch_latency", "")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None

    @property
    def core_clock_mhz(self) -> float | None:
        """The core clock that turns cycles into time."""
        return self.clocks_hz[0] / 1e6 if self.clocks_hz else None

    def read_option(self, line: bytes) -> None:
        """One line of the option dump; help texts are left out."""
        if (match := _OPTION.match(line)) and len(self.options) < MAX_OPTIONS:
            self.options[_text(match[1])] = _text(match[2])

    def read_clocks(self, line: bytes) -> None:
        """``GPGPU-Sim uArch: clock freqs: core:icnt:l2:dram``, in Hz."""
        if match := _CLOCKS.search(line):
            core, icnt, l2, dram = (_float(group) for group in match.groups())
            if core > 0:
                self.clocks_hz = (core, icnt, l2, dram)

    def read_banner(self, line: bytes) -> bool:
        """A simulator's first words; true if the line was such."""
        if match := _BUILD.search(line):
            self.accelsim_build = _text(match[1])
            return True
        if match := _VERSION.search(line):
            self.gpgpusim_version, self.gpgpusim_build = _text(match[1]), _text(match[2] or b"")
            return True
        return line.startswith(OWN_BANNER)

    def read_launch(self, line: bytes) -> None:
        """``launching kernel name: ...`` or ``launching memcpy command : ...``."""
        if match := _LAUNCH.match(line):
            launch = Launch(int(match[2]), _text(match[1], 4096), int(match[3]) if match[3] else None)
            self.launched += 1
            self.thread_blocks = 0
            self.open_launches[launch.uid] = launch
            if len(self.open_launches) > MAX_OPEN_LAUNCHES:
                del self.open_launches[next(iter(self.open_launches))]
        elif line.startswith(b"launching memcpy"):
            self.memcpys += 1
            if match := _MEMCPY.match(line):
                self.memcpy_bytes += int(match[1])

    def read_file(self, line: bytes) -> None:
        """``Processing kernel PATH``."""
        if line.startswith(b"Processing kernel "):
            self.files_opened += 1
            self.last_file = _text(line[len(b"Processing kernel ") :])

    def scan_failure(self, line: bytes) -> None:
        """Whatever a line of stdout or stderr says about a failure. The first of a kind is kept."""
        text = _text(line)
        for needle, name, pattern in _FAILURES:
            if needle not in line:
                continue
            match = pattern.search(text)
            if match and getattr(self, name) in (None, False):
                setattr(self, name, match[1] if match.lastindex else True)
        if self.deadlock and self.deadlock_cycle is None and (found := _DEADLOCK.search(line)):
            self.deadlock_core = _text(found[1]) if found[1] else None
            self.deadlock_cycle = _text(found[2])

    def to_plain(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> "LogFacts":
        """From :meth:`to_plain`."""
        facts = cls(**data)
        launches = facts.open_launches.values()
        facts.open_launches = {item["uid"]: Launch(**item) for item in launches}  # type: ignore[index, arg-type]
        facts.clocks_hz = tuple(facts.clocks_hz) if facts.clocks_hz else None  # type: ignore[assignment]
        return facts


_FAILURES: list[tuple[bytes, str, re.Pattern[str]]] = [
    (needle, name, re.compile(pattern))
    for needle, name, pattern in (
        (b"*** exit detected ***", "exit_detected", r"exit detected"),
        (b"break due to reaching the maximum", "max_break", r"break due to"),
        (b"deadlock detected:", "deadlock", r"(deadlock detected:.*)"),
        (b"Assertion `", "assertion", r"(.*Assertion `.*)"),
        (b"Segmentation fault", "segfault", r"Segmentation fault"),
        (b"what():", "abort_text", r"what\(\):\s*(.*)"),
        (b"unsupported binary version", "unsupported_binary", r"unsupported binary version:\s*(\S+)"),
        (b"undefined instruction :", "undefined_instruction", r"undefined instruction : (\S+)"),
        (b"Unable to open file", "unable_to_open", r"Unable to open file:?\s*(.*)"),
        (b"Unknown Option", "unknown_option", r"Unknown Option:\s*'\s*(.*?)\s*'"),
        (b"Cannot open config file", "config_missing", r"Cannot open config file\s*'(.*?)'"),
        (b"Kernel requires more resources", "resources_error", r"(Kernel requires more resources than shader has)"),
        (
            b"CTA (block) size is too large",
            "resources_error",
            r"(CTA \(block\) size is too large for microarch config)",
        ),
        (OWN_ERROR, "own_error", r"cascade: ERROR (.*)"),
        (b"symbol lookup error", "symbol_error", r"symbol lookup error: (.*)"),
    )
]
"""Text to look for, the fact it sets, and what of it to keep. Each is specific: option names and help texts in the dump
have words such as ``deadlock`` too, and kernels may be called anything."""

FAILURE_NEEDLES = tuple(needle for needle, _, _ in _FAILURES)


def _text(raw: bytes, limit: int = MAX_TEXT) -> str:
    return raw.decode("utf-8", "replace").strip()[:limit]


def _float(raw: bytes) -> float:
    try:
        return float(raw)
    except ValueError:
        return 0.0
