// SPDX-License-Identifier: GPL-2.0-or-later
// What the monitor stream brings of one link: rates of the modules, charges of the hits, spectra of the hydrophones.
import { $, attr, choice, put, rows } from "./dom.js";
import { age, isNumber, rate, sum } from "./format.js";
import { graph } from "./graphs.js";
import { live, sampleAge } from "./live.js";

const FRAME_S = 125e-6;
const KEEP = 0.95; // of the charges, from one sample to the next: smoothed over about 20 s
const OCTAVE_BINS = 3;
const OLD_S = 5; // a sample comes about once a second
const LINES = [
  { word: "solid", pattern: null }, { word: "dashed", pattern: [8, 4] }, { word: "dotted", pattern: [2, 3] },
];

const charges = new Map(); // smoothed counts by link
let chosenLink, drawCharge, drawSpectrum;

function smooth(link) {
  const counts = link.charge ?? [], old = charges.get(link.link);
  charges.set(link.link, counts.map((n, k) => (isNumber(n) ? n : 0) + KEEP * (old?.[k] ?? 0)));
}

/** Called for every sample, shown or not. */
export function takeSample() {
  for (const link of live.sample.links ?? []) smooth(link);
}

function renderRates(link) {
  const hits = link?.hits ?? [], seconds = (link?.frames ?? 0) * FRAME_S;
  const list = hits.map((n, om) => ({ om, hz: seconds > 0 ? n / seconds : null }));
  rows($("#sample-rates"), list, (m) => m.om, (m) => [`om${m.om}`, [rate(m.hz, "Hz"), m.hz]], "no data of this link");
}

function renderCharge(link) {
  const counts = (link && charges.get(link.link)) ?? [];
  const all = sum(counts) || 1;
  const data = counts.map((n, k) => [k, (100 * n) / all]);
  if (data.length) drawCharge([...data, [data.length, data.at(-1)[1]]]);
}

function renderSpectrum(link) {
  const phones = (link?.hydrophones ?? []).filter((h) => h.db?.length && isNumber(h.bin_hz));
  if (!phones.length) return;
  const names = phones.map((h, i) => `hydrophone ${h.channel ?? i}`);
  const series = Object.fromEntries(names.map((name, i) => [name, { strokePattern: LINES[i % LINES.length].pattern }]));
  const data = phones[0].db.map((_, k) => [(k * phones[0].bin_hz) / 1e3, ...phones.map((h) => h.db[k] ?? null)]);
  drawSpectrum(data, { labels: ["kHz", ...names], series, colours: names.map((_, i) => `series-${i % LINES.length}`) });
  put($("#spectrum-names"), names.map((name, i) => `${name}: ${LINES[i % LINES.length].word} line`).join(", "));
}

export function renderSample() {
  const { links, error } = live.sample ?? {};
  const link = (links ?? []).find((l) => l.link === Number(chosenLink()));
  put($("#sample-error"), error ?? "");
  renderRates(link);
  renderCharge(link);
  renderSpectrum(link);
}

/** Once a second, also when no sample comes. */
export function tickSample() {
  const seconds = sampleAge();
  put($("#sample-age"), seconds === null ? "no sample yet" : `newest sample ${age(seconds)} old`, seconds?.toFixed(1));
  attr($("#sample"), "data-stale", seconds === null || seconds > OLD_S || Boolean(live.sample?.error));
}

/** A tick at each power of four: bin k begins at a charge of 2^(k/3). */
function chargeTicks(low, high) {
  const ticks = [];
  for (let k = 0; k <= high; k += 2 * OCTAVE_BINS) ticks.push({ v: k, label: rate(2 ** (k / OCTAVE_BINS)) });
  return ticks;
}

export function startSample() {
  chosenLink = choice($("#sample-link"), [0, 1, 2, 3].map((n) => [n, `link ${n}`]), 0, renderSample);
  drawCharge = graph($("#charge-graph"), {
    labels: ["charge", "share"], stepPlot: true, fillGraph: true, includeZero: true, colours: ["curve"],
    axes: { x: { ticker: chargeTicks }, y: { axisLabelWidth: 44 } },
  });
  drawSpectrum = graph($("#spectrum-graph"), { axes: { y: { axisLabelWidth: 44 } } });
}
