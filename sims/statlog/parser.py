"""The incremental parser: fed the log's bytes in chunks cut anywhere, it answers with finished stats blocks.

Its memory does not grow with the log, and neither does :meth:`StatLog.to_state`, with which another process goes on.
A last line without its newline is never used: it may be half a number.
"""

import json
import zlib
from collections.abc import Callable
from typing import Any

from sims.statlog.block import NO_STREAM, Baseline, KernelBlock, without_counters
from sims.statlog.facts import FAILURE_NEEDLES, OPTIONS_BEGIN, OPTIONS_END, Launch, LogFacts
from sims.statlog.lines import Number, Pairs, parse_stat_line
from sims.statlog.open_block import KEY_BYTES, LAST_LINE, LineCaches, OpenBlock, is_cycles

STATE_VERSION = 1
THREAD_BLOCK = b"thread "
SLICE_BYTES = 256 * 1024
MAX_LINE_BYTES = 64 * 1024
"""Of a longer line only the beginning counts."""


class StatLog:
    """Parses one log. ``facts`` is up to date after every :meth:`feed`."""

    def __init__(self) -> None:
        self.facts = LogFacts()
        self._tail = b""
        self._skipping = False
        self._in_options = False
        self._baseline = Baseline()
        self._baseline_known = False
        """Whether the log was seen from a run's start: only then are its counters' differences known."""
        self._total_instructions: Number | None = None
        self._block: OpenBlock | None = None
        self._caches = LineCaches()
        self._finished: list[KernelBlock] = []

    # Feeding

    def feed(self, chunk: bytes) -> list[KernelBlock]:
        """Take the next bytes of the log; the blocks that they finished."""
        for start in range(0, len(chunk), SLICE_BYTES):
            self._feed_slice(chunk[start : start + SLICE_BYTES])
        return self._take_finished()

    def finish(self) -> list[KernelBlock]:
        """The log has ended: the block that was still open, marked incomplete if something of it is cut."""
        if self._block is not None:
            self._close(self._block, complete=self._block.is_whole)
        return self._take_finished()

    def _feed_slice(self, data: bytes) -> None:
        self.facts.log_bytes += len(data)
        if self._skipping:  # in a line that is too long: its beginning is the tail, the rest goes unread
            _, newline, after = data.partition(b"\n")
            if not newline:
                return
            self._skipping, data = False, b"\n" + after
        body, newline, rest = (self._tail + data).rpartition(b"\n")
        if newline:
            self._read(body)
        self._tail, self._skipping = rest[:MAX_LINE_BYTES], len(rest) > MAX_LINE_BYTES
        self.facts.ends_with_newline = not rest

    def _take_finished(self) -> list[KernelBlock]:
        finished, self._finished = self._finished, []
        return finished

    def _read(self, body: bytes) -> None:
        """Whole lines, without the last newline."""
        lines = body.split(b"\n")
        self.facts.nan_values += body.count(b"-nan")
        for needle in FAILURE_NEEDLES:
            position = body.find(needle)
            while position >= 0:
                end = body.find(b"\n", position)
                end = len(body) if end < 0 else end
                self.facts.scan_failure(body[body.rfind(b"\n", 0, position) + 1 : end])
                position = body.find(needle, end)
        position, end = 0, len(lines)
        while position < end:
            if self._block is not None:
                position = self._read_block(self._block, lines, position)
            elif self._in_options:
                position = self._read_options(lines, position)
            else:
                position = self._read_run_lines(lines, position)
        self.facts.lines += end

    # Between blocks

    def _read_run_lines(self, lines: list[bytes], position: int) -> int:
        """Lines up to the one that begins a block or the option dump; the position after it."""
        handlers = self._HANDLERS
        thread_blocks = 0
        for number in range(position, len(lines)):
            line = lines[number]
            key = line[:KEY_BYTES]
            if key == THREAD_BLOCK:  # by far the most lines of a log
                thread_blocks += 1
                continue
            handler = handlers.get(key)
            if handler is None:
                continue
            if thread_blocks:
                self._count_thread_blocks(thread_blocks)
                thread_blocks = 0
            handler(self, line, self.facts.lines + number + 1)
            if self._block is not None or self._in_options:
                return number + 1
        self._count_thread_blocks(thread_blocks)
        return len(lines)

    def _count_thread_blocks(self, count: int) -> None:
        self.facts.thread_blocks += count
        self.facts.thread_blocks_total += count

    def _on_launch(self, line: bytes, number: int) -> None:
        self.facts.read_launch(line)

    def _on_file(self, line: bytes, number: int) -> None:
        self.facts.read_file(line)

    def _on_banner(self, line: bytes, number: int) -> None:
        if self.facts.read_banner(line):
            # Also the second banner of a file that runs were appended to: its counters begin at 0 again.
            self._baseline.clear()
            self._baseline_known = True

    def _on_simulator(self, line: bytes, number: int) -> None:
        if OPTIONS_BEGIN in line:
            self._in_options = True
        elif line.startswith(OPTIONS_END):
            self.facts.read_clocks(line)
        elif b"pushing kernel" in line:
            self.facts.pushed += 1

    def _on_kernel(self, line: bytes, number: int) -> None:
        if line.startswith(b"kernel_name"):
            names = line.partition(b"=")[2].decode("utf-8", "replace").split()
            self._block = OpenBlock(self.facts.blocks + 1, number, names)

    def _on_cycles(self, line: bytes, number: int) -> None:
        if is_cycles(line):
            self._block = OpenBlock(self.facts.blocks + 1, number, None, values=parse_stat_line(line))

    def _on_block_end(self, line: bytes, number: int) -> None:
        if line.startswith(LAST_LINE):
            self.facts.headless_blocks += 1

    _HANDLERS: dict[bytes, Callable[["StatLog", bytes, int], None]] = {
        b"launchi": _on_launch,
        b"Process": _on_file,
        b"Accel-S": _on_banner,
        b"Cascade": _on_banner,
        b"       ": _on_banner,
        b"GPGPU-S": _on_simulator,
        b"kernel_": _on_kernel,
        b"gpu_sim": _on_cycles,
        b"gpgpu_s": _on_block_end,
    }
    """By a line's first seven bytes."""

    def _read_options(self, lines: list[bytes], position: int) -> int:
        for number in range(position, len(lines)):
            line = lines[number]
            key = line[:KEY_BYTES]
            if key in self._HANDLERS or key == THREAD_BLOCK:
                self._in_options = False
                return number
            self.facts.read_option(line)
        return len(lines)

    # Blocks

    def _read_block(self, block: OpenBlock, lines: list[bytes], position: int) -> int:
        position = block.read(lines, position, self._caches)
        if block.ended:
            self._close(block, complete=True)
        return position

    def _close(self, block: OpenBlock, complete: bool) -> None:
        """Turn the lines read into a finished block: counters become differences, launches are settled."""
        self._block = None
        self.facts.blocks += 1
        launches = [self.facts.open_launches.pop(uid, None) for uid in block.uids]
        finished = KernelBlock(
            index=block.index,
            line=block.line,
            names=_names(block, launches),
            uids=block.uids,
            stream=_stream(block.stream, launches),
            cycles_by_uid=block.cycles_by_uid,
            same_as=block.same_as,
            texts=block.texts,
            configured_launch_cycles=self.facts.launch_latency_cycles,
            complete=complete,
        )
        finished.stats, finished.cumulative = self._per_kernel(block)
        if finished.is_kernel and complete:
            self.facts.kernels += max(1, len(block.uids))
        self._finished.append(finished)

    def _per_kernel(self, block: OpenBlock) -> tuple[Pairs, Pairs]:
        values = block.values
        own, total = values.get("gpu_sim_insn"), values.get("gpu_tot_sim_insn")
        if self._total_instructions is not None and total is not None and total < self._total_instructions:
            self._baseline.clear()  # a run that was appended without a banner
        begins_here = self._baseline_known or total is None or own == total
        stats, cumulative = self._baseline.per_kernel(values, block.stream)
        self._total_instructions = total
        self._baseline_known = True
        return (stats if begins_here else without_counters(values)), cumulative

    # Going on in another process

    def to_state(self) -> bytes:
        """All that :meth:`from_state` needs to go on; a few tens of kilobytes, whatever the log's length."""
        state = {
            "version": STATE_VERSION,
            "facts": self.facts.to_plain(),
            "tail": self._tail.decode("latin-1"),
            "skipping": self._skipping,
            "in_options": self._in_options,
            "baseline_known": self._baseline_known,
            "total_instructions": self._total_instructions,
            "baseline": self._baseline.to_plain(),
            "block": self._block.to_plain() if self._block else None,
        }
        return zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 6)

    @classmethod
    def from_state(cls, state: bytes) -> "StatLog":
        """A parser that goes on where the other stood. Raises :class:`ValueError` for a state it cannot read."""
        try:
            data: dict[str, Any] = json.loads(zlib.decompress(state))
            if data["version"] != STATE_VERSION:
                raise ValueError(f"its version is {data['version']}, not {STATE_VERSION}")
            log = cls()
            log.facts = LogFacts.from_plain(data["facts"])
            log._tail, log._skipping = data["tail"].encode("latin-1"), data["skipping"]
            log._in_options, log._baseline_known = data["in_options"], data["baseline_known"]
            log._total_instructions = data["total_instructions"]
            log._baseline = Baseline.from_plain(data["baseline"])
            log._block = OpenBlock.from_plain(data["block"]) if data["block"] else None
        except (zlib.error, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"The log parser's saved state cannot be read: {error}.") from error
        return log


def _names(block: OpenBlock, launches: list[Launch | None]) -> list[str] | None:
    """One name per kernel. Names may hold blanks, so that the launches or a single uid decide where one ends."""
    if block.names is None:
        return None
    text = " ".join(block.names)
    if len(block.uids) == 1:
        return [text] if text else []
    if len(block.names) != len(block.uids) and launches and all(launches):
        return [launch.name for launch in launches if launch]
    return block.names


def _stream(printed: str, launches: list[Launch | None]) -> int | None:
    """The kernel's stream: the launch line's word, else what the block prints unless that is garbage."""
    known = next((launch.stream for launch in launches if launch and launch.stream is not None), None)
    if known is not None:
        return known
    if printed.isdigit() and int(printed) < NO_STREAM:
        return int(printed)
    return None
