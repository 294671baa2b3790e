"""Text from traces, logs and people is text on every page, whatever is in it."""

import itertools
import lzma

from tests.api.archives import sample_files, tar_of
from tests.browser.conftest import Site, Watched
from tests.servers import flow

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


def test_three_hundred_payloads_do_nothing(watched: Watched, site: Site) -> None:
    assert len(PAYLOADS) == 300
    http = site.web.http
    answer = http.post("/api/traces", files={"file": ("hostile.tar.gz", hostile_trace())}, data={"name": "hostile"})
    assert answer.status_code == 201, answer.text
    run = flow.launch(http, "sample", name=PAYLOADS[0][:200], options={"replay_seconds": 600})
    for payload in PAYLOADS[1:]:
        body = {"trace_id": "sample", "gpu_configs": ["SM80_A100"], "simulator": "replay", "name": payload[:200]}
        made = http.post("/api/runs", json=body)
        assert made.status_code in (201, 422), made.text
        if made.status_code == 201:
            http.post(f"/api/runs/{made.json()['id']}/cancel")
    http.post(f"/api/runs/{run['id']}/cancel")
    direct = flow.launch(http, "hostile", configs=["SM80_A100"], name="log")
    sim = direct["sims"][0]["id"]
    http.post(f"/api/runs/{direct['id']}/cancel")

    page = watched.page
    paths = ["/traces", "/traces/hostile", "/traces/hostile?view=names", f"/runs/{run['id']}", "/compare"]
    paths += [f"/runs?page={number}" for number in range(1, 8)] + [f"/runs/{direct['id']}/kernels", f"/sims/{sim}"]
    for path in paths:
        page.goto(path)
        page.wait_for_timeout(50)
    assert watched.complaints == []


def test_a_hostile_log_is_shown_as_text(watched: Watched, site: Site) -> None:
    http = site.web.http
    run = flow.launch(http, "sample", configs=["SM80_A100"], options={"replay_seconds": 600}, name="to be written to")
    sim = run["sims"][0]["id"]
    text = "\n".join(PAYLOADS)
    blocks = "".join(
        f"kernel_name = {' '.join(p.split())} \nkernel_launch_uid = {n} \ngpu_sim_cycle = 6000\ngpu_sim_insn = 1\n"
        for n, p in enumerate(PAYLOADS, start=1)
    )
    http.post(f"/api/sims/{sim}/heartbeat", json={"state": "running", "detail": PAYLOADS[1], "worker": PAYLOADS[2]})
    http.post(f"/api/sims/{sim}/logs", json={"text": text + "\n" + blocks})
    page = watched.page
    for tab in ("", "/log", "/kernels", "/events", "/config"):
        page.goto(f"/runs/{run['id']}{tab}")
        page.wait_for_timeout(100)
    page.goto(f"/sims/{sim}")
    http.post(f"/api/runs/{run['id']}/cancel")
    assert watched.complaints == []
