// Keys for people who stay on the keyboard: search, rows, selection, going places. Buttons and links do the same.

const places = { t: "/traces", r: "/runs", g: "/gpu-configs", c: "/compare", d: "/docs" };
let going = false;

function typing(target) {
  return target.closest("input, textarea, select, dialog, [contenteditable], [data-own-keys]");
}

function rows() {
  return Array.from(document.querySelectorAll("table[data-rows] tbody tr"));
}

function move(step) {
  const all = rows();
  if (!all.length) return;
  const now = all.findIndex((row) => row.classList.contains("current"));
  const next = all[Math.min(all.length - 1, Math.max(0, now < 0 ? 0 : now + step))];
  for (const row of all) row.classList.toggle("current", row === next);
  next.scrollIntoView({ block: "nearest" });
}

function current() {
  return document.querySelector("table[data-rows] tbody tr.current");
}

function compareSelected() {
  const form = document.querySelector("form[data-compare]");
  if (form && document.querySelector("input[data-select]:checked")) form.requestSubmit();
}

const actions = {
  "/": () => document.querySelector("[data-search]")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  x: () => current()?.querySelector("input[type=checkbox]")?.click(),
  c: compareSelected,
  Enter: () => current()?.querySelector("a")?.click(),
  "?": () => document.getElementById("keys")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  if (going) {
    going = false;
    if (places[event.key]) window.location.assign(places[event.key]);
    return;
  }
  if (event.key === "g") {
    going = true;
    setTimeout(() => { going = false; }, 1200);
    return;
  }
  const action = actions[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});

document.getElementById("show-keys")?.addEventListener("click", actions["?"]);

// Shift-click selects the range since the last click, as people know it from mail programs.
let last = null;
document.addEventListener("click", (event) => {
  const box = event.target.closest("input[data-select]");
  if (!box) return;
  if (event.shiftKey && last) {
    const boxes = Array.from(document.querySelectorAll("input[data-select]"));
    const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
    for (const other of boxes.slice(from, to + 1)) other.checked = box.checked;
  }
  last = box;
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    const label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}
