// SPDX-License-Identifier: GPL-2.0-or-later
// The phase scope: the phase of a link against time as a density picture that keeps every sample (like the infinite
// persistence of an oscilloscope), its histogram beside it, the reference, and the re-locks.
import { $, choice, put, rows } from "./dom.js";
import { count, fixed, isNumber, signed, span, time, tone } from "./format.js";
import { utc } from "./live.js";
import { keep } from "./past.js";
import { colour, onTheme } from "./theme.js";

const COLUMNS = 400, ROWS = 200;
const DAY_S = 86400;
const WINDOWS = [[3600, "1 h"], [DAY_S, "24 h"], [7 * DAY_S, "7 d"], [30 * DAY_S, "30 d"], [365 * DAY_S, "1 y"]];
const TIME_STEPS = [300, 600, 1800, 3600, 7200, 10800, 21600, 43200, ...[1, 2, 7, 14, 30, 91].map((d) => d * DAY_S)];
const MARKS = { first: "F", PASS: "P", SLIP: "S", JUMP: "J", DRIFT: "D", FAILED: "X" };
const MARKS_SHOWN = 200;
const RAMP = ["scope-1", "scope-2", "scope-3", "scope-4"];
const MARGIN = { left: 84, right: 12, top: 24, bottom: 46 };

let canvas, shown = null, image = null;

/* --- the picture: one pixel per cell, scaled when it is drawn --- */

/** `text`: two hexadecimal digits per cell. */
const cellsOf = (text) => Uint8Array.from(text.match(/../g), (digits) => parseInt(digits, 16));

/** Red, green and blue for each density 1..255, evenly between the colours of the ramp. */
function palette() {
  const stops = RAMP.map((name) => colour(name).match(/[\d.]+/g).slice(0, 3).map(Number));
  return Array.from({ length: 256 }, (_, density) => {
    const at = (density / 255) * (stops.length - 1);
    const from = Math.min(Math.floor(at), stops.length - 2);
    return stops[from].map((c, i) => c + (stops[from + 1][i] - c) * (at - from));
  });
}

function paint(p) {
  const cells = cellsOf(p.picture);
  const colours = palette();
  const picture = new ImageData(p.columns, p.rows);
  image ??= document.createElement("canvas");
  image.width = p.columns;
  image.height = p.rows;
  for (let column = 0; column < p.columns; column++) {
    for (let row = 0; row < p.rows; row++) {
      const density = cells[column * p.rows + row];
      if (density) picture.data.set([...colours[density], 255], 4 * ((p.rows - 1 - row) * p.columns + column));
    }
  }
  image.getContext("2d").putImageData(picture, 0, 0);
}

/* --- axes and marks --- */

function niceStep(range, most) {
  const rough = range / most, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough) ?? 10 * power;
}

function multiples(low, high, step) {
  const ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high && ticks.length < 50; n++) ticks.push(n * step);
  return ticks;
}

function line(c, x1, y1, x2, y2) {
  c.beginPath();
  c.moveTo(x1, y1);
  c.lineTo(x2, y2);
  c.stroke();
}

function text(c, words, x, y, align = "center") {
  c.textAlign = align;
  c.fillText(words, x, y);
}

function drawAxes(c, p, plot) {
  const step = niceStep(p.high_ps - p.low_ps, Math.max(2, plot.h / 50));
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const seconds = p.until - p.since;
  const timeStep = TIME_STEPS.find((s) => seconds / s <= plot.w / 80) ?? TIME_STEPS.at(-1);
  c.strokeStyle = colour("line");
  c.fillStyle = colour("ink");
  c.lineWidth = 1;
  for (const ps of multiples(p.low_ps, p.high_ps, step)) {
    line(c, plot.x, plot.yOf(ps), plot.x + plot.w + plot.gap + plot.side, plot.yOf(ps));
    text(c, ps.toFixed(digits), plot.x - 8, plot.yOf(ps) + 4, "right");
  }
  for (const t of multiples(p.since, p.until, timeStep)) {
    line(c, plot.xOf(t), plot.y, plot.xOf(t), plot.y + plot.h);
    text(c, timeStep < DAY_S ? time(t).slice(11, 16) : time(t).slice(0, 10), plot.xOf(t), plot.y + plot.h + 18);
  }
  text(c, "time (UTC)", plot.x + plot.w / 2, plot.y + plot.h + 38);
  c.save();
  c.translate(16, plot.y + plot.h / 2);
  c.rotate(-Math.PI / 2);
  text(c, "phase (ps)", 0, 0);
  c.restore();
}

function drawHistogram(c, p, plot) {
  const weights = p.histogram ?? [], most = Math.max(...weights, 0);
  const left = plot.x + plot.w + plot.gap, row = plot.h / (weights.length || 1);
  c.fillStyle = colour("curve");
  weights.forEach((weight, i) => {
    if (weight > 0) c.fillRect(left, plot.y + plot.h - (i + 1) * row, (plot.side * weight) / most, Math.max(row, 1));
  });
  c.fillStyle = colour("ink");
  c.strokeStyle = colour("dim");
  line(c, left, plot.y, left, plot.y + plot.h);
  text(c, "0", left, plot.y + plot.h + 18);
  if (most > 0) text(c, (100 * most).toPrecision(2), left + plot.side, plot.y + plot.h + 18, "right");
  text(c, `share (% per ${fixed(p.row_ps, 1)} ps)`, left + plot.side, plot.y + plot.h + 38, "right");
}

function drawMarks(c, p, plot) {
  c.strokeStyle = colour("mark");
  c.fillStyle = colour("mark");
  c.setLineDash([3, 3]);
  for (const e of (p.events ?? []).slice(0, MARKS_SHOWN)) {
    line(c, plot.xOf(e.time), plot.y, plot.xOf(e.time), plot.y + plot.h);
    text(c, MARKS[e.verdict] ?? "?", plot.xOf(e.time), plot.y - 6);
  }
  if (isNumber(p.reference_ps) && p.reference_ps >= p.low_ps && p.reference_ps <= p.high_ps) {
    c.setLineDash([10, 5]);
    c.strokeStyle = colour("ink");
    c.fillStyle = colour("ink");
    line(c, plot.x, plot.yOf(p.reference_ps), plot.x + plot.w + plot.gap + plot.side, plot.yOf(p.reference_ps));
    text(c, "reference", plot.x + 6, plot.yOf(p.reference_ps) - 6, "left");
  }
  c.setLineDash([]);
}

function draw() {
  const p = shown, { clientWidth: width, clientHeight: height } = canvas;
  if (!p || !width || !height) return;
  const scale = devicePixelRatio || 1, side = Math.min(170, width * 0.2), gap = 14;
  const plot = {
    x: MARGIN.left, y: MARGIN.top, side, gap,
    w: Math.max(20, width - MARGIN.left - MARGIN.right - side - gap),
    h: Math.max(20, height - MARGIN.top - MARGIN.bottom),
  };
  plot.xOf = (t) => plot.x + (plot.w * (t - p.since)) / (p.until - p.since);
  plot.yOf = (ps) => plot.y + plot.h - (plot.h * (ps - p.low_ps)) / (p.high_ps - p.low_ps);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const c = canvas.getContext("2d");
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.font = `13px ${getComputedStyle(canvas).fontFamily}`;
  drawAxes(c, p, plot);
  c.imageSmoothingEnabled = false;
  c.drawImage(image, plot.x, plot.y, plot.w, plot.h);
  drawHistogram(c, p, plot);
  drawMarks(c, p, plot);
  c.strokeStyle = colour("dim");
  c.strokeRect(plot.x, plot.y, plot.w, plot.h);
}

/* --- in words --- */

function words(p) {
  const read = p.every_s > 1.5 ? `, at most one each ${span(p.every_s)}` : "";
  const where = `link ${p.link}, ${time(p.since)} to ${time(p.until)} UTC`;
  const reference = isNumber(p.reference_ps) ? `reference ${fixed(p.reference_ps)} ps` : "no reference yet";
  if (!isNumber(p.mean_ps)) return `${where}: no samples in this time; ${reference}`;
  return `${where}: mean ${fixed(p.mean_ps)} ps, sigma ${fixed(p.sigma_ps)} ps; ${reference}; `
    + `${count(p.samples)} samples${read}`;
}

function render(p) {
  shown = p;
  const usable = p.rows > 0 && p.columns > 0 && p.high_ps > p.low_ps && p.until > p.since;
  if (!usable || typeof p.picture !== "string") throw new Error("it has no picture");
  paint(p);
  draw();
  put($("#scope-text"), words(p), p.mean_ps ?? null);
  canvas.setAttribute("aria-label", `Phase scope: ${words(p)}`);
  rows($("#scope-events"), (p.events ?? []).slice(0, 30), (e) => `${e.time} ${e.verdict}`, (e) => [
    [time(e.time), e.time],
    [e.verdict, e.verdict, tone(e.verdict)],
    [e.slip ? `${e.slip} x 1.25 ns` : "-", e.slip],
    [signed(e.difference_ps), e.difference_ps],
  ], "no re-lock, step or drift in this time");
}

export function startScope() {
  canvas = $("#scope-canvas");
  const link = choice($("#scope-link"), [0, 1, 2, 3].map((n) => [n, `link ${n}`]), 0, () => renew());
  const seconds = choice($("#scope-window"), WINDOWS, 3600, () => renew());
  const renew = keep({
    name: "scope", every: 60, done: render,
    url: () => `past/phase?link=${link()}&since=${(utc() - seconds()).toFixed(0)}&until=${utc().toFixed(0)}`
      + `&columns=${COLUMNS}&rows=${ROWS}`,
  });
  onTheme(() => {
    if (shown) paint(shown);
    draw();
  });
  new ResizeObserver(draw).observe(canvas);
}
