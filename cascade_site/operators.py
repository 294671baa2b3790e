"""Operators: Django's own accounts, which open ``/admin/``. ``manage.py up`` makes the first one."""

import secrets

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

PASSWORD_BYTES = 12


def has_operator() -> bool:
    """Whether somebody can sign in to the admin and do everything there."""
    return get_user_model().objects.filter(is_superuser=True, is_staff=True, is_active=True).exists()


def make_operator(name: str, password: str = "", email: str = "") -> str | None:
    """Make an account of this name; its password, generated where none is given.

    None where the name is taken: that account stays as it is, so that the same start can be repeated. Raises
    ``CommandError`` for what is no name.
    """
    users = get_user_model()
    if users.objects.filter(username=name).exists():
        return None
    password = password or secrets.token_urlsafe(PASSWORD_BYTES)
    try:
        users(username=name, email=email).full_clean(exclude=["password"])
    except ValidationError as problem:
        raise CommandError(f"No operator can be called {name!r}: {' '.join(problem.messages)}") from None
    users.objects.create_superuser(name, email, password)
    return password
