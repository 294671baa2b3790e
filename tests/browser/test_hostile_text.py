"""Text from traces, logs and people is text on every page, whatever is in it."""

import itertools
import lzma

from tests.api.archives import sample_files, tar_of
from tests.browser.conftest import Watched
from tests.servers import flow
from tests.servers.cascade import Web

SEEDS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "{{ 7*7 }}{% load x %}",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<a href=javascript:alert(1)>x</a>",
    "<style>*{display:none}</style>",
    "\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07",
    "\x1b[31mred<script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202etxt.exe",
    "\ufeff<script>alert(1)</script>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "--><script>alert(1)</script>",
    "]]><script>alert(1)</script>",
    "'; DROP TABLE runs; --",
    '=HYPERLINK("http://x")',
    "<body onload=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>",
]
WRAPPERS = ["{}", "a{}", "{}b", "<b>{}</b>", "{0}{0}", "x='{}'", '"{}"', "// {}", "/*{}*/", "#{}", "?q={}", "<!--{}"]
PAYLOADS = [wrapper.format(seed) for seed, wrapper in itertools.product(SEEDS, WRAPPERS)]
KERNELS = 60


def hostile_trace() -> bytes:
    """The sample with a kernel per payload: the same body under each hostile name."""
    files = sample_files()
    name = next(name for name in files if name.endswith("kernel-3.traceg.xz"))
    text = lzma.decompress(files[name]).decode()
    folder = name.rsplit("/", 1)[0]
    kept = {}
    lines = []
    first_line = next(line for line in text.splitlines() if line.startswith("-kernel name"))
    for number, payload in enumerate(PAYLOADS[:KERNELS], start=1):
        hostile = " ".join(payload.split())
        kept[f"{folder}/kernel-{number}.traceg"] = text.replace(first_line, f"-kernel name = {hostile}", 1).encode()
        lines.append(f"kernel-{number}.traceg")
    kept[f"{folder}/kernelslist.g"] = ("\n".join(lines) + "\n").encode()
    return tar_of(kept)


def test_three_hundred_payloads_do_nothing(quiet: Watched, quiet_site: Web) -> None:
    assert len(PAYLOADS) == 300
    http = quiet_site.http
    answer = http.post("/api/traces", files={"file": ("hostile.tar.gz", hostile_trace())}, data={"name": "hostile"})
    assert answer.status_code == 201, answer.text
    for payload in PAYLOADS:
        body = {"trace_id": "sample", "gpu_configs": ["SM80_A100"], "simulator": "replay", "name": payload[:200]}
        assert http.post("/api/runs", json=body).status_code in (201, 422)
    run = flow.launch(http, "hostile", configs=["SM80_A100"], name=PAYLOADS[0][:200])

    paths = ["/traces", "/traces/hostile", "/traces/hostile?view=names", "/compare", f"/runs/{run['id']}"]
    paths += [f"/runs?page={number}" for number in range(1, 8)] + [f"/sims/{run['sims'][0]['id']}"]
    for path in paths:
        quiet.page.goto(path)
        quiet.page.wait_for_timeout(50)
    assert quiet.complaints == []


def test_a_hostile_log_is_shown_as_text(quiet: Watched, quiet_site: Web) -> None:
    http = quiet_site.http
    run = flow.launch(http, "sample", configs=["SM80_A100"], name="to be written to")
    sim = run["sims"][0]["id"]
    blocks = "".join(
        f"kernel_name = {' '.join(payload.split())} \nkernel_launch_uid = {n} \ngpu_sim_cycle = 6000\ngpu_sim_insn = 1\n"
        for n, payload in enumerate(PAYLOADS, start=1)
    )
    http.post(f"/api/sims/{sim}/heartbeat", json={"state": "running", "detail": PAYLOADS[1], "worker": PAYLOADS[2]})
    answer = http.post(f"/api/sims/{sim}/logs", json={"text": "\n".join(PAYLOADS) + "\n" + blocks})
    assert answer.status_code == 200, answer.text
    for tab in ("", "/log", "/kernels", "/events", "/config"):
        quiet.page.goto(f"/runs/{run['id']}{tab}")
        quiet.page.wait_for_timeout(100)
    quiet.page.goto(f"/sims/{sim}")
    assert quiet.complaints == []
