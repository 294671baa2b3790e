"""What a simulator reports, and what comes back of it."""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from sims.models import Sim
from tests.api.conftest import body_of

Post = Callable[..., Any]


def state_of(sim: Sim) -> str:
    return Sim.objects.get(pk=sim.pk).status


def test_a_heartbeat_starts_a_sim(post: Post, sim: Sim) -> None:
    answer = post(f"/api/sims/{sim.id}/heartbeat", {"state": "running", "kernels_done": 1, "worker": "host/1"})
    assert (answer.status_code, answer.json()) == (200, {"stop": False})
    assert state_of(sim) == "running"


def test_a_heartbeat_hears_of_a_cancel(post: Post, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/heartbeat", {"state": "running"})
    post(f"/api/runs/{sim.run_id}/cancel", {})
    assert post(f"/api/sims/{sim.id}/heartbeat", {"state": "running"}).json() == {"stop": True}


def test_a_heartbeat_after_the_end_changes_nothing(post: Post, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/heartbeat", {"state": "finished"})
    assert post(f"/api/sims/{sim.id}/heartbeat", {"state": "failed"}).json() == {"stop": True}
    assert state_of(sim) == "finished"


def test_a_superseded_attempt_is_told_to_stop(post: Post, sim: Sim) -> None:
    Sim.objects.filter(pk=sim.pk).update(attempt=2)
    assert post(f"/api/sims/{sim.id}/heartbeat", {"state": "running", "attempt": 1}).json() == {"stop": True}
    assert state_of(sim) == "queued"


def test_it_refuses_an_unknown_state(post: Post, sim: Sim) -> None:
    answer = post(f"/api/sims/{sim.id}/heartbeat", {"state": "dancing"})
    assert answer.status_code == 422
    assert "state" in answer.json()["errors"]


def test_a_sim_says_what_it_was_computed_with(post: Post, api: Client, sim: Sim) -> None:
    software = {"engine": "3f2a91c0b7de4410", "numba": "0.68.1"}
    post(f"/api/sims/{sim.id}/heartbeat", {"state": "running", "software": software})
    post(f"/api/sims/{sim.id}/heartbeat", {"state": "finished"})
    (shown,) = [one for one in api.get(f"/api/runs/{sim.run_id}").json()["sims"] if one["id"] == sim.id]
    assert shown["software"] == software


def test_a_new_attempt_says_anew_what_it_is_computed_with(post: Post, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/heartbeat", {"state": "finished", "software": {"engine": "old"}})
    assert Sim.objects.get(pk=sim.pk).requeue()
    assert Sim.objects.get(pk=sim.pk).software == {}


@pytest.mark.parametrize(
    "software",
    [{"numba": 1}, {"numba": "x" * 201}, {"x" * 201: "1"}, dict.fromkeys(map(str, range(51)), "1"), {"a": "\0"}],
)
def test_it_refuses_software_that_is_no_map_of_short_texts(post: Post, sim: Sim, software: Any) -> None:
    answer = post(f"/api/sims/{sim.id}/heartbeat", {"state": "running", "software": software})
    assert answer.status_code == 422
    assert "software" in answer.json()["errors"]


def test_a_chunk_is_appended_at_its_offset(post: Post, api: Client, sim: Sim) -> None:
    logs = f"/api/sims/{sim.id}/logs"
    assert post(logs, {"offset": 0, "text": "héllo\n"}).json() == {"size_bytes": 7}
    assert post(logs, {"offset": 7, "text": "world\n"}).json() == {"size_bytes": 13}
    assert body_of(api.get(f"/api/sims/{sim.id}/log")).decode() == "héllo\nworld\n"


def test_a_repeated_chunk_is_stored_once(post: Post, api: Client, sim: Sim) -> None:
    for _ in range(2):
        assert post(f"/api/sims/{sim.id}/logs", {"offset": 0, "text": "abc"}).json() == {"size_bytes": 3}
    assert body_of(api.get(f"/api/sims/{sim.id}/log")) == b"abc"


def test_a_chunk_without_an_offset_is_appended(post: Post, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/logs", {"text": "abc"})
    assert post(f"/api/sims/{sim.id}/logs", {"text": "abc"}).json() == {"size_bytes": 6}


def test_a_chunk_that_leaves_a_gap_is_refused_with_what_is_stored(post: Post, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/logs", {"offset": 0, "text": "abc"})
    answer = post(f"/api/sims/{sim.id}/logs", {"offset": 5, "text": "x"})
    assert (answer.status_code, answer.json()["size_bytes"]) == (409, 3)


def test_a_chunk_that_differs_from_what_is_stored_is_refused(post: Post, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/logs", {"offset": 0, "text": "abc"})
    answer = post(f"/api/sims/{sim.id}/logs", {"offset": 1, "text": "XYZ"})
    assert (answer.status_code, answer.json()["size_bytes"]) == (409, 3)


def test_nul_characters_and_blanks_in_a_log_are_kept(post: Post, api: Client, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/logs", {"text": "  a\0b \r\n\n"})
    assert body_of(api.get(f"/api/sims/{sim.id}/log")) == b"  a\0b \r\n\n"


def test_a_chunk_over_a_mebibyte_is_refused_with_the_limit(post: Post, sim: Sim) -> None:
    answer = post(f"/api/sims/{sim.id}/logs", {"text": "é" * (512 * 1024) + "x"})
    assert answer.status_code == 413
    assert str(1024**2) in answer.json()["detail"]


def test_a_log_honours_ranges(post: Post, api: Client, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/logs", {"text": "0123456789"})
    answer = api.get(f"/api/sims/{sim.id}/log", headers={"Range": "bytes=2-4"})
    assert (answer.status_code, body_of(answer), answer["Content-Range"]) == (206, b"234", "bytes 2-4/10")
    assert body_of(api.get(f"/api/sims/{sim.id}/log", headers={"Range": "bytes=-3"})) == b"789"


def test_a_range_behind_the_end_is_unsatisfiable(post: Post, api: Client, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/logs", {"text": "0123"})
    answer = api.get(f"/api/sims/{sim.id}/log", headers={"Range": "bytes=4-"})
    assert (answer.status_code, answer["Content-Range"]) == (416, "bytes */4")


def test_a_log_is_plain_text_that_no_browser_guesses_at(api: Client, sim: Sim) -> None:
    answer = api.get(f"/api/sims/{sim.id}/log")
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("text/plain; charset=utf-8", "nosniff")


def test_an_earlier_attempts_log_stays_readable(post: Post, api: Client, sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/logs", {"text": "first"})
    post(f"/api/sims/{sim.id}/heartbeat", {"state": "failed"})
    sim.requeue()
    post(f"/api/sims/{sim.id}/logs", {"text": "second", "attempt": 2})
    assert body_of(api.get(f"/api/sims/{sim.id}/log?attempt=1")) == b"first"
    assert body_of(api.get(f"/api/sims/{sim.id}/log")) == b"second"


def put(api: Client, sim: Sim, name: str, data: bytes, query: str = "", **headers: str) -> Any:
    path = f"/api/sims/{sim.id}/files/{name}{query}"
    return api.put(path, data, content_type="application/octet-stream", headers=headers)


def test_a_file_is_stored_and_comes_back_as_it_was(api: Client, sim: Sim) -> None:
    data = bytes(range(256)) * 10
    answer = put(api, sim, "out.bin", data)
    assert answer.status_code == 201
    assert answer.json()["sha256"] == hashlib.sha256(data).hexdigest()
    found = api.get(f"/api/sims/{sim.id}/files/out.bin")
    assert body_of(found) == data
    assert found["ETag"] == f'"{hashlib.sha256(data).hexdigest()}"'
    assert found["Content-Disposition"].startswith("attachment")


def test_a_replaced_file_shows_the_new_content(api: Client, sim: Sim) -> None:
    put(api, sim, "out.bin", b"one")
    assert put(api, sim, "out.bin", b"two!").status_code == 200
    assert body_of(api.get(f"/api/sims/{sim.id}/files/out.bin")) == b"two!"
    assert len(api.get(f"/api/sims/{sim.id}/files").json()) == 1


def test_an_empty_file_is_a_file(api: Client, sim: Sim) -> None:
    assert put(api, sim, "empty.txt", b"").json()["size_bytes"] == 0
    assert body_of(api.get(f"/api/sims/{sim.id}/files/empty.txt")) == b""


def test_a_matching_digest_is_accepted(api: Client, sim: Sim) -> None:
    digest = base64.b64encode(hashlib.sha256(b"data").digest()).decode()
    assert put(api, sim, "a", b"data", **{"Content-Digest": f"sha-256=:{digest}:"}).status_code == 201


def test_a_wrong_digest_stores_nothing(api: Client, sim: Sim) -> None:
    digest = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    answer = put(api, sim, "a", b"data", **{"Content-Digest": f"sha-256=:{digest}:"})
    assert answer.status_code == 422
    assert api.get(f"/api/sims/{sim.id}/files").json() == []


def test_a_refused_replacement_leaves_the_old_file(api: Client, sim: Sim) -> None:
    put(api, sim, "a", b"good")
    put(api, sim, "a", b"bad", **{"Content-Digest": "sha-256=:" + "A" * 43 + "=:"})
    assert body_of(api.get(f"/api/sims/{sim.id}/files/a")) == b"good"


def test_a_file_over_the_limit_is_refused_with_the_limit(api: Client, sim: Sim, settings: Any) -> None:
    settings.CASCADE_MAX_FILE_BYTES = 10
    answer = put(api, sim, "a", b"12345678901")
    assert answer.status_code == 413
    assert "10" in answer.json()["detail"]


def test_a_superseded_attempts_file_is_refused(api: Client, sim: Sim) -> None:
    Sim.objects.filter(pk=sim.pk).update(attempt=2)
    assert put(api, sim, "a", b"data", "?attempt=1").status_code == 409


def test_an_unknown_file_is_named_in_the_404(api: Client, sim: Sim) -> None:
    answer = api.get(f"/api/sims/{sim.id}/files/nope.txt")
    assert answer.status_code == 404
    assert "nope.txt" in answer.json()["detail"]


def test_a_file_that_the_client_has_is_not_sent_again(api: Client, sim: Sim) -> None:
    put(api, sim, "a", b"data")
    path = f"/api/sims/{sim.id}/files/a"
    etag = api.get(path)["ETag"]
    assert api.get(path, headers={"If-None-Match": etag}).status_code == 304


def test_a_page_that_was_uploaded_is_never_served_as_one(api: Client, sim: Sim) -> None:
    api.put(f"/api/sims/{sim.id}/files/evil.html", b"<script>alert(1)</script>", content_type="text/html")
    answer = api.get(f"/api/sims/{sim.id}/files/evil.html")
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]


def test_a_step_timeline_is_kept_and_replaced(post: Post, api: Client, sim: Sim) -> None:
    path = f"/api/sims/{sim.id}/step-timeline"
    post(path, {"timeline": {"steps": [1]}, "comparison": {}})
    body = {"timeline": {"steps": []}, "comparison": {"error": 0.5}}
    assert post(path, body).json() == body
    listed = api.get(f"/api/runs/{sim.run_id}/step-timelines").json()
    assert listed == [{"sim_id": sim.id, "gpu_config": sim.gpu_config, **body}]


def test_a_sims_results_hold_config_kernels_and_totals(api: Client, sim: Sim) -> None:
    answer = api.get(f"/api/sims/{sim.id}/results")
    body = __import__("json").loads(body_of(answer))
    assert body.keys() == {"sim", "config", "kernels", "totals"}
    assert body["config"]["id"] == "SM86_RTX3070"


def test_a_config_says_which_simulators_can_run_it(api: Client) -> None:
    configs = {config["id"]: config for config in api.get("/api/gpu-configs").json()}
    assert "replay" in configs["SM86_RTX3070"]["simulators"]
    assert configs["SM7_QV100"]["memory_bandwidth_gbs"] > 800
