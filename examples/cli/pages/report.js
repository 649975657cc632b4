"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const COLORS = ["#2f7ed8", "#e4572e", "#1f9d55", "#9b51c9", "#d99a00", "#12a0a6", "#d6458f", "#8a6d3b", "#5b6ee1", "#83a000",
  "#b3322c", "#6a7889"];
const HEIGHT = 250, LEFT = 58, RIGHT = 14, TOP = 10, BOTTOM = 30, PAPER_WIDTH = 400;
const state = { axis: "step", hidden: new Set(), cursor: null };
const charts = [];
let printing = false;

const byId = (id) => document.getElementById(id);
const alone = data.runs.length === 1;
const shortName = (run) => run.name.replace(/^.*\//, "").replace(/\.csv(\.gz)?$/, "");
// Of logs in several folders that have the same name the whole path tells.
const nameOf = (run) => (data.runs.some((other) => other !== run && shortName(other) === shortName(run)) ? run.name : shortName(run));

// One run has a colour for training and one for validation, several have one each.
const colorOf = (run, kind) => (alone ? COLORS[kind === "valid" ? 1 : 0] : COLORS[data.runs.indexOf(run) % COLORS.length]);

// ------------------------------------------------------------------------------------------------- numbers ----

function show(x) {
  if (x !== 0 && (Math.abs(x) >= 1e7 || Math.abs(x) < 1e-3)) return x.toExponential(2);
  return x.toLocaleString("en", Math.abs(x) >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 });
}

function time(seconds) {
  const whole = Math.round(seconds), pad = (n) => String(n).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
}

const showX = (x) => (state.axis === "step" ? `step ${Math.round(x).toLocaleString("en")}` : time(x));

// A running mean of about a hundredth of the points, without the pull of its start.
function smooth(values) {
  const keep = 1 - 1 / (1 + values.length / 100);
  let sum = 0, weight = 0;
  return values.map((v) => {
    if (v === null) return null;
    sum = keep * sum + v;
    weight = keep * weight + 1;
    return sum / weight;
  });
}

const ifAny = (values, change) => values.map((v) => (v === null ? null : change(v)));
const defined = (values) => values.filter((v) => v !== null);

// -------------------------------------------------------------------------------------------------- charts ----

// What a chart draws of a run: {kind, name, table, values, band, dots, style}.
const training = (run, values, rest = {}) => ({ kind: "train", name: "training", table: run.steps, values, ...rest });
const validation = (run, values) => ({ kind: "valid", name: "validation", table: run.valid, values, dots: true });
const differs = (run) =>
  run.steps.loss.some((v, i) => v !== null && run.steps.nll[i] !== null && Math.abs(v - run.steps.nll[i]) > 1e-3);

const CHARTS = [
  {
    id: "loss",
    title: "Loss",
    unit: "nats a target token",
    log: false,
    series: (run) => [...(alone && differs(run) ?
                          [training(run, smooth(run.steps.loss), { name: "with label smoothing", style: "dashed" })] :
                          []),
      training(run, smooth(run.steps.nll), { band: [run.steps.nll_least, run.steps.nll_most], style: "thin" }),
      validation(run, run.valid.nll)]
  },
  {
    id: "perplexity",
    title: "Perplexity",
    unit: "",
    log: true,
    series: (run) => [training(run, ifAny(smooth(run.steps.nll), Math.exp), { style: "thin" }),
      validation(run, ifAny(run.valid.nll, Math.exp))]
  },
  {
    id: "bleu",
    title: "BLEU of the validation",
    unit: "percent",
    log: false,
    series: (run) => [validation(run, run.valid.bleu)]
  },
  { id: "rate", title: "Learning rate", unit: "", log: false, series: (run) => [training(run, run.steps.rate)] },
  {
    id: "norm",
    title: "Norm of the gradient",
    unit: "before clipping",
    log: true,
    series: (run) => [training(run, smooth(run.steps.norm))]
  },
  {
    id: "speed",
    title: "Speed",
    unit: "target tokens a second",
    log: false,
    series: (run) => [training(run, run.steps.speed)]
  },
];

const shownRuns = () => data.runs.filter((run) => !state.hidden.has(run));

// Every line of a chart that has a point: {run, x, ...} with x in the axis that is chosen.
function linesOf(chart) {
  return shownRuns().flatMap((run) => chart.series(run).filter((s) => defined(s.values).length)
    .map((s) => ({ run, x: s.table[state.axis], color: colorOf(run, s.kind), ...s })));
}

// The next number below that is 1, 2 or 5 times a power of ten.
function roundDown(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [5, 2, 1].find((times) => times * power <= x * 1.0001);
}

// Values of a damaged log may be of any size, and smoothed ones differ by their rounding.
function range(values, log) {
  const all = values.filter((v) => v !== null && Number.isFinite(v) && (!log || v > 0));
  const least = (a, b) => Math.min(a, b), most = (a, b) => Math.max(a, b);
  let [low, high] = all.length ? [least, most].map((f) => most(log ? 1e-300 : -1e300, least(1e300, all.reduce(f)))) : [1, 10];
  if (log) return [roundDown(low * 0.93), high * 1.07];
  const flat = high - low <= 1e-9 * Math.abs(high);
  const room = flat ? Math.abs(high) * 0.05 || 1 : (high - low) * 0.05;
  if (low >= 0 && low - room < 0 || low > 0 && low < high * 0.35) low = 0;
  else low -= room;
  return [low, high + room];
}

// About n round numbers in the range; of a logarithmic one 1, 2 and 5 of each power, of more than four powers 1.
function ticks([low, high], n, log) {
  if (log && high / low > 3) {
    const all = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const digit of high / low > 3e4 ? [1] : [1, 2, 5]) all.push(digit * 10 ** power);
    return all.filter((v) => v >= low && v <= high);
  }
  const rough = (high - low) / n, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => times * power >= rough);
  const list = [];
  for (let k = Math.ceil(low / step); k * step <= high * 1.0000001; k++) list.push(k * step);
  return list;
}

// Times are marked at whole minutes or hours where there are some.
function timeTicks([low, high], n) {
  const steps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];
  const step = steps.find((s) => (high - low) / s <= n) ?? (high - low) / n;
  const list = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) list.push(k * step);
  return list;
}

function pathOf(xs, ys, place) {
  let path = "", pen = "M";
  ys.forEach((y, i) => {
    if (y === null || xs[i] === null || !place.shows(y)) { pen = "M"; return; }
    path += `${pen}${place.x(xs[i]).toFixed(1)} ${place.y(y).toFixed(1)}`;
    pen = "L";
  });
  return path;
}

function bandPath(line, place) {
  const [least, most] = line.band;
  const there = line.x.map((_, i) => i).filter((i) => least[i] !== null && line.x[i] !== null && place.shows(least[i]));
  const point = (i, values) => `${place.x(line.x[i]).toFixed(1)} ${place.y(values[i]).toFixed(1)}`;
  return there.length ?
    `M${there.map((i) => point(i, most)).join("L")}L${there.reverse().map((i) => point(i, least)).join("L")}Z` :
    "";
}

function frameOf(chart, lines, width) {
  const x = range(lines.flatMap((line) => line.x), false), y = range(lines.flatMap((line) => line.values), chart.log);
  x[0] = 0;
  x[1] = defined(lines.flatMap((line) => line.x)).reduce((most, v) => Math.max(most, v), 1);
  const scale = chart.log ? Math.log : (v) => v;
  return { xs: x, ys: y, shows: (v) => !chart.log || v > 0,
    x: (v) => LEFT + (width - LEFT - RIGHT) * (v - x[0]) / (x[1] - x[0]),
    y: (v) => Math.max(TOP - 20, Math.min(HEIGHT - BOTTOM + 20,
      HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (scale(v) - scale(y[0])) / (scale(y[1]) - scale(y[0])))) };
}

function drawAxes(svg, chart, place, width) {
  for (const value of ticks(place.ys, 5, chart.log)) {
    const y = place.y(value);
    svg.append(make("path", { class: "grid", d: `M${LEFT} ${y}H${width - RIGHT}` }),
      make("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, show(value)));
  }
  const n = Math.max(2, Math.floor((width - LEFT) / 110));
  for (const value of state.axis === "step" ? ticks(place.xs, n, false) : timeTicks(place.xs, n)) {
    const x = place.x(value);
    svg.append(make("path", { class: "grid", d: `M${x} ${HEIGHT - BOTTOM}v5` }),
      make("text", { x, y: HEIGHT - 8, "text-anchor": x > width - RIGHT - 20 ? "end" : "middle" },
        state.axis === "step" ? value.toLocaleString("en") : time(value)));
  }
}

function drawLine(svg, line, place) {
  if (line.band) svg.append(make("path", { class: "band", fill: line.color, d: bandPath(line, place) }));
  svg.append(make("path", { class: `curve ${line.style ?? ""}`, stroke: line.color, d: pathOf(line.x, line.values, place),
    "data-run": nameOf(line.run), "data-kind": line.kind }));
  if (!line.dots || line.values.length > 60) return;
  line.values.forEach((y, i) => {
    if (y !== null && line.x[i] !== null && place.shows(y))
      svg.append(make("circle", { class: "dot", cx: place.x(line.x[i]), cy: place.y(y), r: 4, fill: line.color }));
  });
}

function drawChart(chart) {
  const lines = linesOf(chart), width = printing ? PAPER_WIDTH : Math.max(280, chart.card.clientWidth - 38);
  chart.card.hidden = !data.runs.some((run) => chart.series(run).some((s) => defined(s.values).length));
  chart.lines = lines;
  chart.place = frameOf(chart, lines, width);
  chart.svg.replaceChildren();
  chart.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  chart.width = width;
  const clip = make("g");
  drawAxes(chart.svg, chart, chart.place, width);
  for (const line of lines) drawLine(clip, line, chart.place);
  chart.cursor = make("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  chart.svg.append(clip, chart.cursor);
  reserve(chart);
}

// -------------------------------------------------------------------------------------------------- cursor ----

// The point of a line that is nearest to x; -1 where the line has ended, or not begun.
function nearest(line, x) {
  const there = defined(line.x), room = (there.at(-1) - there[0]) / 50;
  let best = -1;
  if (x > there.at(-1) + room || (x < there[0] - room && line.kind === "train")) return best;
  line.x.forEach((at, i) => {
    if (line.values[i] !== null && at !== null && (best < 0 || Math.abs(at - x) < Math.abs(line.x[best] - x))) best = i;
  });
  return best;
}

// The values at the cursor; without one the last of each line, which makes a legend.
function tell(chart) {
  const at = state.cursor;
  const parts = [];
  for (const line of chart.lines) {
    const i = at === null ? line.values.findLastIndex((v) => v !== null) : nearest(line, at);
    if (i < 0) continue;
    const name = alone ? line.name : `${nameOf(line.run)} ${line.name}`;
    const swatch = make("i");
    swatch.style.background = line.color;
    parts.push(make("span", {}, swatch, `${name} `, make("b", {}, show(line.values[i]))), " ");
  }
  chart.values.replaceChildren(at === null ? "last" : showX(at), ...parts);
  if (at !== null) {
    const x = chart.place.x(at);
    chart.cursor.setAttribute("x1", x);
    chart.cursor.setAttribute("x2", x);
  }
  chart.cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
}

// Room for the values at a cursor, so that nothing moves when they come and go.
function reserve(chart) {
  const at = state.cursor;
  chart.values.style.minHeight = "";
  state.cursor = chart.place.xs[1];
  tell(chart);
  chart.values.style.minHeight = `${chart.values.offsetHeight}px`;
  state.cursor = at;
  tell(chart);
}

// Every chart shows the same moment.
function moveCursor(at) {
  state.cursor = at;
  for (const chart of charts) if (!chart.card.hidden) tell(chart);
}

function pointAt(chart, event) {
  const box = chart.svg.getBoundingClientRect(), { xs } = chart.place;
  const share = ((event.clientX - box.left) / box.width * chart.width - LEFT) / (chart.width - LEFT - RIGHT);
  moveCursor(xs[0] + Math.max(0, Math.min(1, share)) * (xs[1] - xs[0]));
}

function onKey(chart, event) {
  const { xs } = chart.place, by = (xs[1] - xs[0]) / 100, at = state.cursor ?? xs[1];
  const next = { ArrowLeft: at - by, ArrowRight: at + by, Home: xs[0], End: xs[1] }[event.key];
  if (event.key === "Escape") moveCursor(null);
  else if (next === undefined) return;
  else moveCursor(Math.max(xs[0], Math.min(xs[1], next)));
  event.preventDefault();
}

function addChart(options) {
  const values = make("p", { class: "values", "aria-live": "polite" });
  const svg = make("svg", {
    role: "img",
    tabindex: "0",
    height: HEIGHT,
    "aria-label": `${options.title} over the training; arrow keys move along it`
  });
  const scale = make("button", { type: "button", "aria-pressed": String(options.log) }, "log scale");
  const title = make("header", {}, make("h2", {}, options.title), make("span", { class: "soft" }, options.unit), scale);
  const chart = {
    ...options,
    values,
    svg,
    card: make(
      "section", { class: "card chart", id: `chart-${options.id}`, "aria-label": options.title }, title, values, svg)
  };
  scale.addEventListener("click", () => {
    chart.log = !chart.log;
    scale.setAttribute("aria-pressed", String(chart.log));
    drawChart(chart);
  });
  svg.addEventListener("pointermove", (event) => pointAt(chart, event));
  svg.addEventListener("pointerleave", () => moveCursor(null));
  svg.addEventListener("keydown", (event) => onKey(chart, event));
  svg.addEventListener("blur", () => moveCursor(null));
  byId("charts").append(chart.card);
  charts.push(chart);
}

// ---------------------------------------------------------------------------------------------------- page ----

function addKey(id, type, name, checked, change, color) {
  const input = make("input", { type, name: id, value: name });
  input.checked = checked;
  input.addEventListener("change", () => { change(input.checked); charts.forEach(drawChart); });
  const label = make("label", { class: color ? "key run" : "key" }, input, make("span", {}, name));
  if (color) label.style.setProperty("--run", color);
  byId(id).append(label);
}

function drawNotes() {
  const notes = data.runs.flatMap((run) => run.notes);
  byId("notes").hidden = notes.length === 0;
  byId("notes").append(make("h2", {}, "Notes on the logs"), make("ul", {}, ...notes.map((text) => make("li", {}, text))));
}

document.title = `Training: ${data.runs.map(nameOf).join(", ")}`;
byId("names").textContent = data.runs.map(nameOf).join(", ");
for (const [axis, name] of [["step", "Steps"], ["seconds", "Time"]])
  addKey("axis", "radio", name, axis === state.axis, () => { state.axis = axis; state.cursor = null; });
byId("runs").hidden = alone;
for (const run of data.runs)
  addKey("runs", "checkbox", nameOf(run), true, (on) => {
    if (on)
      state.hidden.delete(run);
    else
      state.hidden.add(run);
  }, colorOf(run, "train"));
drawNotes();
drawSummary();
CHARTS.forEach(addChart);
charts.forEach(drawChart);
drawSamples();
for (const [event, now] of [["beforeprint", true], ["afterprint", false]])
  addEventListener(event, () => { printing = now; charts.forEach(drawChart); });
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) charts.forEach(drawChart); width = innerWidth; });
