// The same scaling as the server's cascade_site/formats.py, for what arrives live.

const MISSING = "–";

export function number(value) {
  return value === null || value === undefined ? MISSING : Number(value).toLocaleString("en-US");
}

function significant(value) {
  if (value === 0) return "0";
  const places = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

export function duration(ns) {
  if (ns === null || ns === undefined) return MISSING;
  for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (Math.abs(ns) >= scale) return `${significant(ns / scale)} ${unit}`;
  }
  return `${significant(ns)} ns`;
}

export function si(value) {
  if (value === null || value === undefined) return MISSING;
  for (const [scale, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= scale) return `${significant(value / scale)} ${prefix}`;
  }
  return significant(value);
}

export function wall(seconds) {
  if (seconds === null || seconds === undefined) return MISSING;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function percent(fraction) {
  if (fraction === null || fraction === undefined) return MISSING;
  return `${fraction >= 0 ? "+" : ""}${(100 * fraction).toFixed(1)} %`;
}

// A custom property holds a colour for each theme; only a real element's style says which of them is meant.
const probe = document.createElement("span");
probe.hidden = true;
document.documentElement.append(probe);

export function cssValue(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

export function cssColour(index) {
  return cssValue(`--c${index}`);
}
