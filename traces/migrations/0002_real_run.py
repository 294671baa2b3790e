from typing import Any

import django.db.models.deletion
from django.db import migrations, models

from cascade_site.packing import packed

_COLUMNS = ("index", "name", "grid", "block", "stream", "real_ns", "start_ns", "step", "phase")


def take_known_starts(apps: Any, schema_editor: Any) -> None:
    """Of traces that are here already the kernels' own launches are known, not those that only the profiler saw."""
    kernels = apps.get_model("traces", "TraceKernel").objects.filter(start_ns__isnull=False, real_ns__isnull=False)
    real_runs = apps.get_model("traces", "RealRun").objects
    for trace_id in list(kernels.order_by("trace_id").values_list("trace_id", flat=True).distinct()):
        rows = [_row(*values) for values in kernels.filter(trace=trace_id).order_by("index").values_list(*_COLUMNS)]
        real_runs.create(trace_id=trace_id, launches_packed=packed(rows))


def _row(index: int, name: str, grid: Any, block: Any, stream: Any, real_ns: int, start_ns: int, *step: Any) -> Any:
    row = {"name": name, "duration_ns": real_ns, "grid": grid, "block": block, "start_ns": start_ns, "stream": stream}
    known = {key: value for key, value in zip(("step", "phase"), step, strict=True) if value is not None}
    return row | known | {"trace_kernel": index}


class Migration(migrations.Migration):
    dependencies = [("traces", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="RealRun",
            fields=[
                (
                    "trace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="real_run",
                        serialize=False,
                        to="traces.trace",
                    ),
                ),
                ("launches_packed", models.BinaryField()),
            ],
        ),
        migrations.RunPython(take_known_starts, migrations.RunPython.noop),
    ]
