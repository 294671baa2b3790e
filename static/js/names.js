// Kernel names as people read them: traces and logs have them mangled, and the page brings the spellings of its own.

const spellings = JSON.parse(document.getElementById("kernel-names")?.textContent || "{}");

function cut(text, characters) {
  return text.length > characters ? text.slice(0, characters) + "…" : text;
}

// The bare function, for a label.
export const shortName = (name, characters = 300) => cut(spellings[name]?.[0] || String(name), characters);

// The C++ spelling, for a tooltip.
export const fullName = (name, characters = 300) => cut(spellings[name]?.[1] || String(name), characters);
