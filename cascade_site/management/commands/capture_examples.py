"""``python manage.py capture_examples``: the API page's answers, from a running server.

It uploads the sample trace, lets the server replay the recorded log for it, and then sends every request of the page.
For the routes that a simulator reports by, it plays the simulator of a second run.
"""

import io
import tarfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from cascade_site.examples import Example, save, shown
from cascade_site.samples import SAMPLES, Sample
from traces.sample import SAMPLE_RUN_DIRECTORY, TIMELINE_FILE

REPORT = b"One of the simulator's output files.\n"
PATIENCE_S = 120
_REPORTING = ("report_heartbeat", "append_log", "store_step_timeline", "store_sim_file", "cancel_run")


class Command(BaseCommand):
    help = "Rewrite the API page's examples from a running server that can replay a recorded log."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--url", default=settings.CASCADE_URL, help="where the server is (default: CASCADE_URL)")

    def handle(self, *args: Any, **options: Any) -> None:
        headers = {"Authorization": f"Bearer {settings.CASCADE_TOKEN}"}
        with httpx.Client(base_url=options["url"], headers=headers, timeout=60) as client:
            try:
                capture = Capture(client)
                # A cancelled sim takes no more reports, so that comes last.
                in_order = sorted(SAMPLES, key=lambda sample: sample.operation_id == "cancel_run")
                for sample in tqdm(in_order, unit="route", disable=options["verbosity"] == 0 or None):
                    if (example := capture.answer(sample)) is not None:
                        save(sample.operation_id, example)
            except httpx.HTTPError as error:
                raise CommandError(f"{options['url']}: {error}") from error
        self.stdout.write(f"{len(SAMPLES)} answers captured from {options['url']}")


class Capture:
    """A server with a finished run to read, and a second one whose simulator this is."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._upload = client.post("/api/traces", files={"file": ("run.tar.gz", sample_archive())})
        trace_id = "babelstream-sample"
        if self._upload.status_code not in (201, 409):
            raise CommandError(f"The sample trace was refused: {self._upload.text}")
        self._launched = self._launch(trace_id)
        self._read = self._wait(lambda: self._run(self._launched.json()["id"]), lambda run: run["finished_at"])
        self._reported = self._take_run(trace_id)
        self._trace_id = trace_id

    def answer(self, sample: Sample) -> Example | None:
        """The answer to one request; None for an upload of a sample that the server had already."""
        if sample.operation_id == "upload_trace":
            return None if self._upload.status_code == 409 else _example(self._upload)
        if sample.operation_id == "launch_run":
            return _example(self._launched)
        run = self._reported if sample.operation_id in _REPORTING else self._read
        ids = {"trace_id": self._trace_id, "run_id": run["id"], "sim_id": run["sims"][0]["id"], "name": "report.txt"}
        path = sample.path.format(**ids)
        if sample.operation_id in ("list_run_files", "list_sim_files", "get_sim_file"):
            self._client.put(f"/api/sims/{ids['sim_id']}/files/report.txt", content=REPORT)
        if sample.is_stream:
            return self._first_events(path)
        return _example(self._client.request(sample.method, path, **_content(sample)))

    def _launch(self, trace_id: str) -> httpx.Response:
        body = {"trace_id": trace_id, "gpu_configs": ["SM86_RTX3070"], "simulator": "replay"}
        launched = self._client.post("/api/runs", json=body)
        if launched.status_code != 201:
            raise CommandError(f"The run was refused: {launched.text} (the server needs CASCADE_REPLAY_LOG)")
        return launched

    def _run(self, run_id: str) -> Any:
        return self._client.get(f"/api/runs/{run_id}").raise_for_status().json()

    def _take_run(self, trace_id: str) -> Any:
        """A run whose sim this process reports for: the first heartbeat takes it before a worker does."""
        for _ in range(10):
            run = self._launch(trace_id).json()
            heartbeat = {"state": "starting", "worker": "my-simulator"}
            self._client.post(f"/api/sims/{run['sims'][0]['id']}/heartbeat", json=heartbeat)
            taken = self._run(run["id"])
            if taken["sims"][0]["worker"] == "my-simulator":
                return taken
        raise CommandError("A worker took every run first; try again.")

    def _wait(self, read: Callable[[], Any], is_done: Callable[[Any], Any]) -> Any:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if is_done(found := read()):
                return found
            time.sleep(0.5)
        raise CommandError(f"The run did not end within {PATIENCE_S} s; is a worker running?")

    def _first_events(self, path: str) -> Example:
        """The first event of each kind: the stream of an ended run has them all, and ends."""
        response = self._client.get(path)
        first: dict[str, str] = {}
        for frame in response.text.split("\n\n"):
            kind = next((line for line in frame.splitlines() if line.startswith("event: ")), None)
            if kind:
                first.setdefault(kind, frame)
        return Example(response.status_code, response.headers["Content-Type"], "\n\n".join(first.values()) + "\n\n")


def sample_archive() -> bytes:
    """The sample trace as its uploader would pack it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(SAMPLE_RUN_DIRECTORY, arcname=SAMPLE_RUN_DIRECTORY.name)
    return buffer.getvalue()


def _content(sample: Sample) -> dict[str, Any]:
    content: dict[str, Any] = {"headers": dict(sample.headers)}
    if sample.body is not None:
        content["json"] = sample.body
    if sample.file:
        content["content"] = REPORT
    if sample.form_file:
        content["files"] = {sample.form_file[0]: (TIMELINE_FILE, (SAMPLE_RUN_DIRECTORY / TIMELINE_FILE).read_bytes())}
    return content


def _example(response: httpx.Response) -> Example:
    content_type = response.headers.get("Content-Type", "")
    if response.is_error:
        request = response.request
        raise CommandError(f"{request.method} {request.url}: {response.status_code} {response.text[:300]}")
    return Example(response.status_code, content_type, shown(content_type, response.content))
