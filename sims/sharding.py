"""One sim over many workers: its shards are sims that no list shows, claimed, leased and lost like any other.

    whole sim  <- follows -  shard 1, shard 2, ...

A shard's kernels are kept as results of the whole from the start; its log, files and end state are merged when the last
shard has ended. Locks are taken shard first, whole second, run last, everywhere.
"""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import F

from sims.models import LogSegment, Sim, SimFile, SimStatus
from sims.models.states import ENDED, Report
from sims.shards import L2Choice, split
from traces.models import TraceKernel


def make_shards(whole: Sim, kernels: Sequence[TraceKernel], shards: int) -> list[Sim]:
    """Divide a sim that is about to be created; not saved yet. Nothing for one kernel or one shard.

    What a shard finds in the L2 follows from the sim's ``l2``: under ``chain`` the kernels before it are simulated first
    and thrown away, as far as a share of its work allows; under ``cold`` and ``warm`` no kernel depends on another.
    """
    wanted = set(whole.kernel_indices)
    chosen = [kernel for kernel in kernels if not wanted or kernel.index in wanted]
    choice: L2Choice = "warm" if whole.options.get("l2", "chain") == "chain" else "flushed"
    parts = split([work_of(kernel) for kernel in chosen], shards, choice)
    if len(parts) < 2:
        return []
    options = {name: value for name, value in whole.options.items() if name != "shards"}
    return [
        Sim(
            run=whole.run,
            whole=whole,
            position=part.number,
            gpu_config=whole.gpu_config,
            config=whole.config,
            options=options,
            simulator=whole.simulator,
            kernel_indices=[kernel.index for kernel in chosen[part.warm_from : part.stop]],
            warm_up_indices=[kernel.index for kernel in chosen[part.warm_from : part.start]],
            kernels_total=part.stop - part.start,
            created_at=whole.created_at,
        )
        for part in parts
    ]


def work_of(kernel: TraceKernel) -> int:
    """A kernel's cost before anything has run: its warp instructions where they are counted, else its threads."""
    if kernel.instructions:
        return kernel.instructions
    threads = 1
    for extent in (*kernel.grid, *kernel.block):
        threads *= max(int(extent), 1)
    return threads


def follow(shard: Sim) -> None:
    """Bring the whole up to what its shards say. Call inside the transaction that changed the shard."""
    assert shard.whole is not None
    whole = shard.whole.lock()
    if whole.has_ended:
        return
    shards = list(whole.shards.only("status", "started_at", "heartbeat_at", "worker", "progress"))
    started = [one.started_at for one in shards if one.started_at]
    heard = [one.heartbeat_at for one in shards if one.heartbeat_at]
    before = whole.status
    if any(one.status != SimStatus.QUEUED for one in shards):
        whole.status = SimStatus.RUNNING
    whole.started_at = min(started, default=None)
    whole.heartbeat_at = max(heard, default=None)
    workers = {one.worker for one in shards if one.worker and not one.has_ended}
    whole.worker = ", ".join(sorted(workers))[:200] or None
    whole.progress = _progress(shards)
    whole.save(update_fields=["status", "started_at", "heartbeat_at", "worker", "progress"])
    if whole.status != before:
        whole.changed()
    else:
        whole.publish_state()
    if any(one.status == SimStatus.FAILED for one in shards):
        transaction.on_commit(lambda: _stop_others(whole.pk), robust=True)
    if all(one.has_ended for one in shards):
        transaction.on_commit(lambda: _hand_to_finish(whole.pk), robust=True)


def _progress(shards: Sequence[Sim]) -> dict[str, float]:
    at_work = [one.progress for one in shards if not one.has_ended and one.progress]
    speeds = [progress["instructions_per_s"] for progress in at_work if progress.get("instructions_per_s")]
    left = [progress["left_s"] for progress in at_work if progress.get("left_s") is not None]
    known = {"instructions_per_s": sum(speeds) if speeds else None, "left_s": max(left, default=None)}
    return {name: value for name, value in known.items() if value is not None}


def _stop_others(whole_id: str) -> None:
    """A shard has failed, so the whole will: what the others would still do is of no use."""
    for shard in Sim.everything.filter(whole=whole_id).unfinished():
        shard.request_stop()


def _hand_to_finish(whole_id: str) -> None:
    from sims.tasks import finish_whole

    finish_whole.delay(whole_id)


def request_stop(whole: Sim, by: str = "") -> None:
    """Cancel every shard. Queued ones end at once; if all do, so does the whole."""
    Sim.objects.filter(pk=whole.pk).exclude(status__in=ENDED).update(stop_requested=True)
    for shard in whole.shards:
        shard.request_stop(by)
    finish(whole.pk)


def finish(whole_id: str) -> bool:
    """Merge what the shards left behind and end the whole; False while a shard is unfinished, or when it has ended.

    Dying anywhere in it leaves a whole whose shards have all ended: the reaper finds it and calls this again.
    """
    whole = Sim.objects.get(pk=whole_id)
    shards = list(whole.shards)
    if whole.has_ended or not all(shard.has_ended for shard in shards):
        return False
    _merge(whole, shards)
    whole.heartbeat(_report(shards), by="merge of the shards")
    return True


def _report(shards: Sequence[Sim]) -> Report:
    for state in (SimStatus.FAILED, SimStatus.CANCELLED):
        for shard in shards:
            if shard.status == state:
                detail = f"Shard {shard.position + 1} of {len(shards)}: {shard.detail or 'no reason is known'}"
                return Report(state, detail=detail)
    notes = [f"Shard {shard.position + 1}: {shard.detail}" for shard in shards if shard.detail]
    return Report(SimStatus.FINISHED, detail=" ".join(notes)[:2000])


def _software(shards: Sequence[Sim]) -> dict[str, str]:
    """What the shards were computed with; more than one version of a thing where workers differ."""
    names = dict.fromkeys(name for shard in shards for name in shard.software)
    versions = {name: sorted({shard.software[name] for shard in shards if name in shard.software}) for name in names}
    return {name: ", ".join(texts) for name, texts in versions.items()}


@transaction.atomic
def _merge(whole: Sim, shards: Sequence[Sim]) -> None:
    """One log in the shards' order, and their files under their numbers. No byte is copied: rows change their owner."""
    whole = whole.lock()
    whole.software = _software(shards)
    whole.save(update_fields=["software"])
    offset = whole.log_bytes
    for shard in shards:
        moved = LogSegment.objects.filter(sim=shard, attempt=shard.attempt)
        moved.update(sim=whole, attempt=whole.attempt, offset_bytes=F("offset_bytes") + offset)
        offset += shard.log_bytes
        for file in SimFile.objects.filter(sim=shard):
            file.sim, file.name = whole, f"shard-{shard.position + 1}.{file.name}"[:200]
            SimFile.objects.filter(sim=whole, name=file.name).delete()
            file.save(update_fields=["sim", "name"])
    Sim.everything.filter(whole=whole).update(log_bytes=0)
    if offset != whole.log_bytes:
        whole.publish([("log", {"sim_id": whole.id, "offset": whole.log_bytes, "size_bytes": offset})])
        whole.log_bytes = offset
        whole.save(update_fields=["log_bytes"])
