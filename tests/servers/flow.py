"""The steps of the main flow as a client does them over HTTP: a trace goes in, a run comes out."""

import io
import tarfile
from typing import Any

import httpx

from tests.servers.events import Event, Stream
from tests.servers.processes import wait_until
from traces.sample import SAMPLE_RUN_DIRECTORY

CONFIGS = ["SM86_RTX3070", "SM7_QV100"]
ENDED = {"finished", "failed", "cancelled"}


def sample_archive() -> bytes:
    """The sample run directory as a ``.tar.gz``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(SAMPLE_RUN_DIRECTORY, arcname=SAMPLE_RUN_DIRECTORY.name)
    return buffer.getvalue()


def upload_trace(http: httpx.Client, name: str) -> dict[str, Any]:
    """Upload the sample under a name; the Trace."""
    response = http.post("/api/traces", files={"file": ("sample.tar.gz", sample_archive())}, data={"name": name})
    return answer(response, 201)


def launch(http: httpx.Client, trace_id: str, configs: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """Launch a replay run; the Run."""
    body = {"trace_id": trace_id, "gpu_configs": configs or CONFIGS, "simulator": "replay", **more}
    return answer(http.post("/api/runs", json=body), 201)


def answer(response: httpx.Response, status: int = 200) -> Any:
    """The JSON of a response that must have that status."""
    assert response.status_code == status, f"{response.status_code}: {response.text[:2000]}"
    return response.json()


def run_of(http: httpx.Client, run_id: str) -> dict[str, Any]:
    run: dict[str, Any] = answer(http.get(f"/api/runs/{run_id}"))
    return run


def wait_for_end(http: httpx.Client, run_id: str, timeout_s: float = 120) -> dict[str, Any]:
    """Wait until a run has ended; the Run."""
    wait_until(lambda: run_of(http, run_id)["status"] in ENDED, f"the end of {run_id}", timeout_s, every_s=0.2)
    return run_of(http, run_id)


def heartbeat(http: httpx.Client, sim_id: str, state: str, **more: Any) -> bool:
    """Report a state as a simulator does; whether to stop."""
    return bool(answer(http.post(f"/api/sims/{sim_id}/heartbeat", json={"state": state, **more}))["stop"])


def log(http: httpx.Client, sim_id: str, text: str, offset: int | None = None) -> int:
    """Append to a sim's log; its size."""
    place = {} if offset is None else {"offset": offset}
    return int(answer(http.post(f"/api/sims/{sim_id}/logs", json={"text": text, **place}))["size_bytes"])


def read_all(stream: Stream) -> list[Event]:
    """A stream's events up to its end."""
    return list(stream)
