"""What one sim found, as plain rows and as the body of its results route."""

import json
import zlib
from collections.abc import Generator, Iterator
from typing import Any

from cascade_site.serializing import to_json
from sims.models import Sim, SimKernel
from sims.serializers import SimKernelSerializer, SimSerializer

KERNEL_FIELDS = tuple(SimKernelSerializer().fields)
_TOTALS = ("cycles", "instructions", "ipc", "simulated_ns", "real_ns", "error", "kernels_done", "kernels_total")


def kernel_rows(sims: list[Sim]) -> dict[str, list[dict[str, Any]]]:
    """Each sim's kernels in launch order, by sim id, without their stats maps: one query for all."""
    rows: dict[str, list[dict[str, Any]]] = {sim.id: [] for sim in sims}
    found = SimKernel.objects.filter(sim__in=sims).order_by("sim_id", "index").values_list("sim_id", *KERNEL_FIELDS)
    for sim_id, *values in found.iterator(chunk_size=2000):
        rows[sim_id].append(dict(zip(KERNEL_FIELDS, values, strict=True)))
    return rows


def totals_of(sim: Sim) -> dict[str, float]:
    """The sim's totals that are known."""
    return {name: value for name in _TOTALS if (value := getattr(sim, name)) is not None}


def results_json(sim: Sim) -> Generator[bytes, None, None]:
    """The results body in pieces: with a few thousand statistics a kernel it is far too large to be held whole.

    The statistics are stored as JSON and are sent as they are.
    """
    yield b'{"sim":' + to_json(SimSerializer(sim).data) + b',"config":' + to_json(sim.config) + b',"kernels":['
    separator = b""
    for kernel in _kernels_json(sim):
        yield separator + kernel
        separator = b","
    yield b'],"totals":' + to_json(totals_of(sim)) + b"}"


def _kernels_json(sim: Sim) -> Iterator[bytes]:
    found = sim.kernels.order_by("index").values_list(*KERNEL_FIELDS, "stats_packed")
    for *values, stats in found.iterator(chunk_size=200):
        kernel = json.dumps(dict(zip(KERNEL_FIELDS, values, strict=True)), allow_nan=False, ensure_ascii=False)
        yield kernel[:-1].encode() + b', "stats":' + (zlib.decompress(stats) if stats else b"{}") + b"}"
