from django.db import migrations, models

from cascade_site.storage import read_range


def count_newlines(apps, schema_editor):
    """Of the logs that are stored already; one whose object is gone keeps 0, and its lines count on from there."""
    segments = apps.get_model("sims", "LogSegment").objects
    for segment in segments.only("data", "key", "size_bytes").iterator(chunk_size=20):
        try:
            data = bytes(segment.data) if segment.data is not None else read_range(segment.key, 0, segment.size_bytes)
        except OSError:
            continue
        segments.filter(pk=segment.pk).update(newlines=data.count(b"\n"))


class Migration(migrations.Migration):

    dependencies = [
        ('sims', '0004_written_log'),
    ]

    operations = [
        migrations.AddField(
            model_name='logsegment',
            name='newlines',
            field=models.BigIntegerField(default=0, help_text='How many lines end in it.'),
        ),
        migrations.RunPython(count_newlines, migrations.RunPython.noop),
    ]
