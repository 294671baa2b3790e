// Live parts of a page: a run's event stream keeps chips, bars and figures up to date without reloading.
//
// Elements say what they show: data-sim="sim-…" data-field="status" and so on. Anything a page cannot patch in place
// (a finished run's tables, say) is announced as "there is more: reload", never forced on the reader.

import { duration, number, si, wall } from "./format.js";
import { shortName } from "./names.js";

const ENDED = ["finished", "failed", "cancelled"];
const page = document.querySelector("[data-live-run]");
const mark = document.querySelector(".live");

function setMark(state, text) {
  if (!mark) return;
  mark.dataset.state = state;
  mark.textContent = text;
}

function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

function setChip(element, status) {
  if (!element) return;
  element.className = `chip ${status}`;
  setText(element, status);
}

const shown = {
  status: (element, sim) => setChip(element, sim.status),
  kernels: (element, sim) => setText(element, `${number(sim.kernels_done)} / ${sim.kernels_total === null ? "?" : number(sim.kernels_total)}`),
  bar: (element, sim) => {
    if (sim.kernels_total) element.max = sim.kernels_total;
    element.value = sim.status === "finished" ? element.max : sim.kernels_done;
  },
  // Totals come at the end; until then the page has those of its kernels so far.
  cycles: (element, sim) => { if (sim.cycles != null) setText(element, number(sim.cycles)); },
  simulated: (element, sim) => { if (sim.simulated_ns != null) setText(element, duration(sim.simulated_ns)); },
  worker: (element, sim) => setText(element, sim.worker || "–"),
  detail: (element, sim) => setText(element, sim.detail || ""),
  speed: (element, sim) => setText(element, sim.progress?.instructions_per_s ? `${si(sim.progress.instructions_per_s)} warp instructions/s` : "–"),
  left: (element, sim) => setText(element, sim.progress?.left_s != null && sim.status === "running" ? wall(sim.progress.left_s) : "–"),
  attempt: (element, sim) => setText(element, String(sim.attempt)),
};

function showSim(sim) {
  for (const element of document.querySelectorAll(`[data-sim="${sim.id}"][data-field]`)) {
    shown[element.dataset.field]?.(element, sim);
  }
}

const statuses = new Map();

// The contract's rule: the stream tells of each sim, and of the run itself only at its beginning and end.
function runStatus() {
  const all = Array.from(statuses.values());
  if (all.some((status) => !ENDED.includes(status))) return all.some((status) => status !== "queued") ? "running" : "queued";
  return all.find((status) => status === "failed") || all.find((status) => status === "cancelled") || "finished";
}

function notePrepared(sim) {
  if (!sim.kernels_done && !sim.progress?.instructions_per_s) return;
  for (const element of document.querySelectorAll("[data-preparing]")) element.hidden = true;
}

function noteSim(sim) {
  statuses.set(sim.id, sim.status);
  notePrepared(sim);
  showSim(sim);
  for (const element of document.querySelectorAll(`[data-run="${sim.run_id}"][data-field="status"]`)) setChip(element, runStatus());
}

function showRun(run) {
  for (const sim of run.sims) statuses.set(sim.id, sim.status);
  for (const element of document.querySelectorAll(`[data-run="${run.id}"][data-field="status"]`)) setChip(element, run.status);
  run.sims.forEach(showSim);
}

function showKernel(kernel) {
  for (const element of document.querySelectorAll(`[data-sim="${kernel.sim_id}"][data-field="last-kernel"]`)) {
    setText(element, shortName(kernel.name, 80));
  }
}

function follow(runId) {
  const source = new EventSource(`/api/runs/${runId}/events`);
  let ended = false;
  source.onopen = () => setMark("live", "live");
  source.onerror = () => {
    if (ended) return;
    setMark("reconnecting", source.readyState === EventSource.CLOSED ? "not connected" : "reconnecting");
  };
  const on = (type, handler) => source.addEventListener(type, (event) => handler(JSON.parse(event.data)));
  on("run", (run) => {
    showRun(run);
    if (ENDED.includes(run.status)) {
      ended = true;
      source.close();
      setMark("paused", "ended");
      for (const element of document.querySelectorAll("[data-while-live], [data-preparing]")) element.hidden = true;
      const note = document.querySelector("[data-when-ended]");
      if (note && page.dataset.wasLive) note.hidden = false;
    }
  });
  on("sim", noteSim);
  on("kernel", showKernel);
  for (const type of ["log", "file", "step-timeline"]) {
    on(type, (detail) => document.dispatchEvent(new CustomEvent(`cascade:${type}`, { detail })));
  }
}

if (page) {
  if (page.dataset.wasLive) follow(page.dataset.liveRun);
  else setMark("paused", "ended");
}

// A list of runs follows the unfinished ones by asking again, which costs one request however many there are.
const list = document.querySelector("[data-live-list]");
if (list && list.dataset.liveList === "1") {
  setMark("live", "live");
  const timer = setInterval(async () => {
    try {
      const answer = await fetch(window.location.href, { headers: { "X-Part": "rows" } });
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-live-list]");
      for (const chip of list.querySelectorAll("[data-run][data-field=status]")) {
        const other = fresh?.querySelector(`[data-run="${chip.dataset.run}"][data-field=status]`);
        if (other) setChip(chip, other.textContent.trim());
      }
      for (const bar of list.querySelectorAll("progress[data-run]")) {
        const other = fresh?.querySelector(`progress[data-run="${bar.dataset.run}"]`);
        if (other) bar.parentElement.replaceChildren(...other.parentElement.childNodes);
      }
      setMark("live", "live");
      if (fresh && fresh.dataset.liveList === "0") { clearInterval(timer); setMark("paused", "nothing is running"); }
    } catch {
      setMark("reconnecting", "reconnecting");
    }
  }, 3000);
}
