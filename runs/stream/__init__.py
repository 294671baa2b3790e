"""A run's event stream over HTTP: ``GET /api/runs/{run_id}/events``.

The journal (``runs/events.py``) is the truth; a stream is a position in it. ``access`` says who may read, ``journal``
reads from a position on, ``hub`` tells the open streams of this process when there is more, ``consumer`` speaks HTTP.
"""
