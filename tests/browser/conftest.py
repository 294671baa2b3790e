"""A real Chromium before a real installation."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from tests.servers import flow
from tests.servers.cascade import TOKEN, Cascade, Web
from traces.sample import SAMPLE_LOG

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Site:
    """The installation that the browser sees, with two finished runs in it: a baseline and another one."""

    cascade: Cascade
    web: Web
    run: dict[str, Any]
    other: dict[str, Any]

    @property
    def url(self) -> str:
        return self.web.url


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    env = {"CASCADE_REPLAY_LOG": str(SAMPLE_LOG), "CASCADE_HEARTBEAT_S": "1", "CASCADE_WORKSPACE": "acme-lab"}
    with ExitStack() as stack:
        cascade = stack.enter_context(Cascade(tmp_path_factory.mktemp("site"), env))
        web = cascade.start_web()
        cascade.start_worker()
        flow.upload_trace(web.http, "sample")
        yield two_runs(cascade, web)


def two_runs(cascade: Cascade, web: Web, **request: Any) -> Site:
    """Two finished runs of the sample, the first of which is the baseline of the second, which has a long label."""
    run = flow.launch(web.http, "sample", name="BabelStream", **request)
    options = {"set": {"launch_latency_cycles": 3000}, "name": "BabelStream with launches that take less"}
    other = flow.launch(web.http, "sample", **options, **request)
    ended = [flow.wait_for_end(web.http, one["id"], timeout_s=1800) for one in (run, other)]
    web.http.patch(f"/api/runs/{run['id']}", json={"is_baseline": True}).raise_for_status()
    return Site(cascade, web, *ended)


@pytest.fixture(scope="package")
def quiet_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """An installation without a worker: runs stay queued, so hundreds of them cost nothing."""
    with Cascade(tmp_path_factory.mktemp("quiet"), {"CASCADE_REPLAY_LOG": str(SAMPLE_LOG)}) as cascade:
        web = cascade.start_web()
        flow.upload_trace(web.http, "sample")
        yield web


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page with what must not happen on it: dialogs, script errors, violations of the content policy."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on("dialog", self._dialog)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("console", self._console)

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: Any) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(f"console: {message.text}")


@pytest.fixture
def watched(site: Site, chromium: Browser) -> Iterator[Watched]:
    """A signed-in page; at its end nothing must have been complained of."""
    yield from _watch(chromium, site.url)


@pytest.fixture
def quiet(quiet_site: Web, chromium: Browser) -> Iterator[Watched]:
    """The same before the installation without a worker."""
    yield from _watch(chromium, quiet_site.url)


def _watch(chromium: Browser, url: str) -> Iterator[Watched]:
    context = chromium.new_context(base_url=url, viewport={"width": 1280, "height": 900}, accept_downloads=True)
    watched = Watched(context.new_page())
    watched.watch()
    sign_in(watched.page)
    yield watched
    context.close()
    assert watched.complaints == []


@pytest.fixture
def page(watched: Watched) -> Page:
    return watched.page


def sign_in(page: Page) -> None:
    page.goto("/sign-in")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/runs")


def paths_of(site: Site) -> list[str]:
    """Every page there is."""
    run, sim = site.run["id"], site.run["sims"][0]["id"]
    tabs = ["", "/kernels", "/correlation", "/timeline", "/log", "/files", "/config", "/events"]
    return [
        "/runs",
        "/runs?sort=-mape,name&q=run&columns=id,name,status,mape",
        *(f"/runs/{run}{tab}" for tab in tabs),
        f"/runs/{run}/kernels?view=names",
        f"/runs/{run}/log?level=warning",
        f"/runs/{run}/config?view=preset",
        f"/runs/{run}/correlation?view=names&scale=linear",
        f"/sims/{sim}",
        f"/sims/{sim}/kernels/1",
        "/traces",
        "/traces/sample",
        "/traces/sample?view=names",
        "/runs/new",
        "/runs/new?trace=sample",
        "/compare",
        f"/compare?run={run}",
        f"/compare?run={run}&run={site.other['id']}",
        f"/compare?run={run}&config=all&view=names",
        "/gpu-configs",
        "/gpu-configs/SM80_A100?against=SM86_RTX3070",
        "/docs",
        "/docs/api",
        "/no-such-page",
    ]
