"""The Celery application: workers find their tasks through it."""

import os

from celery import Celery

from cascade_site import broker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cascade_site.settings")

broker.use()
app = Celery("cascade")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
