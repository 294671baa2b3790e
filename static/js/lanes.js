// Lanes of bars on one time axis, to zoom, pan and walk: what a step's timeline and the stacked ones of a comparison share.
// As in Perfetto: W and S zoom, A and D pan, "." and "," go from bar to bar, F fits; Ctrl and the wheel zoom, Shift and the wheel pan.

import { cssValue, duration } from "./format.js";
import { Plot } from "./plot.js";

export const AXIS = 24;

// A subclass sets `end`, the last time there is, and `view`, and has draw(), step(by), chosen() -> [from, to] or null, hover(x, y).
export class Lanes extends Plot {
  constructor(root, gutter) {
    super(root);
    this.gutter = gutter;
  }

  toX(time) { return this.gutter + ((time - this.view[0]) / (this.view[1] - this.view[0])) * (this.width - this.gutter - 8); }
  fromX(px) { return this.view[0] + ((px - this.gutter) / (this.width - this.gutter - 8)) * (this.view[1] - this.view[0]); }

  showAll() { this.view = [0, this.end * 1.02]; }

  drawAxis(pen) {
    const span = this.view[1] - this.view[0];
    let step = 10 ** Math.floor(Math.log10(span / 4));
    // No closer than a label is wide.
    const most = Math.max(2, Math.min(16, (this.width - this.gutter) / 56));
    for (const factor of [1, 2, 5, 10, 20]) if (span / (step * factor) <= most) { step *= factor; break; }
    pen.fillStyle = cssValue("--quiet");
    pen.strokeStyle = cssValue("--line");
    pen.textAlign = "center";
    for (let time = Math.ceil(this.view[0] / step) * step; time <= this.view[1]; time += step) {
      const x = Math.round(this.toX(time)) + 0.5;
      pen.beginPath(); pen.moveTo(x, AXIS - 4); pen.lineTo(x, this.height); pen.stroke();
      const text = time === 0 ? "0" : duration(time);
      const half = pen.measureText(text).width / 2;
      pen.fillText(text, Math.min(this.width - half, Math.max(half, x)), 12);
    }
  }

  zoom(factor, px = (this.gutter + this.width) / 2) {
    const time = this.fromX(px);
    const [from, to] = this.view;
    if ((to - from) * factor < 10 || (to - from) * factor > this.end * 4) return;
    this.view = [time + (from - time) * factor, time + (to - time) * factor];
    this.redraw();
  }

  pan(share) {
    const by = (this.view[1] - this.view[0]) * share;
    this.view = [this.view[0] + by, this.view[1] + by];
    this.redraw();
  }

  // Moves the view, as wide as it is, to where the bar from..to is in it.
  reach(from, to) {
    const span = this.view[1] - this.view[0];
    if (from < this.view[0] || to > this.view[1]) this.view = [from - span / 4, from + span * 0.75];
  }

  fit() {
    const chosen = this.chosen();
    if (chosen) this.view = [chosen[0] - (chosen[1] - chosen[0]) * 0.2, chosen[1] + (chosen[1] - chosen[0]) * 0.2];
    else this.showAll();
    this.redraw();
  }

  // `more`: what further keys do.
  listen(more = {}) {
    let drag = null;
    let moved = false;
    this.canvas.addEventListener("wheel", (event) => {
      // A wheel alone scrolls the page; a pinch on a touchpad comes as a wheel with Ctrl.
      if (event.ctrlKey || event.metaKey) this.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, this.place(event)[0]);
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) > 0 ? 0.1 : -0.1);
      else return;
      event.preventDefault();
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => { drag = this.place(event)[0]; moved = false; this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointerup", (event) => {
      if (drag !== null && !moved) this.click(...this.place(event));
      drag = null;
    });
    this.canvas.addEventListener("pointercancel", () => { drag = null; });
    this.canvas.addEventListener("pointerleave", () => { if (drag === null) this.hover(-1, -1); });
    this.canvas.addEventListener("pointermove", (event) => {
      const [px, py] = this.place(event);
      if (drag === null) { this.hover(px, py); return; }
      if (Math.abs(px - drag) < 3 && !moved) return;
      moved = true;
      const by = this.fromX(drag) - this.fromX(px);
      this.view = [this.view[0] + by, this.view[1] + by];
      drag = px;
      this.redraw();
    });
    const keys = { w: () => this.zoom(1 / 1.3), s: () => this.zoom(1.3), a: () => this.pan(-0.15), d: () => this.pan(0.15), ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15), ".": () => this.step(1), ",": () => this.step(-1), f: () => this.fit(), 0: () => { this.showAll(); this.redraw(); }, ...more };
    this.press = (event) => {
      const action = keys[event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      action();
    };
    this.canvas.addEventListener("keydown", this.press);
  }
}
