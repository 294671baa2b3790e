"""A sim's raw log: bytes by offset, appended chunk by chunk, parsed as they arrive.

A chunk is a row first (small, in the transaction that publishes it); full stretches of rows are moved to one object in
storage afterwards, since object stores cannot append. Each attempt has its own log, counted from 0.
"""

from collections import Counter
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import models, transaction

from cascade_site.errors import Conflict
from cascade_site.storage import read_range
from sims.limiters import cycles_by_place
from sims.models.sim import Sim
from sims.statlog import StatLog

if TYPE_CHECKING:
    from sims.models.results import SimKernel
    from sims.statlog import KernelBlock

COMPACT_BYTES = 4 * 1024**2
READ_BYTES = 256 * 1024


class LogSegment(models.Model):
    """A stretch of one attempt's log: in ``data``, or in storage under ``key``."""

    sim = models.ForeignKey(Sim, on_delete=models.CASCADE, related_name="log_segments")
    attempt = models.PositiveIntegerField()
    offset_bytes = models.BigIntegerField()
    size_bytes = models.BigIntegerField()
    newlines = models.BigIntegerField(default=0, help_text="How many lines end in it.")
    data = models.BinaryField(null=True)
    key = models.CharField(max_length=400, blank=True)

    class Meta:
        ordering = ["sim", "attempt", "offset_bytes"]
        constraints = [
            models.UniqueConstraint(fields=["sim", "attempt", "offset_bytes"], name="one_log_segment_per_offset")
        ]

    def read(self, start: int, end: int) -> Iterator[bytes]:
        """The segment's bytes [start, end), counted from the log's beginning, in blocks."""
        first, last = max(start - self.offset_bytes, 0), min(end - self.offset_bytes, self.size_bytes)
        if self.data is not None:
            yield bytes(self.data[first:last])
            return
        while first < last:
            block = read_range(self.key, first, min(last, first + READ_BYTES))
            if not block:
                return
            yield block
            first += len(block)


class LogState(models.Model):
    """Where the parser of a sim's log stands, so that the next chunk can go to any process."""

    sim = models.OneToOneField(Sim, on_delete=models.CASCADE, primary_key=True, related_name="log_state")
    attempt = models.PositiveIntegerField()
    parser = models.BinaryField()

    @staticmethod
    def load(sim: Sim) -> StatLog:
        """The parser for the sim's current attempt: as it was left, or a fresh one."""
        state = LogState.objects.filter(sim=sim, attempt=sim.attempt).first()
        return StatLog.from_state(bytes(state.parser)) if state else StatLog()

    @staticmethod
    def store(sim: Sim, parser: StatLog) -> None:
        values = {"attempt": sim.attempt, "parser": parser.to_state()}
        LogState.objects.update_or_create(sim=sim, defaults=values)

    @staticmethod
    def close(sim: Sim) -> None:
        """The log is complete: what the parser holds back for want of a next line counts now."""
        parser = LogState.load(sim)
        blocks = parser.finish()
        keep_blocks(sim, blocks)


def keep_blocks(sim: Sim, blocks: "list[KernelBlock]") -> None:
    """Kernel rows from finished stats blocks, and an event for each. A shard's are its whole's."""
    from sims.models.results import SimKernel

    kernels = SimKernel.objects.keep(sim, blocks)
    if not kernels:
        return
    # The whole is locked and saved here; a sim in one piece is its caller's, who holds the lock and saves.
    keeper = sim.keeper.lock() if sim.whole_id else sim
    publish_kernels(keeper, kernels)
    keeper.kernels_done = max(keeper.kernels_done, parsed_kernels(keeper))
    spent = Counter(keeper.spent)
    for kernel in kernels:
        spent.update(cycles_by_place(kernel.stats))
    keeper.spent = dict(spent)
    if sim.whole_id:
        keeper.save(update_fields=["kernels_done", "spent"])
        sim.kernels_done += len(kernels)


def publish_kernels(sim: Sim, kernels: "list[SimKernel]") -> None:
    from sims.serializers import SimKernelSerializer

    sim.publish([("kernel", {"sim_id": sim.id, **SimKernelSerializer(kernel).data}) for kernel in kernels])


def parsed_kernels(sim: Sim) -> int:
    """How many kernels of the current attempt have a result."""
    return sim.kernels.filter(attempt=sim.attempt).count()


def log_size(sim: Sim, attempt: int) -> int:
    """How many bytes of an attempt's log are stored."""
    last = LogSegment.objects.filter(sim=sim, attempt=attempt).order_by("-offset_bytes").first()
    return last.offset_bytes + last.size_bytes if last else 0


def read_log(sim: Sim, attempt: int, start: int, end: int) -> Generator[bytes, None, None]:
    """Bytes [start, end) of an attempt's log, in blocks of bounded size."""
    position = start
    while position < end:
        segment = (
            LogSegment.objects.filter(sim=sim, attempt=attempt, offset_bytes__lte=position)
            .order_by("-offset_bytes")
            .first()
        )
        if segment is None or segment.offset_bytes + segment.size_bytes <= position:
            return
        for block in segment.read(position, end):
            position += len(block)
            yield block


def append_log(sim: Sim, data: bytes, offset: int | None, attempt: int | None) -> int:
    """Append a chunk at a byte offset; the log's size afterwards.

    What is stored already is accepted and not stored twice. Raises :class:`Conflict` (with ``size_bytes``) for a gap, for
    bytes that differ from what is stored, for a superseded attempt, and for new bytes after the end.
    """
    with transaction.atomic():
        sim = sim.lock()
        size = sim.log_bytes
        if sim.is_superseded(attempt):
            raise Conflict(f"Attempt {attempt} was superseded by attempt {sim.attempt}.", size_bytes=size)
        start = size if offset is None else offset
        if start > size:
            raise Conflict(f"The chunk starts at byte {start}, but only {size} bytes are stored.", size_bytes=size)
        known = data[: size - start]
        if known and b"".join(read_log(sim, sim.attempt, start, start + len(known))) != known:
            raise Conflict(f"The chunk at byte {start} differs from what is stored there.", size_bytes=size)
        fresh = data[len(known) :]
        if not fresh:
            return size
        if sim.has_ended:
            raise Conflict(f"The sim has {sim.status}; its log is closed.", size_bytes=size)
        _store(sim, fresh)
    if sim.log_bytes // COMPACT_BYTES > size // COMPACT_BYTES:
        compact_log(sim)
    return sim.log_bytes


def _store(sim: Sim, data: bytes) -> None:
    offset = sim.log_bytes
    LogSegment.objects.create(
        sim=sim,
        attempt=sim.attempt,
        offset_bytes=offset,
        size_bytes=len(data),
        newlines=data.count(b"\n"),
        data=data,
    )
    sim.log_bytes += len(data)
    sim.publish([("log", {"sim_id": sim.id, "offset": offset, "size_bytes": sim.log_bytes})])
    parser = LogState.load(sim)
    keep_blocks(sim, parser.feed(data))
    LogState.store(sim, parser)
    sim.save(update_fields=["log_bytes", "kernels_done", "spent"])


def compact_log(sim: Sim) -> None:
    """Move the rows of a log's current attempt into one storage object.

    The object is written before the transaction that points to it; dying between the two leaves rows as they were and an
    object nobody points to, which the sweeper removes.
    """
    rows = list(LogSegment.objects.filter(sim=sim, attempt=sim.attempt, key="").order_by("offset_bytes"))
    if not rows:
        return
    start, size = rows[0].offset_bytes, sum(row.size_bytes for row in rows)
    name = f"sims/{sim.id}/log/{sim.attempt}/{start:014d}-{size}"
    key = default_storage.save(name, ContentFile(b"".join(bytes(row.data or b"") for row in rows)))
    with transaction.atomic():
        sim.lock()
        deleted, _ = LogSegment.objects.filter(pk__in=[row.pk for row in rows], key="").delete()
        if deleted == len(rows):
            LogSegment.objects.create(
                sim=sim,
                attempt=rows[0].attempt,
                offset_bytes=start,
                size_bytes=size,
                newlines=sum(row.newlines for row in rows),
                key=key,
            )
            return
        # Another process has moved the same rows meanwhile: its object stands, this one goes.
        transaction.set_rollback(True)
    default_storage.delete(key)
