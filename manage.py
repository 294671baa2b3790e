#!/usr/bin/env python
"""Cascade's command line; ``python manage.py up`` starts everything on this machine."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cascade_site.settings")
    execute_from_command_line(sys.argv)
