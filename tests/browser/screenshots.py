"""Pictures of every page, in light, dark and narrow: ``python -m tests.browser.screenshots FOLDER``.

Starts an installation of its own with the sample run in it. The pictures are to be looked at.
"""

import argparse
import re
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM, Site, paths_of, sign_in, two_runs
from tests.servers import flow
from tests.servers.cascade import Cascade
from traces.sample import SAMPLE_LOG

LOOKS: dict[str, tuple[Literal["light", "dark"], int]] = {
    "light": ("light", 1400),
    "dark": ("dark", 1400),
    "narrow": ("light", 400),
}


def picture_name(path: str, site: Site) -> str:
    """A file name for a page: ids, which change, by what they are."""
    text = path.replace(site.run["id"], "run").replace(site.other["id"], "other")
    for sim in site.run["sims"]:
        text = text.replace(sim["id"], "sim")
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "home"


def take(browser: Browser, site: Site, folder: Path) -> int:
    """Every page in every look; how many pictures."""
    taken = 0
    for look, (scheme, width) in LOOKS.items():
        size: ViewportSize = {"width": width, "height": 900}
        context = browser.new_context(base_url=site.url, viewport=size, color_scheme=scheme)
        page = context.new_page()
        page.set_default_timeout(120_000)
        sign_in(page)
        for path in paths_of(site):
            page.goto(path)
            page.wait_for_timeout(400)
            page.screenshot(path=folder / f"{picture_name(path, site)}.{look}.png", full_page=True)
            taken += 1
        context.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--simulator", default="replay", help="builtin shows where the cycles went, and takes longer")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    env = {"CASCADE_REPLAY_LOG": str(SAMPLE_LOG), "CASCADE_WORKSPACE": "acme-lab"}
    with tempfile.TemporaryDirectory() as place, Cascade(Path(place), env) as cascade, sync_playwright() as playwright:
        web = cascade.start_web()
        cascade.start_worker()
        flow.upload_trace(web.http, "sample")
        configs = ["SM86_RTX3070", "SM80_A100", "SM90_H100"]
        site = two_runs(cascade, web, configs=configs, simulator=given.simulator)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        print(f"{take(browser, site, given.folder)} pictures in {given.folder}")
        browser.close()


if __name__ == "__main__":
    main()
