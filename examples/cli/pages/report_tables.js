"use strict";
// Tables beside the charts of report.js: a line for each training, and how sample translations grew.

// ----------------------------------------------------------------------------------------- summary, samples ----

function best(values, better) {
  let at = -1;
  values.forEach((v, i) => { if (v !== null && (at < 0 || better(v, values[at]))) at = i; });
  return at;
}

function summarise(run) {
  const at = (table, values, i, change = (v) => v) =>
    (i < 0 ? "–" : `${show(change(values[i]))} (step ${table.step[i].toLocaleString("en")})`);
  const { steps, valid } = run, last = steps.step.length - 1;
  const speeds = defined(steps.speed).sort((a, b) => a - b);
  return [
    last < 0 ? "–" : steps.step[last].toLocaleString("en"), last < 0 ? "–" : show(steps.epoch[last] ?? 0),
    last < 0 ? "–" : time(steps.seconds[last] ?? 0),
    last < 0 ? "–" : show(smooth(steps.nll).findLast((v) => v !== null) ?? NaN),
    at(valid, valid.nll, best(valid.nll, (a, b) => a < b), Math.exp),
    at(valid, valid.bleu, best(valid.bleu, (a, b) => a > b)),
    speeds.length ? Math.round(speeds[speeds.length >> 1]).toLocaleString("en") : "–"
  ];
}

function drawSummary() {
  const titles =
    ["training", "steps", "epochs", "time", "last loss", "best validation perplexity", "best BLEU", "tokens/s, median"];
  byId("summary").append(make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title))));
  for (const run of data.runs) {
    const swatch = make("i");
    swatch.style.background = colorOf(run, "train");
    byId("summary").append(
      make("tr", {}, make("td", {}, swatch, nameOf(run)), ...summarise(run).map((text) => make("td", {}, text))));
  }
}

// Translations of one sentence: equal ones that follow each other are one entry, "250–750".
function entriesOf(run, source, reference) {
  const entries = [];
  const rows = new Map(run.samples.filter((row) => row[2] === source && row[3] === reference)
    .map((row) => [row[0], row[4]]));  // the last of a step counts
  for (const [step, text] of [...rows].sort((a, b) => a[0] - b[0])) {
    const last = entries.at(-1);
    if (last && last.text === text) last.to = step;
    else entries.push({ from: step, to: step, text });
  }
  return entries;
}

function drawSamples() {
  const box = byId("samples");
  const sources = new Map(data.runs.flatMap((run) => run.samples).map((row) => [`${row[2]}\u0000${row[3]}`, row]));
  box.hidden = sources.size === 0;
  box.append(make("h2", {}, "Sample translations"));
  for (const [, , source, reference] of sources.values()) {
    const list = make("dl", {}, make("dt", {}, "source"), make("dd", { class: "source", dir: "auto" }, source),
      make("dt", {}, "reference"), make("dd", { dir: "auto" }, reference));
    for (const run of data.runs) {
      for (const { from, to, text } of entriesOf(run, source, reference)) {
        const steps = `step ${from}${to > from ? `–${to}` : ""}`;
        list.append(make("dt", {}, alone ? steps : `${nameOf(run)}, ${steps}`),
          make("dd", { dir: "auto", class: text === reference ? "exact" : "" }, text));
      }
    }
    box.append(make("article", {}, list));
  }
}
