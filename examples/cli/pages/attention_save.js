"use strict";
// The picture of attention.js as a file of its own: on white, with the names of its heads below.

const SAVED = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-linecap", "opacity", "font-family",
  "font-size", "font-weight", "text-anchor"];

function svgText() {
  const root = document.documentElement, theme = root.dataset.theme;
  const copy = picture.svg.cloneNode(true), nodes = [copy, ...copy.querySelectorAll("*")];
  const width = picture.svg.width.baseVal.value, height = picture.svg.height.baseVal.value + 30;
  root.dataset.theme = "light";
  [picture.svg, ...picture.svg.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(node), above = i > 0 ? getComputedStyle(node.parentNode) : null;
    for (const name of ["class", "style", "tabindex", "role"]) nodes[i].removeAttribute(name);
    for (const name of SAVED)
      if (style.getPropertyValue(name) !== above?.getPropertyValue(name))
        nodes[i].setAttribute(name, style.getPropertyValue(name));
  });
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  copy.setAttribute("height", height);
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.prepend(make("rect", { width, height, fill: "#fff" }));
  [...byId("legend").childNodes].forEach((name, i) => {
    const x = 8 + 70 * i, y = height - 18, color = colorOf(picture.heads[i]);
    const words = make("text", { x: x + 15, y: y + 10, "font-size": 11, "font-family": "sans-serif" }, name.textContent);
    copy.append(...(name.nodeType === 1 ? [make("rect", { x, y, width: 11, height: 11, rx: 2, fill: color })] : []), words);
  });
  return new XMLSerializer().serializeToString(copy);
}

byId("save").addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([svgText()], { type: "image/svg+xml" }));
  make("a", { href: url, download: `attention-${state.kind}-${state.layer}.svg` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});
