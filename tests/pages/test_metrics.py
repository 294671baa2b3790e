"""What Prometheus reads, and who may."""

from typing import Any

from django.test import Client

from runs.models import Run


def test_it_tells_the_queue_depth(run: Run) -> None:
    assert "cascade_queue_depth 2.0" in Client().get("/metrics").content.decode()


def test_it_times_requests_by_route_and_not_by_path(browser: Client, run: Run) -> None:
    browser.get(f"/runs/{run.id}")
    text = Client().get("/metrics").content.decode()
    assert 'route="runs/<str:run_id>"' in text
    assert run.id not in text


def test_it_is_closed_to_other_machines() -> None:
    assert Client(REMOTE_ADDR="10.1.2.3").get("/metrics").status_code == 401


def test_it_is_closed_to_what_came_through_a_proxy() -> None:
    assert Client(headers={"X-Forwarded-For": "10.1.2.3"}).get("/metrics").status_code == 401


def test_it_takes_its_own_token_where_one_is_set(settings: Any) -> None:
    settings.CASCADE_METRICS_TOKEN = "scrape"
    assert Client().get("/metrics").status_code == 401
    answer = Client(REMOTE_ADDR="10.1.2.3", headers={"Authorization": "Bearer scrape"}).get("/metrics")
    assert answer.status_code == 200
