"use strict";
// The picture of attention.js as a file of its own: on white, with the names of its heads below.

const SAVED = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-linecap", "opacity", "font-family",
  "font-size", "font-weight", "text-anchor"];

// The names of the heads or the sentence on them, in rows that are as wide as the picture.
function legendRows(width) {
  const names = [...byId("legend").children], each = Math.max(1, Math.floor((width - 8) / 70)), rows = [];
  if (names.length)
    return names.map((name, i) => ({ text: name.textContent, color: colorOf(picture.heads[i]), x: 8 + 70 * (i % each),
      row: Math.floor(i / each) }));
  const pen = make("canvas").getContext("2d");
  pen.font = "11px sans-serif";
  for (const word of byId("legend").textContent.split(" ")) {
    const longer = `${rows.at(-1)} ${word}`;
    if (rows.length && pen.measureText(longer).width <= width - 16) rows.splice(-1, 1, longer);
    else rows.push(word);
  }
  return rows.map((text, row) => ({ text, x: 8, row }));
}

function svgText() {
  const root = document.documentElement, theme = root.dataset.theme;
  const copy = picture.svg.cloneNode(true), nodes = [copy, ...copy.querySelectorAll("*")];
  const width = picture.svg.width.baseVal.value, top = picture.svg.height.baseVal.value + 12;
  const names = legendRows(width), height = top + 18 * (names.at(-1).row + 1);
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
  for (const { text, color, x, row } of names) {
    const y = top + 18 * row, at = { x: color ? x + 15 : x, y: y + 10, "font-size": 11, "font-family": "sans-serif" };
    copy.append(...(color ? [make("rect", { x, y, width: 11, height: 11, rx: 2, fill: color })] : []), make("text", at, text));
  }
  return new XMLSerializer().serializeToString(copy);
}

byId("save").addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([svgText()], { type: "image/svg+xml" }));
  make("a", { href: url, download: `attention-${state.kind}-${state.layer}.svg` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});
