// Drop a trace archive on the page, or choose it: sent with its progress shown. Without JavaScript the form does the same.

const form = document.querySelector("form[data-upload]");

if (form) {
  const zone = form.querySelector(".drop");
  const input = form.querySelector("input[type=file]");
  const bar = form.querySelector("progress");
  const status = form.querySelector("[data-upload-status]");

  function send() {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/traces");
    request.setRequestHeader("X-CSRFToken", form.querySelector("[name=csrfmiddlewaretoken]").value);
    request.upload.addEventListener("progress", (event) => {
      bar.hidden = false;
      bar.max = event.total;
      bar.value = event.loaded;
      status.textContent = event.loaded === event.total ? "Reading the archive…" : `${Math.round((100 * event.loaded) / event.total)} % sent`;
    });
    request.addEventListener("load", () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { answer = { detail: "The server's answer could not be read." }; }
      if (request.status === 201) window.location.assign(`/traces/${answer.id}`);
      else { status.textContent = answer.detail || "The upload failed."; status.className = "bad"; bar.hidden = true; }
    });
    request.addEventListener("error", () => { status.textContent = "The connection broke; nothing was stored. Send it again."; status.className = "bad"; });
    const body = new FormData();
    body.append("file", input.files[0]);
    const name = form.querySelector("[name=name]").value.trim();
    if (name) body.append("name", name);
    request.send(body);
  }

  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length) { input.files = event.dataTransfer.files; send(); }
  });
  form.addEventListener("submit", (event) => {
    if (!input.files.length) return;
    event.preventDefault();
    send();
  });
}
