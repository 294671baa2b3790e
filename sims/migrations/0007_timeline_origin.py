from django.db import migrations, models


def find_predicted(apps, schema_editor):
    """Of the timelines that are stored already: ours have always said how far off propagated times are."""
    timelines = apps.get_model("sims", "StepTimeline").objects
    timelines.filter(comparison__has_key="propagation").update(origin="predicted")


class Migration(migrations.Migration):

    dependencies = [
        ('sims', '0006_software'),
    ]

    operations = [
        migrations.AddField(
            model_name='steptimeline',
            name='origin',
            field=models.CharField(choices=[('predicted', 'Predicted'), ('posted', 'Posted')], default='posted', help_text="What is predicted follows the trace's real times; what a simulator has posted is the simulator's.", max_length=10),
        ),
        migrations.RunPython(find_predicted, migrations.RunPython.noop, elidable=True),
    ]
