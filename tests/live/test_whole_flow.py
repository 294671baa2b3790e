"""A trace goes in, simulated kernel times come out: with the embedded defaults, and in production's shape."""

import hashlib
from lzma import decompress
from typing import Any

import pytest

from tests.api.archives import sample_files, tar_of
from tests.live.conftest import Installation
from tests.servers import flow
from tests.servers.backing import s3_client
from tests.servers.processes import wait_until
from traces.rundir import TRACE_FOLDER
from traces.sample import SAMPLE_LOG

RECORDED = decompress(SAMPLE_LOG.read_bytes())
KERNELS = 6


@pytest.fixture(scope="module", params=["embedded", "production"])
def installation(request: pytest.FixtureRequest) -> Installation:
    found: Installation = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def run(installation: Installation) -> dict[str, Any]:
    """A replayed run of two configs that has ended."""
    run = flow.launch(installation.web.http, installation.trace_id)
    return flow.wait_for_end(installation.webs[-1].http, run["id"])


def get(installation: Installation, path: str) -> Any:
    """A JSON answer, asked of the web process that the runners did not report to, where there are two."""
    return flow.answer(installation.webs[-1].http.get(path))


def test_the_run_finishes_with_every_kernel_of_every_sim(run: dict[str, Any]) -> None:
    assert run["status"] == "finished", [sim["detail"] for sim in run["sims"]]
    assert [(sim["status"], sim["kernels_done"]) for sim in run["sims"]] == [("finished", KERNELS)] * 2


def test_each_kernel_has_its_cycles_and_its_time(installation: Installation, run: dict[str, Any]) -> None:
    for sim in get(installation, f"/api/runs/{run['id']}/kernels"):
        assert [kernel["index"] for kernel in sim["kernels"]] == list(range(1, KERNELS + 1))
        assert all(kernel["cycles"] > 0 and kernel["simulated_ns"] > 0 for kernel in sim["kernels"])


def test_the_comparison_sets_them_beside_the_real_times(installation: Installation, run: dict[str, Any]) -> None:
    comparison = get(installation, f"/api/runs/{run['id']}/comparison")
    for summary in comparison["summary"].values():
        assert summary["kernels_compared"] == KERNELS
        assert summary["error"] == pytest.approx(summary["simulated_ns"] / summary["real_ns"] - 1)


def test_the_log_is_what_the_simulator_printed(installation: Installation, run: dict[str, Any]) -> None:
    for sim in run["sims"]:
        assert installation.webs[-1].http.get(f"/api/sims/{sim['id']}/log").content == RECORDED


def test_output_files_have_the_hash_that_their_rows_say(installation: Installation, run: dict[str, Any]) -> None:
    http = installation.webs[-1].http
    http.put(f"/api/sims/{run['sims'][0]['id']}/files/power.csv", content=b"cycle,watts\n1,2\n")
    for row in get(installation, f"/api/runs/{run['id']}/files"):
        content = http.get(f"/api/sims/{row['sim_id']}/files/{row['name']}").content
        assert hashlib.sha256(content).hexdigest() == row["sha256"]


def test_every_client_on_every_web_process_gets_the_same_events(
    installation: Installation, run: dict[str, Any]
) -> None:
    heard = [list(web.stream(run["id"])) for web in installation.webs for _ in range(2)]
    assert all(events == heard[0] for events in heard)
    assert [event.kind for event in heard[0]].count("kernel") == 2 * KERNELS
    assert [int(event.id) for event in heard[0]] == list(range(1, len(heard[0]) + 1))


def test_results_and_perfetto_hold_the_whole_run(installation: Installation, run: dict[str, Any]) -> None:
    results = get(installation, f"/api/runs/{run['id']}/results")
    assert [len(sim["kernels"]) for sim in results["sims"]] == [KERNELS] * 2
    events = get(installation, f"/api/runs/{run['id']}/perfetto")["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) >= 2 * KERNELS


def launch_without_times(installation: Installation, name: str, **options: Any) -> str:
    """A run of a bare trace; its id."""
    http, archive = installation.web.http, tar_of({n: d for n, d in sample_files().items() if TRACE_FOLDER in n})
    flow.answer(http.post("/api/traces", files={"file": ("bare.tar", archive)}, data={"name": name}), 201)
    return str(flow.launch(http, name, options=options)["id"])


def add_times(installation: Installation, trace_id: str) -> None:
    files = {"times": ("corrected_timeline.json", sample_files()["corrected_timeline.json"])}
    flow.answer(installation.web.http.patch(f"/api/traces/{trace_id}", files=files))


def wait_for_timelines(installation: Installation, run_id: str) -> None:
    def shown() -> bool:
        posted = get(installation, f"/api/runs/{run_id}/step-timelines")
        return [len(one["timeline"]["steps"][0]["kernels"]) for one in posted] == [KERNELS] * 2

    wait_until(shown, "the step timelines", 30, every_s=0.3)


def test_real_times_that_are_added_after_a_run_give_it_its_step_timelines(installation: Installation) -> None:
    run_id = launch_without_times(installation, "bare-then-times")
    flow.wait_for_end(installation.web.http, run_id)
    assert get(installation, f"/api/runs/{run_id}/step-timelines") == []
    add_times(installation, "bare-then-times")
    wait_for_timelines(installation, run_id)


def test_so_do_those_that_are_added_while_it_goes_on(installation: Installation) -> None:
    run_id = launch_without_times(installation, "times-meanwhile", replay_seconds=4)
    wait_until(lambda: flow.run_of(installation.web.http, run_id)["status"] == "running", "the start", every_s=0.2)
    add_times(installation, "times-meanwhile")
    flow.wait_for_end(installation.web.http, run_id)
    wait_for_timelines(installation, run_id)


def test_instructions_are_counted_in_the_background(installation: Installation) -> None:
    def counted() -> bool:
        kernels = get(installation, f"/api/traces/{installation.trace_id}")["kernels"]
        return all(kernel["instructions"] for kernel in kernels)

    wait_until(counted, "instruction counts of the trace", 60, every_s=0.5)


def test_a_cancelled_run_stops_soon(installation: Installation) -> None:
    http = installation.web.http
    run = flow.launch(http, installation.trace_id, options={"replay_seconds": 120})
    wait_until(lambda: flow.run_of(http, run["id"])["status"] == "running", "the run's start", every_s=0.2)
    flow.answer(http.post(f"/api/runs/{run['id']}/cancel"))
    assert flow.wait_for_end(http, run["id"], timeout_s=15)["status"] == "cancelled"


def test_production_keeps_its_files_in_the_bucket_under_its_prefix(
    production: Installation, production_env: dict[str, str]
) -> None:
    listed = s3_client(production_env).list_objects_v2(Bucket=production_env["CASCADE_S3_BUCKET"])
    keys = [item["Key"] for item in listed["Contents"]]
    assert any(key.startswith("team/one/traces/sample") for key in keys)
    assert all(key.startswith("team/one/") for key in keys)
