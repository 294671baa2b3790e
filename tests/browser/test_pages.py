"""Every page: accessible, within the policy, whole at 400 px and without JavaScript."""

import pytest
from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site, Watched, paths_of, sign_in

SERIOUS = {"serious", "critical"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(watched: Watched, site: Site, scheme: str) -> None:
    page = watched.page
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    findings = []
    for path in paths_of(site):
        page.goto(path)
        for violation in Axe().run(page)["violations"]:
            if violation["impact"] in SERIOUS:
                targets = [node["html"][:200] for node in violation["nodes"][:3]]
                findings.append(f"{path}: {violation['id']}: {violation['help']} {targets}")
    assert findings == [], "\n".join(findings)


def paths_where(script: str, page: Page, site: Site) -> list[str]:
    """The pages on which the script says true."""
    found = []
    for path in paths_of(site):
        page.goto(path)
        if page.evaluate(script):
            found.append(path)
    return found


@pytest.mark.parametrize("width", [400, 2560])
def test_no_page_scrolls_sideways(watched: Watched, site: Site, width: int) -> None:
    watched.page.set_viewport_size({"width": width, "height": 900})
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert paths_where(wide, watched.page, site) == []


@pytest.mark.parametrize("path", ["/sign-in", "/no-such-page"])
def test_a_page_of_a_few_words_does_not_scroll(page: Page, path: str) -> None:
    page.goto(path)
    assert not page.evaluate("document.documentElement.scrollHeight > document.documentElement.clientHeight")


def test_no_chart_scrolls_sideways_on_a_narrow_screen(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    wide = "[...document.querySelectorAll('figure')].some((one) => one.scrollWidth > one.clientWidth)"
    assert paths_where(wide, page, site) == []


def test_pages_are_whole_without_javascript(site: Site, chromium: Browser) -> None:
    context = chromium.new_context(base_url=site.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page)
    page.goto(f"/runs/{site.run['id']}/correlation")
    expect(page.locator("svg.chart circle")).to_have_count(12)
    page.goto(f"/runs/{site.run['id']}/log")
    expect(page.locator("[data-log]")).to_contain_text("exit detected")
    page.goto("/runs/new?trace=sample")
    page.get_by_label("GeForce RTX 3070").check()
    page.get_by_label("Simulator").select_option("replay")
    page.get_by_role("button", name="Launch").click()
    expect(page.locator(".head .chip")).to_be_visible()
    context.close()


def test_everything_is_reached_with_the_tab_key(page: Page, site: Site) -> None:
    page.goto(f"/runs/{site.run['id']}")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.textContent.trim()"))
    assert {"Traces", "Kernels", "Correlation", "Perfetto"} <= seen


@pytest.mark.parametrize("tab", ["events", "kernels"])
def test_the_tab_that_is_shown_is_in_view_on_a_narrow_screen(page: Page, site: Site, tab: str) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto(f"/runs/{site.run['id']}/{tab}")
    bar, shown = page.locator(".tabs").bounding_box(), page.locator(".tabs [aria-current]").bounding_box()
    assert bar is not None
    assert shown is not None
    assert bar["x"] <= shown["x"]
    assert shown["x"] + shown["width"] <= bar["x"] + bar["width"]
