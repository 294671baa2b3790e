"""Every route as a client would call it: in curl, in Python (httpx) and in JavaScript.

The samples are made from one table, so that a route reads the same in all three. ``capture_examples`` sends the same
requests to a running server and keeps the answers.
"""

import json
from dataclasses import dataclass
from typing import Any

EXAMPLE_IDS = {
    "trace_id": "babelstream-sample",
    "run_id": "run-2f9c1b7d40aa",
    "sim_id": "sim-83c0d1e2f9ab",
    "name": "report.txt",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One request."""

    operation_id: str
    """As in the OpenAPI document; the file name of its captured answer."""
    method: str
    path: str
    body: dict[str, Any] | None = None
    """JSON to send."""
    file: str | None = None
    """A file to send as it is."""
    form_file: tuple[str, str] | None = None
    """A form field and the file to send in it."""
    headers: tuple[tuple[str, str], ...] = ()
    needs_token: bool = True
    is_stream: bool = False

    @property
    def example_path(self) -> str:
        return self.path.format(**EXAMPLE_IDS)


TIMELINE = {
    "steps": [
        {
            "index": 0,
            "phase": "decode",
            "real_ns": 9140,
            "predicted_ns": 9531.8,
            "kernels": [
                {
                    "name": "init_kernel",
                    "trace_kernel": 1,
                    "stream": 0,
                    "real_start_ns": 0,
                    "real_ns": 9140,
                    "predicted_start_ns": 0,
                    "predicted_ns": 9531.8,
                    "source": "simulated",
                }
            ],
        }
    ]
}
TIMELINE_COMPARISON = {
    "steps": [{"index": 0, "phase": "decode", "real_ns": 9140, "predicted_ns": 9531.8, "error": 0.0429}],
    "error": 0.0429,
    "mape": 0.0429,
    "coverage": 1.0,
}

SAMPLES = (
    Sample("get_health", "GET", "/api/health", needs_token=False),
    Sample("list_traces", "GET", "/api/traces"),
    Sample("get_trace", "GET", "/api/traces/{trace_id}"),
    Sample("upload_trace", "POST", "/api/traces", form_file=("file", "run.tar.gz")),
    Sample("set_trace_times", "PATCH", "/api/traces/{trace_id}", form_file=("times", "corrected_timeline.json")),
    Sample("list_gpu_configs", "GET", "/api/gpu-configs"),
    Sample(
        "launch_run",
        "POST",
        "/api/runs",
        body={"trace_id": "babelstream-sample", "gpu_configs": ["SM86_RTX3070"], "simulator": "replay"},
        headers=(("Idempotency-Key", "monday-1"),),
    ),
    Sample("list_runs", "GET", "/api/runs"),
    Sample("get_run", "GET", "/api/runs/{run_id}"),
    Sample("update_run", "PATCH", "/api/runs/{run_id}", body={"is_baseline": True}),
    Sample("cancel_run", "POST", "/api/runs/{run_id}/cancel"),
    Sample("get_comparison", "GET", "/api/runs/{run_id}/comparison"),
    Sample("get_run_kernels", "GET", "/api/runs/{run_id}/kernels"),
    Sample("get_step_timelines", "GET", "/api/runs/{run_id}/step-timelines"),
    Sample("get_run_results", "GET", "/api/runs/{run_id}/results"),
    Sample("get_sim_results", "GET", "/api/sims/{sim_id}/results"),
    Sample("get_sim_log", "GET", "/api/sims/{sim_id}/log", headers=(("Range", "bytes=-400"),)),
    Sample("list_run_files", "GET", "/api/runs/{run_id}/files"),
    Sample("get_perfetto", "GET", "/api/runs/{run_id}/perfetto"),
    Sample("list_sim_files", "GET", "/api/sims/{sim_id}/files"),
    Sample("get_sim_file", "GET", "/api/sims/{sim_id}/files/{name}"),
    Sample("stream_run_events", "GET", "/api/runs/{run_id}/events", is_stream=True),
    Sample(
        "report_heartbeat",
        "POST",
        "/api/sims/{sim_id}/heartbeat",
        body={"state": "running", "kernels_done": 1, "kernels_total": 6, "worker": "my-simulator"},
    ),
    Sample("append_log", "POST", "/api/sims/{sim_id}/logs", body={"offset": 0, "text": "GPGPU-Sim is up\n"}),
    Sample(
        "store_step_timeline",
        "POST",
        "/api/sims/{sim_id}/step-timeline",
        body={"timeline": TIMELINE, "comparison": TIMELINE_COMPARISON},
    ),
    Sample("store_sim_file", "PUT", "/api/sims/{sim_id}/files/{name}", file="report.txt"),
)


def curl(sample: Sample) -> str:
    """The request as a shell command."""
    lines = ["curl"]
    if sample.is_stream:
        lines[0] += " --no-buffer"
    if sample.method not in ("GET", "POST") or (sample.method == "POST" and not _sends_data(sample)):
        lines[0] += f" --request {sample.method}"
    if sample.needs_token:
        lines.append('--header "Authorization: Bearer $CASCADE_TOKEN"')
    lines += [f'--header "{name}: {value}"' for name, value in sample.headers]
    if sample.body is not None:
        lines += ['--header "Content-Type: application/json"', f"--data '{json.dumps(sample.body)}'"]
    if sample.file:
        lines.append(f"--data-binary @{sample.file}")
    if sample.form_file:
        lines.append(f"--form {sample.form_file[0]}=@{sample.form_file[1]}")
    lines.append(f'"$CASCADE_URL{sample.example_path}"')
    return " \\\n  ".join(lines)


def python(sample: Sample) -> str:
    """The request with httpx."""
    arguments = [f'f"{{url}}{sample.example_path}"', *_python_data(sample)]
    headers = [f'"{name}": "{value}"' for name, value in sample.headers]
    if sample.needs_token:
        headers.insert(0, '"Authorization": f"Bearer {os.environ[\'CASCADE_TOKEN\']}"')
    if headers:
        arguments.append(f"headers={{{', '.join(headers)}}}")
    lines = ["import os", "", "import httpx", "", 'url = os.environ["CASCADE_URL"]']
    if sample.is_stream:
        call = ", ".join(['"GET"', *arguments, "timeout=None"])
        loop = [
            f"with httpx.stream({call}) as response:",
            "    for line in response.iter_lines():",
            "        print(line)",
        ]
        return "\n".join([*lines, *loop])
    lines.append(f"response = httpx.{sample.method.lower()}(")
    lines += [f"    {argument}," for argument in arguments]
    return "\n".join([*lines, ")", "response.raise_for_status()", _python_show(sample)])


def javascript(sample: Sample) -> str:
    """The request with ``fetch``, or an ``EventSource`` for the stream."""
    address = f"`${{CASCADE_URL}}{sample.example_path}`"
    if sample.is_stream:
        address = f"`${{CASCADE_URL}}{sample.example_path}?token=${{CASCADE_TOKEN}}`"
        listen = "events.addEventListener('kernel', (event) => console.log(JSON.parse(event.data)));"
        return f"const events = new EventSource({address});\n{listen}"
    headers = ["Authorization: `Bearer ${CASCADE_TOKEN}`"] if sample.needs_token else []
    headers += [f"'{name}': '{value}'" for name, value in sample.headers]
    lines = _javascript_before(sample)
    options = []
    if sample.method != "GET":
        options.append(f"method: '{sample.method}'")
    if sample.body is not None:
        headers.append("'Content-Type': 'application/json'")
    if headers:
        options.append(f"headers: {{{', '.join(headers)}}}")
    if _sends_data(sample):
        options.append("body")
    if not options:
        lines.append(f"const response = await fetch({address});")
    else:
        lines += [f"const response = await fetch({address}, {{", *(f"  {option}," for option in options), "});"]
    show = "text" if sample.operation_id in ("get_sim_log", "get_sim_file") else "json"
    return "\n".join([*lines, f"console.log(await response.{show}());"])


def _sends_data(sample: Sample) -> bool:
    return bool(sample.body is not None or sample.file or sample.form_file)


def _python_data(sample: Sample) -> list[str]:
    if sample.body is not None:
        return [f"json={sample.body!r}"]
    if sample.file:
        return [f'content=open("{sample.file}", "rb")']
    if sample.form_file:
        field, file = sample.form_file
        return [f'files={{"{field}": open("{file}", "rb")}}']
    return []


def _python_show(sample: Sample) -> str:
    return f"print(response.{'text' if sample.operation_id in ('get_sim_log', 'get_sim_file') else 'json()'})"


def _javascript_before(sample: Sample) -> list[str]:
    if sample.body is not None:
        return [f"const body = JSON.stringify({json.dumps(sample.body)});"]
    if sample.file:
        return [f"const body = await (await fetch('{sample.file}')).blob();"]
    if sample.form_file:
        return ["const body = new FormData();", f"body.append('{sample.form_file[0]}', input.files[0]);"]
    return []
