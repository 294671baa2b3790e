"""Real kernel times, from the tools people measure them with."""

from traces.times.launches import Launch, TimesError, TimesReport
from traces.times.read import read_times

__all__ = ["Launch", "TimesError", "TimesReport", "read_times"]
