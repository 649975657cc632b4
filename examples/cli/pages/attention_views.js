"use strict";
// The views: what attention.js has read into picture, drawn as lines, as a matrix, or as all heads.

// --------------------------------------------------------------------------------------------------- lines ----

// Rows of n tokens fit into the window when they can still be read.
function pitchOf(n) {
  return Math.max(17, Math.min(28, Math.floor((innerHeight - 330) / n)));
}

function drawLines() {
  const { queries, keys, heads, weights } = picture;
  const most = Math.max(queries.length, keys.length), pitch = pitchOf(most), size = Math.min(15, pitch - 4.5);
  const strip = Math.min(12, 110 / Math.max(heads.length, 1)), strips = strip * heads.length;
  const left = widest(queries, size) + 16, right = widest(keys, size) + 16;
  const lines = Math.max(100, Math.min(460, byId("picture").clientWidth - left - right - 2 * strips - 24));
  const from = left + strips + 8, to = from + lines, width = to + strips + 8 + right, height = most * pitch + 4;
  const y = (index, n) => 2 + (height - 4) * (index + 0.5) / n;
  const base = make("g", { class: "lines base" }), alone = make("g", { class: "lines" }), cells = make("g");
  const line = (h, i, j) => {
    const w = weights[h][i][j], aside = heads.length > 1 ? (pitch - 7) * (h / (heads.length - 1) - 0.5) : 0;
    const a = y(i, queries.length) + aside, b = y(j, keys.length) + aside, bend = lines * 0.42;
    return make("path", { d: `M${from} ${a}C${from + bend} ${a} ${to - bend} ${b} ${to} ${b}`, stroke: colorOf(heads[h]),
      "stroke-width": (0.6 + 3.2 * w).toFixed(2), "stroke-opacity": Math.min(1, 0.05 + w).toFixed(3),
      "data-query": i, "data-key": j, "data-head": heads[h] });
  };
  for (let h = 0; h < heads.length; h++)
    for (let i = 0; i < queries.length; i++)
      for (let j = 0; j < keys.length; j++) if (weights[h][i][j] >= LEAST_SHOWN) base.append(line(h, i, j));
  picture.svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": byId("title").textContent }, base, alone, cells);
  const column = (side, units, x, anchor, boxX, boxWidth) => units.forEach((unit, i) => {
    const at = y(i, units.length), step = (height - 4) / units.length, tall = Math.min(step, pitch) - 1;
    picture.svg.append(addToken(side, i, unit, {}, { x: boxX, y: at - tall / 2, width: boxWidth, height: tall },
      { x, y: at + size * 0.35, "font-size": size, "text-anchor": anchor }));
  });
  column(0, queries, left - 8, "end", 0, left);
  column(1, keys, to + strips + 16, "start", to + strips + 8, right);
  picture.isolate = () => {
    alone.replaceChildren();
    cells.replaceChildren();
    if (!chosen) return;
    const { side, index } = chosen, others = side ? queries : keys;
    const x = side ? left + 4 : to + 4;
    for (let h = 0; h < heads.length; h++)
      for (let o = 0; o < others.length; o++) {
        const [i, j] = side ? [o, index] : [index, o], w = weights[h][i][j];
        if (w < 0.004) continue;
        alone.append(line(h, i, j));
        const tall = Math.min(pitch, (height - 4) / others.length) - 2;
        cells.append(make("rect", {
          x: x + h * strip,
          y: y(o, others.length) - tall / 2,
          width: strip - 1,
          height: tall,
          rx: 1.5,
          fill: colorOf(heads[h]),
          "fill-opacity": Math.min(1, w * 1.1).toFixed(3)
        }));
      }
  };
}

// -------------------------------------------------------------------------------------------------- matrix ----

function drawMatrix() {
  const { queries, keys, heads } = picture;
  const room = byId("picture").clientWidth - 40;
  let cell = 30;
  const sizeOf = () => Math.min(14, cell - 4.5);
  while (cell > 16 && widest(queries, sizeOf()) + 16 + cell * keys.length > room) cell--;
  const size = sizeOf(), left = widest(queries, size) + 16, top = widest(keys, size) + 16;
  const width = left + cell * keys.length + 2, height = top + cell * queries.length + 2;
  const color = heads.length === 1 ? colorOf(heads[0]) : "var(--accent)";
  const base = make("g"), cross = make("g");
  queries.forEach((_, i) => keys.forEach((__, j) => {
    const w = heads.length ? picture.mean(i, j) : 0;
    if (w >= 0.002)
      base.append(make("rect", {
        x: left + cell * j + 0.5,
        y: top + cell * i + 0.5,
        width: cell - 1,
        height: cell - 1,
        rx: 2,
        fill: color,
        "fill-opacity": shade(w).toFixed(3),
        "data-query": i,
        "data-key": j
      }));
  }));
  const frame = { x: left, y: top, width: cell * keys.length, height: cell * queries.length };
  picture.svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": byId("title").textContent }, make("rect", { class: "frame", ...frame }), base);
  const field = make("rect", { ...frame, fill: "transparent", class: "field" });
  const at = (event) => {
    const box = field.getBoundingClientRect();
    const clip = (x, n) => Math.max(0, Math.min(n - 1, Math.floor(x)));
    return [clip((event.clientY - box.top) / box.height * queries.length, queries.length),
      clip((event.clientX - box.left) / box.width * keys.length, keys.length)];
  };
  const row = (i) => make("rect", { class: "cross", x: left, y: top + cell * i, width: frame.width, height: cell });
  const column = (j) => make("rect", { class: "cross", x: left + cell * j, y: top, width: cell, height: frame.height });
  field.addEventListener("pointermove", (event) => {
    if (pinned || !heads.length) return;
    const [i, j] = at(event);
    cross.replaceChildren(row(i), column(j));
    tellCell(i, j);
  });
  field.addEventListener("pointerleave", () => { if (!pinned) choose(null); });
  picture.svg.append(field, cross);
  picture.sideways = true;
  queries.forEach((unit, i) => picture.svg.append(addToken(0, i, unit, {},
    { x: 0, y: top + cell * i, width: left - 4, height: cell - 1 },
    { x: left - 10, y: top + cell * (i + 0.5) + size * 0.35, "font-size": size, "text-anchor": "end" })));
  keys.forEach((unit, j) => picture.svg.append(addToken(1, j, unit,
    { transform: `translate(${left + cell * j} ${top}) rotate(-90)` },
    { x: 4, y: 0, width: top - 4, height: cell - 1 }, { x: 10, y: cell * 0.5 + size * 0.35, "font-size": size })));
  picture.isolate = () => cross.replaceChildren(...(chosen ? [chosen.side ? column(chosen.index) : row(chosen.index)] : []));
}

// ------------------------------------------------------------------------------------------------ overview ----

function drawCanvas(canvas, matrix, color) {
  const pen = canvas.getContext("2d");
  pen.fillStyle = color;
  matrix.forEach((row, i) => row.forEach((w, j) => { pen.globalAlpha = shade(w); pen.fillRect(j, i, 1, 1); }));
}

function drawOverview() {
  const { kind, queries, keys } = picture;
  const table = make("table", { class: "overview" });
  table.append(make("tr", {}, make("td"), ...kind.heads.map((h) => make("th", { scope: "col" }, `head ${h}`))));
  const room = (byId("picture").clientWidth - 90) / kind.heads.length - 20;
  const scale = Math.max(1, Math.min(160, room) / Math.max(queries.length, keys.length));
  for (const layer of kind.layers) {
    const row = make("tr", {}, make("th", { scope: "row" }, `layer ${layer}`));
    for (const head of kind.heads) {
      const canvas = make("canvas", { width: keys.length, height: queries.length });
      canvas.style.width = `${keys.length * scale}px`;
      canvas.style.height = `${queries.length * scale}px`;
      drawCanvas(canvas, matrixOf(state.kind, layer, head, queries, keys), colorOf(head));
      const button = make("button", { type: "button", "aria-label": `layer ${layer}, head ${head}` }, canvas);
      button.addEventListener("click", () => open(layer, head));
      row.append(make("td", {}, button));
    }
    table.append(row);
  }
  byId("picture").replaceChildren(table);
}

function open(layer, head) {
  state.layer = layer;
  state.view = "lines";
  addLayers();
  for (const input of byId("views").querySelectorAll("input")) input.checked = input.value === state.view;
  setHeads([head]);
  picture.tokens[0][0].focus();
}
