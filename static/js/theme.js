// The theme is set before the first paint, so this one script is not a module: a module would run after it.
"use strict";
(function () {
  const root = document.documentElement;
  const kept = localStorage.getItem("theme") || "";
  if (kept) root.dataset.theme = kept;
  document.addEventListener("DOMContentLoaded", function () {
    const choice = document.getElementById("theme");
    if (!choice) return;
    choice.value = kept;
    choice.addEventListener("change", function () {
      localStorage.setItem("theme", choice.value);
      if (choice.value) root.dataset.theme = choice.value;
      else delete root.dataset.theme;
      document.dispatchEvent(new Event("themechange"));
    });
  });
})();
