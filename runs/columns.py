"""A comparison's kernels as columns: what tables and pictures of ten thousand kernels are made from.

The same figures as in the body that the API gives, without a dict per kernel and config.
"""

from collections.abc import Generator, Sequence
from typing import Any

import pyarrow as pa

from runs import bodies
from runs.models import Run
from runs.reading import comparison_of
from sims.models import SimKernel

CELL_KEYS = {
    "ns": "simulated_ns",
    "error": "error",
    "cycles": "cycles",
    "share": "share_of_error",
    "speedup": "speedup",
}
"""What is kept of each config: the column is ``ns0``, ``error0``, … for the first one."""


def kernel_columns(run: Run, baseline: str) -> pa.Table:
    """A row per kernel in launch order: ``index``, ``name`` (a dictionary), ``real_ns``, ``real_share`` and, for the
    config at each place of the run, the columns of :data:`CELL_KEYS` and ``limiter``. Raises ``UnknownBaselineError``."""
    body = bodies.whole(run, f"columns {baseline}", lambda of: _made(of, baseline))
    return pa.ipc.open_file(pa.BufferReader(body)).read_all()


def _made(run: Run, baseline: str) -> Generator[bytes, None, None]:
    kernels = comparison_of(run, baseline)["kernels"]
    table = _table(kernels, [sim.gpu_config for sim in run.sims.all()], _limiters(run))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    yield sink.getvalue().to_pybytes()


def _limiters(run: Run) -> list[dict[int, str]]:
    """What limits each kernel, by index, for each sim of the run."""
    found: dict[str, dict[int, str]] = {sim.id: {} for sim in run.sims.all()}
    rows = SimKernel.objects.filter(sim__in=list(found)).exclude(limiter="")
    for sim_id, index, limiter in rows.values_list("sim_id", "index", "limiter").iterator(chunk_size=5000):
        found[sim_id][index] = limiter
    return list(found.values())


def _table(kernels: Sequence[dict[str, Any]], configs: Sequence[str], limiters: Sequence[dict[int, str]]) -> pa.Table:
    columns = {
        "index": pa.array([kernel["index"] for kernel in kernels], pa.int64()),
        # A log may hold half a surrogate pair, which Arrow cannot carry.
        "name": pa.array([_clean(kernel["name"]) for kernel in kernels], pa.string()).dictionary_encode(),
        "real_ns": pa.array([kernel["real_ns"] for kernel in kernels], pa.float64()),
        "real_share": pa.array([kernel["real_share"] for kernel in kernels], pa.float64()),
    }
    for place, config in enumerate(configs):
        cells = [kernel["configs"].get(config, {}) for kernel in kernels]
        for column, key in CELL_KEYS.items():
            kind = pa.int64() if key == "cycles" else pa.float64()
            columns[f"{column}{place}"] = pa.array([cell.get(key) for cell in cells], kind)
        words = [limiters[place].get(kernel["index"]) for kernel in kernels]
        columns[f"limiter{place}"] = pa.array(words, pa.string()).dictionary_encode()
    return pa.table(columns)


def _clean(name: str) -> str:
    return name.encode("utf-8", "replace").decode()
