"""A Celery worker that is told to end."""

import os

import pytest
from celery.exceptions import Reject

from sims import worker
from sims.tasks import simulate


def test_it_puts_back_a_sim_that_it_is_still_given(monkeypatch: pytest.MonkeyPatch) -> None:
    reading_end, writing_end = os.pipe()
    monkeypatch.setattr(worker, "_reading_end", reading_end)
    assert not worker.is_shutting_down()
    os.close(writing_end)
    with pytest.raises(Reject) as rejected:
        simulate("sim-0123456789ab")
    assert rejected.value.requeue
    os.close(reading_end)
