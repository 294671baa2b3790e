// A log's lines: the page arrives with the last ones; older ones come as the reader scrolls up, newer ones are followed
// only while the reader is at the bottom. The server renders every line; here they are only put in their place.

const box = document.querySelector("[data-log]");
const wrap = document.querySelector("[data-log-wrap]");

wrap?.addEventListener("change", () => document.querySelector(".log")?.classList.toggle("nowrap-lines", !wrap.checked));

if (box) {
  const more = document.querySelector("[data-log-more]");
  const older = document.querySelector("[data-log-older]");
  const follow = document.querySelector("[data-log-follow]");
  const MOST_LINES = 5000;
  const MOST_WAITING = 2000;
  const FAR_BYTES = 64 * 1024;
  let start = Number(box.dataset.start);
  let end = Number(box.dataset.end);
  let size = Number(box.dataset.size);
  let waiting = 0;
  let busy = false;

  const atBottom = () => box.scrollHeight - box.scrollTop - box.clientHeight < 24;
  // An open last line is shown and not counted in "end": it comes again when it is longer.
  const isWhole = () => end >= size || box.lastElementChild?.dataset.open !== undefined;
  let atEnd = isWhole();

  async function part(query) {
    const address = `${window.location.pathname}?sim=${box.dataset.sim}&attempt=${box.dataset.attempt}&${query}`;
    const answer = await fetch(address, { headers: { "X-Part": "lines" } });
    if (!answer.ok) return null;
    return new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-lines]");
  }

  function showMore() {
    more.hidden = atEnd && !waiting;
    more.textContent = waiting ? `${waiting} new line${waiting === 1 ? "" : "s"} ↓` : "Later lines ↓";
    older.hidden = start === 0;
  }

  function toBottom() {
    box.scrollTop = box.scrollHeight;
    waiting = 0;
    showMore();
  }

  // Lines at the top are let go when there are too many; scrolling up brings them back.
  function dropOldest() {
    const surplus = box.childElementCount - MOST_LINES;
    if (surplus <= 0) return;
    for (const line of Array.from(box.children).slice(0, surplus)) line.remove();
    start = null;
  }

  async function alone(work) {
    if (busy) return;
    busy = true;
    try { await work(); } finally { busy = false; }
  }

  async function fetchLater() {
    const last = box.querySelector(".line:last-child:not([data-open]) a") || box.querySelector(".line:nth-last-child(2) a");
    const found = await part(`from=${end}&number=${last ? Number(last.dataset.number) + 1 : 1}`);
    if (!found) return;
    // Asked only now: the reader may have scrolled while the lines were on their way.
    const stays = !atBottom() || !follow.checked;
    for (const open of box.querySelectorAll("[data-open]")) open.remove();
    if (atEnd) waiting += found.querySelectorAll(".line:not([data-open])").length;
    end = Number(found.dataset.end);
    box.append(...found.children);
    atEnd = isWhole() || (atEnd && waiting < MOST_WAITING);
    if (!stays && atEnd) { dropOldest(); toBottom(); }
    showMore();
  }

  async function fetchTail() {
    const found = await part(`before=${size}`);
    if (!found) return;
    start = Number(found.dataset.start);
    end = Number(found.dataset.end);
    box.replaceChildren(...found.children);
    atEnd = true;
    toBottom();
  }

  async function fetchOlder() {
    if (start === 0) return;
    const first = box.querySelector(".line a");
    // After lines were let go at the top only the first line's number is known, not its byte.
    const found = await part(start === null ? `until=${first.dataset.number}` : `before=${start}`);
    if (!found) return;
    const height = box.scrollHeight;
    start = Number(found.dataset.start);
    box.prepend(...found.children);
    box.scrollTop += box.scrollHeight - height;
    showMore();
  }

  async function catchUp() {
    await alone(async () => {
      let before = null;
      while (atEnd && size > end && end !== before) {
        before = end;
        if (size - end > FAR_BYTES && atBottom() && follow.checked) await fetchTail();
        else await fetchLater();
      }
    });
  }

  function showTarget() {
    const match = /^#L(\d+)$/.exec(window.location.hash);
    if (!match) return false;
    const line = document.getElementById(`L${match[1]}`);
    if (line) {
      line.scrollIntoView({ block: "center" });
      return true;
    }
    if (!new URLSearchParams(window.location.search).has("line")) {
      window.location.replace(`?sim=${box.dataset.sim}&attempt=${box.dataset.attempt}&line=${match[1]}${window.location.hash}`);
    }
    return false;
  }

  document.addEventListener("cascade:log", (event) => {
    const ours = event.detail.sim_id === box.dataset.sim && box.dataset.attempt === box.dataset.current;
    if (!ours) return;
    size = Math.max(size, event.detail.size_bytes);
    catchUp();
  });
  box.addEventListener("scroll", () => {
    if (atBottom() && waiting) { waiting = 0; showMore(); }
    if (box.scrollTop < 40) alone(fetchOlder).then(catchUp);
  });
  box.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-number]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    window.history.replaceState(null, "", link.getAttribute("href"));
    window.location.hash = `L${link.dataset.number}`;
  });
  more.addEventListener("click", () => { if (waiting) toBottom(); else alone(fetchLater); });
  older.addEventListener("click", () => alone(fetchOlder).then(catchUp));
  if (!showTarget()) toBottom();
  showMore();
}
