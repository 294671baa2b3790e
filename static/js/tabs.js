// Where the tabs do not fit, the one that is shown is in view. Only the bar scrolls: the page stays where the reader is.

for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  const bar = tab.parentElement;
  bar.scrollLeft = tab.offsetLeft - bar.offsetLeft - (bar.clientWidth - tab.offsetWidth) / 2;
}
