"""What commands that work on the database have in common."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError


class DatabaseCommand(BaseCommand):
    """Says in one line that the database is away or was never migrated."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except (OperationalError, ProgrammingError) as error:
            why = str(error).splitlines()[0]
            raise CommandError(
                f"The database cannot be used ({why}). Run 'python manage.py migrate' once, or start the app with "
                "'python manage.py up', which does it."
            ) from error
