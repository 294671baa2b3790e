"""Machines that run tests are at times slow: a property is judged by what holds, not by when."""

from hypothesis import settings

settings.register_profile("traces", deadline=None)
settings.load_profile("traces")
