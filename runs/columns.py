"""A comparison's kernels as columns: what tables and pictures of ten thousand kernels are made from.

The same figures as in the body that the API gives, without a dict per kernel and config.
"""

from collections.abc import Generator, Sequence

import numpy as np
import pyarrow as pa

from runs import bodies
from runs.agreement import Floats
from runs.comparison import KernelColumns
from runs.models import Run
from runs.reading import kernel_columns_of
from sims.models import SimKernel

FIGURES = {
    "ns": "simulated_ns",
    "error": "error",
    "share": "share_of_error",
    "speedup": "speedup",
}
"""What is kept of each config's figures: the column is ``ns0``, ``error0``, … for the first one."""


def kernel_columns(run: Run, baseline: str) -> pa.Table:
    """A row per kernel in launch order: ``index``, ``name`` (a dictionary), ``real_ns``, ``real_share`` and, for the
    config at each place of the run, the columns of :data:`FIGURES`, ``cycles`` and ``limiter``.

    :raises UnknownBaselineError: for another baseline
    """
    body = bodies.whole(run, f"columns {baseline}", lambda of: _made(of, baseline))
    return pa.ipc.open_file(pa.BufferReader(body)).read_all()


def _made(run: Run, baseline: str) -> Generator[bytes, None, None]:
    table = _table(kernel_columns_of(run, baseline), _limiters(run))
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


def _table(kernels: KernelColumns, limiters: Sequence[dict[int, str]]) -> pa.Table:
    columns = {
        "index": pa.array(kernels.index, pa.int64()),
        # A log may hold half a surrogate pair, which Arrow cannot carry.
        "name": pa.array([_clean(name) for name in kernels.name], pa.string()).dictionary_encode(),
        "real_ns": _floats(kernels.real_ns),
        "real_share": _floats(kernels.real_share),
    }
    for place, figures in enumerate(kernels.figures):
        columns |= {f"{column}{place}": _floats(figures[key]) for column, key in FIGURES.items()}
        columns[f"cycles{place}"] = pa.array(kernels.cycles[place], pa.int64())
        words = [limiters[place].get(index) for index in kernels.index]
        columns[f"limiter{place}"] = pa.array(words, pa.string()).dictionary_encode()
    return pa.table(columns)


def _floats(values: Floats) -> pa.Array:
    """Null for what is no number, as the API's body has it."""
    return pa.array(values, pa.float64(), mask=~np.isfinite(values))


def _clean(name: str) -> str:
    return name.encode("utf-8", "replace").decode()
