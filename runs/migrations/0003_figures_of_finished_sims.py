from django.db import migrations


def leave_out_unfinished(apps, schema_editor):
    """Earlier figures also told of sims that had ended half way; what only such a sim had told is unknown."""
    Run, Sim = apps.get_model("runs", "Run"), apps.get_model("sims", "Sim")
    sims = Sim.objects.filter(whole__isnull=True)
    half_way = sims.filter(status__in=["failed", "cancelled"], simulated_ns__isnull=False)
    for run in Run.objects.filter(pk__in=half_way.values("run"), finished_at__isnull=False).iterator(chunk_size=500):
        finished = list(sims.filter(run=run, status="finished").values("simulated_ns", "error"))
        run.fastest_ns = min((sim["simulated_ns"] for sim in finished if sim["simulated_ns"]), default=None)
        if run.error not in [sim["error"] for sim in finished]:
            run.error = run.mape = run.geomean_ratio = None
        run.save(update_fields=["fastest_ns", "error", "mape", "geomean_ratio"])


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0002_figures_and_baseline'),
        ('sims', '0001_initial'),
    ]

    operations = [
        migrations.RunPython(leave_out_unfinished, migrations.RunPython.noop, elidable=True),
    ]
