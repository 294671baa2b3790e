// A log's tail: the page arrives with the last lines; older ones come by Range as the reader scrolls up, newer ones are
// followed only while the reader is at the bottom. What is shown is text, never markup.

const box = document.querySelector("[data-log]");

if (box) {
  const url = box.dataset.log;
  let start = Number(box.dataset.start);
  let end = Number(box.dataset.end);
  const more = document.querySelector("[data-log-more]");
  const older = document.querySelector("[data-log-older]");
  const follow = document.querySelector("[data-log-follow]");
  const wrap = document.querySelector("[data-log-wrap]");
  const find = document.querySelector("[data-log-find]");
  const BLOCK = 256 * 1024;
  const MOST_SHOWN = 4 * 1024 * 1024;
  let waiting = 0;
  let busy = false;

  const atBottom = () => box.scrollHeight - box.scrollTop - box.clientHeight < 24;

  async function range(from, to) {
    const answer = await fetch(url, { headers: { Range: `bytes=${from}-${to - 1}` } });
    if (answer.status !== 206) return null;
    return new TextDecoder().decode(await answer.arrayBuffer());
  }

  function toBottom() {
    box.scrollTop = box.scrollHeight;
    waiting = 0;
    if (more) more.hidden = true;
  }

  async function fetchNew(size) {
    if (busy || size <= end) return;
    busy = true;
    try {
      const from = Math.max(end, size - MOST_SHOWN);
      const text = await range(from, size);
      if (text === null) return;
      // Asked only now: the reader may have scrolled while the lines were on their way.
      const stay = !atBottom() || (follow && !follow.checked);
      box.append(text);
      end = size;
      waiting += text.split("\n").length - 1;
      if (!stay) toBottom();
      else if (more) {
        more.hidden = false;
        more.textContent = `${waiting} new line${waiting === 1 ? "" : "s"} ↓`;
      }
    } finally {
      busy = false;
    }
  }

  async function fetchOlder() {
    if (busy || start === 0) return;
    busy = true;
    try {
      const from = Math.max(0, start - BLOCK);
      const text = await range(from, start);
      if (text === null) return;
      const height = box.scrollHeight;
      box.prepend(text);
      box.scrollTop += box.scrollHeight - height;
      start = from;
      if (older) older.hidden = start === 0;
    } finally {
      busy = false;
    }
  }

  document.addEventListener("cascade:log", (event) => {
    if (event.detail.sim_id === box.dataset.sim) fetchNew(event.detail.size_bytes);
  });
  box.addEventListener("scroll", () => {
    if (atBottom() && more) { more.hidden = true; waiting = 0; }
    if (box.scrollTop < 40) fetchOlder();
  });
  more?.addEventListener("click", toBottom);
  if (older) { older.hidden = start === 0; older.addEventListener("click", fetchOlder); }
  wrap?.addEventListener("change", () => box.classList.toggle("nowrap-lines", !wrap.checked));
  find?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    // The browser's own search scrolls to and marks the hit; it takes the text as it stands.
    window.find(find.value, false, event.shiftKey, true);
    find.focus();
  });
  toBottom();
}
