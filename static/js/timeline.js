// Step timelines: for each stream the real kernels above the predicted ones, on one time axis that starts with the step.
// No charting library draws this well.

import { cssColour, cssValue, duration, percent } from "./format.js";
import { AXIS, Lanes } from "./lanes.js";
import { fullName, shortName } from "./names.js";

const LABEL = 132;
const ROW = 22;
const GAP = 10;

function lanesOf(step) {
  const streams = [...new Set(step.kernels.map((kernel) => kernel.stream))];
  const lanes = [];
  for (const stream of streams) {
    const kernels = step.kernels.filter((kernel) => kernel.stream === stream);
    const real = kernels.filter((kernel) => kernel.real_start_ns !== null && kernel.real_ns !== null)
      .map((kernel) => ({ kernel, start: kernel.real_start_ns, length: kernel.real_ns }));
    const predicted = kernels.filter((kernel) => kernel.predicted_start_ns !== null && kernel.predicted_ns !== null)
      .map((kernel) => ({ kernel, start: kernel.predicted_start_ns, length: kernel.predicted_ns }));
    lanes.push({ label: `stream ${stream} real`, kind: "real", bars: real });
    lanes.push({ label: `stream ${stream} predicted`, kind: "predicted", bars: predicted, last: true });
  }
  for (const lane of lanes) lane.bars.sort((a, b) => a.start - b.start);
  return lanes;
}


// Where nothing runs among bars that are sorted by their start.
function gapsOf(bars) {
  const gaps = [];
  let last = null;
  let end = 0;
  for (const bar of bars) {
    if (last && bar.start > end) gaps.push({ isGap: true, start: end, length: bar.start - end, before: last, after: bar });
    if (bar.start + bar.length >= end) { last = bar; end = bar.start + bar.length; }
  }
  return gaps;
}

// A lane's gaps; those in which no other stream runs either are the GPU's idle time.
function nameGaps(lanes) {
  for (const kind of ["real", "predicted"]) {
    const ofKind = lanes.filter((lane) => lane.kind === kind);
    const idle = gapsOf(ofKind.flatMap((lane) => lane.bars).sort((a, b) => a.start - b.start));
    for (const lane of ofKind) {
      lane.gaps = gapsOf(lane.bars);
      let place = 0;
      for (const gap of lane.gaps) {
        while (place < idle.length && idle[place].start + idle[place].length < gap.start + gap.length) place += 1;
        gap.isIdle = place < idle.length && idle[place].start <= gap.start;
      }
    }
  }
}

class Timeline extends Lanes {
  constructor(root, step, colour) {
    super(root, LABEL);
    this.colour = colour;
    this.show(step);
    this.listen();
  }

  show(step) {
    this.lanes = lanesOf(step);
    const every = this.lanes.flatMap((lane) => lane.bars);
    // Each side starts at the step's own beginning, so that the two can be read against each other.
    for (const kind of ["real", "predicted"]) {
      const bars = this.lanes.filter((lane) => lane.kind === kind).flatMap((lane) => lane.bars);
      const first = bars.reduce((low, bar) => Math.min(low, bar.start), Infinity);
      for (const bar of bars) bar.start -= first;
    }
    nameGaps(this.lanes);
    this.end = every.reduce((high, bar) => Math.max(high, bar.start + bar.length), 1);
    this.showAll();
    this.order = this.lanes.filter((lane) => lane.kind === "predicted").flatMap((lane) => lane.bars).sort((a, b) => a.start - b.start);
    this.selected = null;
    this.root.dataset.height = String(AXIS + this.lanes.length * ROW + (this.lanes.length / 2) * GAP + 8);
    if (this.width) this.resize();
  }

  laneY(number) { return AXIS + number * ROW + Math.floor(number / 2) * GAP; }

  draw() {
    if (!this.width || !this.lanes) return;
    const pen = this.context;
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = "11px system-ui, sans-serif";
    this.drawAxis(pen);
    this.lanes.forEach((lane, number) => this.drawLane(pen, lane, this.laneY(number)));
  }

  drawLane(pen, lane, y) {
    pen.textAlign = "left";
    pen.fillStyle = cssValue("--quiet");
    pen.fillText(lane.label, 4, y + 15, LABEL - 8);
    pen.save();
    pen.beginPath();
    pen.rect(LABEL, y, this.width - LABEL - 8, ROW);
    pen.clip();
    for (const gap of lane.gaps) this.drawGap(pen, gap, y);
    for (const bar of lane.bars) {
      const left = this.toX(bar.start);
      const right = this.toX(bar.start + bar.length);
      if (right < LABEL || left > this.width) continue;
      this.drawBar(pen, lane, bar, left, Math.max(1, right - left), y);
    }
    pen.restore();
  }

  drawGap(pen, gap, y) {
    const left = Math.max(LABEL, this.toX(gap.start));
    const right = Math.min(this.width, this.toX(gap.start + gap.length));
    if (right - left < 3) return;
    pen.save();
    pen.beginPath();
    pen.rect(left, y + 3, right - left, ROW - 6);
    pen.clip();
    pen.strokeStyle = cssValue("--line");
    pen.beginPath();
    for (let x = left - ROW; x < right; x += 6) { pen.moveTo(x, y + ROW); pen.lineTo(x + ROW, y); }
    pen.stroke();
    pen.restore();
    const text = `${gap.isIdle ? "idle" : "waits"} ${duration(gap.length)}`;
    const wide = pen.measureText(text).width + 8;
    if (right - left < wide) return;
    const middle = (left + right) / 2;
    pen.fillStyle = cssValue("--ground");
    pen.fillRect(middle - wide / 2, y + 3, wide, ROW - 6);
    pen.fillStyle = cssValue("--quiet");
    pen.textAlign = "center";
    pen.fillText(text, middle, y + 15);
    pen.textAlign = "left";
  }

  drawBar(pen, lane, bar, x, width, y) {
    const propagated = bar.kernel.source !== "simulated";
    pen.globalAlpha = lane.kind === "predicted" && propagated ? 0.5 : 1;
    pen.fillStyle = lane.kind === "real" ? cssColour(7) : cssColour(this.colour);
    pen.fillRect(x, y + 2, Math.max(1, width - 1), ROW - 4);
    pen.globalAlpha = 1;
    if (bar === this.selected) {
      pen.strokeStyle = cssValue("--text");
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, y + 3, Math.max(2, width - 3), ROW - 6);
      pen.lineWidth = 1;
    }
    if (width > 40) {
      pen.fillStyle = cssValue("--ground");
      pen.save();
      pen.beginPath(); pen.rect(x, y, width - 4, ROW); pen.clip();
      pen.fillText(shortName(bar.kernel.name), x + 4, y + 15);
      pen.restore();
    }
  }

  at(px, py) {
    for (let number = 0; number < this.lanes.length; number += 1) {
      const y = this.laneY(number);
      if (py < y || py >= y + ROW) continue;
      const time = this.fromX(px);
      const slack = (this.view[1] - this.view[0]) / this.width * 2;
      const holds = (bar, by) => time >= bar.start - by && time <= bar.start + bar.length + by;
      const lane = this.lanes[number];
      return lane.bars.find((bar) => holds(bar, slack)) || lane.gaps.find((gap) => holds(gap, 0)) || null;
    }
    return null;
  }

  describe(bar) {
    if (bar.isGap) {
      const what = bar.isIdle ? "idle: no kernel ran" : "the stream waited";
      return [`${duration(bar.length)} ${what}`, `after ${fullName(bar.before.kernel.name)}`, `before ${fullName(bar.after.kernel.name)}`];
    }
    const kernel = bar.kernel;
    const both = kernel.real_ns && kernel.predicted_ns !== null ? ` (${percent(kernel.predicted_ns / kernel.real_ns - 1)})` : "";
    return [fullName(kernel.name), `real ${duration(kernel.real_ns)}, predicted ${duration(kernel.predicted_ns)}${both}`, `${kernel.source}${kernel.trace_kernel ? `, trace kernel ${kernel.trace_kernel}` : ""}`];
  }

  select(bar, px, py) {
    this.selected = bar;
    this.redraw();
    if (!bar) { this.hideTip(); return; }
    this.showTip(px ?? this.toX(bar.start), py ?? 40, this.describe(bar));
  }

  step(by) {
    if (!this.order.length) return;
    const now = this.order.indexOf(this.selected);
    const bar = this.order[Math.min(this.order.length - 1, Math.max(0, now + by))];
    this.reach(bar.start, bar.start + bar.length);
    this.select(bar);
  }

  chosen() { return this.selected && [this.selected.start, this.selected.start + this.selected.length]; }

  hover(px, py) { this.select(this.at(px, py), px, py); }

  click(px, py) { this.hover(px, py); }
}

let taken = false;
for (const root of document.querySelectorAll("[data-timeline]")) {
  try {
    const answer = await fetch(root.dataset.timeline);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const rows = await answer.json();
    const row = rows.find((candidate) => candidate.sim_id === root.dataset.sim);
    const step = row?.timeline?.steps?.[Number(root.dataset.step || 0)];
    if (step) {
      root.hidden = false;
      const timeline = new Timeline(root, step, Number(root.dataset.colour));
      // As in Perfetto the keys work at once: the page's first timeline has them while nothing else has the focus.
      if (!taken) document.addEventListener("keydown", (event) => { if (event.target === document.body) timeline.press(event); });
      taken = true;
      root.dataset.gaps = String(timeline.lanes.reduce((sum, lane) => sum + lane.gaps.length, 0));
      root.dataset.drawn = String(step.kernels.length);
    }
  } catch (problem) {
    root.insertAdjacentText("afterend", `The timeline could not be loaded (${problem.message}); its table is below.`);
  }
}
