// Opens the pages of a folder in a browser and checks what they show. Usage: node pictures.js BROWSER FOLDER
"use strict";
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");
const { count, labels, looks, near, openPage, paper, text } = require("./pictures_page.js");

const [browserPath, folder] = process.argv.slice(2);
const file = (name) => path.join(folder, name);
let checks = 0;
let failures = 0;

function check(name, good, ...seen) {
  checks++;
  if (good) return;
  failures++;
  console.log(`FAILED ${name}`, ...seen);
}

const open = (browser, name) => openPage(browser, file(name), check);

// ------------------------------------------------------------------------------------------------ attention ----

const LEAST_SHOWN = 0.02;

function numbers(name) {
  const data = JSON.parse(fs.readFileSync(file(name)));
  const kind = (k) => data.attention.find((a) => a.kind === k);
  return { data, kind, mean: (k, layer, i, j) => {
    const heads = kind(k).weights[layer - 1];
    return heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length;
  } };
}

const atLeast = (matrices, least) => matrices.flat(2).filter((w) => w >= least).length;

async function showsTheWeights(browser) {
  const page = await open(browser, "short.html");
  const { data, kind, mean } = numbers("short.json");
  const cross = kind("cross"), n = data.tokens.source.length, m = data.tokens.target.length;
  check("controls", await count(page, "#kinds input") === 3 && await count(page, "#layers input") === 2
    && await count(page, "#heads input") === 2);
  check("opens with the last layer", (await text(page, "#title")) === "Encoder-decoder attention, layer 2 of 2");
  check("tokens", await count(page, ".token") === m + n, await count(page, ".token"));
  check("a line for each weight", await count(page, ".base path") === atLeast(cross.weights[1], LEAST_SHOWN));
  const lines = await page.$$eval(".base path", (paths) => paths.map((p) => ({
    ...p.dataset,
    width: +p.getAttribute("stroke-width"),
    opacity: +p.getAttribute("stroke-opacity"),
    color: getComputedStyle(p).stroke
  })));
  const weight = (l) => cross.weights[1][l.head - 1][l.query][l.key];
  const sorted = lines.sort((a, b) => weight(a) - weight(b));
  check("thickness and opacity by weight", sorted.every((l, i) => !i || (l.width >= sorted[i - 1].width - 0.011
    && l.opacity >= sorted[i - 1].opacity - 0.0011)) && sorted.at(-1).width > sorted[0].width);
  check("a colour for each head", new Set(lines.map((l) => l.color)).size === 2
    && lines.every((l) => l.color === lines.find((o) => o.head === l.head).color));
  const whole = await looks(page, "#picture svg");
  check("the picture has its size, and colours",
    near(whole.width, whole.box.width, 2) && near(whole.height, whole.box.height, 2) && whole.bytes > 5000
      && whole.coloured > 0.005,
    whole);

  await page.hover(".token >> nth=1");
  const most = Math.max(...cross.weights[1].flatMap((head) => head[1]));
  check("pointing isolates", await count(page, ".isolated") === 1 && await count(page, ".lines:not(.base) path")
    === atLeast(cross.weights[1].map((head) => [head[1]]), most / 50));
  const faint = await page.$$eval(".lines:not(.base) path", (all) => all.map((p) => +p.getAttribute("stroke-opacity")));
  check("the strongest line is drawn in full, the faintest can be seen", Math.max(...faint) === 1 && Math.min(...faint) >= 0.15,
    faint);
  check("the others fade", +(await page.$eval(".base", (g) => getComputedStyle(g).opacity)) < 0.1);
  const alone = await looks(page, "#picture svg");
  check("less is coloured", alone.coloured < whole.coloured && alone.coloured > 0, alone.coloured, whole.coloured);
  const best = data.tokens.source.map((token, j) => [mean("cross", 2, 1, j), token.text]).sort((a, b) => b[0] - a[0])[0];
  const said = await text(page, "#readout");
  check("and tells the numbers",
    said.startsWith(
      `${data.tokens.target[1].text} looks at ${best[1]} ${(100 * best[0]).toFixed(best[0] < 0.0995 ? 1 : 0)} %`),
    said, best);
  await page.mouse.move(5, 5);
  check("until the pointer leaves", await count(page, ".isolated") === 0);
  await page.click(`.token >> nth=${m + 2}`);
  await page.mouse.move(5, 5);
  check("a click keeps it", await count(page, ".isolated") === 1 && (await text(page, "#readout")).includes("is looked at by"));
  await page.keyboard.press("Escape");
  check("Escape lets it go", await count(page, ".isolated") === 0);
  await page.done();
}

async function obeysTheKeyboard(browser) {
  const page = await open(browser, "short.html");
  const m = numbers("short.json").data.tokens.target.length;
  const focused = () => page.evaluate(() => [...document.querySelectorAll(".token")].indexOf(document.activeElement));
  const trail = [];
  for (let i = 0; i < 20 && await focused() < 0; i++) {
    await page.keyboard.press("Tab");
    trail.push(await page.evaluate(
      () => document.activeElement.name || document.activeElement.id || document.activeElement.tagName));
  }
  check("Tab passes all controls on its way to the tokens", await focused() === 0
    && ["theme", "kinds", "layers", "views", "heads"].every((name) => trail.includes(name)), trail);
  await page.keyboard.press("ArrowDown");
  check("down", await focused() === 1 && await count(page, ".token.chosen") === 1);
  check("focus is not cut off", await page.$eval(":focus .back", (node) => {
    const box = node.getBoundingClientRect(), picture = node.ownerSVGElement.getBoundingClientRect();
    return box.left >= picture.left + 1 && box.top >= picture.top + 1;
  }));
  check("focus can be seen", await page.$eval(":focus .back", (node) => getComputedStyle(node).strokeWidth) === "2px");
  await page.keyboard.press("ArrowRight");
  check("to the other side", await focused() === m + 1);
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowDown");
  check("no further than the end", await focused() === await count(page, ".token") - 1);
  await page.keyboard.press("Enter");
  check("Enter keeps", await page.$eval(":focus", (node) => node.getAttribute("aria-pressed")) === "true");
  check("what is focused has a name",
    (await page.$eval(":focus", (node) => node.getAttribute("aria-label"))).startsWith("key "));
  await page.focus("#layers input:checked");
  await page.keyboard.press("ArrowLeft");
  check("layers by arrow keys", (await text(page, "#title")).endsWith("layer 1 of 2"));
  await page.focus("#kinds input:checked");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  check("kinds by arrow keys", (await text(page, "#title")) === "Encoder self-attention, layer 1 of 1");
  await page.focus("#heads input");
  await page.keyboard.press("Space");
  check("heads by the space bar", new Set(await page.$$eval(".base path", (p) => p.map((x) => x.dataset.head))).size === 1);
  check("every control has a name", await page.evaluate(() => [...document.querySelectorAll("input, select, button")]
    .every((node) => node.getAttribute("aria-label") || node.closest("label")?.textContent.trim() || node.textContent.trim())));
  await page.done();
}

async function hasOtherViews(browser) {
  const page = await open(browser, "short.html");
  const { data, kind, mean } = numbers("short.json");
  const n = data.tokens.source.length, m = data.tokens.target.length;
  await page.click("#heads button:text-is('none')");
  check("no heads, no lines", await count(page, ".base path") === 0 && (await text(page, "#readout")) === "No head is chosen.");
  check("and nothing coloured", (await looks(page, "#picture svg")).coloured < 1e-4);
  await page.dblclick("#heads label >> nth=1");
  check("a double click: that head alone",
    await count(page, ".base path") === atLeast(kind("cross").weights[1][1], LEAST_SHOWN));
  await page.click("#heads button:text-is('all')");

  await page.check("[value=matrix]");
  const cells = data.tokens.target.flatMap((_, i) => data.tokens.source.map((__, j) => mean("cross", 2, i, j)))
                  .filter((w) => w >= 0.0021);
  check("a cell for each weight", near(await count(page, "#picture g rect[data-query]"), cells.length, 2), cells.length);
  const box = await (await page.$(".field")).boundingBox();
  await page.mouse.move(box.x + box.width * 1.5 / n, box.y + box.height * 2.5 / m);
  const said = await text(page, "#readout");
  check("a cell tells its heads", said.startsWith(`${data.tokens.target[2].text} looks at ${data.tokens.source[1].text} `)
    && said.includes("by head 1: ") && said.includes(", 2: "), said);
  const release = async (key) => { await page.keyboard.press(key); return text(page, "#readout"); };
  await page.mouse.click(box.x + box.width * 1.5 / n, box.y + box.height * 2.5 / m);
  await page.mouse.move(2, 2);
  check("a click keeps a cell", (await text(page, "#readout")) === said && await count(page, ".cross") === 2);
  check("Escape lets it go", (await release("Escape")).startsWith("Point at") && await count(page, ".cross") === 0);
  await page.focus("#heads button >> nth=-1");
  for (let i = 0; i < 4 && !await page.$eval(".field", (field) => field.matches(":focus")); i++) await page.keyboard.press("Tab");
  for (const key of ["ArrowUp", "ArrowLeft"]) await page.keyboard.press(key);
  check("cells by keyboard", (await text(page, "#readout"))
    .startsWith(`${data.tokens.target[1].text} looks at ${data.tokens.source[0].text} `), await text(page, "#readout"));
  for (const key of ["ArrowDown", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  await page.focus("#theme");
  check("Enter keeps a cell", (await text(page, "#readout")) === said);
  const flat = await labels(page);
  check("matrix: labels apart", flat.n === m + n && flat.covering.length === 0 && flat.outside === 0, flat);

  await page.check("[value=overview]");
  check("a small picture of every head",
    await count(page, ".overview canvas") === 4 && (await looks(page, ".overview")).coloured > 0.01);
  await page.evaluate(() => {
    for (const kind of data.attention) {
      kind.heads = Array.from({ length: 16 }, (_, h) => h + 1);
      kind.weights = kind.weights.map((layer) => kind.heads.map((h) => layer[h % 2]));
    }
    draw();
  });
  check("sixteen heads fit into the window", await count(page, ".overview canvas") === 32
    && await page.$eval("#picture", (box) => box.scrollWidth <= box.clientWidth));
  await page.click("[aria-label='layer 1, head 3']");
  check("which a click opens", (await text(page, "#title")).endsWith("layer 1 of 2")
    && await count(page, ".base path") === atLeast(kind("cross").weights[0][1], LEAST_SHOWN));

  await page.check("[value=words]");
  const words = (side) => new Set(data.tokens[side].map((t) => t.word)).size;
  check("words", await count(page, ".token") === words("source") + words("target"));
  const pieces = (side, word) => data.tokens[side].map((t, i) => (t.word === word ? i : -1)).filter((i) => i >= 0);
  const longest = [...Array(words("target")).keys()].sort((a, b) => pieces("target", b).length - pieces("target", a).length)[0];
  const ofWord = (word) => pieces("target", longest)
                             .flatMap((i) => pieces("source", word).map((j) => kind("cross").weights[0][1][i][j]))
                             .reduce((sum, w) => sum + w, 0)
    / pieces("target", longest).length;
  await page.hover(`.token >> nth=${longest}`);
  const share = Math.max(...[...Array(words("source")).keys()].map(ofWord));
  const told = await text(page, "#readout");
  check("to a word goes the sum, from a word the mean", pieces("target", longest).length > 1
    && told.includes(` ${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`), told, share);
  check("words are whole",
    (await page.$$eval(".token text", (nodes) => nodes.map((t) => t.textContent))).some((t) => t.includes("fuenf")));
  await page.done();
}

async function savesTheFigure(page) {
  await page.click(".token >> nth=1");
  const [file] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  const svg = fs.readFileSync(await file.path(), "utf8");
  const seen = await page.evaluate((source) => {
    const tree = new DOMParser().parseFromString(source, "image/svg+xml"), all = (what) => [...tree.querySelectorAll(what)];
    return { bad: all("parsererror").length, strokes: new Set(all("path").map((node) => node.getAttribute("stroke"))
      .filter(Boolean)).size, texts: all("text").map((node) => node.textContent),
      styled: all("[class], [style]").length, ink: all("text").map((node) => node.getAttribute("fill")).find(Boolean) };
  }, svg);
  check("saved as a figure", file.suggestedFilename() === "attention-cross-2.svg" && seen.bad === 0 && seen.styled === 0
    && seen.strokes === 2 && seen.texts.slice(-2).join() === "head 1,head 2" && seen.ink === "rgb(29, 33, 38)", seen);
  await page.keyboard.press("Escape");
}

// Of the saved figure the names of the heads, and whether they are on its page.
async function savedNames(page) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  return page.evaluate((source) => {
    const svg = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
    document.body.append(svg);
    const width = +svg.getAttribute("width"), height = +svg.getAttribute("height");
    const texts = [...svg.querySelectorAll(":scope > text[font-size='11']")];
    const inside = texts.every((text) => {
      const box = text.getBBox();
      return box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height;
    });
    const places = texts.map((text) => `${text.getAttribute("x")} ${text.getAttribute("y")}`);
    svg.remove();
    return { inside, apart: new Set(places).size === texts.length, words: texts.map((text) => text.textContent).join(" "), width };
  }, fs.readFileSync(await file.path(), "utf8"));
}

async function savesTheNamesOfAllHeads(browser) {
  const page = await open(browser, "short.html");
  const names = Array.from({ length: 16 }, (_, i) => i + 1);
  await page.evaluate((heads) => {
    for (const kind of data.attention) {
      kind.heads = heads;
      kind.weights = kind.weights.map((layer) => heads.map((h) => layer[h % 2]));
    }
    state.heads = new Set(heads);
  }, names);
  for (const width of [1100, 400])
    for (const [view, words] of [["lines", names.map((h) => `head ${h}`).join(" ")],
           ["matrix", `mean of the heads ${names.join(", ")}`]]) {
      await page.setViewportSize({ width, height: 800 });
      await page.check(`[value=${view === "lines" ? "matrix" : "lines"}]`);
      await page.check(`[value=${view}]`);
      const seen = await savedNames(page);
      check(`${width}, ${view}: the names of all heads`, seen.inside && seen.apart && seen.words === words, seen);
    }
  await page.done();
}

async function beginsWhereOneWants(browser) {
  const page = await open(browser, "word.html");
  check("begins with a matrix of words, one of them kept", await page.isChecked("[value=matrix]")
    && await page.isChecked("[value=words]") && (await text(page, ".token.chosen text")) === "fuenf"
    && (await text(page, "#readout")).startsWith("fuenf looks at "));
  await page.done();
}

async function suitsItsSurroundings(browser) {
  const page = await open(browser, "short.html");
  const light = await looks(page, "body");
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await looks(page, "body");
  check("dark where the system is", light.light > 0.8 && dark.light < 0.25 && dark.coloured > 0.002, light.light, dark.light);
  await page.selectOption("#theme", "light");
  check("and light where one wants it", (await looks(page, "body")).light > 0.8);
  await page.selectOption("#theme", "dark");
  await page.emulateMedia({ media: "print" });
  check("printed on white, without controls", (await looks(page, "body")).light > 0.9 && !await page.isVisible("#controls")
    && await page.isVisible("#picture svg"));
  check("without advice, with the names of the heads", !await page.isVisible("#readout")
    && (await text(page, "#legend")) === "head 1head 2" && await page.isVisible("#legend i"));
  await page.emulateMedia({ media: "screen" });
  check("which the screen does without", !await page.isVisible("#legend") && await page.isVisible("#readout"));
  await savesTheFigure(page);
  await page.setViewportSize({ width: 400, height: 800 });
  check("a narrow window is not widened", await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.done();
}

async function staysReadable(browser) {
  const page = await open(browser, "long.html");
  check("60 tokens", await count(page, ".token") >= 120, await count(page, ".token"));
  for (const view of ["lines", "matrix"]) {
    await page.check(`[value=${view}]`);
    const seen = await labels(page);
    check(`${view}: labels apart, inside, large enough`, seen.covering.length === 0 && seen.outside === 0 && !seen.wide
      && seen.smallest >= 11, view, seen);
  }
  await page.check("[value=lines]");
  await page.hover(".token >> nth=30");
  check("tokens of the same text have their number", / \(\d+\) /.test(await text(page, "#readout")));
  const gaps = await page.evaluate(() => {
    const right = Math.max(...[...document.querySelectorAll(".token text")].filter((t) => t.getAttribute("text-anchor") === "end")
      .map((t) => t.getBoundingClientRect().right));
    return Math.min(...[...document.querySelectorAll(".base path")].map((p) => p.getBoundingClientRect().left)) - right;
  });
  check("lines begin at their words", gaps > 0 && gaps < 16, gaps);
  await page.hover(".token >> nth=-1");
  const readout = await (await page.$("#readout")).boundingBox();
  check("what is read stays in sight", readout.y >= 0 && readout.y + readout.height <= 900
    && await page.$eval("#readout", (node) => getComputedStyle(node).backgroundColor) === "rgb(255, 255, 255)", readout);
  await page.mouse.move(2, 2);
  for (const view of ["lines", "matrix", "overview"]) {
    await page.check(`[value=${view}]`);
    const printed = await paper(page);
    check(`${view}: one sheet, on which nothing is cut off`, printed.sheets === 1 && !printed.outside.length
      && printed.seen.caption.bottom <= 277 / 25.4 * 96, printed.sheets, printed.outside, printed.seen.caption);
  }
  await page.check("[value=lines]");
  await page.hover(".token >> nth=30");
  check("long: pointing isolates", await count(page, ".isolated") === 1 && await count(page, ".lines:not(.base) path") > 0);
  await page.done();
}

async function showsAnyText(browser) {
  const page = await open(browser, "hostile.html");
  check("hostile text is text", (await text(page, "#source")).startsWith("</script><script>alert(1)</script>")
    && await count(page, "img") === 0 && await count(page, "script") === 5);
  check("a right-to-left line begins on the right",
    await page.$eval("#target", (node) => getComputedStyle(node).direction) === "rtl");
  check("tokens are shown", await count(page, ".token text") > 20);
  await page.done();

  const figure = await browser.newPage();
  const size = await figure.evaluate(async (svg) => {
    const tree = new DOMParser().parseFromString(svg, "image/svg+xml");
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
    await image.decode();
    return {
      bad: tree.querySelector("parsererror") !== null,
      width: image.naturalWidth,
      wanted: +tree.documentElement.getAttribute("width"),
      texts: [...tree.querySelectorAll("text")].map((node) => node.textContent).join("")
    };
  }, fs.readFileSync(file("figure.svg"), "utf8"));
  check("a figure is a picture", !size.bad && size.width === Math.round(size.wanted) && size.texts.includes("<"), size);
  await figure.close();
}

// ---------------------------------------------------------------------------------------------------- report ----

// The log itself: rows of an event as objects.
function logRows(name, event) {
  const [header, ...rows] = fs.readFileSync(file(name), "utf8").trim().split("\n").map((line) => line.split(","));
  return rows.filter((row) => row[0] === event)
    .map((row) => Object.fromEntries(header.map((key, i) => [key, row[i] === "" ? null : +row[i]])));
}

const points = (page, selector) =>
  page.$eval(selector, (path) => path.getAttribute("d").split(/[ML]/).slice(1).map((p) => p.split(" ").map(Number)));

async function showsTheTraining(browser) {
  const page = await open(browser, "run.html");
  const steps = logRows("run.csv", "step"), valid = logRows("run.csv", "valid");
  check("charts", (await page.$$eval(".chart:not([hidden])", (all) => all.map((node) => node.id)))
    .join() === "chart-loss,chart-perplexity,chart-bleu,chart-rate,chart-norm,chart-speed");
  check("a point for each step, and for each validation", (await points(page, "#chart-rate .curve")).length === steps.length
    && await count(page, "#chart-loss .dot") === valid.length && await count(page, "#chart-bleu .dot") === valid.length);
  const rate = await points(page, "#chart-rate .curve"),
        top = steps.findIndex((s) => s.learning_rate === Math.max(...steps.map((r) => r.learning_rate)));
  check("the highest rate is highest",
    rate[top][1] === Math.min(...rate.map((p) => p[1])) && rate.every((p, i) => !i || p[0] > rate[i - 1][0]));
  check("the summary", (await text(page, "#summary tr:nth-child(2)")).includes("60"));
  check("coloured", (await looks(page, "#chart-loss svg")).coloured > 0.003);

  const box = await (await page.$("#chart-rate svg")).boundingBox();
  const placed = () => page.$$eval(".chart", (all) => all.map((node) => node.offsetTop).join());
  const calm = await placed();
  await page.mouse.move(box.x + rate[30][0], box.y + 100);
  const said = await text(page, "#chart-rate .values");
  check("pointing tells values", said.startsWith(`step ${steps[30].step}`)
    && near(Number(said.match(/training ([\d.e-]+)/)[1]), steps[30].learning_rate, 1e-3 * steps[30].learning_rate), said);
  check("and nothing moves", await placed() === calm);
  check("in every chart",
    await count(page, ".cursor[visibility=visible]") === 6
      && (await text(page, "#chart-loss .values")).startsWith("step 3"));
  await page.mouse.move(2, 2);
  check("until the pointer leaves",
    await count(page, ".cursor[visibility=visible]") === 0
      && (await text(page, "#chart-loss .values")).startsWith("last"));
  await page.focus("#chart-loss svg");
  await page.keyboard.press("ArrowLeft");
  check("by keyboard", (await text(page, "#chart-loss .values")).startsWith("step 59"),
    await text(page, "#chart-loss .values"));

  // Where the rate of step 10 lies between those of steps 1 and 60, of which it is 10 and some times.
  const share = async (scale) => {
    const y = (await points(page, "#chart-rate .curve")).map((p) => p[1]), v = steps.map((s) => scale(s.learning_rate));
    return near((y[9] - y[0]) / (y[59] - y[0]), (v[9] - v[0]) / (v[59] - v[0]), 0.01);
  };
  check("a linear scale", await share((v) => v) && !await share(Math.log));
  await page.click("#chart-rate button");
  check("a logarithmic scale", await share(Math.log) && !await share((v) => v)
    && await page.getAttribute("#chart-rate button", "aria-pressed") === "true");
  await page.check("#axis [value=Time]");
  check("over time",
    (await page.$$eval("#chart-loss text", (all) => all.map((node) => node.textContent)))
      .some((label) => label.includes(":")));

  check("samples", await count(page, "#samples article") === 7 && (await text(page, "#samples")).includes("step 10"));
  check("samples of one number are told apart",
    (await page.$$eval("#samples article", (all) => all.map((node) => node.textContent).filter((t) => t.includes("elsewhere"))))
      .join() === "sourceanotherreferenceits referencestep 70elsewhere");
  check("samples are text",
    (await text(page, "#samples")).includes("<img src=x onerror=alert(1)>") && await count(page, "img") === 0);
  check("no notes", !await page.isVisible("#notes"));
  const light = await looks(page, "body");
  await page.emulateMedia({ colorScheme: "dark" });
  check("report: dark", light.light > 0.8 && (await looks(page, "body")).light < 0.25);
  await page.emulateMedia({ media: "print" });
  check("report: prints on white, without controls",
    (await looks(page, "body")).light > 0.9 && !await page.isVisible("#controls"));
  const printed = await paper(page), tall = printed.seen["chart-speed"];
  check("report: fits its sheets", printed.sheets <= 3 && !printed.outside.length, printed.sheets, printed.outside);
  check("report: all charts on the first, without white bands",
    tall.bottom < 277 / 25.4 * 96 && tall.height < 280, tall);
  await page.setViewportSize({ width: 400, height: 800 });
  check("report: a narrow window is not widened",
    await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.done();
}

async function numbersItsAxes(browser) {
  const page = await open(browser, "steep.html");
  const numbers = await page.$$eval("#chart-perplexity text", (all) =>
    all.filter((node) => +node.getAttribute("x") < 58).map((node) => Number(node.textContent.replace(",", ""))));
  check("1, 2 and 5 of each power, down to where the curve ends", numbers.join()
    === "2,5,10,20,50,100,200,500,1000,2000,5000", numbers);
  await page.done();
}

async function opensAnyLog(browser) {
  const page = await open(browser, "harsh.html");
  check("numbers of any size", await count(page, ".chart:not([hidden])") === 4
    && (await text(page, "#chart-norm")).includes("1.00e-300") && await count(page, "#chart-speed text") < 20);
  check("rows of any number", await page.evaluate(() => range(Array(500000).fill(2), false).join()) === "1.9,2.1");
  await page.done();
}

async function comparesTrainings(browser) {
  const page = await open(browser, "both.html");
  const runs = () => page.$$eval("#chart-loss .curve", (all) => [...new Set(all.map((path) => path.dataset.run))].join());
  check("two trainings in a chart", await runs() === "run,other" && await count(page, "#summary tr") === 3);
  check("in colours of their own",
    new Set(await page.$$eval("#chart-rate .curve", (all) => all.map((p) => p.getAttribute("stroke")))).size === 2);
  await page.uncheck("#runs input >> nth=0");
  check("one alone", await runs() === "other");
  await page.check("#runs input >> nth=0");
  const notes = await text(page, "#notes");
  check("damage is named with its line",
    notes.includes("other.csv, line 10: is cut off") && await page.isVisible("#notes"), notes);
  await page.done();
  const alike = await open(browser, "alike.html");
  check("logs of one name have their paths", (await text(alike, "#names")) === "run.csv, again/run.csv", await text(alike, "#names"));
  await alike.done();
}

async function main() {
  const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu"] });
  for (const part of [showsTheWeights, obeysTheKeyboard, hasOtherViews, savesTheNamesOfAllHeads, beginsWhereOneWants, suitsItsSurroundings, staysReadable,
         showsAnyText, showsTheTraining, numbersItsAxes, opensAnyLog, comparesTrainings]) {
    try {
      await part(browser);
    } catch (error) {
      check(`${part.name}: ${error.stack}`, false);
    }
  }
  await browser.close();
  console.log(`${checks} checks, ${failures} failed`);
  process.exit(failures ? 1 : 0);
}

main();
