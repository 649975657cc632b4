// A page in a browser, and what can be seen of it.
"use strict";

const near = (a, b, by) => Math.abs(a - b) <= by;

// A page whose console, errors, dialogs and requests must stay silent.
async function openPage(browser, file, check, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  const loud = [];
  page.setDefaultTimeout(5000);
  page.on("console", (message) => loud.push(message.text()));
  page.on("pageerror", (error) => loud.push(error.stack));
  page.on("dialog", (dialog) => { loud.push("a dialog"); dialog.dismiss(); });
  page.on("request", (request) => {
    if (request.url() !== `file://${file}` && !/^(data|blob):/.test(request.url())) loud.push(request.url());
  });
  await page.goto(`file://${file}`);
  page.done = async () => {
    check(`${file}: neither errors nor requests`, loud.length === 0, loud);
    await context.close();
  };
  return page;
}

// Shares of an element's pixels as it is shown: coloured ones, and the mean lightness, 0 to 1.
async function looks(page, selector) {
  const element = await page.$(selector);
  const png = (await element.screenshot()).toString("base64");
  const box = await element.boundingBox();
  const other = await page.context().newPage();
  const seen = await other.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width;
    canvas.height = image.height;
    const pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0);
    const bytes = pen.getImageData(0, 0, image.width, image.height).data;
    let coloured = 0, light = 0;
    for (let i = 0; i < bytes.length; i += 4) {
      const [most, least] = [Math.max(bytes[i], bytes[i + 1], bytes[i + 2]), Math.min(bytes[i], bytes[i + 1], bytes[i + 2])];
      if (most - least > 60) coloured++;
      light += (most + least) / 510;
    }
    const n = bytes.length / 4;
    return { width: image.width, height: image.height, coloured: coloured / n, light: light / n };
  }, png);
  await other.close();
  return { ...seen, bytes: png.length * 3 / 4, box };
}

// Labels of the picture that cover one another, those that leave the window, and the least size of letters.
const labels = (page) => page.evaluate(() => {
  const boxes = [...document.querySelectorAll("#picture .token text")].map(
    (text) => [text.textContent, text.getBoundingClientRect(), parseFloat(getComputedStyle(text).fontSize)]);
  const covering = [];
  for (let i = 0; i < boxes.length; i++)
    for (let j = i + 1; j < boxes.length; j++) {
      const [a, b] = [boxes[i][1], boxes[j][1]];
      const deep = Math.min(
        Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
      if (deep > 0.5) covering.push([boxes[i][0], boxes[j][0], deep]);
    }
  return { n: boxes.length, covering, outside: boxes.filter(([, b]) => b.left < 0 || b.right > innerWidth).length,
    smallest: Math.min(...boxes.map((b) => b[2])), wide: document.documentElement.scrollWidth > innerWidth };
});

// How a page prints on A4: the number of sheets, and what sticks out of them to the right.
async function paper(page) {
  const size = page.viewportSize(), inch = 96, margin = "10mm";
  const pdf = await page.pdf({ format: "A4", margin: { top: margin, right: margin, bottom: margin, left: margin } });
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: Math.floor(190 / 25.4 * inch), height: Math.floor(277 / 25.4 * inch) });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const outside = await page.evaluate(() => [...document.querySelectorAll("body *")]
    .filter((node) => node.getBoundingClientRect().right > innerWidth + 1 || node.scrollWidth > node.clientWidth + 1
      && getComputedStyle(node).overflowX !== "visible")
    .map((node) => `${node.tagName} ${node.id} ${node.textContent.slice(0, 40)}`));
  const seen = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll("[id]")]
    .map((node) => [node.id, node.getBoundingClientRect().toJSON()])));
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await page.emulateMedia({ media: null }); // "screen" would be that of paper too
  await page.setViewportSize(size);
  return { sheets: pdf.toString("latin1").match(/\/Type\s*\/Page\b/g).length, outside, seen };
}

const text = (page, selector) => page.$eval(selector, (node) => node.textContent);
const count = (page, selector) => page.$$eval(selector, (nodes) => nodes.length);

module.exports = { count, labels, looks, near, openPage, paper, text };
