// SPDX-License-Identifier: GPL-2.0-or-later
// What is wrong: the incidents of now with their cost and what to do, and the shift's as a time line and a table.
import { $, attr, clone, fill, keyed, make, makeSvg, put, rows } from "./dom.js";
import { acknowledgedWords, costWords, isNumber, pausedWords, span, time, tone, when } from "./format.js";
import { advise } from "./advice.js";
import { utc } from "./live.js";
import { keep } from "./past.js";

const SHIFT_S = 8 * 3600;
const LANES = 6;
const LANE_PX = 20;

/** Active: "red" or "warning"; of what does not count: its state. */
const stateWord = (i) => (i.state === "active" ? i.severity : i.state) ?? "red";

const sinceWords = (i) => {
  const now = utc();
  if (!isNumber(i.until)) return [`since ${when(i.since, now)} UTC`, `for ${span(now - i.since)}`];
  return [`${when(i.since, now)} to ${when(i.until, now)} UTC`, `lasted ${span(i.until - i.since)}`];
};

function updateObservation(node, o) {
  const hands = [acknowledgedWords(o.acknowledged), pausedWords(o.paused)].filter(Boolean).join("; ");
  const [since] = sinceWords(o);
  fill(node, {
    text: `${o.object}/${o.code}: ${o.text}`,
    facts: [since, costWords(o) === "-" ? "" : costWords(o), o.count > 1 ? `began ${o.count} times` : "", hands]
      .filter(Boolean).join("; "),
  });
  advise($('[data-field="action"]', node), o.action);
}

const makeObservation = () =>
  make("li", {}, make("p", { "data-field": "text" }), make("p", { "data-field": "facts", class: "facts" }),
    make("p", { "data-field": "action", class: "action" }));

function updateIncident(node, i) {
  const [since, duration] = sinceWords(i);
  const word = stateWord(i);
  const counts = i.state === "active" || i.state === "acknowledged";
  const explained = (i.observations ?? []).filter((o) => o.code !== i.code || o.object !== i.object);
  for (const name of ["state", "severity", "code", "object"]) attr(node, `data-${name}`, i[name]);
  attr(node, "data-incident", i.number);
  fill(node, {
    number: [`${i.number ?? "-"}`, i.number ?? null],
    state: [word + (i.held ? ", has ended: waits to be acknowledged" : ""), i.state, counts ? tone(i.severity) : "dim"],
    name: `${i.object ?? "?"}/${i.code ?? "?"}`,
    text: i.text ?? "",
    since: [since, i.since],
    duration: [duration, (isNumber(i.until) ? i.until : utc()) - i.since],
    cost: `cost: ${costWords(i.cost)}`,
    own: i.own ? `by our command: ${i.own}` : "",
    acknowledged: acknowledgedWords(i.acknowledged),
    paused: pausedWords(i.paused),
    explains: `explains ${explained.length} more`,
  });
  const number = isNumber(i.number);
  advise($('[data-field="action"]', node), i.state === "cleared" ? "" : i.action);
  advise($('[data-field="commands"]', node), "", !number ? [] : [`fcmctl incident show ${i.number}`]
    .concat(i.state === "active" ? [`fcmctl incident ack ${i.number}`] : []));
  $("details", node).hidden = explained.length === 0;
  keyed($("ul", node), explained, (o) => `${o.object}/${o.code}/${o.loss}`, makeObservation, updateObservation);
}

export function renderIncidents({ status }) {
  const incidents = status?.incidents;
  const list = incidents?.list ?? [];
  const states = ["active", "acknowledged", "paused", "cleared"].map((s) => [s, list.filter((i) => i.state === s)]);
  put($("#incident-count"), states.filter(([, of]) => of.length).map(([s, of]) => `${of.length} ${s}`).join(", "));
  put($("#incident-none"), !incidents ? "not known" : list.length ? "" : "no incident now, or in the last 10 minutes");
  keyed($("#incident-list"), list, (i) => i.number, () => clone("incident"), updateIncident);
  const more = (incidents?.pauses ?? []).map((p) =>
    `${p.name}, not active: ${[acknowledgedWords(p.acknowledged), pausedWords(p.paused)].filter(Boolean).join("; ")}`);
  if (incidents?.left_out > 0) more.unshift(`${incidents.left_out} more observations had no room`);
  keyed($("#incident-more"), more, (text) => text, () => make("li"), put);
}

/* --- the time line --- */

const set = (node, attributes) => {
  for (const [name, value] of Object.entries(attributes)) attr(node, name, value);
};

/** Gives each incident the first lane that is free then, and the last lane when none is. */
function lay(incidents, since, until) {
  const ends = new Array(LANES).fill(-Infinity);
  return incidents.map((i) => {
    const from = Math.max(i.since, since);
    const to = Math.max(isNumber(i.until) ? i.until : until, from + (until - since) / 60); // room for its number
    const free = ends.findIndex((end) => end <= from);
    const lane = free < 0 ? LANES - 1 : free;
    ends[lane] = to;
    return { i, lane, x: (from - since) / (until - since), w: (Math.min(to, until) - from) / (until - since) };
  });
}

function makeBar() {
  const g = makeSvg("g");
  g.append(makeSvg("title"), makeSvg("rect"), makeSvg("text"));
  return g;
}

function updateBar(g, { i, lane, x, w }) {
  const [title, rect, text] = g.children;
  const left = Math.min(x, 1 - 1 / 60), percent = (n) => `${(100 * n).toFixed(2)}%`;
  attr(g, "class", `bar ${i.severity}`);
  put(title, `${i.number} ${i.severity} ${i.object}/${i.code}: ${sinceWords(i).join(", ")}`);
  set(rect, { x: percent(left), width: percent(Math.max(w, 0.004)), y: lane * LANE_PX + 2, height: LANE_PX - 4 });
  set(text, { x: percent(left), dx: 4, y: lane * LANE_PX + LANE_PX - 6 });
  put(text, String(i.number));
}

function makeTick() {
  const g = makeSvg("g");
  g.append(makeSvg("line"), makeSvg("text"));
  return g;
}

function renderTimeLine(incidents) {
  const until = utc(), since = until - SHIFT_S;
  const bars = lay(incidents, since, until);
  const height = LANE_PX * Math.max(1, ...bars.map((b) => b.lane + 1));
  const hours = [];
  for (let t = Math.ceil(since / 3600) * 3600; t <= until; t += 3600) hours.push(t);
  attr($("#time-line"), "height", height + 18);
  attr($("#time-line"), "aria-label",
    `Incidents of the last 8 h: ${incidents.length}; they are also in the table "Incidents of the shift"`);
  keyed($("#time-line .ticks"), hours, (t) => t, makeTick, (g, t) => {
    const x = `${(100 * (t - since) / SHIFT_S).toFixed(2)}%`;
    set(g.children[0], { x1: x, x2: x, y1: 0, y2: height });
    set(g.children[1], { x, y: height + 14, "text-anchor": "middle" });
    put(g.children[1], time(t).slice(11, 16));
  });
  keyed($("#time-line .bars"), bars, (b) => b.i.number, makeBar, updateBar);
}

function renderPast({ incidents }) {
  const list = (incidents ?? []).filter((i) => isNumber(i.since));
  renderTimeLine(list);
  rows($("#incident-history"), [...list].reverse().slice(0, 60), (i) => i.number, (i) => [
    [String(i.number), i.number],
    [i.severity, i.severity, tone(i.severity)],
    when(i.since, utc()),
    isNumber(i.until) ? when(i.until, utc()) : "active",
    costWords(i.cost),
    `${i.object}/${i.code}: ${i.text}`,
    [i.own, i.acknowledged_by ? acknowledgedWords({ who: i.acknowledged_by, text: i.acknowledged_text }) : ""]
      .filter(Boolean).join("; ") || "-",
  ], "no incident in the last 8 h");
}

export function startIncidents() {
  keep({
    name: "incidents", every: 10, done: renderPast,
    url: () => `past/incident.history?since=${(utc() - SHIFT_S).toFixed(0)}&limit=200`,
  });
}
