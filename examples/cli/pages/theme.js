"use strict";
// The switch of the theme; "auto" is what the system says.
const theme = document.getElementById("theme");
theme.addEventListener("change", () => {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});

// An element of HTML or SVG with attributes and children, which are text or elements.
function make(name, attributes = {}, ...children) {
  const svg = make.svg.has(name);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
make.svg = new Set(["svg", "g", "path", "rect", "circle", "text", "title", "line", "tspan"]);
