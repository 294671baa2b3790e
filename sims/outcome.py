"""How a simulation ended, judged by its log and its exit code together: neither alone can be trusted.

Accel-Sim exits with 0 when a kernel file is missing, and crashes after the last kernel's results are out. The rule:
what was simulated decides. A run whose kernels all have results is finished, whatever happened after them (a warning
says it); any other is failed, and its detail names the cause and what to do. Finished kernels keep their results in
every case.
"""

import re
import signal
from dataclasses import dataclass, field
from typing import Literal

from sims.statlog.facts import LogFacts
from traces.times.names import short_name

State = Literal["finished", "failed", "cancelled"]

DEADLOCK_CHECK_CYCLES = 50_000
"""Accel-Sim's check: no instruction completed in this many cycles."""

_SHELL_SIGNAL_BASE = 128
_SIGNALS = {number.value: number.name for number in signal.Signals}
_MAX_QUOTE = 300
_MAX_NAME = 4000
_LAST_COPY = "Assertion `k' failed"
"""How Accel-Sim ends a list whose last line is a memory copy."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A sim's last state. ``detail`` is one sentence for a person, empty for a clean end; ``warnings`` are more."""

    state: State
    detail: str = ""
    warnings: list[str] = field(default_factory=list)


def judge(
    facts: LogFacts,
    exit_code: int,
    stderr_tail: str = "",
    *,
    kernels_expected: int | None = None,
    stopped: bool = False,
    stalled_s: float | None = None,
) -> Outcome:
    """The outcome of a simulator that has ended.

    ``exit_code`` is the process's: negative, or 128 and more, for a signal. ``stopped``: it was ended because somebody
    cancelled; ``stalled_s``: because it had said nothing for that long. ``kernels_expected`` is None where unknown.
    """
    if stopped:
        return Outcome("cancelled", _with_results("Cancelled.", facts))
    if stalled_s is not None:
        sentence = f"The simulator was ended as stalled: it had printed nothing for {stalled_s:.0f} s{_where(facts)}."
        return Outcome("failed", _with_results(sentence, facts))
    if _is_done(facts, exit_code, stderr_tail, kernels_expected):
        return Outcome("finished", "", _warnings(facts, exit_code, stderr_tail, kernels_expected))
    cause = _cause(facts, exit_code, stderr_tail, kernels_expected)
    return Outcome("failed", _with_results(cause, facts))


def _is_done(facts: LogFacts, exit_code: int, stderr: str, expected: int | None) -> bool:
    normal = exit_code == 0 and facts.exit_detected and facts.unsupported_binary is None
    if expected is None:
        return normal and _done(facts) > 0
    if _done(facts) >= expected:
        # An empty list is no failure; but "no kernel at all" may not hide a crash.
        return expected > 0 or normal or _LAST_COPY in stderr
    return normal and _done(facts) > 0


def _done(facts: LogFacts) -> int:
    """Kernels that certainly ended, those of which a cut log shows only the end included."""
    return facts.kernels + facts.headless_blocks


def _warnings(facts: LogFacts, exit_code: int, stderr: str, expected: int | None) -> list[str]:
    warnings = []
    if facts.max_break:
        warnings.append(
            "The run reached its -gpgpu_max_cycle or -gpgpu_max_insn: the last kernel's figures are partial."
        )
    if expected is not None and facts.kernels != expected:
        warnings.append(f"The log has results of {_kernels(facts.kernels)}, not of the {expected} expected.")
    if exit_code != 0:
        cause = _cause(facts, exit_code, stderr, expected)
        warnings.append(f"After the last kernel the simulator failed: {cause}")
    elif not facts.exit_detected:
        warnings.append("The log lacks the simulator's end marker; all kernels have results.")
    return warnings


def _cause(facts: LogFacts, exit_code: int, stderr: str, expected: int | None) -> str:
    """Why it failed and what to do: the log's word first, then the exit code's."""
    errors = LogFacts()
    for line in stderr.splitlines():
        errors.scan_failure(line.encode())
    for explain in (
        _own_word,
        _limit,
        _setup,
        _kernel_file,
        _instruction,
        _resources,
        _deadlock,
        _assertion,
        _exception,
    ):
        if sentence := explain(_merged(facts, errors), stderr):
            return sentence
    return _by_exit_code(facts, exit_code, stderr) or _no_result(facts, stderr, expected)


def _merged(facts: LogFacts, errors: LogFacts) -> LogFacts:
    """The log's facts, with the failures that were told on stderr."""
    merged = LogFacts(**vars(facts))
    for name in _TOLD:
        if not getattr(merged, name):
            setattr(merged, name, getattr(errors, name))
    return merged


_TOLD = (
    "assertion", "segfault", "abort_text", "unsupported_binary", "undefined_instruction", "unable_to_open",
    "unknown_option", "config_missing", "resources_error", "symbol_error", "deadlock", "own_error",
)  # fmt: skip


def _own_word(facts: LogFacts, stderr: str) -> str | None:
    return _quote(facts.own_error) if facts.own_error else None


# What the machine gives

_LIMITS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"std::bad_alloc|\bMemoryError\b|Cannot allocate memory"),
        "The simulator ran out of memory{where}: it may have no more than the machine has, or than "
        "CASCADE_SIM_MEMORY_BYTES allows.",
    ),
    (
        re.compile(r"File too large|File size limit exceeded"),
        "The simulator wrote a file larger than CASCADE_SIM_FILE_BYTES allows{where}.",
    ),
    (
        re.compile(r"Too many open files"),
        "The simulator had more files open than CASCADE_SIM_OPEN_FILES allows{where}.",
    ),
)


def _limit(facts: LogFacts, stderr: str) -> str | None:
    told = f"{facts.abort_text or ''}\n{stderr}"
    return next((sentence.format(where=_where(facts)) for words, sentence in _LIMITS if words.search(told)), None)


# Before the first kernel


def _setup(facts: LogFacts, stderr: str) -> str | None:
    if facts.unknown_option is not None:
        return (
            f"The simulator does not know the option {facts.unknown_option}: take it out of the GPU config, "
            "or use another build."
        )
    if facts.config_missing is not None:
        return f"The simulator found no config file at {facts.config_missing}."
    if facts.symbol_error is not None:
        return (
            "The simulator loaded the wrong libcudart.so: put GPGPU-Sim's own lib folder first in LD_LIBRARY_PATH "
            f"({facts.symbol_error})."
        )
    if facts.unable_to_open is not None:
        return f"The simulator could not open the kernel list {facts.unable_to_open}."
    return None


# A kernel file that cannot be used

_NO_FILE = re.compile(r"(?:cat|xz|zstd|gzip): (.+?): (No such file or directory|Not a directory|Permission denied)")


def _kernel_file(facts: LogFacts, stderr: str) -> str | None:
    version = facts.unsupported_binary
    missing = _NO_FILE.search(stderr)
    if missing and missing[2] == "Not a directory":
        return f"The simulator looked for {missing[1]}: the -trace path needs a slash, as in ./kernelslist.g."
    if missing:
        return f"The kernel file {missing[1]} cannot be read: {missing[2]}."
    if version is None:
        return None
    if version == "0":
        return f"{_file(facts)} is empty or has no '-binary version' line: trace the kernel again."
    return (
        f"This Accel-Sim has no opcode table for SASS version {version}{_where(facts)}: "
        "use a build that has it, or the built-in simulator."
    )


def _instruction(facts: LogFacts, stderr: str) -> str | None:
    if facts.undefined_instruction is None:
        return None
    return (
        f"The simulator does not know the instruction {facts.undefined_instruction}{_where(facts)}: add it to the "
        "architecture's opcode table, or use the built-in simulator."
    )


# What the GPU cannot do


def _resources(facts: LogFacts, stderr: str) -> str | None:
    if facts.resources_error is None:
        return None
    return (
        f"{_kernel(facts, 'K')} does not fit an SM of this GPU config: it needs more threads, registers or "
        f"shared memory than the SM has ({facts.resources_error})."
    )


def _deadlock(facts: LogFacts, stderr: str) -> str | None:
    if facts.deadlock is None:
        return None
    sentence = f"The simulation made no progress for {DEADLOCK_CHECK_CYCLES} cycles (deadlock){_where(facts)}"
    waits = [
        f"-{name} {value}"
        for name, value in facts.options.items()
        if "latency" in name and value.isdecimal() and len(value) < 19 and int(value) >= DEADLOCK_CHECK_CYCLES
    ]
    if waits:
        return f"{sentence}: {' and '.join(waits)} is longer than that check waits, so set it lower."
    return f"{sentence}: look for a barrier that not all warps reach, or use another version of the simulator."


# Where the simulator stopped itself

_ASSERTIONS: tuple[tuple[str, str], ...] = (
    (
        "m_specialized_unit.size()",
        "The trace needs a functional unit that this GPU config does not have{where}: take a config of the trace's "
        "architecture, or add the unit's -specialized_unit and latency lines to trace.config.",
    ),
    ("line.back() ==", "{file} is cut in the middle of a line: copy or trace it again."),
    (
        "warp_traces.size() > 0",
        "{file} ends before all its thread blocks and warps are there: it was cut, or its grid is larger than what was "
        "traced; copy or trace it again.",
    ),
    (
        "start_of_tb_stream_found",
        "{file} has no thread block where one should begin: it has Windows line ends, or was cut after its header.",
    ),
    (
        "reg_srcs_num <= MAX_SRC",
        "An instruction{where} has more source registers than this Accel-Sim reads: raise MAX_SRC and rebuild it, "
        "or use the built-in simulator.",
    ),
    (
        "reg_dsts_num <= MAX_DST",
        "An instruction{where} has more destination registers than this Accel-Sim reads: raise MAX_DST and rebuild "
        "it, or use the built-in simulator.",
    ),
    ("params.size() == 3", "A MemcpyHtoD line of the kernel list has not the three fields MemcpyHtoD,address,bytes."),
    (
        "memory_partition_indexing error",
        "The GPU config's number of memory partitions does not suit its address hash: set "
        "-gpgpu_memory_partition_indexing 0, or a count of 16, 32 or 64.",
    ),
    ("active.any() == false", "{file} is damaged: a warp has fewer instructions than its 'insts =' line says."),
)


def _assertion(facts: LogFacts, stderr: str) -> str | None:
    text = facts.assertion
    if text is None:
        return None
    if _LAST_COPY in text:
        return "The kernel list ends with a memory copy that no kernel follows, at which this Accel-Sim stops."
    if "line.back() ==" in text and "Unexpected end of input" in stderr:
        return f"The compressed {_file(facts, article='')} is cut: copy it again."
    for needle, sentence in _ASSERTIONS:
        if needle in text or needle in stderr:
            return sentence.format(where=_where(facts), file=_file(facts))
    return f"The simulator stopped at an assertion{_where(facts)}: {_quote(text)}"


def _exception(facts: LogFacts, stderr: str) -> str | None:
    text = facts.abort_text
    if text is None:
        return None
    if "Unsupported file type" in text:
        return f"{_file(facts)} ends neither in .traceg nor in .xz, which is all this Accel-Sim reads."
    if "_M_range_check" in text:
        return f"{_file(facts)} is damaged: a warp has more instructions than its 'insts =' line says."
    return f"The simulator stopped at an error{_where(facts)}: {_quote(text)}"


# By exit code


def _by_exit_code(facts: LogFacts, exit_code: int, stderr: str) -> str | None:
    number = -exit_code if exit_code < 0 else exit_code - _SHELL_SIGNAL_BASE
    if facts.segfault or number == signal.SIGSEGV:
        return (
            f"The simulator crashed (segmentation fault){_where(facts)}: a warp without EXIT, or one outside its "
            f"block, does this; check {_file(facts, article='the ')}."
        )
    if number == signal.SIGABRT:
        return _aborted(facts, stderr)
    if number == signal.SIGXFSZ:
        return f"The simulator wrote a file larger than CASCADE_SIM_FILE_BYTES allows{_where(facts)}."
    if number == signal.SIGKILL:
        return f"The simulator was killed{_where(facts)}: most likely the machine ran out of memory."
    if number in _SIGNALS:
        return f"The simulator was ended from outside ({_SIGNALS[number]}){_where(facts)}."
    if exit_code == 127:
        return f"The simulator's program, or a library it needs, was not found{_told(stderr)}"
    if exit_code == 126:
        return f"The simulator's program may not be executed{_told(stderr)}"
    if exit_code:
        return f"The simulator ended with exit code {exit_code}{_where(facts)}{_told(stderr)}"
    return None


def _aborted(facts: LogFacts, stderr: str) -> str:
    """SIGABRT whose message was lost in the simulator's own output buffer."""
    if facts.clocks_hz is None and not facts.launched:
        return f"The simulator aborted while it read its configuration: is the GPU config complete?{_told(stderr, ' ')}"
    if facts.launched and not facts.thread_blocks:
        return (
            f"The simulator aborted at the launch of {_kernel(facts)}: mostly the kernel needs more threads, registers "
            "or shared memory than an SM of this GPU config has."
        )
    return f"The simulator aborted{_where(facts)}{_told(stderr)}"


def _no_result(facts: LogFacts, stderr: str, expected: int | None) -> str:
    of = "" if expected is None else f" of {expected}"
    if facts.exit_detected:
        return f"The simulator ended normally, but simulated {facts.kernels}{of} kernels{_told(stderr)}"
    return f"The log breaks off after {facts.kernels}{of} kernels, without the simulator's end marker{_told(stderr)}"


# Words


def _with_results(sentence: str, facts: LogFacts) -> str:
    if not facts.kernels:
        return sentence
    return f"{sentence} The results of {_kernels(facts.kernels)} are kept."


def _kernels(count: int) -> str:
    return "1 kernel" if count == 1 else f"{count} kernels"


def _where(facts: LogFacts) -> str:
    """Where it happened, as `` in kernel 3 (name)``; empty before the first launch."""
    return f" in {_kernel(facts)}" if facts.open_launches else ""


def _kernel(facts: LogFacts, first_letter: str = "k") -> str:
    """The kernel that was running."""
    if not facts.open_launches:
        return "the kernel" if first_letter == "k" else "The kernel"
    launch = list(facts.open_launches.values())[-1]
    return f"{first_letter}ernel {launch.uid} ({short_name(launch.name[:_MAX_NAME], 60)})"


def _file(facts: LogFacts, article: str = "The ") -> str:
    if facts.last_file is None:
        return f"{article}kernel file"
    return f"{article}kernel file {facts.last_file.rsplit('/', 1)[-1]}"


def _told(stderr: str, before: str = ": ") -> str:
    """The last thing that the simulator wrote to stderr, as the end of a sentence."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f"{before}{_quote(lines[-1])}" if lines else ("." if before == ": " else "")


def _quote(text: str) -> str:
    text = "".join(character if character.isprintable() else " " for character in text).strip()
    text = text if len(text) <= _MAX_QUOTE else f"{text[: _MAX_QUOTE - 3]}..."
    return text if text.endswith((".", "!", "?")) else f"{text}."
