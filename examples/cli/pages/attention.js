"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const LEAST_SHOWN = 0.02; // lighter lines cannot be seen, and there may be thousands
const kinds = Object.fromEntries(data.attention.map((kind) => [kind.kind, kind]));
const state = { kind: data.show.kind, layer: data.show.layer, heads: new Set(data.show.heads),
  view: data.show.view, words: data.show.words };
let chosen = null; // {side: 0 queries | 1 keys, index} whose weights are shown alone
let pinned = false; // it stays when the pointer leaves
let picture = null; // what is drawn: {queries, keys, choose(), tokens: [queries, keys]}

const byId = (id) => document.getElementById(id);

// ------------------------------------------------------------------------------------------------ weights ----

// The tokens of a side, or its words: {text, goesOn, from, to}, to being the end of its pieces.
function unitsOf(side) {
  const units = [];
  for (const [at, token] of data.tokens[side].entries()) {
    const last = units.at(-1);
    const goesOn = last !== undefined && last.word === token.word;
    if (goesOn && state.words) Object.assign(last, { text: last.text.replace(/^␣$/, "") + token.text, to: at + 1 });
    else units.push({ text: token.text, word: token.word, goesOn, from: at, to: at + 1 });
  }
  return units;
}

// Weights of a head between units: what goes to a word is the sum over its pieces, what goes from one their mean.
function matrixOf(kind, layer, head, queries, keys) {
  const all = kinds[kind].weights[layer - 1][head - 1];
  return queries.map((q) => keys.map((k) => {
    let sum = 0;
    for (let i = q.from; i < q.to; i++) for (let j = k.from; j < k.to; j++) sum += all[i][j];
    return sum / data.one / (q.to - q.from);
  }));
}

const colorOf = (head) => data.show.colors[head - 1];
const shownHeads = () => [...state.heads].sort((a, b) => a - b);
const shade = (w) => Math.min(1, w) ** 0.7; // of an area: small weights can still be told apart
const mean = (list) => list.reduce((sum, x) => sum + x, 0) / Math.max(list.length, 1);
const short = (text, most = 28) => ([...text].length > most ? [...text].slice(0, most - 1).join("") + "…" : text);
const percent = (x) => (100 * x).toFixed(x < 0.0995 ? 1 : 0) + " %";

function read() {
  const kind = kinds[state.kind];
  const queries = unitsOf(kind.queries), keys = unitsOf(kind.keys);
  const heads = shownHeads();
  const weights = heads.map((head) => matrixOf(state.kind, state.layer, head, queries, keys));
  return { kind, queries, keys, heads, weights, mean: (i, j) => mean(weights.map((w) => w[i][j])) };
}

// ------------------------------------------------------------------------------------------------ controls ----

function addKeys(id, type, entries, isChecked, change, decorate = () => {}) {
  const box = byId(id);
  for (const [value, name] of entries) {
    const input = make("input", { type, name: id, value });
    input.checked = isChecked(value);
    input.addEventListener("change", () => { change(value, input.checked); draw(); });
    const label = make("label", { class: "key" }, input, make("span", {}, name));
    decorate(label, value);
    box.append(label);
  }
}

function addLayers() {
  const box = byId("layers");
  for (const old of box.querySelectorAll("label")) old.remove();
  const layers = kinds[state.kind].layers;
  if (!layers.includes(state.layer)) state.layer = layers.at(-1);
  addKeys("layers", "radio", layers.map((n) => [n, `${n}`]), (n) => n === state.layer, (n) => { state.layer = n; });
}

function setHeads(heads) {
  state.heads = new Set(heads);
  for (const input of byId("heads").querySelectorAll("input")) input.checked = state.heads.has(Number(input.value));
  draw();
}

function addHeads() {
  const heads = kinds[state.kind].heads;
  addKeys("heads", "checkbox", heads.map((n) => [n, `${n}`]), (n) => state.heads.has(n),
    (n, on) => { if (on) state.heads.add(n); else state.heads.delete(n); },
    (label, n) => {
      label.classList.add("head");
      label.style.setProperty("--head", colorOf(n));
      label.firstChild.setAttribute("aria-label", `head ${n}`);
      label.title = "double click: this head alone";
      label.addEventListener("dblclick", () => setHeads([n]));
    });
  for (const [name, list] of [["all", heads], ["none", []]]) {
    const button = make("button", { type: "button" }, name);
    button.addEventListener("click", () => setHeads(list));
    byId("heads").append(button);
  }
}

function addControls() {
  const names = { encoder: "Encoder", decoder: "Decoder", cross: "Encoder–decoder" };
  addKeys("kinds", "radio", data.attention.map((k) => [k.kind, names[k.kind]]), (k) => k === state.kind,
    (k) => { state.kind = k; addLayers(); });
  addLayers();
  const views = [["lines", "Lines"], ["matrix", "Matrix"], ["overview", "All heads"]];
  addKeys("views", "radio", views, (v) => v === state.view, (v) => { state.view = v; });
  addKeys("units", "radio", [["pieces", "Pieces"], ["words", "Words"]], (u) => (u === "words") === state.words,
    (u) => { state.words = u === "words"; });
  const joined = Object.values(data.tokens).some((side) => side.at(-1).word + 1 < side.length && side.at(-1).word > 1);
  byId("units").hidden = !joined;
  addHeads();
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
}

// -------------------------------------------------------------------------------------------------- tokens ----

const measure = document.createElement("canvas").getContext("2d");
function widest(units, size) {
  measure.font = `600 ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return Math.max(...units.map((u) => measure.measureText(label(u)).width));
}
const label = (unit) => (unit.goesOn && !state.words ? "·" : "") + short(unit.text);

// A token that can be pointed at, focused and chosen. place: attributes of its group; box: of what reacts.
function addToken(side, index, unit, place, box, textPlace) {
  const other = side ? "queries" : "keys";
  const node = make("g", { class: "token", tabindex: "-1", role: "button", "aria-pressed": "false", ...place,
    "aria-label": `${side ? "key" : "query"} ${index + 1}: ${unit.text}; shows its ${other}` },
  make("rect", { class: "back", rx: 4, ...box }), make("text", textPlace, ...textOf(unit)));
  node.append(make("title", {}, unit.text));
  node.addEventListener("pointerenter", () => { if (!pinned) choose(side, index); });
  node.addEventListener("pointerleave", () => { if (!pinned) choose(null); });
  node.addEventListener("click", () => pin(side, index));
  node.addEventListener("focus", () => { if (node.matches(":focus-visible")) { pinned = false; choose(side, index); } });
  node.addEventListener("blur", () => { if (!pinned) choose(null); });
  node.addEventListener("keydown", (event) => move(event, side, index));
  picture.tokens[side][index] = node;
  return node;
}

const textOf = (unit) =>
  (unit.goesOn && !state.words ? [make("tspan", { class: "piece" }, "·"), short(unit.text)] : [label(unit)]);

function pin(side, index) {
  const same = pinned && chosen && chosen.side === side && chosen.index === index;
  pinned = !same;
  if (same) choose(null);
  else choose(side, index);
}

// Keys in the matrix run sideways; elsewhere both sides run down.
function move(event, side, index) {
  const last = picture.tokens[side].length - 1;
  const acrossIsNext = picture.sideways && side === 1;
  const next = { ArrowDown: [side, index + 1], ArrowUp: [side, index - 1], ArrowRight: [1, index], ArrowLeft: [0, index],
    Home: [side, 0], End: [side, last] };
  if (acrossIsNext)
    Object.assign(
      next, { ArrowRight: [1, index + 1], ArrowLeft: [1, index - 1], ArrowDown: [0, 0], ArrowUp: [1, index] });
  if (event.key in next) focusToken(...next[event.key]);
  else if (event.key === "Enter" || event.key === " ") pin(side, index);
  else if (event.key === "Escape") { pinned = false; choose(null); }
  else return;
  event.preventDefault();
}

function focusToken(side, index) {
  const tokens = picture.tokens[side];
  const node = tokens[Math.max(0, Math.min(index, tokens.length - 1))];
  for (const each of picture.tokens.flat()) each.setAttribute("tabindex", "-1");
  node.setAttribute("tabindex", "0");
  pinned = false;
  node.focus();
}

// What a token gives to the other side, or gets from it.
const weightsOf = (side, index) => (side ? picture.queries.map((_, i) => picture.mean(i, index))
  : picture.keys.map((_, j) => picture.mean(index, j)));

// Shows the weights of one token alone; side null: of all.
function choose(side, index) {
  chosen = side === null ? null : { side, index };
  const weights = chosen ? weightsOf(side, index) : [], most = Math.max(...weights);
  for (const [s, tokens] of picture.tokens.entries())
    for (const [i, node] of tokens.entries()) {
      const is = chosen !== null && s === side && i === index;
      node.classList.toggle("chosen", is);
      node.setAttribute("aria-pressed", String(is && pinned));
      node.style.setProperty("--weight", chosen && s !== side && most > 0 ? 0.5 + 0.5 * weights[i] / most : 0.5);
    }
  picture.svg.classList.toggle("isolated", chosen !== null);
  picture.isolate();
  tell();
}

// ---------------------------------------------------------------------------------------------- what is read ----

const strong = (text) => make("b", { dir: "auto" }, text);

// The text of a unit, and where it is among others of the same text.
const named = (units, i) =>
  [strong(units[i].text), ...(units.some((u, k) => k !== i && u.text === units[i].text) ? [` (${i + 1})`] : [])];

function say(...parts) {
  byId("readout").replaceChildren(...parts);
  byId("readout").classList.remove("hint");
}

function tell() {
  if (!chosen) {
    say(state.heads.size ? "Point at a token, or move to one with Tab and the arrow keys; Enter keeps it."
      : "No head is chosen.");
    byId("readout").classList.add("hint");
    return;
  }
  const { side, index } = chosen, sides = [picture.queries, picture.keys], own = sides[side], others = sides[1 - side];
  const best = weightsOf(side, index).map((weight, i) => [weight, i]).sort((a, b) => b[0] - a[0]).slice(0, 6)
    .filter(([weight]) => weight >= 0.005);
  const parts = [...named(own, index), side ? " is looked at by " : " looks at "];
  for (const [n, [weight, i]] of best.entries()) parts.push(n ? ", " : "", ...named(others, i), ` ${percent(weight)}`);
  say(...parts, picture.heads.length > 1 ? ` (mean of ${picture.heads.length} heads)` : ` (head ${picture.heads[0]})`);
}

function tellCell(i, j) {
  const each = picture.heads.map((head, h) => `${head}: ${percent(picture.weights[h][i][j])}`).join(", ");
  say(...named(picture.queries, i), " looks at ", ...named(picture.keys, j), ` ${percent(picture.mean(i, j))}`,
    picture.heads.length > 1 ? ` (by head ${each})` : ` (head ${picture.heads[0]})`);
}

const SENTENCES = {
  encoder: ["source token that is read", "source tokens that it looks at"],
  decoder: ["target token that is written", "target tokens before it that the model looks at"],
  cross: ["target token that is written", "source tokens that the model looks at"],
};

function caption() {
  const [left, right] = SENTENCES[state.kind];
  const texts = {
    lines: `Left: each ${left}. Right: the ${right}. The thicker and stronger a line, the larger the weight; its colour is the `
      + `head. Weights below ${100 * LEAST_SHOWN} % are not drawn until a token is chosen.`,
    matrix: `Rows: each ${left}. Columns: the ${right}. The stronger the colour, the larger the weight, the mean of the heads `
      + "that are chosen. Each row sums to 100 %.",
    overview: `Every layer and head: rows are each ${left}, columns the ${right}. A click opens it.`,
  };
  byId("title").textContent = state.view === "overview" ? kinds[state.kind].title
    : `${kinds[state.kind].title}, layer ${state.layer} of ${kinds[state.kind].layers.length}`;
  byId("caption").textContent = texts[state.view];
}

// On paper, where no controls are.
function legend() {
  const swatch = (head) => make("i", { style: `--head:${colorOf(head)}` });
  const names = picture.heads.map((head) => make("span", {}, swatch(head), `head ${head}`));
  const texts = { lines: names, matrix: [`mean of the heads ${picture.heads.join(", ")}`], overview: [] };
  byId("legend").replaceChildren(...(names.length > 1 ? texts[state.view] : names));
}

// ---------------------------------------------------------------------------------------------------- page ----

function draw() {
  chosen = null;
  pinned = false;
  picture = { ...read(), tokens: [[], []], isolate: () => {} };
  caption();
  legend();
  byId("layers").hidden = state.view === "overview";
  byId("heads").hidden = state.view === "overview";
  byId("readout").hidden = byId("save").hidden = state.view === "overview";
  if (state.view === "overview") { drawOverview(); return; }
  if (state.view === "matrix") drawMatrix();
  else drawLines();
  byId("picture").replaceChildren(picture.svg);
  picture.tokens[0][0].setAttribute("tabindex", "0");
  tell();
}

document.title = `Attention: ${short(data.source, 60)}`;
byId("model").textContent = data.model;
byId("source").textContent = data.source;
byId("target").textContent = data.target;
byId("target-name").textContent = data.translated ? "Translation" : "Target";
addControls();
draw();
if (data.show.token) pin(...data.show.token);
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) draw(); width = innerWidth; });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && picture.svg) {
    pinned = false;
    choose(null);
  }
});
