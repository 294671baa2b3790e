from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "cascade_site"
