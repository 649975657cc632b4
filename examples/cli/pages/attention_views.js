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
  const room = byId("picture").clientWidth, beside = Math.max(8, Math.min(110, (room - 200) / 8));
  const strip = Math.min(12, beside / Math.max(heads.length, 1)), strips = strip * heads.length + 4; // beyond the words
  const thick = Math.min(3.2, 24 / heads.length);
  const left = widest(queries, size) + 16, right = widest(keys, size) + 16;
  const lines = Math.max(60, Math.min(460, room - left - right - 2 * strips - 8));
  const from = strips + left + 4, to = from + lines, width = to + 4 + right + strips, height = most * pitch + 4;
  const y = (index, n) => 2 + (height - 4) * (index + 0.5) / n;
  const base = make("g", { class: "lines base" }), alone = make("g", { class: "lines" });
  const cells = make("g", { class: "cells" });
  const bright = (h) => make("g", { class: "bright", style: `--head:${colorOf(heads[h])}` });
  // share: of the largest weight that there can be, or that is shown.
  const line = (h, i, j, share, least) => {
    const aside = heads.length > 1 ? (pitch - 7) * (h / (heads.length - 1) - 0.5) : 0;
    const a = y(i, queries.length) + aside, b = y(j, keys.length) + aside, bend = lines * 0.42;
    return make("path", { d: `M${from} ${a}C${from + bend} ${a} ${to - bend} ${b} ${to} ${b}`,
      "stroke-width": (0.6 + thick * share).toFixed(2), "stroke-opacity": Math.min(1, least + share).toFixed(3),
      "data-query": i, "data-key": j, "data-head": heads[h] });
  };
  for (let h = 0; h < heads.length; h++) {
    const group = bright(h);
    const add = (w, i, j) => { if (w >= LEAST_SHOWN) group.append(line(h, i, j, w, 0.05)); };
    weights[h].forEach((row, i) => row.forEach((w, j) => add(w, i, j)));
    base.append(group);
  }
  picture.svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": byId("title").textContent }, base, alone, cells);
  const column = (side, units, x, anchor, boxX, boxWidth) => units.forEach((unit, i) => {
    const at = y(i, units.length), step = (height - 4) / units.length, tall = Math.min(step, pitch) - 1;
    picture.svg.append(addToken(side, i, unit, {}, { x: boxX, y: at - tall / 2, width: boxWidth, height: tall },
      { x, y: at + size * 0.35, "font-size": size, "text-anchor": anchor }));
  });
  column(0, queries, from - 12, "end", strips, left);
  column(1, keys, to + 12, "start", to + 4, right);
  picture.isolate = () => {
    alone.replaceChildren();
    cells.replaceChildren();
    if (!chosen) return;
    const { side, index } = chosen, others = side ? queries : keys;
    const all = weights.map((w) => others.map((_, o) => (side ? w[o][index] : w[index][o])));
    const most = all.flat().reduce((a, b) => Math.max(a, b), 0), tall = Math.min(pitch, (height - 4) / others.length) - 1;
    const x = side ? strips - 4 : width - strips + 4;
    all.forEach((row, h) => {
      const paths = bright(h), rects = bright(h);
      row.forEach((w, o) => {
        if (w < most / 50 || most === 0) return;
        const [i, j] = side ? [o, index] : [index, o];
        paths.append(line(h, i, j, w / most, 0.15));
        rects.append(make("rect", { x: side ? x - (heads.length - h) * strip : x + h * strip, width: strip - 1, rx: 1.5,
          y: y(o, others.length) - tall / 2, height: tall, "fill-opacity": (w / most).toFixed(3) }));
      });
      alone.append(paths);
      cells.append(rects);
    });
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
  const field = make("rect", { ...frame, fill: "transparent", class: "field", tabindex: "0", role: "button",
    "aria-label": "cells: the arrow keys move, Enter keeps one" });
  let last = [0, 0];
  const at = (event) => {
    const box = field.getBoundingClientRect();
    const clip = (x, n) => Math.max(0, Math.min(n - 1, Math.floor(x)));
    return [clip((event.clientY - box.top) / box.height * queries.length, queries.length),
      clip((event.clientX - box.left) / box.width * keys.length, keys.length)];
  };
  const row = (i) => make("rect", { class: "cross", x: left, y: top + cell * i, width: frame.width, height: cell });
  const column = (j) => make("rect", { class: "cross", x: left + cell * j, y: top, width: cell, height: frame.height });
  const show = (i, j) => {
    last = [i, j];
    cross.replaceChildren(row(i), column(j));
    tellCell(i, j);
  };
  const keep = (i, j) => {
    const same = pinned && cross.childElementCount === 2 && last[0] === i && last[1] === j;
    choose(null);
    pinned = !same;
    if (pinned) show(i, j);
  };
  if (heads.length) {
    field.addEventListener("pointermove", (event) => { if (!pinned) show(...at(event)); });
    field.addEventListener("click", (event) => keep(...at(event)));
    field.addEventListener("focus", () => {
      if (!field.matches(":focus-visible")) return;
      pinned = false;
      choose(null);
      show(...last);
    });
    field.addEventListener("keydown", (event) => {
      const [i, j] = last, step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (step) {
        pinned = false;
        choose(null);
        show(Math.max(0, Math.min(i + step[0], queries.length - 1)), Math.max(0, Math.min(j + step[1], keys.length - 1)));
      } else if (event.key === "Enter" || event.key === " ") keep(i, j);
      else return;
      event.preventDefault();
    });
  }
  for (const event of ["pointerleave", "blur"]) field.addEventListener(event, () => { if (!pinned) choose(null); });
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
  const room = Math.max(20, (byId("picture").clientWidth - 90) / kind.heads.length - 20);
  const scale = Math.min(160, room) / Math.max(queries.length, keys.length);
  for (const layer of kind.layers) {
    const row = make("tr", {}, make("th", { scope: "row" }, `layer ${layer}`));
    for (const head of kind.heads) {
      const canvas = make("canvas", { width: keys.length, height: queries.length });
      canvas.classList.toggle("large", scale >= 1);
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
