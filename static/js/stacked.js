// Timelines of a comparison, stacked: the real run and each sim on one time axis. Aligned: every launch begins at the same place in all
// lanes, in a slot as wide as its longest time; a grey ground shows the baseline's. Packed: each lane one kernel after the other.

import { cssColour, cssValue, duration, number, percent } from "./format.js";
import { AXIS, Lanes } from "./lanes.js";

const HEAD = 16;
const BAR = 18;
const LANE = HEAD + BAR + 8;

const relative = (time, base) => (time === null || !base ? null : time / base - 1);
const sum = (times) => times.reduce((total, time) => total + (time ?? 0), 0);

class Stacked extends Lanes {
  constructor(root, answer, { packed }) {
    super(root, 0);
    this.launches = answer;
    this.lanes = answer.lanes;
    this.base = this.lanes.find((lane) => lane.is_baseline);
    this.real = this.lanes.find((lane) => !lane.sim_id);
    this.packed = packed;
    this.chosenLaunch = -1;
    this.chosenLane = this.lanes.indexOf(this.base);
    this.pointer = null;
    this.lay();
    this.showAll();
    this.root.dataset.height = String(AXIS + this.lanes.length * LANE + 4);
    this.listen({
      ArrowUp: () => this.choose(this.chosenLaunch, this.chosenLane - 1),
      ArrowDown: () => this.choose(this.chosenLaunch, this.chosenLane + 1),
      Home: () => this.step(-Infinity),
      End: () => this.step(Infinity),
      n: () => this.further(1),
      p: () => this.further(-1),
      Enter: () => this.open(),
      Escape: () => this.choose(-1),
    });
  }

  // Where each launch begins in each lane, and where the last ends.
  lay() {
    const count = this.launches.index.length;
    const starts = (times) => {
      const places = new Float64Array(count + 1);
      for (let n = 0; n < count; n += 1) places[n + 1] = places[n] + (times[n] ?? 0);
      return places;
    };
    const slots = Float64Array.from({ length: count }, (_, n) => this.lanes.reduce((most, lane) => Math.max(most, lane.ns[n] ?? 0), 0));
    const aligned = starts(slots);
    for (const lane of this.lanes) {
      lane.starts = this.packed ? starts(lane.ns) : aligned;
      lane.total = sum(lane.ns);
      const both = this.launches.index.map((_, n) => n).filter((n) => lane.ns[n] !== null && this.base.ns[n] !== null);
      const own = both.reduce((total, n) => total + lane.ns[n], 0);
      lane.delta = relative(own, both.reduce((total, n) => total + this.base.ns[n], 0));
    }
    this.end = Math.max(1, ...this.lanes.map((lane) => lane.starts[count]));
    // The launches by how far some lane is from the baseline, in time: what a reader looks for first.
    const off = (n) => this.lanes.reduce((most, lane) => Math.max(most, Math.abs((lane.ns[n] ?? this.base.ns[n] ?? 0) - (this.base.ns[n] ?? 0))), 0);
    const sizes = Float64Array.from({ length: count }, (_, n) => off(n));
    this.byDifference = Array.from(sizes.keys()).sort((a, b) => sizes[b] - sizes[a]);
  }

  laneY(place) { return AXIS + place * LANE; }
  title(n) { return `#${this.launches.index[n]} ${this.launches.names[this.launches.name[n]][1]}`; }
  colour(lane) { return cssColour(lane.sim_id ? lane.colour : 7); }

  draw() {
    if (!this.width) return;
    const pen = this.context;
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = "11px system-ui, sans-serif";
    this.drawAxis(pen);
    this.colours = { ground: cssValue("--ground"), line: cssValue("--line"), text: cssValue("--text"), accent: cssValue("--accent") };
    this.lanes.forEach((lane, place) => this.drawLane(pen, lane, this.laneY(place), this.colours));
    this.keep();
    this.mark();
  }

  drawLane(pen, lane, y, colours) {
    this.drawHead(pen, lane, y, this.facts(lane, lane.total, lane.delta), colours);
    const colour = this.colour(lane);
    // Launches that share a pixel are drawn as one, as dark as they fill it together.
    let column = { x: 0, filled: 0 };
    const flush = () => {
      pen.globalAlpha = Math.min(1, column.filled);
      if (column.filled) this.drawBar(pen, column.x, 1, y, colour);
      pen.globalAlpha = 1;
      column = { x: 0, filled: 0 };
    };
    for (let n = this.firstAfter(lane, this.view[0]); n < this.launches.index.length; n += 1) {
      const left = this.toX(lane.starts[n]);
      if (left > this.width) break;
      const wide = lane.ns[n] === null ? 0 : this.toX(lane.starts[n] + lane.ns[n]) - left;
      if (this.toX(lane.starts[n + 1]) - left < 1) {
        const x = Math.floor(left);
        if (x !== column.x) { flush(); column.x = x; }
        column.filled += wide;
        continue;
      }
      flush();
      const base = this.packed || this.base.ns[n] === null ? 0 : this.toX(lane.starts[n] + this.base.ns[n]) - left;
      if (base > wide) this.drawBar(pen, left + wide, base - wide - 1, y, colours.line);
      if (!wide) continue;
      this.drawBar(pen, left, wide - (wide > 3 ? 1 : 0), y, colour);
      if (wide > 40) this.drawName(pen, n, Math.max(0, left), Math.min(this.width, left + wide), y + HEAD, colours.ground);
    }
    flush();
  }

  drawBar(pen, x, width, y, colour) {
    pen.fillStyle = colour;
    pen.fillRect(x, y + HEAD, Math.max(1, width), BAR);
  }

  facts(lane, time, delta) {
    if (time === null) return "no time";
    return `${duration(time)}${lane === this.base ? ", baseline" : delta === null ? "" : `, ${percent(delta)}`}`;
  }

  // What the lane is, and what is said of its time: of all kernels, or of the launch that is meant.
  drawHead(pen, lane, y, facts, colours) {
    const room = this.width - pen.measureText(facts).width - 16;
    pen.fillStyle = colours.ground;
    pen.fillRect(0, y, this.width, HEAD);
    pen.fillStyle = colours.text;
    pen.textAlign = "right";
    pen.fillText(facts, this.width - 4, y + 12);
    pen.textAlign = "left";
    let label = lane.label;
    while (label.length > 4 && pen.measureText(label).width > room) label = `${label.slice(0, -2)}…`;
    pen.fillText(label, 4, y + 12);
  }

  drawName(pen, n, left, right, y, colour) {
    pen.save();
    pen.beginPath(); pen.rect(left, y, right - left - 4, BAR); pen.clip();
    pen.fillStyle = colour;
    pen.fillText(this.launches.names[this.launches.name[n]][0], left + 4, y + 13);
    pen.restore();
  }

  // The first launch that ends after a time, by halves: a lane may have tens of thousands.
  firstAfter(lane, time) {
    let [low, high] = [0, this.launches.index.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lane.starts[middle + 1] <= time) low = middle + 1; else high = middle;
    }
    return low;
  }

  // The launch that is chosen or under the mouse, in all lanes; and the mouse's time across them.
  mark() {
    const pen = this.context;
    const hovered = this.pointer?.launch ?? -1;
    const meant = hovered >= 0 ? hovered : this.chosenLaunch;
    if (meant >= 0) {
      this.lanes.forEach((lane, place) => {
        const facts = this.facts(lane, lane.ns[meant], relative(lane.ns[meant], this.base.ns[meant]));
        this.drawHead(pen, lane, this.laneY(place), `#${this.launches.index[meant]}: ${facts}`, this.colours);
      });
    }
    pen.lineWidth = 2;
    pen.strokeStyle = this.colours.text;
    for (const n of new Set([hovered, this.chosenLaunch])) {
      if (n < 0) continue;
      this.lanes.forEach((lane, place) => {
        if (lane.ns[n] === null) return;
        const left = this.toX(lane.starts[n]);
        const wide = Math.max(2, this.toX(lane.starts[n] + lane.ns[n]) - left - 1);
        pen.globalAlpha = n === this.chosenLaunch && place !== this.chosenLane ? 0.6 : 1;
        pen.strokeRect(left, this.laneY(place) + HEAD, wide, BAR);
      });
    }
    pen.globalAlpha = 1;
    pen.lineWidth = 1;
    if (!this.pointer) return;
    pen.strokeStyle = this.colours.accent;
    pen.beginPath(); pen.moveTo(this.pointer.x, AXIS); pen.lineTo(this.pointer.x, this.height); pen.stroke();
  }

  markAgain() {
    if (!this.scene) return;
    this.restore();
    this.mark();
  }

  at(px, py) {
    const place = Math.floor((py - AXIS) / LANE);
    if (px < 0 || place < 0 || place >= this.lanes.length) return null;
    const lane = this.lanes[place];
    const time = this.fromX(px);
    const n = this.firstAfter(lane, time);
    const launch = n < this.launches.index.length && lane.starts[n] <= time ? n : -1;
    return { x: Math.round(px) + 0.5, place, launch };
  }

  hover(px, py) {
    this.pointer = this.at(px, py);
    this.markAgain();
    if (!this.pointer || this.pointer.launch < 0) { this.hideTip(); return; }
    this.showTip(px, py, [this.title(this.pointer.launch), this.tell(this.lanes[this.pointer.place], this.pointer.launch)]);
  }

  click(px, py) {
    const found = this.at(px, py);
    if (found && found.launch >= 0) this.choose(found.launch, found.place);
  }

  tell(lane, n) {
    const time = lane.ns[n];
    if (time === null) return `${lane.label}: no time`;
    const parts = [];
    if (lane === this.base) parts.push("baseline");
    else if (this.base.ns[n]) parts.push(`${percent(relative(time, this.base.ns[n]))} against the baseline`);
    if (this.real && lane !== this.real && this.real.ns[n]) parts.push(`${percent(relative(time, this.real.ns[n]))} against real`);
    return `${lane.label}: ${duration(time)}${parts.length ? `, ${parts.join(", ")}` : ""}`;
  }

  step(by) {
    const last = this.launches.index.length - 1;
    this.choose(this.chosenLaunch < 0 ? (by > 0 && by < Infinity ? 0 : Math.max(0, Math.min(last, by))) : Math.min(last, Math.max(0, this.chosenLaunch + by)));
  }

  further(by) {
    const now = this.byDifference.indexOf(this.chosenLaunch);
    this.choose(this.byDifference[Math.min(this.byDifference.length - 1, Math.max(0, now + by))]);
  }

  chosen() {
    if (this.chosenLaunch < 0) return null;
    const times = this.lanes.filter((lane) => lane.ns[this.chosenLaunch] !== null);
    const ends = times.map((lane) => lane.starts[this.chosenLaunch] + lane.ns[this.chosenLaunch]);
    return [Math.min(...times.map((lane) => lane.starts[this.chosenLaunch])), Math.max(...ends)];
  }

  choose(n, place = this.chosenLane) {
    this.chosenLaunch = n;
    this.chosenLane = Math.min(this.lanes.length - 1, Math.max(0, place));
    if (n >= 0) {
      const lane = this.lanes[this.chosenLane];
      this.reach(lane.starts[n], lane.starts[n] + (lane.ns[n] ?? 0));
    }
    this.redraw();
    this.root.dispatchEvent(new CustomEvent("choose", { detail: n }));
  }

  open() {
    const lane = this.lanes[this.chosenLane];
    if (this.chosenLaunch >= 0 && lane.sim_id) window.location.assign(this.hrefOf(lane, this.chosenLaunch));
  }

  hrefOf(lane, n) { return `/sims/${lane.sim_id}/kernels/${this.launches.index[n]}`; }
}

// The chosen launch in words and numbers, for those who cannot see the lanes and those who want to copy them.
function tableOf(plot, body, n) {
  body.replaceChildren(...plot.lanes.map((lane) => {
    const row = document.createElement("tr");
    const time = lane.ns[n];
    const base = lane === plot.base ? "baseline" : percent(relative(time, plot.base.ns[n]));
    const real = plot.real && lane !== plot.real ? percent(relative(time, plot.real.ns[n])) : "";
    for (const [place, text] of [lane.label, duration(time), base, real].entries()) {
      const cell = document.createElement(place ? "td" : "th");
      if (place) cell.className = "number"; else cell.scope = "row";
      cell.textContent = text;
      row.append(cell);
    }
    if (lane.sim_id && time !== null) {
      const link = document.createElement("a");
      link.href = plot.hrefOf(lane, n);
      link.textContent = lane.label;
      row.firstChild.replaceChildren(link);
    }
    return row;
  }));
}

const root = document.querySelector("[data-stacked]");
if (root) {
  const status = document.querySelector("[data-stacked-status]");
  try {
    const answer = await fetch(root.dataset.stacked);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const launches = await answer.json();
    if (launches.index.length) {
      for (const part of document.querySelectorAll("[data-stacked-part]")) part.hidden = false;
      const plot = new Stacked(root, launches, { packed: "packed" in root.dataset });
      const told = document.querySelector("[data-stacked-told]");
      const table = document.querySelector("[data-stacked-launch]");
      root.addEventListener("choose", ({ detail: n }) => {
        table.hidden = n < 0;
        told.textContent = n < 0 ? "" : `${plot.title(n)}. ${plot.tell(plot.lanes[plot.chosenLane], n)}`;
        if (n < 0) return;
        table.querySelector("caption").textContent = plot.title(n);
        tableOf(plot, table.querySelector("tbody"), n);
      });
      const actions = { in: () => plot.zoom(1 / 1.6), out: () => plot.zoom(1.6), all: () => { plot.showAll(); plot.redraw(); }, previous: () => plot.step(-1), next: () => plot.step(1), worst: () => plot.further(1) };
      for (const button of document.querySelectorAll("[data-stacked-do]")) button.addEventListener("click", actions[button.dataset.stackedDo]);
      status.textContent = launches.left_out ? `The first ${number(launches.index.length)} launches; ${number(launches.left_out)} more are in the table below.` : "";
      root.dataset.drawn = String(launches.index.length);
    } else status.textContent = "No kernel has a time yet.";
  } catch (problem) {
    status.textContent = `The timelines could not be loaded (${problem.message}); the table below has the numbers.`;
  }
}
