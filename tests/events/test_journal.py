"""The journal: an event exists exactly when the change that it tells of does."""

from django.db import transaction
from django_eventstream.models import Event
from pytest_django import DjangoAssertNumQueries

from runs.events import channel_of, forget, publish
from runs.models import Run
from runs.stream.journal import Position, position_of, positions_of, read_batch
from sims.models import Sim
from sims.models.states import Report
from tests.events.conftest import make_run


def kinds(run: Run) -> list[str]:
    events = Event.objects.filter(channel=channel_of(run.id), eid__gt=0)
    return list(events.order_by("eid").values_list("type", flat=True))


def publish_logs(run: Run, count: int) -> None:
    with transaction.atomic():
        publish(run.id, [("log", {"offset": number}) for number in range(count)])


def finish(run: Run) -> None:
    for sim in Sim.objects.filter(run=run):
        sim.heartbeat(Report("finished"))


def test_the_first_event_is_the_whole_run(run: Run) -> None:
    first = Event.objects.get(channel=channel_of(run.id), eid=1)
    assert first.type == "run"
    assert run.id in first.data


def test_ids_count_up_from_one_without_gaps(run: Run) -> None:
    publish_logs(run, 3)
    publish_logs(run, 2)
    ids = Event.objects.filter(channel=channel_of(run.id), eid__gt=0).order_by("eid").values_list("eid", flat=True)
    assert list(ids) == [1, 2, 3, 4, 5, 6]


def test_an_event_of_a_change_that_is_rolled_back_never_was(run: Run) -> None:
    with transaction.atomic():
        publish(run.id, [("log", {})])
        transaction.set_rollback(True)
    assert kinds(run) == ["run"]


def test_publishing_many_events_costs_as_much_as_publishing_one(
    run: Run, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(5):
        publish_logs(run, 100)


def test_the_last_sim_to_end_ends_the_run_with_a_run_event(run: Run) -> None:
    finish(run)
    assert kinds(run) == ["run", "sim", "sim", "run"]
    assert position_of(run.id) == Position(last_id=4, ended=True)


def test_a_batch_is_what_follows_a_position(run: Run) -> None:
    publish_logs(run, 3)
    batch = read_batch(run.id, after=2)
    assert batch.frames.count(b"event: log") == 2
    assert (batch.last_id, batch.complete, batch.ended) == (4, True, False)


def test_a_batch_is_cut_at_its_limit_and_says_so(run: Run) -> None:
    publish_logs(run, 5)
    batch = read_batch(run.id, after=0, limit=4)
    assert (batch.last_id, batch.complete) == (4, False)


def test_the_batch_that_reaches_the_end_of_an_ended_run_is_the_last(run: Run) -> None:
    finish(run)
    assert not read_batch(run.id, after=0, limit=3).ended
    assert read_batch(run.id, after=3).ended


def test_a_batch_costs_two_queries(run: Run, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    publish_logs(run, 50)
    with django_assert_num_queries(2):
        read_batch(run.id, after=0)


def test_a_deleted_run_ends_its_streams(run: Run) -> None:
    forget(run.id)
    assert read_batch(run.id, after=1).ended


def test_positions_of_many_runs_are_one_query(run: Run, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    other = make_run()
    publish_logs(other, 2)
    with django_assert_num_queries(1):
        assert positions_of([run.id, other.id]) == {run.id: 1, other.id: 3}


def test_there_is_no_position_in_a_run_that_does_not_exist(run: Run) -> None:
    assert position_of("run-000000000000") is None
