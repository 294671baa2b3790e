"""Our correlation canvas beside charting libraries: 40,000 points in Chromium under the pages' own policy.

pip install --target FOLDER plotly bokeh vl-convert-python
python -m tests.benchmarks.charts FOLDER
"""

import gzip
import importlib
import json
import random
import statistics
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from cascade_site.security import CONTENT_SECURITY_POLICY
from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.servers.processes import PROJECT, wait_until

KERNELS, REPEATS, NOTCHES, MOVES = 10_000, 3, 10, 20
CONFIGS = ("SM7_QV100", "SM75_RTX2060", "SM86_RTX3070", "SM80_A100")
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".json": "application/json"}
AMONG_THE_POINTS = {"own": (744, 318), "vega-interpreted": (630, 258)}
"""Where the mouse is; Plotly and Bokeh have their middle elsewhere."""
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
for (const kind of ["error", "unhandledrejection"]) {
  addEventListener(kind, (event) => {
    const why = String(event.reason || event.message);
    if (!why.startsWith("ResizeObserver")) window.failed ??= why;  // (a notice, not an error)
  });
}
window.drawn = () => requestAnimationFrame(() => requestAnimationFrame(() => { window.drawnAt ??= performance.now(); }));
new MutationObserver(() => { if (document.querySelector("[data-drawn]")) drawn(); })
  .observe(document, { subtree: true, attributes: true });
"""
OWN = """<link rel="stylesheet" href="cascade.css"></head><body><header class="rail"></header><main>{buttons}
<div class="plot" data-correlation="data.json" data-rows="/rows" data-height="520" hidden>
<canvas tabindex="0"></canvas><div class="tip" hidden></div></div><p data-correlation-status></p></main>
<script type="module" src="correlation.js"></script>"""
PLOTLY = """
const data = await (await fetch("data.json")).json();
const traces = Object.keys(data.summary).map((config) => ({ type: "TYPE", mode: "markers", marker: { size: 5 },
  name: config, x: data.kernels.map((k) => k.real_ns), y: data.kernels.map((k) => k.configs[config].simulated_ns),
  text: data.kernels.map((k) => k.name) }));
const layout = { width: 1200, height: 520, xaxis: { type: "log" }, yaxis: { type: "log" }, hovermode: "closest" };
await Plotly.newPlot("plot", traces, layout, { scrollZoom: true });
drawn();
"""
VEGA = """
import "./vega.js";
const data = await (await fetch("data.json")).json();
const values = data.kernels.flatMap((k) => Object.entries(k.configs)
  .map(([config, cell]) => ({ name: k.name, config, real: k.real_ns, simulated: cell.simulated_ns })));
const axis = (field) => ({ field, type: "quantitative", scale: { type: "log" } });
const result = await window.vegaEmbed("#plot", { width: 1100, height: 480, data: { values },
  params: [{ name: "zoom", select: "interval", bind: "scales" }], mark: { type: "point", filled: true, size: 20 },
  encoding: { x: axis("real"), y: axis("simulated"), color: { field: "config" }, tooltip: [{ field: "name" }] } },
  { renderer: "canvas", actions: false, ast: AST });
await result.view.runAsync();
drawn();
"""
BOKEH = """
const data = await (await fetch("data.json")).json();
const plot = Bokeh.Plotting.figure({ width: 1200, height: 520, x_axis_type: "log", y_axis_type: "log",
  tools: "pan,wheel_zoom,hover", active_scroll: "wheel_zoom" });
for (const config of Object.keys(data.summary)) {
  const source = new Bokeh.ColumnDataSource({ data: { x: data.kernels.map((k) => k.real_ns),
    y: data.kernels.map((k) => k.configs[config].simulated_ns) } });
  plot.scatter({ field: "x" }, { field: "y" }, { source, size: 5, line_color: null });
}
const view = await Bokeh.Plotting.show(plot, "#plot");
while (!view.has_finished()) await new Promise((resolve) => setTimeout(resolve, 5));
drawn();
"""


def comparison() -> bytes:
    """A body as the comparison's route gives it."""
    chance = random.Random(1)
    kernels = []
    for index in range(1, KERNELS + 1):
        real_ns = chance.lognormvariate(9, 1)
        cells = {config: {"simulated_ns": real_ns * chance.lognormvariate(0, 0.1)} for config in CONFIGS}
        kernels.append({"index": index, "name": f"_Z6kernel{index % 300}PfS_i", "real_ns": real_ns, "configs": cells})
    return json.dumps({"kernels": kernels, "summary": dict.fromkeys(CONFIGS)}).encode()


def files_of(packages: Path) -> dict[str, bytes]:
    """What the server has: our modules, the libraries' files out of their wheels, and a page for each."""
    sys.path.append(str(packages))
    bundle = importlib.import_module("vl_convert").javascript_bundle("window.vegaEmbed = vegaEmbed;")
    files = {"data.json": comparison(), "vega.js": bundle.encode(), "cascade.css": b""}
    for path in [*(PROJECT / "static/js").glob("*.js"), PROJECT / "static/css/cascade.css"]:
        files[path.name] = path.read_bytes()
    bokeh = packages / "bokeh/server/static/js"
    for path in (packages / "plotly/package_data/plotly.min.js", bokeh / "bokeh.min.js", bokeh / "bokeh-api.min.js"):
        files[path.name] = path.read_bytes()
    buttons = "".join(f'<button data-config="{name}" data-colour="{n}">x</button>' for n, name in enumerate(CONFIGS))
    files["own.html"] = _page(OWN.replace("{buttons}", buttons))
    for name, library, script in (
        ("plotly", ["plotly.min.js"], PLOTLY.replace("TYPE", "scatter")),
        ("plotly-webgl", ["plotly.min.js"], PLOTLY.replace("TYPE", "scattergl")),
        ("vega", [], VEGA.replace("AST", "false")),
        ("vega-interpreted", [], VEGA.replace("AST", "true")),
        ("bokeh", ["bokeh.min.js", "bokeh-api.min.js"], BOKEH),
    ):
        files[f"use-{name}.js"] = script.encode()
        tags = "".join(f'<script src="{file}"></script>' for file in library)
        files[f"{name}.html"] = _page(
            f'</head><body><div id="plot"></div>{tags}<script type="module" src="use-{name}.js"></script>'
        )
    return files


def _page(rest: str) -> bytes:
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><link rel="icon" href="data:,">{rest}</body></html>'.encode()
    )


def serve(files: dict[str, bytes]) -> str:
    """A server of these files, compressed, under our policy; its address."""
    packed = {name: gzip.compress(data) for name, data in files.items()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.lstrip("/")
            body = packed.get(name, b"")
            self.send_response(200 if body else 404)
            self.send_header("Content-Security-Policy", CONTENT_SECURITY_POLICY)
            if body:
                self.send_header("Content-Type", TYPES[Path(name).suffix])
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def _busy_ms(session: CDPSession) -> float:
    """Milliseconds that the page's main thread has worked."""
    found = session.send("Performance.getMetrics")["metrics"]
    return 1e3 * float(next(metric["value"] for metric in found if metric["name"] == "TaskDuration"))


def measure(browser: Browser, url: str, name: str, picture: Path) -> tuple[list[float], list[str]] | str:
    """kB of code, ms from data to drawn, ms of work until then, per zoom and per move; violations. Where it fails: why."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.add_init_script(WATCH)
    page.goto(f"{url}/{name}.html")
    # (Playwright's own waiting evaluates a string in the page, which the policy forbids.)
    wait_until(lambda: bool(page.evaluate("window.drawnAt || window.failed")), f"{name} draws", 60)
    if failure := page.evaluate("window.drawnAt ? '' : window.failed"):
        page.context.close()
        return failure
    data = f"performance.getEntriesByName('{url}/data.json')[0].responseEnd"
    entries = "performance.getEntriesByType('resource').filter((entry) => !entry.name.endsWith('.json'))"
    figures = [
        page.evaluate(f"{entries}.reduce((sum, entry) => sum + entry.encodedBodySize, 0)") / 1e3,
        page.evaluate(f"drawnAt - {data}"),
        _busy_ms(session),
        *_interaction(page, session, *AMONG_THE_POINTS.get(name, (565, 278))),
    ]
    page.screenshot(path=picture)
    violations = page.evaluate("violations")
    page.context.close()
    return figures, violations


def _interaction(page: Page, session: CDPSession, x: int, y: int) -> tuple[float, float]:
    page.mouse.move(x, y)
    page.wait_for_timeout(300)
    began = _busy_ms(session)
    for _ in range(NOTCHES):
        page.mouse.wheel(0, -100)
        page.wait_for_timeout(60)
    page.wait_for_timeout(800)
    zoomed = _busy_ms(session)
    for step in range(MOVES):
        page.mouse.move(x + 7 * step, y - 3 * step)
        page.wait_for_timeout(30)
    page.wait_for_timeout(300)
    return (zoomed - began) / NOTCHES, (_busy_ms(session) - zoomed) / MOVES


def main() -> None:
    """Print a line for each; a picture of each is left in the folder of the packages, to be looked at."""
    packages = Path(sys.argv[1]).resolve()
    url = serve(files_of(packages))
    print(f"{'':18}{'code kB':>9}{'drawn ms':>10}{'work ms':>9}{'a zoom ms':>11}{'a move ms':>11}  violations")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name in ("own", "plotly", "plotly-webgl", "vega", "vega-interpreted", "bokeh"):
            found = [measure(browser, url, name, packages / f"{name}.png") for _ in range(REPEATS)]
            drawn = [answer for answer in found if not isinstance(answer, str)]
            if not drawn:
                print(f"{name:18}fails: {found[0][:90]}")
                continue
            figures = [statistics.median(answer[0][place] for answer in drawn) for place in range(5)]
            kb, drawn_ms, work_ms, zoom_ms, move_ms = figures
            print(
                f"{name:18}{kb:9.0f}{drawn_ms:10.0f}{work_ms:9.0f}{zoom_ms:11.1f}{move_ms:11.1f}  {len(drawn[-1][1])}"
            )
        browser.close()


if __name__ == "__main__":
    main()
