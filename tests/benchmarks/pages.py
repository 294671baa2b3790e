"""How fast the pages of a run of 4 sims x 10,000 kernels come, once it has ended and while its last sim goes on, and how fast
a browser draws its 40,000 points and bars.

python -m tests.benchmarks.pages
"""

import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.benchmarks.api import REQUESTS, environment, seeded
from tests.browser.conftest import ARGUMENTS, CHROMIUM, sign_in
from tests.servers.cascade import Cascade, Web

TABS = (
    "",
    "/kernels",
    "/kernels?sort=-error0,name&q=kernel1",
    "/kernels?view=names",
    "/correlation",
    "/config",
    "/events",
)
# As while the last sim is simulated: the others have ended.
REOPEN = """
from runs.models import Run; from sims.models import Sim
Sim.objects.filter(pk=Sim.objects.order_by("position").last().pk).update(status="running", finished_at=None)
Run.objects.update(status="running", finished_at=None)
"""
FIRST_PAINT = """new Promise(done => new PerformanceObserver(
    list => list.getEntriesByName("first-contentful-paint").forEach(entry => done(entry.startTime))
).observe({type: "paint", buffered: true}))"""


def server_times(web: Web, run_id: str) -> None:
    """Seconds per page: the first answer, then the median and the 95th percentile of the next ones."""
    print(f"{'page':<38}{'first s':>9}{'p50 s':>8}{'p95 s':>8}{'kB':>8}")
    for tab in TABS:
        took, size = [], 0
        for _ in range(REQUESTS + 1):
            began = time.perf_counter()
            size = len(web.http.get(f"/runs/{run_id}{tab}").content)
            took.append(time.perf_counter() - began)
        first, *others = took
        p95 = statistics.quantiles(others, n=20)[-1]
        print(f"{tab or '/':<38}{first:9.3f}{statistics.median(others):8.3f}{p95:8.3f}{size / 1e3:8.0f}")


def drawing_times(web: Web, run_id: str) -> None:
    """In Chromium: until the first paint of the summary, and until the correlation's points are drawn."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_context(base_url=web.url).new_page()
        sign_in(page)
        page.goto(f"/runs/{run_id}")
        paint_ms = page.evaluate(FIRST_PAINT)
        page.goto(f"/runs/{run_id}/correlation")
        page.wait_for_selector("[data-drawn]")
        entry = f"performance.getEntriesByName('{web.url}/api/runs/{run_id}/comparison')[0].responseEnd"
        drawn_ms = page.evaluate(f"performance.now() - {entry}")
        page.goto(f"/compare?run={run_id}")
        page.wait_for_selector("[data-stacked][data-drawn]")
        entry = f"performance.getEntriesByName('{web.url}/compare/timelines?run={run_id}')[0].responseEnd"
        stacked_ms = page.evaluate(f"performance.now() - {entry}")
        print(f"first paint {paint_ms / 1e3:.2f} s; points drawn {drawn_ms / 1e3:.2f} s after their data")
        print(f"stacked timelines drawn {stacked_ms / 1e3:.2f} s after their data")
        browser.close()


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="cascade-bench-") as folder,
        Cascade(Path(folder), environment()) as cascade,
    ):
        run_id = seeded(cascade)
        web = cascade.start_web()
        web.http.get("/sign-in")
        form = {"token": cascade.env["CASCADE_TOKEN"], "csrfmiddlewaretoken": web.http.cookies["csrftoken"]}
        web.http.post("/sign-in", data=form)
        print("ended")
        server_times(web, run_id)
        drawing_times(web, run_id)
        cascade.manage("shell", "-v0", "-c", REOPEN)
        print("going on")
        server_times(web, run_id)


if __name__ == "__main__":
    main()
