// What our canvases share: a canvas that is sharp on every screen, a tooltip, colours that follow the theme.

export class Plot {
  constructor(root) {
    this.root = root;
    this.canvas = root.querySelector("canvas");
    this.tip = root.querySelector(".tip");
    this.context = this.canvas.getContext("2d");
    new ResizeObserver(() => this.resize()).observe(this.root);
    document.addEventListener("themechange", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.root.clientWidth;
    this.height = Number(this.root.dataset.height || 480);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  // Wheels and mice tell of themselves more often than a screen shows anything.
  redraw() {
    this.frame ??= requestAnimationFrame(() => { this.frame = null; this.draw(); });
  }

  // What was drawn, so that a mouse that moves over it costs one copy and not everything drawn again.
  keep() {
    this.scene ??= document.createElement("canvas");
    this.scene.width = this.canvas.width;
    this.scene.height = this.canvas.height;
    this.scene.getContext("2d").drawImage(this.canvas, 0, 0);
  }

  // Puts the kept picture back.
  restore() {
    const pen = this.context;
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.scene, 0, 0);
    pen.restore();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  showTip(x, y, lines) {
    if (!this.tip) return;
    this.tip.replaceChildren(...lines.map((line) => {
      const row = document.createElement("div");
      row.textContent = line;
      return row;
    }));
    this.tip.hidden = false;
    const left = Math.min(x + 12, this.width - this.tip.offsetWidth - 4);
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${Math.max(4, Math.min(y + 12, this.height - this.tip.offsetHeight - 4))}px`;
  }

  hideTip() {
    if (this.tip) this.tip.hidden = true;
  }
}
