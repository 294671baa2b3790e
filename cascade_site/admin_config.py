"""Puts our admin site in the place of Django's own, so that every app registers with it."""

from django.contrib.admin.apps import AdminConfig


class CascadeAdminConfig(AdminConfig):
    default_site = "cascade_site.admin_site.CascadeAdminSite"
