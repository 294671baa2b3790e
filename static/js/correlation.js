// Simulated against real time, log-log or linear, one point a kernel (or name) and config: zoom with the wheel, drag to pan, hover for the
// kernel, click to its row. Tens of thousands of points: drawn straight to a canvas, found again by a grid of cells.

import { cssColour, cssValue, duration, number, percent } from "./format.js";
import { fullName } from "./names.js";
import { Plot } from "./plot.js";

const MARGIN = { left: 64, right: 16, top: 12, bottom: 44 };
const CELL = 12;

// Where round times lie. Linear: some six of them. Their logarithms otherwise: whole decades, with 2 and 5 between them where few decades are in view.
function ticks(low, high, linear) {
  if (linear) {
    const start = 10 ** Math.floor(Math.log10((high - low) / 3));
    const step = start * [1, 2, 5, 10].find((factor) => (high - low) / (start * factor) <= 6);
    const from = Math.max(0, Math.ceil(low / step));
    return Array.from({ length: Math.max(0, Math.floor(high / step) - from + 1) }, (_, n) => (from + n) * step);
  }
  const steps = high - low < 2 ? [1, 2, 5] : [1];
  const places = [];
  for (let decade = Math.floor(low); decade <= high; decade += 1) {
    for (const step of steps) {
      const place = decade + Math.log10(step);
      if (place >= low && place <= high) places.push(place);
    }
  }
  return places;
}

class Correlation extends Plot {
  constructor(root, points, configs) {
    super(root);
    this.linear = "linear" in root.dataset;
    this.points = points;
    this.configs = configs;
    this.hidden = new Set();
    this.bounds = this.fit();
    this.view = { ...this.bounds };
    this.selected = -1;
    this.listen();
  }

  fit() {
    let low = Infinity;
    let high = -Infinity;
    for (const point of this.points) {
      low = Math.min(low, point.x, point.y);
      high = Math.max(high, point.x, point.y);
    }
    if (!Number.isFinite(low)) { low = 3; high = 6; }
    if (this.linear) return { x0: 0, x1: high * 1.05, y0: 0, y1: high * 1.05 };
    const pad = Math.max(0.1, (high - low) * 0.05);
    return { x0: low - pad, x1: high + pad, y0: low - pad, y1: high + pad };
  }

  toX(x) { return MARGIN.left + ((x - this.view.x0) / (this.view.x1 - this.view.x0)) * (this.width - MARGIN.left - MARGIN.right); }
  toY(y) { return this.height - MARGIN.bottom - ((y - this.view.y0) / (this.view.y1 - this.view.y0)) * (this.height - MARGIN.top - MARGIN.bottom); }
  fromX(px) { return this.view.x0 + ((px - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right)) * (this.view.x1 - this.view.x0); }
  fromY(py) { return this.view.y0 + ((this.height - MARGIN.bottom - py) / (this.height - MARGIN.top - MARGIN.bottom)) * (this.view.y1 - this.view.y0); }

  draw() {
    if (!this.width) return;
    const pen = this.context;
    pen.clearRect(0, 0, this.width, this.height);
    this.drawAxes(pen);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, MARGIN.top, this.width - MARGIN.left - MARGIN.right, this.height - MARGIN.top - MARGIN.bottom);
    pen.clip();
    this.drawBands(pen);
    this.drawPoints(pen);
    pen.restore();
    this.keep();
    this.mark();
  }

  mark() {
    const pen = this.context;
    const chosen = this.points[this.selected];
    if (!chosen || this.hidden.has(chosen.config)) return;
    pen.strokeStyle = cssValue("--text");
    pen.lineWidth = 2;
    pen.strokeRect(this.toX(chosen.x) - 6, this.toY(chosen.y) - 6, 12, 12);
  }

  markAgain() {
    if (!this.scene) return;
    this.restore();
    this.mark();
  }

  drawAxes(pen) {
    pen.font = "11px system-ui, sans-serif";
    pen.strokeStyle = cssValue("--line");
    pen.fillStyle = cssValue("--quiet");
    pen.lineWidth = 1;
    const label = (place) => (this.linear ? duration(place) : duration(10 ** place));
    for (const place of ticks(this.view.x0, this.view.x1, this.linear)) {
      const x = this.toX(place);
      pen.beginPath(); pen.moveTo(x, MARGIN.top); pen.lineTo(x, this.height - MARGIN.bottom); pen.stroke();
      pen.textAlign = "center";
      pen.fillText(label(place), x, this.height - MARGIN.bottom + 16);
    }
    for (const place of ticks(this.view.y0, this.view.y1, this.linear)) {
      const y = this.toY(place);
      pen.beginPath(); pen.moveTo(MARGIN.left, y); pen.lineTo(this.width - MARGIN.right, y); pen.stroke();
      pen.textAlign = "right";
      pen.fillText(label(place), MARGIN.left - 6, y + 4);
    }
    pen.textAlign = "center";
    pen.fillText("real time", (MARGIN.left + this.width - MARGIN.right) / 2, this.height - 8);
    pen.save();
    pen.translate(12, (MARGIN.top + this.height - MARGIN.bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText("simulated time", 0, 0);
    pen.restore();
  }

  drawBands(pen) {
    const from = this.linear ? 0 : Math.min(this.view.x0, this.view.y0) - 1;
    const to = Math.max(this.view.x1, this.view.y1) + (this.linear ? this.view.x1 - this.view.x0 : 1);
    const times = (place, factor) => this.toY(this.linear ? place * factor : place + Math.log10(factor));
    pen.fillStyle = cssValue("--accent");
    pen.globalAlpha = 0.1;
    pen.beginPath();
    pen.moveTo(this.toX(from), times(from, 0.9)); pen.lineTo(this.toX(to), times(to, 0.9));
    pen.lineTo(this.toX(to), times(to, 1.1)); pen.lineTo(this.toX(from), times(from, 1.1));
    pen.fill();
    pen.globalAlpha = 1;
    pen.strokeStyle = cssValue("--quiet");
    pen.setLineDash([4, 3]);
    pen.beginPath(); pen.moveTo(this.toX(from), this.toY(from)); pen.lineTo(this.toX(to), this.toY(to)); pen.stroke();
    pen.setLineDash([]);
  }

  drawPoints(pen) {
    // Each cell's points as a list of places: where it begins, and which place follows which.
    this.columns = Math.ceil(this.width / CELL) + 3;
    this.first = new Int32Array(this.columns * (Math.ceil(this.height / CELL) + 3)).fill(-1);
    this.next = new Int32Array(this.points.length);
    const size = this.points.length > 5000 ? 3 : 5;
    const colours = this.configs.map((config) => cssColour(config.colour));
    pen.globalAlpha = this.points.length > 5000 ? 0.55 : 0.8;
    for (let place = 0; place < this.points.length; place += 1) {
      const point = this.points[place];
      if (this.hidden.has(point.config)) continue;
      const x = this.toX(point.x);
      const y = this.toY(point.y);
      if (x < MARGIN.left - 4 || x > this.width || y < 0 || y > this.height - MARGIN.bottom + 4) continue;
      pen.fillStyle = colours[point.config];
      pen.fillRect(x - size / 2, y - size / 2, size, size);
      const cell = this.cellAt(x, y);
      this.next[place] = this.first[cell];
      this.first[cell] = place;
    }
    pen.globalAlpha = 1;
  }

  cellAt(x, y) { return (Math.floor(y / CELL) + 1) * this.columns + Math.floor(x / CELL) + 1; }

  nearest(px, py) {
    let best = -1;
    let distance = CELL * CELL;
    for (let dx = -1; dx <= 1; dx += 1) {
      for (let dy = -1; dy <= 1; dy += 1) {
        const cell = this.cellAt(px + dx * CELL, py + dy * CELL);
        for (let place = this.first?.[cell] ?? -1; place >= 0; place = this.next[place]) {
          const point = this.points[place];
          const away = (this.toX(point.x) - px) ** 2 + (this.toY(point.y) - py) ** 2;
          if (away < distance) { distance = away; best = place; }
        }
      }
    }
    return best;
  }

  describe(place) {
    const point = this.points[place];
    return [
      `${point.index ? `#${point.index} ` : ""}${fullName(point.name, 160)}`,
      `${this.configs[point.config].id}: ${duration(point.simulated)} simulated, ${duration(point.real)} real (${percent(point.simulated / point.real - 1)})`,
    ];
  }

  select(place) {
    this.selected = place;
    this.markAgain();
    if (place < 0) { this.hideTip(); return; }
    this.showTip(this.toX(this.points[place].x), this.toY(this.points[place].y), this.describe(place));
  }

  open(place) {
    const point = this.points[place];
    if (!point) return;
    const row = point.index ? `index=${point.index}#k${point.index}` : `view=names&q=${encodeURIComponent(point.name)}`;
    window.location.assign(`${this.root.dataset.rows}?${row}`);
  }

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = [this.fromX(px), this.fromY(py)];
    const view = this.view;
    this.view = { x0: x + (view.x0 - x) * factor, x1: x + (view.x1 - x) * factor, y0: y + (view.y0 - y) * factor, y1: y + (view.y1 - y) * factor };
    this.redraw();
  }

  listen() {
    let drag = null;
    let moved = false;
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, ...this.place(event));
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => { drag = this.place(event); moved = false; this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointermove", (event) => {
      const [px, py] = this.place(event);
      if (!drag) {
        const place = this.nearest(px, py);
        if (place !== this.selected) this.select(place);
        return;
      }
      const dx = this.fromX(drag[0]) - this.fromX(px);
      const dy = this.fromY(drag[1]) - this.fromY(py);
      if (Math.hypot(px - drag[0], py - drag[1]) > 2) moved = true;
      this.view = { x0: this.view.x0 + dx, x1: this.view.x1 + dx, y0: this.view.y0 + dy, y1: this.view.y1 + dy };
      drag = [px, py];
      this.redraw();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      drag = null;
      if (!moved) this.open(this.nearest(...this.place(event)));
    });
    this.canvas.addEventListener("pointerleave", () => { if (!drag) this.select(-1); });
    this.canvas.addEventListener("dblclick", () => { this.view = { ...this.bounds }; this.redraw(); });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ".": 1, ",": -1 }[event.key];
    if (step) {
      event.preventDefault();
      this.select((this.selected + step + this.points.length) % this.points.length);
    } else if (event.key === "Enter") this.open(this.selected);
    else if (event.key === "+" || event.key === "w") this.zoom(1 / 1.3);
    else if (event.key === "-" || event.key === "s") this.zoom(1.3);
    else if (event.key === "0" || event.key === "f") { this.view = { ...this.bounds }; this.redraw(); }
  }
}

// Kernels as the comparison has them; those of one name as if they were one, by the error over those that have both times.
function* cells(comparison, byName) {
  for (const row of byName ? comparison.groups : comparison.kernels) {
    const real = byName ? row.real.total_ns : row.real_ns;
    for (const [config, cell] of Object.entries(row.configs)) {
      const simulated = byName ? (cell.error === null ? null : real * (1 + cell.error)) : cell.simulated_ns;
      if (real > 0 && simulated > 0) yield { real, simulated, config, index: row.index, name: row.name };
    }
  }
}

function pointsOf(comparison, configs, byName, linear) {
  const place = new Map(configs.map((config, number) => [config.id, number]));
  const axis = linear ? (value) => value : Math.log10;
  const points = [];
  for (const cell of cells(comparison, byName)) {
    if (place.has(cell.config)) points.push({ ...cell, x: axis(cell.real), y: axis(cell.simulated), config: place.get(cell.config) });
  }
  return points;
}

function legend(root, plot) {
  for (const button of root.querySelectorAll("[data-config]")) {
    button.addEventListener("click", () => {
      const number = plot.configs.findIndex((config) => config.id === button.dataset.config);
      const off = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!off));
      if (off) plot.hidden.add(number); else plot.hidden.delete(number);
      plot.redraw();
    });
  }
}

const root = document.querySelector("[data-correlation]");
if (root) {
  const configs = Array.from(document.querySelectorAll("[data-config]")).map((button) => ({ id: button.dataset.config, colour: Number(button.dataset.colour) }));
  const status = document.querySelector("[data-correlation-status]");
  try {
    const answer = await fetch(root.dataset.correlation);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const points = pointsOf(await answer.json(), configs, "byName" in root.dataset, "linear" in root.dataset);
    root.hidden = false;
    document.querySelector("[data-correlation-still]")?.setAttribute("hidden", "");
    const plot = new Correlation(root, points, configs);
    legend(document, plot);
    status.textContent = `${number(points.length)} points. Wheel zooms, dragging pans, a click opens the kernel's row; with the keyboard: arrows, + and -, 0 fits, Enter opens.`;
    root.dataset.drawn = String(points.length);
  } catch (problem) {
    status.textContent = `The points could not be loaded (${problem.message}). The picture above shows them as they were when the page was made.`;
  }
}
